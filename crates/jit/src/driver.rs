//! Successors by native code: the [`Expander`] over compiled rules.
//!
//! Where native code finds a fault, the interpreter continues from the same rule and instance to
//! the end of the state, with the same buffer, so faults have the same messages. Nothing else is
//! left to it: where locals need more memory than there is, they get it, and native code runs the
//! instance again.

use std::ops::Range;
use std::sync::atomic::Ordering;

use hadal_ir::bits;
use hadal_model::{
    Cursor, Expander, Failure, FirstSteps, Flow, Model, PAD_BYTES, Source, States, Stop, Stopped,
    Successors, Unmeasured,
};

use crate::call::{Counts, Runtime, Scratch, Session, Site, Status};
use crate::compile::Native;
use crate::selectors::Selectors;
use crate::unit::Registers;

/// One thread's access to native code.
pub(crate) struct Generator<'a> {
    native: &'a Native,
    stop: &'a Stop,
    scratch: Scratch,
    runtime: Runtime<'a>,
    interpreter: Box<dyn Expander + 'a>,
    /// A state of no meaning, for startstates.
    nothing: Vec<u8>,
    /// The trials of the current state, a bit each.
    worth: Vec<u64>,
    /// Sources at rest with their registers, and padding.
    extended: Vec<u8>,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(native: &'a Native, stop: &'a Stop) -> Self {
        let facts = &native.facts;
        let state_len = native.shape().state_len;
        Generator {
            native,
            stop,
            scratch: Scratch::new(facts.frame_bytes, facts.n_cover_points, facts.record_words),
            runtime: Runtime {
                program: native.program(),
                bags: &facts.bags,
                state_len,
                n_rules: native.program().rules.len(),
                n_cover_points: facts.n_cover_points,
                record_words: facts.record_words,
            },
            interpreter: native.interpreter.expander(stop),
            nothing: vec![0; state_len + PAD_BYTES],
            worth: facts.selectors.all().to_vec(),
            extended: Vec::new(),
        }
    }

    fn note_interpreted(&self) {
        self.native.n_interpreted.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens a session that reads `block`.
    fn session<'s>(&'s mut self, block: States<'s>) -> Session<'s> {
        Session::reading(
            block,
            &mut self.scratch,
            &self.runtime,
            self.stop.flag(),
            self.native.interpreter.limits().stack_bytes,
        )
    }
}

/// The result of the rules of one state.
enum Fired {
    All,
    NoRoom { rule: u32, instance: u64 },
    NoFrames { rule: u32, instance: u64 },
    Interpret { rule: u32, instance: u64 },
    Stopped,
}

/// Fires the trials that are worth it on one source, from an instance of the first of them on.
/// `was_enabled` where an interrupted expansion found some rule to be enabled.
#[inline(always)]
fn fire_rules(
    site: &mut Site<'_, '_>,
    native: &Native,
    worth: &[u64],
    from: Option<u64>,
    was_enabled: bool,
) -> Fired {
    let trials = &native.entries.trials[..];
    let mut from = from;
    for words in native.facts.selectors.priorities() {
        let (mut at, mut is_tried) = (words.start * 64, false);
        for &word in &worth[words.clone()] {
            let mut left = word;
            is_tried |= left != 0;
            while left != 0 {
                // Trials of one rule that follow each other are one call.
                let bit = left.trailing_zeros();
                let trials = &trials[at + bit as usize..];
                let n = (!(left >> bit)).trailing_zeros().min(trials[0].n_left);
                left &= !(u64::MAX >> (64 - n) << bit);
                let first = from.take().unwrap_or(trials[0].first);
                match site.fire_trials(trials, n, first) {
                    Status::Done => {}
                    other => return interrupted(other, trials[0].rule, site.instance()),
                }
            }
            at += 64;
        }
        // Only the least priority that has an enabled rule fires.
        if is_tried && (was_enabled || site.counts().enabled > 0) {
            return Fired::All;
        }
    }
    Fired::All
}

