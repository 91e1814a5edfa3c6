//! Which rules are worth a call at a state: fields that many guards test are tested once.
//!
//! A protocol has a rule for each value of a program counter or of a message's kind, and at a state
//! few of them can be enabled. A *selector* is a field, or the same field of several elements, and
//! for each of its values the rules that it does not rule out ([`test`](crate::analysis::test)).
//! Together they leave the rules whose native code is called, in their order.

use std::collections::HashMap;

use crate::analysis::test::tests;
use crate::unit::Unit;

/// The selectors of a program.
#[derive(Debug)]
pub(crate) struct Selectors {
    /// A bit for each rule, by its position in the order of firing.
    all: Vec<u64>,
    selectors: Vec<Selector>,
}

#[derive(Debug)]
struct Selector {
    fields: Vec<Field>,
    mask: u32,
    /// Rules that do not read these fields.
    others: Vec<u64>,
    /// By what is stored in a field, the rules that this value does not rule out.
    rules: Vec<u64>,
}

/// A field of a few bits: its first byte, and how far to shift down the word from there.
#[derive(Clone, Copy, Debug)]
struct Field {
    byte: u32,
    down: u32,
}

/// Calling a rule that is not enabled costs about as much as testing this number of fields.
const FIELDS_FOR_A_CALL: f64 = 4.0;
/// More than enough; the search for the next one takes time in proportion to the program.
const MAX_SELECTORS: usize = 64;

/// The tests of several rules that read the same fields.
#[derive(Debug)]
struct Group {
    first_bits: Vec<usize>,
    n_bits: u32,
    /// Rules, each with its test and the probability that it is ruled out, if all values were
    /// equally frequent.
    rules: Vec<(usize, Vec<bool>, f64)>,
}

impl Group {
    /// Number of field tests that this group saves, where `left` is the probability that a rule
    /// has not been ruled out yet.
    fn gain(&self, left: &[f64]) -> f64 {
        let rules = self.rules.iter();
        let spared: f64 = rules.map(|(rule, _, out)| left[*rule] * out).sum();
        spared * FIELDS_FOR_A_CALL - self.first_bits.len() as f64
    }
}

fn groups(unit: &Unit<'_>, order: &[usize]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut numbers = HashMap::new();
    for (position, &rule) in order.iter().enumerate() {
        for test in tests(unit, rule) {
            let out = test.sharpness.powi(test.first_bits.len() as i32);
            let number = *numbers
                .entry((test.first_bits.clone(), test.n_bits))
                .or_insert(groups.len());
            if number == groups.len() {
                groups.push(Group {
                    first_bits: test.first_bits,
                    n_bits: test.n_bits,
                    rules: Vec::new(),
                });
            }
            // Two tests of one rule may mean different elements, as `pc[i] = in & pc[j] = out` does,
            // so each would have to be met by a field of its own. The first one is enough.
            let rules = &mut groups[number].rules;
            if rules.last().is_none_or(|(last, ..)| *last != position) {
                rules.push((position, test.leaves, out));
            }
        }
    }
    groups
}

