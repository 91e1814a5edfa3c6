//! A sampled check of what [`order`](crate::order) and the canonical forms guarantee.
//!
//! In some of the states that are expanded anyway, elements are renamed at random and the image is
//! expanded too: the results must be the same up to renaming. If not, there is a bug in the
//! analysis, in the check of loops or in the generator of successors.
//! The report then shows a single exchange of two elements that exhibits it, if one does.
//!
//! The bytes of a state alone decide whether it is checked and by which renaming, so the sample is
//! the same for any number of threads; besides, the states nearest to the startstates are checked
//! before the search begins, so that small models are checked as a whole.
//!
//! Startstates usually need no check: a search visits the orbits of the startstates there are, and
//! if the rules are symmetric, all states of an orbit lead to the same orbits.
//! They are checked where goals concern single elements, which representatives decide only for a
//! set of states that is closed under renamings.
//! Of goals only the number that each property reaches is compared: a renaming may turn the goal of
//! one parameter into that of another.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::ControlFlow;

use hadal_model::{
    Expander, Failure, Fault, Flow, PAD_BYTES, Remark, Shape, Source, States, Stopped, Successors,
    for_each_batch,
};
use rapidhash::v3::rapidhash_v3;

use crate::wrapper::LoopChecker;
use crate::{Canonicaliser, Permutation, Scratch};

/// One of this number of states is checked during a search.
const RATE: u64 = 1 << 10;
/// States checked before a search.
const FIRST_STATES: usize = 64;
/// Renamings tried at each of them.
const FIRST_RENAMINGS: u64 = 3;
/// Successors that may be generated for these; a large model must not wait for its check.
const FIRST_SUCCESSORS: u64 = 50_000;
/// Elements of a scalarset beyond these keep their names in the sample.
const MAX_ELEMENTS: u32 = 4096;
/// Bytes of successors held at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Checks states for one expander.
pub(crate) struct Sampler<'a> {
    shape: &'a Shape,
    canonicaliser: &'a Canonicaliser,
    scratch: Scratch,
    out: Successors,
    block: Vec<u8>,
    failures: Vec<Failure>,
    /// What happens at a state and at its image.
    here: Survey,
    there: Survey,
    finding: Option<Remark>,
    /// Whether something was found; one finding is enough.
    is_over: bool,
}

/// Two elements of a scalarset to be exchanged.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    scalarset: usize,
    a: u32,
    b: u32,
}

/// The model was stopped, or a state has too many successors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unfinished;

/// What happens at a state, up to renaming.
#[derive(Clone, Debug, Default)]
struct Survey {
    rules: Vec<Tally>,
    source: Source,
    /// The properties that fail, sorted.
    failing: Vec<u32>,
    /// By property, the number of its goals that are reached; `None` after a fault, since the
    /// names decide how far the evaluation came before it.
    n_reached: Vec<Option<u32>>,
}

/// What a rule does at a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    n_fired: u64,
    n_successors: u64,
    /// Sum of the hashes of the successors' representatives. Equal bags have equal sums, so a
    /// difference is never a false alarm.
    orbits: u64,
}

impl<'a> Sampler<'a> {
    /// A sampler for states of this shape.
    pub(crate) fn new(shape: &'a Shape, canonicaliser: &'a Canonicaliser) -> Self {
        let capacity = (BUFFER_BYTES / shape.state_len.max(1)).clamp(1, 256);
        Sampler {
            shape,
            canonicaliser,
            scratch: canonicaliser.scratch(),
            out: Successors::new(shape, capacity),
            block: vec![0; shape.state_len + PAD_BYTES],
            failures: Vec::new(),
            here: Survey::default(),
            there: Survey::default(),
            finding: None,
            is_over: canonicaliser.is_trivial(),
        }
    }

    /// Takes the finding, if any.
    pub(crate) fn take_finding(&mut self) -> Option<Remark> {
        self.finding.take()
    }