/// Why the rules of a state did not run to their end.
#[cold]
fn interrupted(status: Status, rule: u32, instance: u64) -> Fired {
    match status {
        Status::NoRoom => Fired::NoRoom { rule, instance },
        Status::NoFrames => Fired::NoFrames { rule, instance },
        Status::Stopped => Fired::Stopped,
        _ => Fired::Interpret { rule, instance },
    }
}

/// Whether the model may end at a source where no rule is enabled, unless something else is to be
/// done.
fn may_end(site: &mut Site<'_, '_>, native: &Native) -> Result<bool, Fired> {
    // The interpreter, called behind the last rule, does nothing but evaluate the conditions.
    let (rule, instance) = (native.entries.rules.len() as u32, 0);
    let mut holds = !native.entries.ends.is_empty();
    for &entry in &native.entries.ends {
        match site.evaluate(entry) {
            Status::Done => {}
            Status::False => holds = false,
            Status::NoFrames => return Err(Fired::NoFrames { rule, instance }),
            Status::Stopped => return Err(Fired::Stopped),
            Status::Fault | Status::NoRoom => return Err(Fired::Interpret { rule, instance }),
        }
        if !holds {
            break;
        }
    }
    Ok(holds)
}

/// Adds what happened at a source.
#[inline]
fn note(source: &mut Source, counts: Counts) {
    source.written += counts.written;
    source.fired += counts.fired;
    source.enabled += counts.enabled as u32;
    source.progress = counts.progress;
}

impl Generator<'_> {
    /// Expands states natively until something else is to be done; returns the state it is about
    /// and what happened there.
    fn run_block(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> (u32, Fired) {
        let mut columns = out.columns();
        let sources = std::mem::take(&mut columns.sources);
        let native = self.native;
        let first_cover_point = native.facts.first_cover_point;
        let selectors = &native.facts.selectors;
        let mut worth = std::mem::take(&mut self.worth);
        let mut session = self.session(block).writing(columns, first_cover_point);
        let mut ended = (block.len() as u32, Fired::All);
        let mut from = from;
        let (mut rest, state_len) = (block.bytes(), block.state_len());
        rest = &rest[from.state as usize * state_len..];
        let sources = sources.iter_mut().enumerate().take(block.len());
        for (number, entry) in sources.skip(from.state as usize) {
            let source = number as u32;
            let mut site = session.at(source, entry.written, entry.progress);
            selectors.select(rest, &mut worth);
            rest = &rest[state_len..];
            let mut first = None;
            if (from.rule, from.instance) != (0, 0) {
                let trial = selectors.trial_of(from.rule as usize, from.instance);
                let is_left = Selectors::skip_to(trial, &mut worth);
                first = is_left.then_some(from.instance);
            }
            let mut fired = fire_rules(&mut site, native, &worth, first, entry.enabled > 0);
            note(entry, site.counts());
            if matches!(fired, Fired::All) && entry.enabled == 0 {
                fired = match may_end(&mut site, native) {
                    Ok(may_end) => {
                        entry.may_end = may_end;
                        Fired::All
                    }
                    Err(other) => other,
                };
            }
            if !matches!(fired, Fired::All) {
                ended = (source, fired);
                break;
            }
            from = Cursor::default();
        }
        let len = session.len();
        self.worth = worth;
        let before = out.len();
        out.set_len(len);
        if native.facts.has_costs {
            out.set_costs_by_rule(before, &native.shape().rules);
        }
        ended
    }
}

/// Takes back what was counted for a source and drops its successors.
fn take_back(out: &mut Successors, source: usize, own: Range<usize>) {
    let columns = out.columns();
    for rule in &columns.rules[own.clone()] {
        columns.fired_by_rule[*rule as usize] -= 1;
    }
    columns.sources[source] = Source::default();
    out.set_len(own.start);
}

/// Whether no two of some successors are equal.
fn are_different(out: &Successors, range: Range<usize>) -> bool {
    let states = || range.clone().map(|at| out.state(at));
    range.len() <= MAX_COMPARED
        && (states().enumerate()).all(|(n, state)| states().take(n).all(|other| other != state))
}