impl Selectors {
    /// Finds the selectors; `order` are the rules in the order of firing.
    pub(crate) fn of(unit: &Unit<'_>, order: &[usize]) -> Self {
        let mut groups = groups(unit, order);
        let mut left = vec![1.0; order.len()];
        let mut selectors = Vec::new();
        while selectors.len() < MAX_SELECTORS {
            let gains = groups.iter().map(|group| group.gain(&left)).enumerate();
            let Some((best, gain)) = gains.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                break;
            };
            if gain <= 0.0 {
                break;
            }
            let group = groups.swap_remove(best);
            for (rule, _, out) in &group.rules {
                left[*rule] *= 1.0 - out;
            }
            selectors.push(Selector::new(&group, order.len()));
        }
        let mut all = vec![0; order.len().div_ceil(64)];
        for position in 0..order.len() {
            all[position / 64] |= 1 << (position % 64);
        }
        Selectors { all, selectors }
    }

    /// A bit for each rule.
    pub(crate) fn all(&self) -> &[u64] {
        &self.all
    }

    /// Sets `worth` to a bit for each rule from a position on.
    pub(crate) fn all_from(&self, position: usize, worth: &mut [u64]) {
        worth.copy_from_slice(&self.all);
        let (word, bit) = (position / 64, position % 64);
        worth[..word].fill(0);
        if let Some(worth) = worth.get_mut(word) {
            *worth = *worth >> bit << bit;
        }
    }

    /// Sets `worth` to a bit for each rule that may be enabled or fault at `state`, which has
    /// padding behind it.
    #[inline]
    pub(crate) fn select(&self, state: &[u8], worth: &mut [u64]) {
        if let ([worth], [all]) = (&mut *worth, &self.all[..]) {
            let selectors = self.selectors.iter();
            *worth = selectors.fold(*all, |left, selector| left & selector.word(state));
            return;
        }
        worth.copy_from_slice(&self.all);
        for selector in &self.selectors {
            selector.restrict(state, worth);
        }
    }
}

impl Selector {
    fn new(group: &Group, n_rules: usize) -> Self {
        let n_bits = group.n_bits;
        let n_words = n_rules.div_ceil(64);
        let field = |&first: &usize| Field {
            byte: (first / 8) as u32,
            down: 32 - (first % 8) as u32 - n_bits,
        };
        let mut others = vec![u64::MAX; n_words];
        let mut rules = vec![u64::MAX; n_words << n_bits];
        for (rule, leaves, _) in &group.rules {
            let (word, bit) = (rule / 64, 1u64 << (rule % 64));
            others[word] &= !bit;
            for raw in (0..1usize << n_bits).filter(|raw| !leaves[*raw]) {
                rules[raw * n_words + word] &= !bit;
            }
        }
        Selector {
            fields: group.first_bits.iter().map(field).collect(),
            mask: (1 << n_bits) - 1,
            others,
            rules,
        }
    }

    #[inline]
    fn raw(&self, state: &[u8], field: Field) -> usize {
        let bytes = state[field.byte as usize..].first_chunk();
        let word = u32::from_be_bytes(*bytes.expect("states are padded"));
        (word >> field.down & self.mask) as usize
    }

    /// The rules that are left, where they fit a word.
    fn word(&self, state: &[u8]) -> u64 {
        let fields = self.fields.iter();
        fields.fold(self.others[0], |left, &field| {
            left | self.rules[self.raw(state, field)]
        })
    }

    /// Removes the rules that all of the fields rule out.
    fn restrict(&self, state: &[u8], worth: &mut [u64]) {
        for (word, worth) in worth.iter_mut().enumerate() {
            let mut left = self.others[word];
            for &field in &self.fields {
                left |= self.rules[self.raw(state, field) * self.others.len() + word];
            }
            *worth &= left;
        }
    }
}

#[cfg(test)]
mod random;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;

    use hadal_ir::interp::{Interpreter, Limits};
    use hadal_ir::program::LocalKind;

    use super::Selectors;
    use super::random::{Seen, check, compile};
    use crate::unit::Unit;

    /// The rules, as a bit each, that are left where `pc` has these values as they are stored.
    fn left(rules: &str, pc: [u8; 2]) -> u64 {
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
        assert_eq!(selectors.all(), [(1 << order.len()) - 1]);
        let mut worth = [0];
        selectors.select(&state, &mut worth);
        worth[0]
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
    fn elements_may_differ_within_a_guard() {
        let rules = "ruleset i: p; j: p do
             rule pc[i] = 0 & pc[j] = 1 ==> pc[i] := 1; end;
             rule pc[i] = 1 & pc[j] = 3 ==> pc[i] := 2; end;
             rule pc[i] = 4 & pc[j] = 1 ==> pc[i] := 2; end; end;";
        assert_eq!(left(rules, [1, 2]), 0b011);
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
        assert_eq!((seen.n_states, seen.n_enabled), (2, 2));
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
