//! Expressions: what they read, whether they can fault, and their abstract values.

use hadal_ir::{
    BinaryOp, By, Domain, Expr, ExprId, LocalId, Place, Quantifier, Root, SiteId, UnaryOp,
};

use super::env::Value;

use super::label::{Label, same_meaning};
use super::mentions::{Changed, same_place};
use super::passes::Kind;
use super::spot::{Base, Spot, Symbol};
use super::walk::{Walk, either};

/// Which outcomes of a condition must be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    /// True, false and fault are three different outcomes.
    Exact,
    /// False and fault mean the same, as in an invariant or assertion.
    FalseIsFault,
    /// True and fault mean the same: under a negation.
    TrueIsFault,
}

impl Truth {
    fn negated(self) -> Self {
        match self {
            Truth::Exact => Truth::Exact,
            Truth::FalseIsFault => Truth::TrueIsFault,
            Truth::TrueIsFault => Truth::FalseIsFault,
        }
    }
}

impl<'p> Walk<'p> {
    /// Evaluates a value.
    pub(super) fn value(&mut self, id: ExprId) -> Value {
        self.truth(id, Truth::Exact)
    }

    /// Evaluates an expression; of its outcomes, those of `truth` are distinguished.
    pub(super) fn truth(&mut self, id: ExprId, truth: Truth) -> Value {
        let site = self.program.expr_site(id);
        if !self.charge() {
            return computed(None);
        }
        match self.program.expr(id) {
            Expr::Int(value) => literal(*value),
            Expr::Bool(value) => literal(i64::from(*value)),
            Expr::Undefined => Value::undefined(),
            Expr::Read(place) => self.content(place, site),
            Expr::Defined(operand) => {
                let value = self.truth(*operand, truth);
                if !value.is_defined {
                    self.fault(site);
                }
                Value {
                    is_defined: true,
                    ..value
                }
            }
            Expr::Unary(UnaryOp::Not, operand) => {
                self.truth(*operand, truth.negated());
                computed(Some((0, 1)))
            }
            Expr::Unary(op, operand) => {
                let value = self.value(*operand);
                self.must_be_plain(&value, site);
                let arithmetic = self.program.arithmetic;
                if *op == UnaryOp::Neg && arithmetic.is_unsigned() {
                    return computed(Some((0, i128::from(arithmetic.max))));
                }
                let range = value.range.map(|(lo, hi)| match op {
                    UnaryOp::Neg => (-hi, -lo),
                    _ => (-hi - 1, -lo - 1),
                });
                self.result(range, site)
            }
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b, site),
            Expr::And(parts) => self.sequence(parts, true, truth),
            Expr::Or(parts) => self.sequence(parts, false, truth),
            Expr::Cond(condition, yes, no) => {
                self.value(*condition);
                let facts = self.env.facts.clone();
                let before = self.env.clone();
                self.learn(*condition, true);
                let yes = self.truth(*yes, truth);
                let mut after = std::mem::replace(&mut self.env, before);
                self.learn(*condition, false);
                let no = self.truth(*no, truth);
                after.join(&self.env);
                self.env = after;
                self.keep_facts(&facts);
                if !yes.label.agrees(&no.label) {
                    self.breaks(
                        site,
                        "the two outcomes have elements of different scalarsets",
                    );
                }
                either(yes, no)
            }
            Expr::Quantified {
                quantifier,
                var,
                domain,
                body,
            } => self.quantified(*quantifier, *var, domain, *body, truth, site),
            Expr::IsUndefined(place) => {
                let spots = self.resolve(place, site);
                self.read_all(&spots, site);
                computed(Some((0, 1)))
            }
            Expr::SameBits(a, b) => {
                let a = self.resolve(a, site);
                let b = self.resolve(b, site);
                self.read_all(&a, site);
                self.read_all(&b, site);
                self.compare_bits(&a, &b, site);
                computed(Some((0, 1)))
            }
            Expr::Call { function, args } => self.call(*function, args, site),
            Expr::Remap { value, map } => {
                let value = self.value(*value);
                let map = self.program.map(*map);
                let Some(label) = value.label.remapped(map) else {
                    self.breaks(site, "this takes some elements of a scalarset out of it");
                    return computed(None);
                };
                let segments = map.segments.iter();
                let image = |(lo, hi): (i128, i128)| {
                    segments.clone().find_map(|segment| {
                        let inside = i128::from(segment.lo) <= lo && hi <= i128::from(segment.hi);
                        let by = i128::from(segment.to) - i128::from(segment.lo);
                        inside.then_some((lo + by, hi + by))
                    })
                };
                let range = value.range.and_then(image);
                if range.is_none() && value.symbol != Symbol::Undefined && !covers(map, value.range)
                {
                    self.fault(site);
                }
                let least = segments.clone().map(|it| i128::from(it.to)).min();
                let greatest = segments
                    .clone()
                    .map(|it| i128::from(it.to) + i128::from(it.hi) - i128::from(it.lo))
                    .max();
                Value {
                    symbol: match value.symbol {
                        Symbol::Const(value) => image_of(map, value),
                        Symbol::Undefined => Symbol::Undefined,
                        // Elements keep their identity; other values become other integers.
                        symbol if label.is_elements() && is_injective(map) => symbol,
                        _ => Symbol::Any,
                    },
                    label,
                    range: range.or(least.zip(greatest)),
                    ..value
                }
            }
            Expr::InRange { value, lo, hi } => {
                let value = self.value(*value);
                if value.label.is_split_by(*lo, *hi) {
                    self.breaks(site, "this is true of some elements of a scalarset only");
                }
                computed(Some((0, 1)))
            }
            Expr::Present { multiset, slot } => {
                let bags = self.resolve(multiset, site);
                let slot = self.value(*slot);
                for bag in bags {
                    let part = self.element_at(bag, multiset, &slot, site);
                    self.read(&part, site);
                }
                computed(Some((0, 1)))
            }
        }
    }

    /// The content of a place of simple type.
    fn content(&mut self, place: &'p Place, site: SiteId) -> Value {
        let spots = self.resolve(place, site);
        self.read_all(&spots, site);
        if let [spot] = &spots[..]
            && spot.path.is_empty()
            && let Base::Local(frame, local) = spot.base
            && let Some(value) = self.env.values.get(&(frame, local))
        {
            return value.clone();
        }
        let Some(first) = spots.first() else {
            return computed(None);
        };
        let mut value = self.any(first.ty);
        value.is_defined = self.is_defined(place);
        value
    }

    /// Whether a place is definitely defined.
    pub(super) fn is_defined(&self, place: &Place) -> bool {
        let (frame, program) = (self.frame(), self.program);
        let is_shown =
            |(of, shown): &(u32, Place)| *of == frame && same_place(program, shown, place);
        if self.env.facts.iter().any(is_shown) {
            return true;
        }
        let number = self.item_number();
        !(self.definedness).may_be_undefined(program, number, place)
    }

    fn item_number(&self) -> usize {
        use hadal_ir::interp::Item;
        let program = self.program;
        let n_functions = program.functions.len();
        let n_rules = n_functions + program.rules.len();
        let n_starts = n_rules + program.starts.len();
        match self.current().item {
            Item::Function(id) => id.index(),
            Item::Rule(number) => n_functions + number as usize,
            Item::Start(number) => n_rules + number as usize,
            Item::Property(number) => n_starts + number as usize,
            Item::Measure(number) => n_starts + program.properties.len() + number as usize,
        }
    }

    /// `And` or `Or`: stops at the first operand that decides.
    fn sequence(&mut self, parts: &[ExprId], is_and: bool, truth: Truth) -> Value {
        // Where deciding early means the same as a fault, each operand may do either.
        let inherits = match is_and {
            true => truth == Truth::FalseIsFault,
            false => truth == Truth::TrueIsFault,
        };
        let facts = self.env.facts.clone();
        for (number, part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            let inner = if inherits || is_last {
                truth
            } else {
                Truth::Exact
            };
            // Later operands are evaluated conditionally, which matters if they have effects.
            if number > 0 && self.mentions.has_call(*part) {
                let mut before = self.env.clone();
                self.truth(*part, inner);
                before.join(&self.env);
                self.env = before;
            } else {
                self.truth(*part, inner);
            }
            self.learn(*part, is_and);
        }
        self.keep_facts(&facts);
        computed(Some((0, 1)))
    }

    /// Drops facts established since `facts` was taken, keeping those that still hold.
    pub(super) fn keep_facts(&mut self, facts: &[(u32, Place)]) {
        self.env.facts.retain(|fact| facts.contains(fact));
    }

    /// Adds what follows from the outcome of a condition.
    pub(super) fn learn(&mut self, id: ExprId, outcome: bool) {
        // A call in a later operand may have undone what an earlier one has shown.
        if self.mentions.has_call(id) {
            return;
        }
        match (self.program.expr(id), outcome) {
            (Expr::IsUndefined(place), false) => {
                let is_call = matches!(place.root, Root::Result { .. });
                if !is_call {
                    self.env.facts.push((self.frame(), place.clone()));
                }
            }
            (Expr::Unary(UnaryOp::Not, operand), _) => self.learn(*operand, !outcome),
            (Expr::And(parts), true) | (Expr::Or(parts), false) => {
                parts.iter().for_each(|part| self.learn(*part, outcome));
            }
            _ => {}
        }
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId, site: SiteId) -> Value {
        let a = self.value(a);
        let b = self.value(b);
        match op {
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Same => {
                if !a.label.agrees(&b.label) || a.label.has_slots() || b.label.has_slots() {
                    self.breaks(
                        site,
                        "this compares elements of a scalarset with something else",
                    );
                }
                return computed(Some((0, 1)));
            }
            _ => {
                self.must_be_plain(&a, site);
                self.must_be_plain(&b, site);
            }
        }
        let ranges = a.range.zip(b.range);
        match op {
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => computed(Some((0, 1))),
            BinaryOp::Div | BinaryOp::Rem => {
                if b.range.is_none_or(|(lo, hi)| lo <= 0 && 0 <= hi) {
                    self.fault(site);
                }
                let most = a.range.map(|(lo, hi)| lo.abs().max(hi.abs()));
                let is_positive = ranges.is_some_and(|(a, b)| a.0 >= 0 && b.0 >= 0);
                let range = most.map(|most| (if is_positive { 0 } else { -most }, most));
                self.result(range, site)
            }
            BinaryOp::Add => {
                let sum = |(a, b): ((i128, i128), (i128, i128))| (a.0 + b.0, a.1 + b.1);
                self.result(ranges.map(sum), site)
            }
            BinaryOp::Sub => {
                let difference = |(a, b): ((i128, i128), (i128, i128))| (a.0 - b.1, a.1 - b.0);
                self.result(ranges.map(difference), site)
            }
            BinaryOp::Mul => {
                let range = ranges.map(|(a, b)| {
                    let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
                    let least = products.into_iter().min().unwrap_or(0);
                    (least, products.into_iter().max().unwrap_or(0))
                });
                self.result(range, site)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                let widest = (i128::from(i64::MIN), i128::from(i64::MAX));
                let range = ranges.map(|(a, b)| match a.0 >= 0 && b.0 >= 0 {
                    true => {
                        let n_bits = 128 - a.1.max(b.1).leading_zeros();
                        (0, (1i128 << n_bits) - 1)
                    }
                    false => widest,
                });
                self.result(range, site)
            }
            _ => self.result(None, site),
        }
    }

    /// The result of an operation; a fault outside the range of integers.
    fn result(&mut self, range: Option<(i128, i128)>, site: SiteId) -> Value {
        let arithmetic = self.program.arithmetic;
        let (min, max) = (i128::from(arithmetic.min), i128::from(arithmetic.max));
        let fits = range.is_some_and(|(lo, hi)| min <= lo && hi <= max);
        if !fits && !arithmetic.wraps {
            self.fault(site);
        }
        computed(if fits { range } else { None })
    }

    pub(super) fn must_be_plain(&mut self, value: &Value, site: SiteId) {
        if !value.label.is_plain() {
            self.breaks(
                site,
                "this computes with elements of a scalarset, or with slots",
            );
        }
    }

    fn compare_bits(&mut self, a: &[Spot], b: &[Spot], site: SiteId) {
        let types = self.types();
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a.ty, b.ty)));
        for (a, b) in pairs.collect::<Vec<_>>() {
            if types.has_multiset(a) {
                self.breaks(site, "this compares multisets slot by slot");
            } else if !same_meaning(types, a, b) {
                self.breaks(
                    site,
                    "this compares elements of a scalarset with something else",
                );
            }
        }
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        var: LocalId,
        domain: &'p Domain,
        body: ExprId,
        truth: Truth,
        site: SiteId,
    ) -> Value {
        self.domain(domain, site);
        let hides_faults = matches!(
            (quantifier, truth),
            (Quantifier::Forall, Truth::FalseIsFault) | (Quantifier::Exists, Truth::TrueIsFault)
        );
        let inner = match hides_faults {
            true => truth,
            false => Truth::Exact,
        };
        let kind = Kind::Quantifier {
            quantifier,
            hides_faults,
        };
        self.each_pass(var, domain, kind, site, &Changed::default(), |walk| {
            walk.truth(body, inner);
        });
        let n_passes = match domain {
            Domain::Type(ty) => self.types().simple(*ty).map(|simple| simple.len()),
            Domain::Span { .. } => None,
        };
        computed(match quantifier {
            Quantifier::Count => n_passes.map(|n| (0, i128::from(n))),
            _ => Some((0, 1)),
        })
    }

    /// Evaluates the bounds of a loop.
    pub(super) fn domain(&mut self, domain: &Domain, site: SiteId) {
        if let Domain::Span { from, to, by } = domain {
            let mut bounds = vec![*from, *to];
            if let By::Step(step) = by {
                bounds.push(*step);
                self.fault(site);
            }
            for bound in bounds {
                let value = self.value(bound);
                self.must_be_plain(&value, site);
            }
        }
    }
}