/// Successors of a source that are compared with each other; where there are more, some might be
/// equal.
const MAX_COMPARED: usize = 64;

/// The result of the rules of a source at rest.
enum FiredAtRest {
    All,
    /// Some successor is transient.
    Transient,
    /// Successors are not known to differ.
    SameMarks,
    /// There is no room, or something that native code leaves to others.
    Other,
    Stopped,
}

impl Generator<'_> {
    /// The sources of a range, with registers, which are 0.
    fn extend(&mut self, block: States<'_>, range: Range<usize>) -> Vec<u8> {
        let mut extended = std::mem::take(&mut self.extended);
        let (len, rest_len) = (self.runtime.state_len, block.state_len());
        let needed = range.len() * len + PAD_BYTES;
        if extended.len() < needed {
            extended.resize(needed, 0);
        }
        // Whole chunks: what they copy behind a state is overwritten, and padding follows both.
        let from = &block.bytes()[range.start * rest_len..];
        for number in 0..range.len() {
            let to = &mut extended[number * len..];
            let from = from[number * rest_len..].as_chunks::<PAD_BYTES>().0;
            let chunks = to.as_chunks_mut::<PAD_BYTES>().0;
            let n_chunks = rest_len.div_ceil(PAD_BYTES);
            for (to, from) in chunks[..n_chunks].iter_mut().zip(&from[..n_chunks]) {
                *to = *from;
            }
            to[rest_len..len].fill(0);
        }
        extended
    }

    /// Expands sources at rest until one is not simple; returns which one, and why. The first of
    /// them has the position `first` in its block.
    fn run_at_rest(
        &mut self,
        sources: States<'_>,
        first: usize,
        registers: Registers,
        out: &mut Successors,
    ) -> (usize, FiredAtRest) {
        let mut columns = out.columns();
        let entries = &mut std::mem::take(&mut columns.sources)[first..];
        let native = self.native;
        let selectors = &native.facts.selectors;
        let mut worth = std::mem::take(&mut self.worth);
        let mut session =
            (self.session(sources)).writing_at_rest(columns, registers.rest_len, first as u32);
        let mut ended = (first + sources.len(), FiredAtRest::All);
        let (mut rest, state_len) = (sources.bytes(), sources.state_len());
        for (number, entry) in entries.iter_mut().enumerate().take(sources.len()) {
            let mut site = session.at(number as u32, 0, false);
            selectors.select(rest, &mut worth);
            rest = &rest[state_len..];
            let mut fired = fire_rules(&mut site, native, &worth, None, false);
            note(entry, site.counts());
            if matches!(fired, Fired::All) && entry.enabled == 0 {
                match may_end(&mut site, native) {
                    Ok(may_end) => entry.may_end = may_end,
                    Err(other) => fired = other,
                }
            }
            let fired = match fired {
                Fired::All if site.is_transient() => FiredAtRest::Transient,
                Fired::All if !site.marks_differ() => FiredAtRest::SameMarks,
                Fired::All => continue,
                Fired::Stopped => FiredAtRest::Stopped,
                _ => FiredAtRest::Other,
            };
            ended = (first + number, fired);
            break;
        }
        let len = session.len();
        self.worth = worth;
        let before = out.len();
        out.set_len(len);
        if native.facts.has_costs {
            out.set_costs_by_rule(before, &native.shape().rules);
        }
        ended
    }
}

