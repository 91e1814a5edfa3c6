//! Whether two orders of the same passes, or two ways in which a loop ended, are the same, and how
//! to describe the difference.
//!
//! Bags are compared as bags, whatever the slots of their elements, except for slots that
//! something still refers to by number.

use hadal_model::{FaultKind, PAD_BYTES};

use super::super::super::order::LoopMemory;
use super::super::{Halt, Machine, UNDEFINED};
use super::{Body, Check, End, Outcome};
use crate::bits;
use crate::expr::Quantifier;
use crate::ids::{LocalId, TypeId, VarId};
use crate::program::LocalKind;

/// Two contents of the memory behind a loop.
struct Pair {
    a: Vec<u8>,
    b: Vec<u8>,
}

impl<'p> Machine<'p> {
    /// Whether two outcomes are the same. `is_over` where no pass is left to run.
    pub(super) fn same(
        &mut self,
        check: &Check<'p>,
        a: &Outcome,
        b: &Outcome,
        is_over: bool,
    ) -> bool {
        match (&a.end, &b.end) {
            (End::Fails(_), End::Fails(_)) | (End::Abandons, End::Abandons) => return true,
            (End::Continues, End::Continues) if a.count != b.count => return false,
            (a, b) if a != b => return false,
            _ => {}
        }
        a.covered == b.covered && self.same_memory(check, a, b, is_over)
    }

    /// Whether two outcomes of the same kind leave the same memory behind, as far as it counts.
    pub(super) fn same_memory(
        &mut self,
        check: &Check<'p>,
        a: &Outcome,
        b: &Outcome,
        is_over: bool,
    ) -> bool {
        if self.same_parts(check, a, &a.memory, &b.memory) {
            return true;
        }
        if self.slots_count(check, is_over) {
            return false;
        }
        let Some(pair) = self.with_normal_bags(check, a, b) else {
            return false;
        };
        let same = self.same_parts(check, a, &pair.a, &pair.b);
        if let Some(order) = &mut self.order {
            order.spare.extend([pair.a, pair.b]);
        }
        same
    }

    /// The fault that describes how two outcomes differ.
    pub(super) fn dependence<T>(
        &mut self,
        check: &Check<'p>,
        a: &Outcome,
        b: &Outcome,
        is_over: bool,
    ) -> Result<T, Halt> {
        let difference = self.difference(check, a, b, is_over);
        let message = format!("the result depends on the order of the iterations: {difference}");
        self.fault(FaultKind::OrderDependence, message, check.passes.site)
    }

    /// Whether the slot of an element matters: a loop over slots is still running.
    fn slots_count(&self, check: &Check<'p>, is_over: bool) -> bool {
        let own = u32::from(is_over && check.passes.is_over_slots);
        let running = self.order.as_ref().map_or(0, |order| order.n_slot_loops);
        running > own
    }

    fn loop_memory(&self, check: &Check<'p>) -> Option<&LoopMemory> {
        let order = self.order.as_ref()?;
        Some(order.table.memory(check.entry.number))
    }

    /// Compares state, frames of callers, and of the own frame what is not private; of an outcome
    /// that leaves the function, the own frame does not count.
    fn same_parts(&self, check: &Check<'p>, outcome: &Outcome, a: &[u8], b: &[u8]) -> bool {
        let current = &check.entry.current;
        let state_len = self.code.layout.state_len;
        let callers = state_len + PAD_BYTES..current.frame_bit / 8;
        if a[..state_len] != b[..state_len] || a[callers.clone()] != b[callers.clone()] {
            return false;
        }
        if matches!(outcome.end, End::Returns(_)) {
            return true;
        }
        let frame = callers.end..callers.end + current.frame.bytes;
        let compared = self.loop_memory(check).map(|memory| &memory.ranges);
        let (own_a, own_b) = (&a[frame.clone()], &b[frame.clone()]);
        // Behind the frame there are only frames that are being filled for calls, out of reach.
        let mut compared = compared.into_iter().flatten();
        compared.all(|range| own_a[range.clone()] == own_b[range.clone()])
    }

