//! Abstract interpretation of rules, properties and measures, one item at a time: the frame of the walk, and
//! events that concern every enclosing loop.

use std::collections::{BTreeMap, BTreeSet};

use hadal_ir::defined::Definedness;
use hadal_ir::interp::{Item, Limits};
use hadal_ir::{
    ExprId, Frame, FunctionId, LocalId, LocalKind, Param, ParamDomain, Program, PropertyKind,
    SiteId, TypeId, Types,
};

use super::env::{Env, HeldSlot, Value};
use super::exprs::Truth;
use super::label::Label;
use super::mentions::Mentions;
use super::passes::{Exit, Passes, Reason};
use super::spot::{FrameNo, LoopNo, Selector, Spot, Symbol};

/// Expressions and statements walked, repetitions included, before the analysis gives up and leaves
/// all loops to the check at run time.
const BUDGET: u64 = 2_000_000;

/// A construct that distinguishes elements by their names, whatever the order of passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Break {
    pub(crate) site: SiteId,
    pub(crate) message: String,
}

/// A loop in the order of names, over all contexts that reach it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopFacts {
    pub(crate) site: Option<SiteId>,
    pub(crate) n_passes: u64,
    /// Empty where it is proved that the order makes no difference.
    pub(crate) reasons: BTreeSet<Reason>,
    pub(crate) has_effects: bool,
    /// Locals of its frame that each pass assigns before it reads them.
    pub(crate) private: BTreeSet<LocalId>,
    /// Whether a pass calls what is not inlined, so that nothing is known to be private.
    pub(crate) is_blind: bool,
    /// Those of them that are read after the loop, or of which some part is not private.
    pub(crate) not_private: BTreeSet<LocalId>,
    /// Enclosing loops in the order of names.
    pub(crate) around: BTreeSet<(Item, LocalId)>,
}

pub(super) struct Walk<'p> {
    pub(super) program: &'p Program,
    pub(super) definedness: &'p Definedness,
    pub(super) mentions: &'p Mentions,
    pub(super) limits: Limits,
    /// Whether calls are inlined.
    pub(super) follows_calls: bool,
    pub(super) env: Env,
    pub(super) frames: Vec<Activation<'p>>,
    pub(super) open: Vec<Passes>,
    /// Loops by number.
    pub(super) keys: Vec<(Item, LocalId)>,
    pub(super) n_frames: FrameNo,
    pub(super) n_values: u32,
    budget: u64,
    pub(super) loops: BTreeMap<(Item, LocalId), LoopFacts>,
    pub(super) breaks: BTreeSet<Break>,
    /// Enclosing conditions that hold in one pass of a loop at most: the loop, and what its element is
    /// compared with.
    pub(super) singled_out: Vec<(LoopNo, Selector)>,
    /// Expressions that single out passes.
    pub(super) selectors: Vec<ExprId>,
    /// Functions that were called without being inlined, where only their labels matter.
    pub(super) not_inlined: BTreeSet<FunctionId>,
    /// Functions that were called without being inlined, where their effects matter.
    pub(super) unknown: BTreeSet<FunctionId>,
}

/// An item that is being walked.
pub(super) struct Activation<'p> {
    pub(super) item: Item,
    pub(super) frame: &'p Frame,
    pub(super) number: FrameNo,
    /// The facts at its `return`s, and the value returned.
    pub(super) exit: Env,
    pub(super) returned: Option<Value>,
}

impl<'p> Walk<'p> {
    pub(super) fn new(
        program: &'p Program,
        definedness: &'p Definedness,
        mentions: &'p Mentions,
        limits: Limits,
        follows_calls: bool,
    ) -> Self {
        Walk {
            program,
            definedness,
            mentions,
            limits,
            follows_calls,
            env: Env::default(),
            frames: Vec::new(),
            open: Vec::new(),
            keys: Vec::new(),
            n_frames: 0,
            n_values: 0,
            budget: BUDGET,
            loops: BTreeMap::new(),
            breaks: BTreeSet::new(),
            singled_out: Vec::new(),
            selectors: Vec::new(),
            not_inlined: BTreeSet::new(),
            unknown: BTreeSet::new(),
        }
    }