impl Expander for Generator<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        let nothing = std::mem::take(&mut self.nothing);
        let flow = self.run_starts(&nothing, from, out);
        self.nothing = nothing;
        flow
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let mut from = from;
        loop {
            let (state, rule, instance) = match self.run_block(block, from, out) {
                (_, Fired::All) => return Flow::Done,
                (_, Fired::Stopped) => return Flow::Stopped,
                (state, Fired::NoRoom { rule, instance }) => {
                    return Flow::Full(Cursor {
                        state,
                        rule,
                        instance,
                        inner: 0,
                    });
                }
                (state, Fired::NoFrames { rule, instance }) => {
                    self.scratch.grow();
                    from = Cursor {
                        state,
                        rule,
                        instance,
                        inner: 0,
                    };
                    continue;
                }
                (state, Fired::Interpret { rule, instance }) => (state, rule, instance),
            };
            self.note_interpreted();
            // The rest of this state, and no further one.
            let only = States::new(block.bytes(), block.state_len(), state as usize + 1);
            let cursor = Cursor {
                state,
                rule,
                instance,
                inner: 0,
            };
            match self.interpreter.expand(only, cursor, out) {
                Flow::Done => {}
                other => return other,
            }
            from = Cursor {
                state: state + 1,
                ..Cursor::default()
            };
        }
    }

    fn expand_at_rest(
        &mut self,
        block: States<'_>,
        range: Range<usize>,
        out: &mut Successors,
        left: &mut FirstSteps,
    ) -> Option<Result<usize, Stopped>> {
        let registers = self.native.facts.at_rest?;
        let extended = self.extend(block, range.clone());
        let (len, end) = (self.runtime.state_len, range.end);
        let mut next = range.start;
        let result = loop {
            let number = next - range.start;
            let sources = States::new(&extended[number * len..], len, end - next);
            let first = out.len();
            let (source, fired) = self.run_at_rest(sources, next, registers, out);
            let written = match fired {
                FiredAtRest::All => break Ok(end),
                FiredAtRest::Stopped => break Err(Stopped),
                _ => out.sources()[source].written as usize,
            };
            let own = out.len() - written..out.len();
            let is_its = match fired {
                FiredAtRest::Other => {
                    take_back(out, source, own);
                    break Ok(source);
                }
                FiredAtRest::SameMarks => are_different(out, own.clone()),
                _ => false,
            };
            if !is_its {
                left.begin((source - range.start) as u32);
                let words = registers.record_words();
                let records = &self.scratch.records()[(own.start - first) * words..];
                for (at, record) in own.clone().zip(records.chunks_exact(words)) {
                    let state = left.push(out.rule(at));
                    let (rest, others) = state.split_at_mut(registers.rest_len);
                    rest.copy_from_slice(out.state(at));
                    others.fill(0);
                    for ((bit, width), value) in registers.parts().zip(&record[1..]) {
                        bits::set(state, bit, width, *value);
                    }
                }
                out.set_len(own.start);
                out.columns().sources[source].written = 0;
            }
            next = source + 1;
        };
        self.extended = extended;
        Some(result)
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        let len = block.state_len();
        let mut first = 0;
        loop {
            let state = match self.check_from(block, first) {
                (_, Status::Done) => return Flow::Done,
                (_, Status::Stopped) => return Flow::Stopped,
                (state, Status::NoFrames) => {
                    self.scratch.grow();
                    first = state;
                    continue;
                }
                (state, Status::Fault) => {
                    self.note_interpreted();
                    state
                }
                (state, _) => state,
            };
            let only = States::new(&block.bytes()[state * len..], len, 1);
            let before = failures.len();
            if self.interpreter.check(only, failures) == Flow::Stopped {
                return Flow::Stopped;
            }
            for failure in &mut failures[before..] {
                failure.state = state as u32;
            }
            first = state + 1;
        }
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        let len = block.state_len();
        let n_words = self.native.facts.goal_words;
        for state in 0..block.len() {
            let row = &mut reached[state * n_words..][..n_words];
            match self.goals_of_state(block, state, row) {
                Status::Done => {}
                Status::Stopped => return Flow::Stopped,
                _ => {
                    self.note_interpreted();
                    row.fill(0);
                    let only = States::new(&block.bytes()[state * len..], len, 1);
                    let before = failures.len();
                    if self.interpreter.reach_goals(only, row, failures) == Flow::Stopped {
                        return Flow::Stopped;
                    }
                    for failure in &mut failures[before..] {
                        failure.state = state as u32;
                    }
                }
            }
        }
        Flow::Done
    }

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        let len = block.state_len();
        values.reserve(block.len() * self.native.entries.measures.len());
        let mut first = 0;
        loop {
            let state = match self.measure_from(block, first, values) {
                (_, Status::Done) => return Ok(Flow::Done),
                (_, Status::Stopped) => return Ok(Flow::Stopped),
                (state, Status::NoFrames) => {
                    self.scratch.grow();
                    first = state;
                    continue;
                }
                (state, _) => state,
            };
            self.note_interpreted();
            let only = States::new(&block.bytes()[state * len..], len, 1);
            match self.interpreter.measure(only, values) {
                Ok(Flow::Done) => {}
                Ok(other) => return Ok(other),
                Err(unmeasured) => {
                    return Err(Unmeasured {
                        state: state as u32,
                        ..unmeasured
                    });
                }
            }
            first = state + 1;
        }
    }
}

