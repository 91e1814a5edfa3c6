//! Which rules are worth a call at a state, and with which values of their first parameters: fields
//! that many guards test are tested once.
//!
//! A protocol has a rule for each value of a program counter or of a message's kind, and at a state
//! few of them can be enabled; of its processes, few are where a rule begins. A *trial* is a rule
//! or, where guards test a field of the element that the first parameter names, a rule with one
//! value of that parameter. A *selector* is a field, or several where it is not known which one is
//! meant, and for each of its values the trials that it does not rule out
//! ([`test`](crate::analysis::test)). Together they leave the trials for which native code is
//! called, in their order.

use std::collections::HashMap;
use std::ops::Range;

use crate::analysis::test::{Test, Tests, tests};
use crate::unit::{Unit, domain_len};

/// The trials of a program and its selectors.
#[derive(Debug)]
pub(crate) struct Selectors {
    /// In the order of firing. Those of a priority begin at a multiple of 64, behind some that
    /// stand for nothing.
    trials: Vec<Trial>,
    /// By rule, in the order of firing.
    rules: Vec<RuleTrials>,
    /// Words of trials, by priority.
    priorities: Vec<Range<usize>>,
    /// A bit for each trial.
    all: Vec<u64>,
    /// Selectors of single fields.
    windows: Vec<Window>,
    /// Those of several.
    selectors: Vec<Selector>,
    fields: Vec<Field>,
    /// Rows of words, for windows: all of one length.
    rows: Vec<u64>,
    /// Rows of words, for selectors.
    tables: Vec<u64>,
}

/// Selectors of single fields that lie close together, as one of all their bits.
#[derive(Debug)]
struct Window {
    field: Field,
    mask: u32,
    /// The first word that it restricts: all of them, where there are few, else [`CHUNK`].
    first_word: usize,
    /// Number of its first row; there is one for each value.
    first_row: usize,
}

/// A rule, or a part of its instances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// The rule's position in the order of firing.
    pub(crate) rule: u32,
    /// Number of trials of the rule from this one on.
    pub(crate) n_left: u32,
    /// The first instance.
    pub(crate) first: u64,
    /// Where the first parameter ends, as a position in its domain.
    pub(crate) end: u64,
}

#[derive(Clone, Copy, Debug)]
struct RuleTrials {
    first: usize,
    n: usize,
    /// Instances of one value of the first parameter.
    n_instances: u64,
}

#[derive(Debug)]
struct Selector {
    fields: Range<usize>,
    mask: u32,
    /// The words that it restricts.
    words: Range<usize>,
    /// Where the row of trials begins that do not read the fields, followed by a row for each
    /// value: the trials that it does not rule out.
    table: usize,
}

/// A field of a few bits: its first byte, and how far to shift down the word from there.
#[derive(Clone, Copy, Debug)]
struct Field {
    byte: u32,
    down: u32,
}

/// A trial of a rule that is not enabled costs about as much as testing this number of fields.
const FIELDS_FOR_A_TRIAL: f64 = 4.0;
/// Words that are restricted in about the time that it takes to read a field.
const WORDS_FOR_A_FIELD: f64 = 4.0;
/// More than enough; the search for the next one takes time in proportion to the program.
const MAX_SELECTORS: usize = 128;
/// Trials of one rule at most, else all its instances are one.
const MAX_VALUES: usize = 64;
/// Trials beyond one for each rule.
const MAX_TRIALS: usize = 1024;
/// Words of a table at most.
const MAX_TABLE: usize = 1 << 16;
/// Bits of a window, unless it is a single field.
const WINDOW_BITS: usize = 9;
/// Words of trials that are held in registers while they are restricted.
const FEW_WORDS: usize = 4;
/// Words that a window restricts where there are more.
const CHUNK: usize = 2;
/// The least probability that a trial is left. Fields depend on each other: processes are mostly
/// where they wait for a message, and there its kind is worth a test.
const LEAST_LEFT: f64 = 0.125;
/// An odd number with its bits spread.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The tests of several trials that read the same fields.
#[derive(Debug)]
struct Group<'t> {
    first_bits: &'t [usize],
    n_bits: u32,
    /// Trials, each with its test.
    trials: Vec<(usize, &'t Test)>,
    /// By trial, the probability that it is ruled out.
    outs: Vec<f64>,
}