    /// Both memories with their bags in normal form; `None` where there are no bags.
    fn with_normal_bags(&mut self, check: &Check<'p>, a: &Outcome, b: &Outcome) -> Option<Pair> {
        let code = self.code;
        let has_bags = |memory: &LoopMemory| !memory.bags.is_empty() || !code.bags.is_empty();
        if !self.loop_memory(check).is_some_and(has_bags) {
            return None;
        }
        let [a, b] = [a, b].map(|outcome| {
            let spare = self.order.as_mut().and_then(|order| order.spare.pop());
            let mut copy = spare.unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(&outcome.memory);
            let own_bags = self.loop_memory(check).map(|memory| &memory.bags);
            let own_bags = own_bags.into_iter().flatten();
            let frame_bit = check.entry.current.frame_bit;
            let own_bags = own_bags.map(|&(ty, offset)| (ty, frame_bit + offset));
            for (ty, first_bit) in code.bags.iter().copied().chain(own_bags) {
                let types = &code.program.types;
                types.normalise_multisets(&mut copy, ty, first_bit);
            }
            copy
        });
        Some(Pair { a, b })
    }

    /// What differs, and after which passes it is what. People read of iterations.
    fn difference(&mut self, check: &Check<'p>, a: &Outcome, b: &Outcome, is_over: bool) -> String {
        let common = a.path.iter().zip(&b.path).take_while(|(a, b)| a == b);
        let n_common = common.count().min(a.path.len() - 1).min(b.path.len() - 1);
        let [after_a, after_b] = [a, b].map(|outcome| self.order_of(check, outcome, n_common));
        let before = self.passes_before(check, &a.path[..n_common]);
        let swapped = match (&a.path[n_common..], &b.path[n_common..]) {
            (&[p, q], &[r, s]) if (p, q) == (s, r) => {
                Some(self.names(check, &[p, q]).join(" comes before "))
            }
            _ => None,
        };
        let sentence = |what: &str, [in_a, in_b]: [String; 2]| match &swapped {
            Some(order) => {
                format!("{before}{what} {in_a} if {order}, and {in_b} the other way round")
            }
            None => format!("{before}{what} {in_a} {after_a} and {in_b} {after_b}"),
        };
        if a.end != b.end {
            return sentence("it", [a, b].map(|outcome| self.verb(check, outcome)));
        }
        if let Some(&point) = first_difference(&a.covered, &b.covered) {
            let name = &self.code.program.cover_points[point as usize].name;
            let hits = [a, b].map(|outcome| {
                let hits = outcome.covered.iter().filter(|&&hit| hit == point);
                times(hits.count() as u64)
            });
            return sentence(&format!("\"{name}\" is covered"), hits);
        }
        if a.end == End::Continues && a.count != b.count {
            let counts = [a, b].map(|outcome| times(outcome.count as u64));
            return sentence("the condition holds", counts);
        }
        let normal = match self.slots_count(check, is_over) {
            true => None,
            false => self.with_normal_bags(check, a, b),
        };
        let raw = || Pair {
            a: a.memory.clone(),
            b: b.memory.clone(),
        };
        let pair = match normal {
            Some(pair) if !self.same_parts(check, a, &pair.a, &pair.b) => pair,
            // The bags are the same; elements that are referred to by slot are not.
            _ => raw(),
        };
        match self.first_leaf(check, a, &pair) {
            Some((name, values)) if swapped.is_some() => {
                let values = values.map(|value| format!("as {value}"));
                sentence(&format!("`{name}` ends"), values)
            }
            Some((name, values)) => sentence(&format!("`{name}` is"), values),
            None => format!("{before}locals of a caller differ {after_a} and {after_b}"),
        }
    }

    /// How an outcome ends its loop.
    fn verb(&self, check: &Check<'p>, outcome: &Outcome) -> String {
        let types = &self.code.program.types;
        match (&outcome.end, check.passes.body) {
            (End::Continues, Body::Statements(_) | Body::Condition(Quantifier::Count, _)) => {
                "runs to its end".to_owned()
            }
            (End::Continues, Body::Condition(Quantifier::Forall, _))
            | (End::Decides, Body::Condition(Quantifier::Exists, _)) => "is true".to_owned(),
            (End::Continues | End::Decides, _) => "is false".to_owned(),
            (End::Returns(None), _) => "returns".to_owned(),
            (End::Returns(Some(UNDEFINED)), _) => "returns undefined".to_owned(),
            (End::Returns(Some(value)), _) => {
                let function = check.entry.current.function;
                let ty = function.and_then(|id| self.code.program.function(id).result);
                let name = ty.map_or(value.to_string(), |ty| types.value_name(ty, *value));
                format!("returns {name}")
            }
            (End::Fails(message), _) => format!("fails ({message})"),
            (End::Abandons, _) => "is abandoned by an assumption".to_owned(),
        }
    }

    /// The passes of an outcome behind the first `n_before`, for a sentence.
    fn order_of(&self, check: &Check<'p>, outcome: &Outcome, n_before: usize) -> String {
        let names: Vec<String> = self.names(check, &outcome.path[n_before..]);
        match &names[..] {
            [only] if n_before == 0 => format!("if {only} comes first"),
            [only] => format!("if {only} comes next"),
            _ => format!("after {}", names.join(" then ")),
        }
    }