    /// Checks the states of a block that fall into the sample.
    pub(crate) fn check_block(
        &mut self,
        inner: &mut dyn Expander,
        mut loop_checker: Option<&mut LoopChecker<'_>>,
        block: States<'_>,
    ) {
        if self.is_over {
            return;
        }
        for state in block.iter() {
            let hash = rapidhash_v3(state);
            if !hash.is_multiple_of(RATE) || is_dependent(&mut loop_checker, state) {
                continue;
            }
            if !self.check(inner, state, hash, u64::MAX) {
                return;
            }
        }
    }

    /// Checks that renaming elements of these scalarsets, those that goals have for parameters,
    /// turns startstates into startstates.
    ///
    /// An exchange of the first two elements and a rotation of all of them generate all renamings
    /// of a scalarset, so a startstate is written out twice for each, however many elements there
    /// are. Goals do not depend on the names of other scalarsets.
    pub(crate) fn check_starts(&mut self, inner: &mut dyn Expander, scalarsets: &[bool]) {
        if self.is_over {
            return;
        }
        // Sorted, so that the same startstate is reported every time.
        let mut starts = BTreeSet::new();
        let all = for_each_batch(inner, None, &mut self.out, |_, out| {
            starts.extend(out.states().iter().map(<[u8]>::to_vec));
            ControlFlow::<()>::Continue(())
        });
        if all == Err(Stopped) {
            return;
        }
        let declared = self.canonicaliser.types().scalarsets.iter().enumerate();
        let broken = (declared.zip(scalarsets))
            .filter(|(_, is_parameter)| **is_parameter)
            .find_map(|((scalarset, it), _)| self.asymmetry(&starts, scalarset, it.size));
        let Some(exchange) = broken else { return };
        let message = format!(
            "{} turns a startstate into a state that is none, so what a cover or liveness \
             property requires of single elements cannot be decided",
            exchange.describe(self.canonicaliser.types())
        );
        self.finding = Some(Remark::AsymmetricStarts { message });
        self.is_over = true;
    }

    /// A renaming that turns a startstate into a state that is none, if elements of this scalarset
    /// cannot be renamed at will: an exchange of neighbours, which is easy to understand.
    fn asymmetry(
        &self,
        starts: &BTreeSet<Vec<u8>>,
        scalarset: usize,
        size: u32,
    ) -> Option<Permutation> {
        let image = |state: &[u8], renaming: &Permutation| {
            let image = self.canonicaliser.apply(state, renaming);
            starts.contains(&image).then_some(image)
        };
        let first_broken = |renaming: &Permutation| {
            let mut starts = starts.iter();
            starts.find(|state| image(state, renaming).is_none())
        };
        if size < 2 {
            return None;
        }
        let exchange = self.renaming_of(scalarset, vec![1, 0]);
        if first_broken(&exchange).is_some() {
            return Some(exchange);
        }
        // The first element becomes the last, and every other one the one before it.
        let rotated = (0..size).map(|element| element.checked_sub(1).unwrap_or(size - 1));
        let rotation = self.renaming_of(scalarset, rotated.collect());
        let mut state = first_broken(&rotation)?.clone();
        // Exchanges of the first element with one neighbour after the other make the rotation, so
        // one of them leads from a startstate to none.
        for b in 1..size {
            let mut images: Vec<u32> = (0..=b).collect();
            images.swap(b as usize - 1, b as usize);
            let exchange = self.renaming_of(scalarset, images);
            match image(&state, &exchange) {
                Some(image) => state = image,
                None => return Some(exchange),
            }
        }
        Some(rotation)
    }

    /// A renaming of the elements of one scalarset.
    fn renaming_of(&self, scalarset: usize, images: Vec<u32>) -> Permutation {
        let mut all = vec![Vec::new(); self.canonicaliser.types().scalarsets.len()];
        all[scalarset] = images;
        Permutation::new(all).expect("elements change places")
    }