impl Group<'_> {
    /// Number of field tests that this group saves, where `left` is the probability that a trial
    /// has not been ruled out yet.
    fn gain(&self, left: &[f64]) -> f64 {
        let outs = self.trials.iter().zip(&self.outs);
        let spared: f64 = outs.map(|((trial, _), out)| left[*trial] * out).sum();
        let cost = 1.0 + (self.words().len() - 1) as f64 / WORDS_FOR_A_FIELD;
        spared * FIELDS_FOR_A_TRIAL - self.first_bits.len() as f64 * cost
    }

    /// Estimates the probabilities. Values that no test distinguishes count as one: of a counter
    /// of 16 bits that is compared with 0, the other values are no more frequent than 0.
    fn estimate(&mut self) {
        let mut classes = vec![0u64; 1 << self.n_bits];
        let mut last: Option<&Test> = None;
        for &(_, test) in &self.trials {
            if last.is_some_and(|last| last.leaves == test.leaves) {
                continue;
            }
            last = Some(test);
            for (class, &leaves) in classes.iter_mut().zip(&test.leaves) {
                *class = (*class ^ u64::from(leaves))
                    .wrapping_mul(MIX)
                    .rotate_left(29);
            }
        }
        let mut firsts: HashMap<u64, usize> = HashMap::new();
        for (raw, class) in classes.into_iter().enumerate() {
            firsts.entry(class).or_insert(raw);
        }
        let firsts: Vec<usize> = firsts.into_values().collect();
        let outs = self.trials.iter().map(|(_, test)| {
            let n_out = firsts.iter().filter(|raw| !test.leaves[**raw]).count();
            let out = n_out as f64 / firsts.len() as f64;
            out.powi(self.first_bits.len() as i32)
        });
        self.outs = outs.collect();
    }

    fn words(&self) -> Range<usize> {
        let trials = self.trials.iter().map(|(trial, _)| trial / 64);
        let (first, last) = (trials.clone().min(), trials.max());
        first.unwrap_or(0)..last.map_or(0, |last| last + 1)
    }

    fn table_len(&self) -> usize {
        self.words().len() * ((1 << self.n_bits) + 1)
    }
}

/// The selectors of a program in the making.
#[derive(Debug, Default)]
struct Builder {
    trials: Vec<Trial>,
    rules: Vec<RuleTrials>,
    priorities: Vec<Range<usize>>,
    /// By rule, then by trial.
    tests: Vec<Vec<Vec<Test>>>,
}

impl Builder {
    /// Adds the trials of the next rule in the order of firing.
    fn add_rule(&mut self, unit: &Unit<'_>, rule: usize) {
        let params = &unit.program.rules[rule].params;
        let mut lens = params
            .iter()
            .map(|param| domain_len(unit.program, &param.domain));
        let n_values = lens.next().unwrap_or(1);
        let n_instances = lens.fold(1, u64::saturating_mul);
        let max_values = match self.trials.len() {
            0..MAX_TRIALS => MAX_VALUES,
            _ => 1,
        };
        let tests = match tests(unit, rule, max_values) {
            Tests::All(tests) => vec![tests],
            Tests::ByValue(tests) => tests,
        };
        let n = tests.len();
        self.tests.push(tests);
        let first = self.trials.len();
        let position = self.rules.len() as u32;
        self.rules.push(RuleTrials {
            first,
            n,
            n_instances,
        });
        for value in 0..n as u64 {
            self.trials.push(Trial {
                rule: position,
                n_left: n as u32 - value as u32,
                first: value * n_instances,
                end: if n == 1 { n_values.max(1) } else { value + 1 },
            });
        }
    }