    /// The passes that come first in both orders, for the beginning of a sentence.
    fn passes_before(&self, check: &Check<'p>, path: &[i64]) -> String {
        match path.len() {
            0 => String::new(),
            1..=3 => format!("after {}, ", self.names(check, path).join(" then ")),
            n => format!("after {n} others, "),
        }
    }

    fn names(&self, check: &Check<'p>, path: &[i64]) -> Vec<String> {
        let ty = check.entry.current.frame.slot(check.passes.var).kind.ty();
        let name = |&value: &i64| match check.passes.is_over_slots {
            true => format!("slot {value}"),
            false => self.code.program.types.value_name(ty, value),
        };
        path.iter().map(name).collect()
    }

    /// Name and values of the first leaf that differs and counts.
    fn first_leaf(
        &self,
        check: &Check<'p>,
        outcome: &Outcome,
        pair: &Pair,
    ) -> Option<(String, [String; 2])> {
        let program = &self.code.program;
        for (index, var) in program.vars.iter().enumerate() {
            let at = self.code.layout.var(VarId::new(index));
            if let Some(found) = self.leaf_of(&var.name, var.ty, at, pair) {
                return Some(found);
            }
        }
        let current = &check.entry.current;
        let leaves_frame = matches!(outcome.end, End::Returns(_));
        if leaves_frame
            && let Some(function) = current.function.map(|id| program.function(id))
            && let Some(ty) = function.result
            && program.types.simple(ty).is_none()
        {
            let name = format!("{}(...)", function.name);
            if let Some(found) = self.leaf_of(&name, ty, current.return_bit, pair) {
                return Some(found);
            }
        }
        let is_compared = |local: LocalId| {
            let memory = self.loop_memory(check);
            !leaves_frame && memory.is_some_and(|memory| memory.is_compared[local.index()])
        };
        for (index, slot) in current.frame.locals.iter().enumerate() {
            let local = LocalId::new(index);
            let name = &current.names.local(local).name;
            let at = current.frame_bit + slot.offset;
            let found = match slot.kind {
                LocalKind::Value(ty) if is_compared(local) => self.leaf_of(name, ty, at, pair),
                LocalKind::Value(_) => None,
                LocalKind::Ref(ty) | LocalKind::ConstRef(ty) => {
                    let [to_a, to_b] = [&pair.a, &pair.b].map(|memory| bits::get(memory, at, 64));
                    if to_a == to_b {
                        // What a parameter refers to may lie in the frame of a caller.
                        let in_use = to_a as usize + program.types.bits(ty) as usize;
                        (in_use <= current.frame_bit)
                            .then(|| self.leaf_of(name, ty, to_a as usize, pair))
                            .flatten()
                    } else if is_compared(local) {
                        let places = ["a place", "another place"].map(str::to_owned);
                        Some((name.clone(), places))
                    } else {
                        None
                    }
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The first leaf below a place that differs; an element of a bag differs from a free slot.
    fn leaf_of(
        &self,
        name: &str,
        ty: TypeId,
        first_bit: usize,
        pair: &Pair,
    ) -> Option<(String, [String; 2])> {
        let types = &self.code.program.types;
        let n_bits = types.bits(ty) as usize;
        if same_bits(&pair.a, &pair.b, first_bit, n_bits) {
            return None;
        }
        let mut found = None;
        let visit = &mut |name: &str, ty: TypeId, at: usize| {
            let [a, b] = [&pair.a, &pair.b].map(|memory| types.leaf_name(memory, ty, at));
            if found.is_none() && a != b {
                found = Some((name.to_owned(), [a, b]));
            }
        };
        types.for_each_leaf(ty, &mut name.to_owned(), first_bit, visit);
        // Otherwise an element that is wholly undefined is there in one of them only.
        let contents = || ["one bag", "another"].map(str::to_owned);
        found.or_else(|| Some((name.to_owned(), contents())))
    }
}

fn same_bits(a: &[u8], b: &[u8], first_bit: usize, n_bits: usize) -> bool {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done);
        let [in_a, in_b] = [a, b].map(|bytes| bits::get(bytes, first_bit + done, n as u32));
        if in_a != in_b {
            return false;
        }
        done += n;
    }
    true
}

fn times(n: u64) -> String {
    match n {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

/// The first number that two sorted lists do not hold equally often.
fn first_difference<'a>(a: &'a [u32], b: &'a [u32]) -> Option<&'a u32> {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (a.get(same), b.get(same)) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