    /// Checks the states nearest to the startstates, in the order of a search.
    pub(crate) fn check_first(
        &mut self,
        inner: &mut dyn Expander,
        mut loop_checker: Option<&mut LoopChecker<'_>>,
    ) {
        if self.is_over {
            return;
        }
        let mut known = HashSet::new();
        let mut queue = VecDeque::new();
        let (canonicaliser, scratch) = (self.canonicaliser, &mut self.scratch);
        let enough = for_each_batch(inner, None, &mut self.out, |_, out| {
            canonicalise_all(canonicaliser, scratch, out);
            for state in out.states().iter() {
                if known.len() < FIRST_STATES && known.insert(state.to_vec()) {
                    queue.push_back(state.to_vec());
                }
            }
            match known.len() < FIRST_STATES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if enough == Err(Stopped) {
            return;
        }
        let mut left = FIRST_SUCCESSORS;
        while let Some(state) = queue.pop_front() {
            // Where order matters the search ends.
            if is_dependent(&mut loop_checker, &state) {
                continue;
            }
            let hash = rapidhash_v3(&state);
            for round in 0..FIRST_RENAMINGS {
                let seed = hash.wrapping_add(round);
                if !self.check(inner, &state, seed, left) {
                    return;
                }
            }
            let Ok(n) = self.survey(inner, &state, left, false, &mut |successor| {
                if known.len() < FIRST_STATES && known.insert(successor.to_vec()) {
                    queue.push_back(successor.to_vec());
                }
            }) else {
                return;
            };
            // Each renaming took an expansion of the state and one of its image.
            left = left.saturating_sub(n.saturating_mul(1 + 2 * FIRST_RENAMINGS));
        }
    }

    /// Compares a state with an image of it. Returns whether to continue.
    fn check(&mut self, inner: &mut dyn Expander, state: &[u8], seed: u64, limit: u64) -> bool {
        let Some((exchanges, image)) = self.choose_renaming(state, seed) else {
            return true;
        };
        match self.compare(inner, state, &image, limit) {
            Err(Unfinished) => return false,
            Ok(None) => return true,
            Ok(Some((rule, difference))) => {
                let message = format!("renaming elements changes what happens: {difference}");
                self.finding = Some(Remark::BrokenSymmetry { rule, message });
                self.is_over = true;
            }
        }
        // One of the exchanges in the sequence must make a difference, and is easier to understand.
        let mut before = state.to_vec();
        for exchange in exchanges {
            let exchange = self.renaming([exchange]);
            let after = self.canonicaliser.apply(&before, &exchange);
            if let Ok(Some((rule, difference))) = self.compare(inner, &before, &after, limit) {
                let words = exchange.describe(self.canonicaliser.types());
                let message = format!("{words} changes what happens: {difference}");
                self.finding = Some(Remark::BrokenSymmetry { rule, message });
                break;
            }
            before = after;
        }
        false
    }

    /// What differs between two states: the rule or property, and how, as text.
    fn compare(
        &mut self,
        inner: &mut dyn Expander,
        before: &[u8],
        after: &[u8],
        limit: u64,
    ) -> Result<Option<(String, String)>, Unfinished> {
        self.survey(inner, before, limit, false, &mut |_| {})?;
        self.survey(inner, after, limit, true, &mut |_| {})?;
        Ok(self.difference())
    }

    /// A random renaming that changes the state, as a sequence of exchanges, and the image of
    /// the state.
    fn choose_renaming(&self, state: &[u8], seed: u64) -> Option<(Vec<Exchange>, Vec<u8>)> {
        let mut random = seed;
        let mut below = |n: u32| {
            // A step of splitmix64.
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = random;
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((word ^ word >> 31) % u64::from(n)) as u32
        };
        // Where elements are alike, a renaming may change nothing; then another one may.
        for _ in 0..4 {
            let mut exchanges = Vec::new();
            let scalarsets = &self.canonicaliser.types().scalarsets;
            for (scalarset, declared) in scalarsets.iter().enumerate() {
                for a in 1..declared.size.min(MAX_ELEMENTS) {
                    let b = below(a + 1);
                    if a != b {
                        exchanges.push(Exchange { scalarset, a, b });
                    }
                }
            }
            let renaming = self.renaming(exchanges.iter().copied());
            let image = self.canonicaliser.apply(state, &renaming);
            if image != state {
                return Some((exchanges, image));
            }
        }
        None
    }

    /// The product of several exchanges.
    fn renaming(&self, exchanges: impl IntoIterator<Item = Exchange>) -> Permutation {
        let scalarsets = &self.canonicaliser.types().scalarsets;
        // By name, the element that has it so far.
        let elements = scalarsets
            .iter()
            .map(|it| (0..it.size.min(MAX_ELEMENTS)).collect());
        let mut elements: Vec<Vec<u32>> = elements.collect();
        for Exchange { scalarset, a, b } in exchanges {
            elements[scalarset].swap(a as usize, b as usize);
        }
        let mut images = elements.clone();
        for (images, elements) in images.iter_mut().zip(&elements) {
            for (image, &element) in elements.iter().enumerate() {
                images[element as usize] = image as u32;
            }
        }
        Permutation::new(images).expect("exchanges make a permutation")
    }

    /// Finds what happens at a state; returns the number of successors, which must not be above
    /// `limit`.
    fn survey(
        &mut self,
        inner: &mut dyn Expander,
        state: &[u8],
        limit: u64,
        is_image: bool,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, Unfinished> {
        let state_len = self.shape.state_len;
        self.block[..state_len].copy_from_slice(state);
        let mut rules = std::mem::take(match is_image {
            true => &mut self.there.rules,
            false => &mut self.here.rules,
        });
        rules.clear();
        rules.resize(self.shape.rules.len(), Tally::default());
        let mut n = 0;
        let block = States::new(&self.block, state_len, 1);
        let (canonicaliser, scratch) = (self.canonicaliser, &mut self.scratch);
        let ended = for_each_batch(inner, Some(block), &mut self.out, |_, out| {
            // A state that ends within its buffer is taken as it is.
            if n > limit {
                return ControlFlow::Break(Unfinished);
            }
            canonicalise_all(canonicaliser, scratch, out);
            for position in 0..out.len() {
                let successor = out.state(position);
                visit(successor);
                let tally = &mut rules[out.rule(position) as usize];
                tally.n_successors += 1;
                tally.orbits = tally.orbits.wrapping_add(rapidhash_v3(successor));
            }
            n += out.len() as u64;
            ControlFlow::Continue(())
        });
        if ended != Ok(ControlFlow::Continue(())) {
            return Err(Unfinished);
        }
        for (tally, &n_fired) in rules.iter_mut().zip(self.out.fired_by_rule()) {
            tally.n_fired = n_fired;
        }
        self.failures.clear();
        if inner.check(block, &mut self.failures) != Flow::Done {
            return Err(Unfinished);
        }
        let mut reached = vec![0; self.shape.goal_words()];
        if !reached.is_empty()
            && inner.reach_goals(block, &mut reached, &mut self.failures) != Flow::Done
        {
            return Err(Unfinished);
        }
        let survey = match is_image {
            true => &mut self.there,
            false => &mut self.here,
        };
        survey.rules = rules;
        survey.source = self.out.sources()[0].clone();
        survey.failing.clear();
        let failing = self.failures.iter().map(|failure| failure.property);
        survey.failing.extend(failing);
        survey.failing.sort_unstable();
        survey.failing.dedup();
        survey.n_reached.clear();
        let n_properties = self.shape.properties.len();
        survey.n_reached.resize(n_properties, Some(0));
        for (number, goal) in self.shape.goals.iter().enumerate() {
            let is_reached = reached[number / 64] >> (number % 64) & 1;
            if let Some(n) = &mut survey.n_reached[goal.property as usize] {
                *n += is_reached as u32;
            }
        }
        for &property in &survey.failing {
            if let Some(n) = survey.n_reached.get_mut(property as usize) {
                *n = None;
            }
        }
        Ok(n)
    }

    /// The first difference between the state and its image: rule or property, and how, as text.
    fn difference(&self) -> Option<(String, String)> {
        let (here, there) = (&self.here, &self.there);
        // Which of several faults of an instance comes first may depend on names, and so its kind;
        // whether a rule fails does not.
        let sides = [
            (here, there, "before but not after the exchange"),
            (there, here, "after the exchange but not before"),
        ];
        for (side, other, when) in sides {
            let fails_here_only = |fault: &&Fault| {
                let mut others = other.source.faults.iter();
                !others.any(|it| it.name == fault.name)
            };
            if let Some(fault) = side.source.faults.iter().find(fails_here_only) {
                let text = format!("\"{}\" fails {when} ({})", fault.name, fault.message);
                return Some((fault.name.clone(), text));
            }
        }
        for (rule, (a, b)) in self
            .shape
            .rules
            .iter()
            .zip(here.rules.iter().zip(&there.rules))
        {
            let name = &rule.name;
            let text = if a == b {
                continue;
            } else if a.n_fired != b.n_fired {
                format!(
                    "rule \"{name}\" fires {} before the exchange and {} after it",
                    times(a.n_fired),
                    times(b.n_fired)
                )
            } else if a.n_successors != b.n_successors {
                format!(
                    "rule \"{name}\" has {} before the exchange and {} after it",
                    count(a.n_successors, "successor"),
                    count(b.n_successors, "successor")
                )
            } else {
                format!("rule \"{name}\" leads to states that are not renamings of each other")
            };
            return Some((name.clone(), text));
        }
        let (a, b) = (&here.source, &there.source);
        if a.enabled != b.enabled {
            let text = format!(
                "{} enabled before the exchange and {} after it",
                count(a.enabled.into(), "rule instance"),
                b.enabled
            );
            return Some(("guards".to_owned(), text));
        }
        if a.progress != b.progress {
            let text = "only one of the two states can be left".to_owned();
            return Some(("deadlock".to_owned(), text));
        }
        let mut properties = self.shape.properties.iter();
        let mut n_reached = here.n_reached.iter().zip(&there.n_reached);
        let differs = |(a, b): (&Option<u32>, &Option<u32>)| a.zip(*b).is_some_and(|(a, b)| a != b);
        if let Some(property) = n_reached
            .position(differs)
            .and_then(|property| properties.nth(property))
        {
            let name = &property.name;
            let text = format!("\"{name}\" is true of more elements on one side of the exchange");
            return Some((name.clone(), text));
        }
        let only_here = |property: &&u32| !there.failing.contains(property);
        let only_there = |property: &&u32| !here.failing.contains(property);
        let broken = here.failing.iter().find(only_here);
        let property = *broken.or_else(|| there.failing.iter().find(only_there))?;
        let name = match self.shape.properties.get(property as usize) {
            Some(property) => property.name.clone(),
            None => format!("property {property}"),
        };
        let text = match broken.is_some() {
            true => format!("\"{name}\" fails before but not after the exchange"),
            false => format!("\"{name}\" fails after the exchange but not before"),
        };
        Some((name, text))
    }
}

/// Whether a state is known to distinguish elements, which is reported otherwise.
fn is_dependent(loop_checker: &mut Option<&mut LoopChecker<'_>>, state: &[u8]) -> bool {
    (loop_checker.as_mut()).is_some_and(|loop_checker| loop_checker.is_dependent(state))
}

/// Replaces the successors held by their representatives.
fn canonicalise_all(
    canonicaliser: &Canonicaliser,
    scratch: &mut Scratch,
    successors: &mut Successors,
) {
    // A state without bits has one orbit, and no chunks to walk over.
    let state_len = successors.states().state_len().max(1);
    for state in successors.states_mut().chunks_exact_mut(state_len) {
        canonicaliser.canonicalise(state, scratch);
    }
}

fn times(n: u64) -> String {
    match n {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

fn count(n: u64, what: &str) -> String {
    match n {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