    /// Ends the trials of a priority.
    fn end_priority(&mut self) {
        let first = self.priorities.last().map_or(0, |words| words.end);
        let end = self.trials.len().div_ceil(64);
        let nothing = Trial {
            rule: 0,
            n_left: 0,
            first: 0,
            end: 0,
        };
        self.trials.resize(end * 64, nothing);
        self.priorities.push(first..end);
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut numbers = HashMap::new();
        for (rule, by_trial) in self.rules.iter().zip(&self.tests) {
            let tests = by_trial.iter().enumerate();
            for (value, test) in
                tests.flat_map(|(value, tests)| tests.iter().map(move |test| (value, test)))
            {
                let first_bits = &test.first_bits[..];
                let number = *numbers
                    .entry((first_bits, test.n_bits))
                    .or_insert(groups.len());
                if number == groups.len() {
                    groups.push(Group {
                        first_bits,
                        n_bits: test.n_bits,
                        trials: Vec::new(),
                        outs: Vec::new(),
                    });
                }
                // Two tests of one trial may mean different elements, as
                // `pc[i] = in & pc[j] = out` does, so each would have to be met by a field of its
                // own. The first one is enough.
                let trial = rule.first + value;
                let trials = &mut groups[number].trials;
                if trials.last().is_none_or(|(last, _)| *last != trial) {
                    trials.push((trial, test));
                }
            }
        }
        groups.retain(|group| group.table_len() <= MAX_TABLE);
        groups.iter_mut().for_each(Group::estimate);
        groups
    }
}