    pub(super) fn types(&self) -> &'p Types {
        &self.program.types
    }

    /// Walks items, with the functions they call.
    pub(super) fn items(&mut self, items: &[Item]) {
        let inlines = self.follows_calls;
        for item in items {
            // Where no loop can run in the order of names, each function is walked once on its own.
            self.follows_calls = inlines && self.mentions.is_by_name(*item);
            match *item {
                Item::Function(id) => self.function(id.index()),
                Item::Rule(number) => self.rule(number as usize),
                Item::Property(number) => self.property(number as usize),
                Item::Measure(number) => self.measure(number as usize),
                // Startstates need not be symmetric.
                Item::Start(_) => {}
            }
        }
        self.follows_calls = false;
        let mut walked = BTreeSet::new();
        while let Some(id) = self.not_inlined.pop_first() {
            if walked.insert(id) {
                self.function(id.index());
            }
        }
    }

    /// Walks a rule: its guard, then its body with fresh locals.
    fn rule(&mut self, number: usize) {
        let rule = &self.program.rules[number];
        let item = Item::Rule(number as u32);
        self.enter_item(item, &rule.frame, &rule.params);
        self.block(&rule.guard.prologue);
        if let Some(condition) = rule.guard.condition {
            self.truth(condition, Truth::Exact);
        }
        self.leave_item();
        self.enter_item(item, &rule.frame, &rule.params);
        self.block(&rule.body);
        self.leave_item();
    }

    /// Walks a property.
    fn property(&mut self, number: usize) {
        let property = &self.program.properties[number];
        let item = Item::Property(number as u32);
        self.enter_item(item, &property.frame, &property.params);
        self.block(&property.condition.prologue);
        // An invariant that cannot be evaluated is violated like one that is false.
        let truth = match property.kind {
            PropertyKind::Invariant => Truth::FalseIsFault,
            PropertyKind::Assume
            | PropertyKind::Cover
            | PropertyKind::Liveness
            | PropertyKind::End => Truth::Exact,
        };
        if let Some(condition) = property.condition.condition {
            self.truth(condition, truth);
        }
        self.leave_item();
    }

    /// Walks a measure.
    fn measure(&mut self, number: usize) {
        let measure = &self.program.measures[number];
        self.enter_item(Item::Measure(number as u32), &measure.frame, &[]);
        self.block(&measure.body);
        let value = self.value(measure.value);
        if !value.label.is_plain() {
            let site = self.program.expr_site(measure.value);
            self.breaks(site, "the value is an element of a scalarset, or a slot");
        }
        self.leave_item();
    }

    /// Walks a function on its own, with arbitrary arguments.
    fn function(&mut self, number: usize) {
        let function = &self.program.functions[number];
        let item = Item::Function(FunctionId::new(number));
        self.enter_item(item, &function.frame, &[]);
        let frame = self.frame();
        for (number, local) in function.frame.locals[..function.params.len()]
            .iter()
            .enumerate()
        {
            let local_id = LocalId::new(number);
            match local.kind {
                LocalKind::Value(ty) if self.types().simple(ty).is_some() => {
                    let value = self.fresh(ty);
                    self.env.values.insert((frame, local_id), value);
                }
                LocalKind::Value(_) => {}
                LocalKind::Ref(ty) | LocalKind::ConstRef(ty) => {
                    let spots = vec![Spot::anywhere(ty)];
                    self.env.references.insert((frame, local_id), spots);
                }
            }
        }
        self.block(&function.body);
        self.leave_item();
    }

    fn enter_item(&mut self, item: Item, frame: &'p Frame, params: &'p [Param]) {
        self.env = Env::default();
        self.push_frame(item, frame);
        let number = self.frame();
        for param in params {
            let LocalKind::Value(ty) = frame.local(param.local).kind else {
                continue;
            };
            let mut value = self.fresh(ty);
            value.is_defined = true;
            if let ParamDomain::Type(domain) = param.domain {
                self.same_values(domain, ty, SiteId::new(0));
            }
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                value.label = Label::slots();
                let spots = self.resolve(multiset, SiteId::new(0));
                let bag = spots.into_iter().next();
                let bag = bag.map(|spot| self.bag(spot, multiset.clone()));
                self.env.slots.insert(value.symbol, HeldSlot::new(bag));
            }
            self.env.values.insert((number, param.local), value);
        }
    }

    fn leave_item(&mut self) {
        self.frames.pop();
    }

    pub(super) fn push_frame(&mut self, item: Item, frame: &'p Frame) {
        self.frames.push(Activation {
            item,
            frame,
            number: self.n_frames,
            exit: Env {
                is_dead: true,
                ..Env::default()
            },
            returned: None,
        });
        self.n_frames += 1;
    }

    /// The activation that the walk is in.
    pub(super) fn current(&self) -> &Activation<'p> {
        self.frames.last().expect("a walk is in an item")
    }

    pub(super) fn frame(&self) -> FrameNo {
        self.current().number
    }

    /// Some value of a type that does not change.
    pub(super) fn fresh(&mut self, ty: TypeId) -> Value {
        self.n_values += 1;
        Value {
            symbol: Symbol::Fixed(self.n_values - 1),
            ..self.any(ty)
        }
    }

    /// Numbers a value that does not change from here on, so that it can be recognised.
    pub(super) fn settle(&mut self, value: &mut Value) {
        if value.symbol == Symbol::Any {
            self.n_values += 1;
            value.symbol = Symbol::Fixed(self.n_values - 1);
        }
    }

    /// Any value of a type, or undefined.
    pub(super) fn any(&self, ty: TypeId) -> Value {
        let simple = self.types().simple(ty);
        Value {
            symbol: Symbol::Any,
            label: Label::of_type(self.types(), ty),
            is_defined: false,
            range: simple.map(|simple| (simple.lo.into(), simple.hi.into())),
        }
    }

    /// Counts a step against the budget; whether any is left.
    pub(super) fn charge(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget > 0
    }

    /// Whether the budget ran out.
    pub(super) fn gave_up(&self) -> bool {
        self.budget == 0
    }

    pub(super) fn breaks(&mut self, site: SiteId, message: impl Into<String>) {
        let message = message.into();
        self.breaks.insert(Break { site, message });
    }

    /// A fault is possible here.
    pub(super) fn fault(&mut self, site: SiteId) {
        if self.env.is_dead {
            return;
        }
        for passes in &mut self.open {
            passes.may_fault = passes.may_fault.or(Some(site));
        }
    }

    /// An `assume` may abandon the step here.
    pub(super) fn abandon(&mut self, site: SiteId) {
        for passes in &mut self.open {
            passes.may_abandon = passes.may_abandon.or(Some(site));
        }
    }

    /// A `cover` statement may count a hit here.
    pub(super) fn cover(&mut self, site: SiteId) {
        for passes in &mut self.open {
            passes.covers = passes.covers.or(Some(site));
        }
    }

    /// Leaves the function or rule.
    pub(super) fn return_here(&mut self, value: Option<Value>, site: SiteId) {
        let frame = self.frame();
        let returned = value.as_ref();
        let symbol = returned.map_or(Symbol::Undefined, |value| value.symbol);
        for passes in &mut self.open {
            let exit = Exit {
                value: symbol,
                site,
                selector: selector(&self.singled_out, passes.number),
            };
            if passes.frame == frame && !passes.returns.contains(&exit) {
                passes.returns.push(exit);
            }
        }
        let env = std::mem::replace(
            &mut self.env,
            Env {
                is_dead: true,
                ..Env::default()
            },
        );
        let activation = self.frames.last_mut().expect("a walk is in an item");
        activation.exit.join(&env);
        if let Some(value) = value {
            activation.returned = Some(match activation.returned.take() {
                Some(earlier) => either(earlier, value),
                None => value,
            });
        }
    }
}

/// What singles out a pass of a loop, if an enclosing condition does.
pub(super) fn selector(singled_out: &[(LoopNo, Selector)], of: LoopNo) -> Option<Selector> {
    let found = singled_out.iter().find(|(number, _)| *number == of);
    found.map(|(_, selector)| *selector)
}

/// A value that is one of two.
pub(super) fn either(a: Value, b: Value) -> Value {
    Value {
        symbol: if a.symbol == b.symbol {
            a.symbol
        } else {
            Symbol::Any
        },
        label: a.label.merged(&b.label).unwrap_or_else(Label::plain),
        is_defined: a.is_defined && b.is_defined,
        range: match (a.range, b.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            _ => None,
        },
    }
}