/// Whether every value in a range has an image.
fn covers(map: &hadal_ir::ValueMap, range: Option<(i128, i128)>) -> bool {
    let Some((mut next, hi)) = range else {
        return false;
    };
    let mut segments = map.segments.clone();
    segments.sort_by_key(|segment| segment.lo);
    for segment in segments {
        if i128::from(segment.lo) <= next && next <= i128::from(segment.hi) {
            next = i128::from(segment.hi) + 1;
        }
    }
    next > hi
}

/// The image of a constant under a map.
fn image_of(map: &hadal_ir::ValueMap, value: i64) -> Symbol {
    let mut segments = map.segments.iter();
    let segment = segments.find(|segment| segment.lo <= value && value <= segment.hi);
    match segment {
        Some(segment) => Symbol::Const(value - segment.lo + segment.to),
        None => Symbol::Any,
    }
}

/// Whether different values have different images.
fn is_injective(map: &hadal_ir::ValueMap) -> bool {
    let image = |it: &hadal_ir::Segment| (it.to, it.to + (it.hi - it.lo));
    let mut images: Vec<(i64, i64)> = map.segments.iter().map(image).collect();
    images.sort_unstable();
    images.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

fn literal(value: i64) -> Value {
    Value {
        symbol: Symbol::Const(value),
        label: Label::literal(value),
        is_defined: true,
        range: Some((value.into(), value.into())),
    }
}

/// A value that no renaming changes.
fn computed(range: Option<(i128, i128)>) -> Value {
    Value {
        symbol: Symbol::Any,
        label: Label::plain(),
        is_defined: true,
        range,
    }
}