impl Selectors {
    /// Finds the selectors; `order` are the rules in the order of firing.
    pub(crate) fn of(unit: &Unit<'_>, order: &[usize]) -> Self {
        let priority = |rule: usize| unit.program.rules[rule].priority;
        let mut builder = Builder::default();
        for (position, &rule) in order.iter().enumerate() {
            builder.add_rule(unit, rule);
            let next = order.get(position + 1);
            if next.is_none_or(|&next| priority(next) != priority(rule)) {
                builder.end_priority();
            }
        }
        let mut groups = builder.groups();
        let mut all = vec![0; builder.trials.len() / 64];
        for (number, _) in builder
            .trials
            .iter()
            .enumerate()
            .filter(|(_, it)| it.n_left > 0)
        {
            all[number / 64] |= 1 << (number % 64);
        }
        let mut found = Selectors {
            all,
            trials: builder.trials.clone(),
            rules: builder.rules.clone(),
            priorities: builder.priorities.clone(),
            windows: Vec::new(),
            selectors: Vec::new(),
            fields: Vec::new(),
            rows: Vec::new(),
            tables: Vec::new(),
        };
        let mut left = vec![1.0; found.trials.len()];
        let mut single = Vec::new();
        while found.selectors.len() + single.len() < MAX_SELECTORS {
            let gains = groups.iter().map(|group| group.gain(&left)).enumerate();
            let Some((best, gain)) = gains.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                break;
            };
            if gain <= 0.0 {
                break;
            }
            let group = groups.swap_remove(best);
            for ((trial, _), out) in group.trials.iter().zip(&group.outs) {
                left[*trial] = (left[*trial] * (1.0 - out)).max(LEAST_LEFT);
            }
            match group.first_bits.len() {
                1 => single.push(group),
                _ => found.add_selector(&group),
            }
        }
        single.sort_by_key(|group| (group.first_bits[0], group.n_bits));
        let mut rest = &single[..];
        while let [group, ..] = rest {
            let end = group.first_bits[0] + WINDOW_BITS;
            let fits = |group: &&Group<'_>| group.first_bits[0] + group.n_bits as usize <= end;
            let n = rest.iter().take_while(fits).count().max(1);
            found.add_window(&rest[..n]);
            rest = &rest[n..];
        }
        found
    }

    /// Adds a selector of the bits from the first field of these groups to the last.
    fn add_window(&mut self, groups: &[Group<'_>]) {
        let starts = groups.iter().map(|group| group.words().start);
        let ends = groups.iter().map(|group| group.words().end);
        let end = ends.max().unwrap_or(0);
        let n_words = self.all.len();
        if n_words <= FEW_WORDS {
            return self.add_chunk(groups, 0..n_words);
        }
        let mut first = starts.min().unwrap_or(0);
        while first < end {
            let start = first.min(n_words - CHUNK);
            self.add_chunk(groups, start..start + CHUNK);
            first += CHUNK;
        }
    }

    /// Adds the window of these groups for some of the words.
    fn add_chunk(&mut self, groups: &[Group<'_>], words: Range<usize>) {
        let first = groups[0].first_bits[0];
        let ends = groups
            .iter()
            .map(|group| group.first_bits[0] + group.n_bits as usize);
        let n_bits = ends.max().unwrap_or(first) - first;
        let (n_words, begin) = (words.len(), self.rows.len());
        self.rows.resize(begin + (n_words << n_bits), u64::MAX);
        let rows = &mut self.rows[begin..];
        let mut is_used = false;
        for group in groups {
            let below = first + n_bits - group.first_bits[0] - group.n_bits as usize;
            for (trial, test) in &group.trials {
                if !words.contains(&(trial / 64)) {
                    continue;
                }
                is_used = true;
                let (word, bit) = (trial / 64 - words.start, 1u64 << (trial % 64));
                for raw in 0..1usize << n_bits {
                    let value = raw >> below & ((1 << group.n_bits) - 1);
                    if !test.leaves[value] {
                        rows[raw * n_words + word] &= !bit;
                    }
                }
            }
        }
        if !is_used {
            self.rows.truncate(begin);
            return;
        }
        self.windows.push(Window {
            field: Field::new(first, n_bits as u32),
            mask: (1 << n_bits) - 1,
            first_word: words.start,
            first_row: begin / n_words,
        });
    }

    fn add_selector(&mut self, group: &Group<'_>) {
        let n_bits = group.n_bits;
        let first_field = self.fields.len();
        let fields = group.first_bits.iter();
        self.fields
            .extend(fields.map(|&first| Field::new(first, n_bits)));
        let words = group.words();
        let n_words = words.len();
        let table = self.tables.len();
        self.tables.resize(table + group.table_len(), u64::MAX);
        let rows = &mut self.tables[table..];
        for (trial, test) in &group.trials {
            let (word, bit) = (trial / 64 - words.start, 1u64 << (trial % 64));
            rows[word] &= !bit;
            for raw in (0..1usize << n_bits).filter(|raw| !test.leaves[*raw]) {
                rows[(raw + 1) * n_words + word] &= !bit;
            }
        }
        self.selectors.push(Selector {
            fields: first_field..self.fields.len(),
            mask: (1 << n_bits) - 1,
            words,
            table,
        });
    }

    /// The trials, in the order of firing.
    pub(crate) fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// A bit for each trial.
    pub(crate) fn all(&self) -> &[u64] {
        &self.all
    }

    /// The words of the trials of each priority, in the order of firing.
    pub(crate) fn priorities(&self) -> &[Range<usize>] {
        &self.priorities
    }

    /// The trial that an instance of a rule belongs to; one behind the last if there is none.
    pub(crate) fn trial_of(&self, rule: usize, instance: u64) -> usize {
        let Some(trials) = self.rules.get(rule) else {
            return self.trials.len();
        };
        let value = match trials.n {
            1 => 0,
            n => (instance / trials.n_instances).min(n as u64 - 1),
        };
        trials.first + value as usize
    }

    /// Sets `worth` to a bit for each trial of which an instance may be enabled or fault at
    /// the state that `state` begins with, which has padding behind it.
    #[inline]
    pub(crate) fn select(&self, state: &[u8], worth: &mut [u64]) {
        match worth.len() {
            1 => self.select_few::<1>(state, worth),
            2 => self.select_few::<2>(state, worth),
            3 => self.select_few::<3>(state, worth),
            FEW_WORDS => self.select_few::<FEW_WORDS>(state, worth),
            _ => {
                worth.copy_from_slice(&self.all);
                let rows = self.rows.as_chunks::<CHUNK>().0;
                for window in &self.windows {
                    let row = rows[window.first_row + window.field.raw(window.mask, state)];
                    let worth = &mut worth[window.first_word..][..CHUNK];
                    worth[0] &= row[0];
                    worth[1] &= row[1];
                }
            }
        }
        for selector in &self.selectors {
            self.restrict(selector, state, worth);
        }
    }

    /// Sets `worth` to what windows leave. Positions in place of iterators that are zipped: this
    /// runs for every state, and they are cheap only where everything is inlined.
    #[inline]
    fn select_few<const W: usize>(&self, state: &[u8], worth: &mut [u64]) {
        let all = self.all.first_chunk::<W>();
        let mut left = *all.expect("there are as many words");
        let rows = self.rows.as_chunks::<W>().0;
        for window in &self.windows {
            let row = &rows[window.first_row + window.field.raw(window.mask, state)];
            for word in 0..W {
                left[word] &= row[word];
            }
        }
        *worth.first_chunk_mut().expect("there are as many words") = left;
    }

    /// Removes trials before one. Whether that one is left.
    pub(crate) fn skip_to(trial: usize, worth: &mut [u64]) -> bool {
        let (word, bit) = (trial / 64, trial % 64);
        let n_skipped = word.min(worth.len());
        worth[..n_skipped].fill(0);
        let Some(worth) = worth.get_mut(word) else {
            return false;
        };
        *worth = *worth >> bit << bit;
        *worth >> bit & 1 == 1
    }

    /// Removes the trials that all of the fields of a selector rule out.
    fn restrict(&self, selector: &Selector, state: &[u8], worth: &mut [u64]) {
        let n_words = selector.words.len();
        let fields = &self.fields[selector.fields.clone()];
        for (word, worth) in worth[selector.words.clone()].iter_mut().enumerate() {
            let rows = fields.iter().map(|field| {
                let row = field.raw(selector.mask, state) + 1;
                self.tables[selector.table + row * n_words + word]
            });
            let others = self.tables[selector.table + word];
            *worth &= rows.fold(others, |left, row| left | row);
        }
    }
}

impl Field {
    fn new(first_bit: usize, n_bits: u32) -> Self {
        Field {
            byte: (first_bit / 8) as u32,
            down: 32 - (first_bit % 8) as u32 - n_bits,
        }
    }

    /// What is stored in the field.
    #[inline]
    fn raw(self, mask: u32, state: &[u8]) -> usize {
        let bytes = state[self.byte as usize..].first_chunk();
        let word = u32::from_be_bytes(*bytes.expect("states are padded"));
        (word >> self.down & mask) as usize
    }
}

#[cfg(test)]
pub(crate) mod random;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;

    use hadal_ir::interp::{Interpreter, Limits};
    use hadal_ir::program::LocalKind;

    use super::Selectors;
    use super::random::{Seen, check, compile};
    use crate::unit::Unit;

    /// The rules and first instances of the trials that are left where `pc` has these values as
    /// they are stored.
    fn trials_left(rules: &str, pc: [u8; 2]) -> Vec<(u32, u64)> {
        let text = format!(
            "type p: 0..1; var pc: array [p] of 0..14; x: 0..3; y: 0..3;
             startstate pc[0] := 0; pc[1] := 0; x := 0; end; {rules}
             rule y = 0 ==> pc[0] := 7; pc[1] := 7; x := 3; y := 3; end;"
        );
        let program = compile(&text);
        let order: Vec<usize> = (0..program.rules.len() - 1).collect();
        let interpreter = Interpreter::new(program, Limits::default());
        let frame_bytes: Vec<AtomicU64> = Vec::new();
        let images = Mutex::new(Vec::new());
        let unit = Unit::new(&interpreter, &frame_bytes, &images);
        let selectors = Selectors::of(&unit, &order);
        let mut state = vec![0; 32];
        state[0] = pc[0] << 4 | pc[1];
        let mut worth = [0];
        selectors.select(&state, &mut worth);
        let trials = selectors.trials().iter().enumerate();
        trials
            .filter(|(number, _)| worth[0] >> number & 1 == 1)
            .map(|(_, trial)| (trial.rule, trial.first))
            .collect()
    }

    /// The rules, as a bit each, that have a trial left.
    fn left(rules: &str, pc: [u8; 2]) -> u64 {
        let trials = trials_left(rules, pc).into_iter();
        trials.fold(0, |rules, (rule, _)| rules | 1 << rule)
    }

    const STEPS: &str = "ruleset i: p do
         rule pc[i] = 0 ==> pc[i] := 1; end;
         rule x < 3 & pc[i] = 1 ==> pc[i] := 2; end;
         rule !(pc[i] < 2) ==> pc[i] := 0; end;
         rule x < 3 ==> x := x + 1; end; end;";

    #[test]
    fn rules_are_left_for_the_values_there_are() {
        assert_eq!(left(STEPS, [1, 1]), 0b1001);
        assert_eq!(left(STEPS, [1, 2]), 0b1011);
        assert_eq!(left(STEPS, [3, 9]), 0b1100);
    }

    #[test]
    fn values_of_the_first_parameter_are_left_by_their_own_elements() {
        assert_eq!(trials_left(STEPS, [1, 1]), [(0, 0), (0, 1), (3, 0)]);
        assert_eq!(trials_left(STEPS, [1, 2]), [(0, 0), (1, 1), (3, 0)]);
        assert_eq!(trials_left(STEPS, [2, 3]), [(1, 0), (2, 1), (3, 0)]);
    }

    #[test]
    fn elements_may_differ_within_a_guard() {
        let rules = "ruleset i: p; j: p do
             rule pc[i] = 0 & pc[j] = 1 ==> pc[i] := 1; end;
             rule pc[i] = 1 & pc[j] = 3 ==> pc[i] := 2; end;
             rule pc[i] = 4 & pc[j] = 1 ==> pc[i] := 2; end; end;";
        assert_eq!(trials_left(rules, [1, 2]), [(0, 0)]);
        assert_eq!(trials_left(rules, [4, 2]), [(1, 2)]);
    }

    /// A trial of `i` tries all `j`.
    #[test]
    fn only_the_first_parameter_decides() {
        let rules = "ruleset i: p; j: p do
             rule pc[j] = 0 ==> pc[i] := 1; end;
             rule pc[j] = 1 ==> pc[i] := 2; end;
             rule pc[j] = 2 ==> pc[i] := 3; end; end;";
        assert_eq!(trials_left(rules, [1, 2]), [(0, 0), (1, 0)]);
    }

    /// A reference may count elements from elsewhere than what it is bound to.
    #[test]
    fn elements_are_counted_as_the_type_of_a_reference_says() {
        let mut program = compile(
            "type p: 1..2; q: 0..1; var other: array [q] of 0..14;
             pc: array [q] of array [p] of 0..14;
             startstate clear other; clear pc; pc[0][1] := 5; pc[1][1] := 5; end;
             ruleset n: q; i := 1 to 1 do alias all: pc[n] do
               rule all[i] = 0 ==> other[0] := 1; end; end; end;",
        );
        let other = program.vars[0].ty;
        let mut locals = program.rules[0].frame.locals.iter_mut();
        let alias = locals
            .find(|local| !matches!(local.kind, LocalKind::Value(_)))
            .expect("the alias is a reference");
        alias.kind = LocalKind::ConstRef(other);
        assert_eq!(hadal_ir::verify::verify(&program), Ok(()));
        let mut seen = Seen::default();
        assert_eq!(check(program, &mut seen), Ok(()));
        assert_eq!((seen.n_states, seen.n_enabled), (2, 4));
    }

    #[test]
    fn undefined_rules_nothing_out() {
        assert_eq!(left(STEPS, [0, 1]), 0b1111);
    }

    #[test]
    fn what_stands_behind_a_possible_fault_rules_nothing_out() {
        let rules = "ruleset i: p do
             rule y = 1 & pc[i] = 1 ==> pc[i] := 2; end;
             rule pc[i] = 1 ==> pc[i] := 2; end;
             rule pc[i] = 2 ==> pc[i] := 3; end; end;";
        assert_eq!(left(rules, [5, 6]), 0b001);
    }
}