impl Generator<'_> {
    fn run_starts(&mut self, nothing: &[u8], from: Cursor, out: &mut Successors) -> Flow {
        let mut from = from;
        loop {
            let (status, cursor) = self.run_starts_from(nothing, from, out);
            match status {
                Status::Done => return Flow::Done,
                Status::Stopped => return Flow::Stopped,
                Status::NoRoom => return Flow::Full(cursor),
                Status::NoFrames => {
                    self.scratch.grow();
                    from = cursor;
                }
                Status::Fault | Status::False => {
                    self.note_interpreted();
                    return self.interpreter.starts(cursor, out);
                }
            }
        }
    }

    /// Runs startstates until something else is to be done; returns what, and where.
    fn run_starts_from(
        &mut self,
        nothing: &[u8],
        from: Cursor,
        out: &mut Successors,
    ) -> (Status, Cursor) {
        let block = States::new(nothing, self.runtime.state_len, 1);
        let mut instance = from.instance;
        let mut ended = (Status::Done, Cursor::default());
        let mut columns = out.columns();
        let sources = std::mem::take(&mut columns.sources);
        let native = self.native;
        let first_cover_point = native.facts.first_cover_point;
        let mut session = self.session(block).writing(columns, first_cover_point);
        let mut site = session.at(0, sources[0].written, false);
        let starts = &native.entries.starts;
        for (number, &entry) in starts.iter().enumerate().skip(from.rule as usize) {
            let status = site.fire(entry, instance, entry.n_values());
            instance = 0;
            if status != Status::Done {
                let cursor = Cursor {
                    rule: number as u32,
                    instance: site.instance(),
                    ..Cursor::default()
                };
                ended = (status, cursor);
                break;
            }
        }
        sources[0].written += site.counts().written;
        let len = session.len();
        out.set_len(len);
        ended
    }

    /// Evaluates the invariants on states from `first` on, up to one where something is wrong.
    fn check_from(&mut self, block: States<'_>, first: usize) -> (usize, Status) {
        let native = self.native;
        let mut session = self.session(block);
        for state in first..block.len() {
            for &entry in &native.entries.invariants {
                match session.run(entry, state, 0, None) {
                    Status::Done => {}
                    other => return (state, other),
                }
            }
        }
        (block.len(), Status::Done)
    }

    /// Evaluates the measures of states from `first` on, up to one where something is wrong, which
    /// gets no values.
    fn measure_from(
        &mut self,
        block: States<'_>,
        first: usize,
        values: &mut Vec<u32>,
    ) -> (usize, Status) {
        let native = self.native;
        let mut session = self.session(block);
        for state in first..block.len() {
            let before = values.len();
            for &entry in &native.entries.measures {
                match session.run(entry, state, 0, None) {
                    Status::Done => values.push(session.measured()),
                    other => {
                        values.truncate(before);
                        return (state, other);
                    }
                }
            }
        }
        (block.len(), Status::Done)
    }

    fn goals_of_state(&mut self, block: States<'_>, state: usize, row: &mut [u64]) -> Status {
        let native = self.native;
        'again: loop {
            let mut session = self.session(block);
            for &entry in &native.entries.goals {
                match session.run(entry, state, 0, Some(row)) {
                    Status::Done => {}
                    Status::NoFrames => {
                        self.scratch.grow();
                        continue 'again;
                    }
                    other => return other,
                }
            }
            return Status::Done;
        }
    }
}
