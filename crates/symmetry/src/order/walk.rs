//! The walk through rules and properties: calls are followed, loops are walked through until
//! nothing new comes up, and every access is noted for all loops around it.

use std::collections::{BTreeMap, BTreeSet};

use hadal_ir::defined::Definedness;
use hadal_ir::interp::{Item, Limits};
use hadal_ir::{
    Arg, Domain, Frame, FunctionId, LocalId, LocalKind, Param, ParamDomain, Place, Program,
    PropertyKind, SiteId, TypeId, Types,
};

use super::env::{Env, HeldSlot, Value};
use super::exprs::Truth;
use super::label::{Label, same_meaning};
use super::mentions::{Mentions, place_mentions};
use super::passes::{Decision, Kind, Passes, Reason};
use super::spot::{Access, Base, FrameNo, LoopNo, Spot, Step, Update, What};

/// Expressions and statements that are looked at, calls and loops repeated, before the rest is
/// left to the check at run time.
const BUDGET: u64 = 2_000_000;
/// Calls that are followed into one another.
const MAX_CALL_DEPTH: usize = 24;

/// A construct that tells elements apart by their names, whatever the order of passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Break {
    pub(crate) site: SiteId,
    pub(crate) message: String,
}

/// What is known of a loop whose order depends on names, over all ways to reach it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopFacts {
    pub(crate) site: Option<SiteId>,
    pub(crate) n_passes: u64,
    /// Empty where it is proved that the order makes no difference.
    pub(crate) reasons: BTreeSet<Reason>,
    pub(crate) has_effects: bool,
    /// Locals of its frame that hold something of the last pass afterwards.
    pub(crate) left_over: BTreeSet<LocalId>,
    /// Those of them that are read later.
    pub(crate) read_later: BTreeSet<LocalId>,
    /// The largest number of passes around it, in loops that are not proved either.
    pub(crate) around: BTreeSet<(Item, LocalId)>,
    pub(crate) is_quantifier: bool,
}

pub(super) struct Walk<'p> {
    pub(super) program: &'p Program,
    pub(super) definedness: &'p Definedness,
    pub(super) mentions: &'p Mentions,
    limits: Limits,
    /// Whether the bodies of functions are walked through at each call.
    follows_calls: bool,
    pub(super) env: Env,
    pub(super) frames: Vec<Activation<'p>>,
    pub(super) open: Vec<Passes>,
    /// Loops by the number they had when they were open.
    keys: Vec<(Item, LocalId)>,
    n_frames: FrameNo,
    pub(super) n_values: u32,
    budget: u64,
    pub(super) loops: BTreeMap<(Item, LocalId), LoopFacts>,
    pub(super) breaks: BTreeSet<Break>,
    /// Functions that were not followed.
    pub(super) unknown: BTreeSet<FunctionId>,
}

/// An item that is being walked through.
pub(super) struct Activation<'p> {
    pub(super) item: Item,
    pub(super) frame: &'p Frame,
    pub(super) number: FrameNo,
    /// What is known at its `return`s, and what they return.
    exit: Env,
    returned: Option<Value>,
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
            unknown: BTreeSet::new(),
        }
    }

    pub(super) fn types(&self) -> &'p Types {
        &self.program.types
    }

    /// Walks through items, each by itself.
    pub(super) fn items(&mut self, items: &[Item]) {
        for item in items {
            match *item {
                Item::Function(id) => self.function(id.index()),
                Item::Rule(number) => self.rule(number as usize),
                Item::Property(number) => self.property(number as usize),
                // A startstate may do what it likes.
                Item::Start(_) => {}
            }
        }
    }

    /// Walks through a rule: its guard, and its body with locals undefined again.
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

    /// Walks through a property.
    fn property(&mut self, number: usize) {
        let property = &self.program.properties[number];
        let item = Item::Property(number as u32);
        self.enter_item(item, &property.frame, &property.params);
        self.block(&property.condition.prologue);
        // An invariant that cannot be evaluated is violated like one that is false.
        let truth = match property.kind {
            PropertyKind::Invariant => Truth::FalseIsFault,
            PropertyKind::Assume | PropertyKind::Cover | PropertyKind::Liveness => Truth::Exact,
        };
        if let Some(condition) = property.condition.condition {
            self.truth(condition, truth);
        }
        self.leave_item();
    }

    /// Walks through a function by itself, with any arguments.
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
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                value.label = Label::slots();
                let spots = self.resolve(multiset, SiteId::new(0));
                let bag = spots.into_iter().next();
                let bag = bag.map(|spot| self.bag(spot, multiset.clone()));
                self.env.slots.insert(value.what, HeldSlot::new(bag));
            }
            self.env.values.insert((number, param.local), value);
        }
    }

    fn leave_item(&mut self) {
        self.frames.pop();
    }

    fn push_frame(&mut self, item: Item, frame: &'p Frame) {
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

    /// A value of a type of which nothing is known but that it stays.
    pub(super) fn fresh(&mut self, ty: TypeId) -> Value {
        self.n_values += 1;
        Value {
            what: What::Fixed(self.n_values - 1),
            ..self.any(ty)
        }
    }

    /// Gives a value that stays from here on a number, so that it is known again.
    pub(super) fn settle(&mut self, value: &mut Value) {
        if value.what == What::Any {
            self.n_values += 1;
            value.what = What::Fixed(self.n_values - 1);
        }
    }

    /// Any value of a type, or none.
    pub(super) fn any(&self, ty: TypeId) -> Value {
        let simple = self.types().simple(ty);
        Value {
            what: What::Any,
            label: Label::of_type(self.types(), ty),
            is_defined: false,
            range: simple.map(|simple| (simple.lo.into(), simple.hi.into())),
        }
    }

    /// Whether the walk may go on.
    pub(super) fn charge(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget > 0
    }

    /// Whether there was too much to walk through.
    pub(super) fn gave_up(&self) -> bool {
        self.budget == 0
    }

    pub(super) fn breaks(&mut self, site: SiteId, message: impl Into<String>) {
        let message = message.into();
        self.breaks.insert(Break { site, message });
    }

    /// Something may fail here.
    pub(super) fn fault(&mut self, site: SiteId) {
        if self.env.is_dead {
            return;
        }
        for passes in &mut self.open {
            passes.may_fault = passes.may_fault.or(Some(site));
        }
    }

    /// The step may be abandoned here.
    pub(super) fn abandon(&mut self, site: SiteId) {
        for passes in &mut self.open {
            passes.may_abandon = passes.may_abandon.or(Some(site));
        }
    }

    /// A `cover` may be counted here.
    pub(super) fn cover(&mut self, site: SiteId) {
        for passes in &mut self.open {
            passes.covers = passes.covers.or(Some(site));
        }
    }

    /// Leaves the function or rule.
    pub(super) fn return_here(&mut self, value: Option<Value>, site: SiteId) {
        let frame = self.frame();
        let what = value.as_ref().map_or(What::Undefined, |value| value.what);
        for passes in &mut self.open {
            if passes.frame == frame && !passes.returns.contains(&(what, site)) {
                passes.returns.push((what, site));
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

    /// Notes that a place is read.
    pub(super) fn read(&mut self, spot: &Spot, site: SiteId) {
        self.use_slots(spot, site);
        self.use_left_over(spot);
        let env = &self.env;
        for (passes, assigned) in self.open.iter_mut().zip(&env.assigned) {
            if let Base::Local(frame, _) = spot.base
                && (passes.owns_frame(frame) || is_assigned(&self.program.types, assigned, spot))
            {
                continue;
            }
            passes.add(Access {
                spot: spot.clone(),
                update: None,
                site,
            });
        }
    }

    /// Notes that places are changed: the one there is, or one of several.
    pub(super) fn write(&mut self, spots: &[Spot], update: Update, site: SiteId) {
        let sets = update.sets();
        for spot in spots {
            self.use_slots(spot, site);
            self.change_slots(spot, update);
            if !sets {
                self.use_left_over(spot);
            }
            let env = &self.env;
            for (passes, assigned) in self.open.iter_mut().zip(&env.assigned) {
                if matches!(spot.base, Base::Local(frame, _) if passes.owns_frame(frame)) {
                    continue;
                }
                // What was assigned in this pass and is then updated has a value of this pass,
                // as if it had been assigned once.
                let is_own = !sets && is_assigned(&self.program.types, assigned, spot);
                let update = if is_own {
                    Update::Set(What::Any)
                } else {
                    update
                };
                passes.add(Access {
                    spot: spot.clone(),
                    update: Some(update),
                    site,
                });
            }
            self.forget_value(spot);
            if let ([only], true) = (spots, sets)
                && only.is_by_fields()
                && let Some(path) = only.local_path()
            {
                self.env.left_over.retain(|other, _| !path.holds(other));
                for assigned in &mut self.env.assigned {
                    assigned.insert(path.clone());
                }
            }
        }
        self.env.facts.clear();
    }

    /// Notes that a reference refers to these places from here on. To a loop that is an assignment
    /// of the reference itself: what a pass uses must have been bound by the same pass.
    pub(super) fn bind(&mut self, local: LocalId, spots: Vec<Spot>, site: SiteId) {
        self.reset(local, site);
        self.env.references.insert((self.frame(), local), spots);
    }

    /// Notes that a reference or the variable of a loop becomes another one.
    fn reset(&mut self, local: LocalId, site: SiteId) {
        let frame = self.frame();
        let facts = std::mem::take(&mut self.env.facts);
        self.write(&[self.whole(local)], Update::Set(What::Any), site);
        self.env.facts = facts;
        let program = self.program;
        let is_about_local = |place: &Place| place_mentions(program, place, local);
        (self.env.facts).retain(|(of, place)| *of != frame || !is_about_local(place));
    }

    /// What a reference refers to.
    pub(super) fn referred_to(&mut self, local: LocalId, site: SiteId) -> Vec<Spot> {
        let own = self.whole(local);
        self.read(&own, site);
        match self.env.references.get(&(self.frame(), local)) {
            Some(spots) => spots.clone(),
            None => vec![Spot::anywhere(own.ty)],
        }
    }

    /// All of a local; of a reference, where it is kept itself.
    fn whole(&self, local: LocalId) -> Spot {
        Spot {
            base: Base::Local(self.frame(), local),
            path: Vec::new(),
            ty: self.current().frame.local(local).kind.ty(),
        }
    }

    fn forget_value(&mut self, spot: &Spot) {
        match spot.base {
            Base::Var(_) => {}
            Base::Local(frame, local) => {
                self.env.values.remove(&(frame, local));
            }
            Base::Anywhere => {
                let held = std::mem::take(&mut self.env.values);
                // Loop variables and parameters cannot be referred to.
                let keeps = |key: &(FrameNo, LocalId)| {
                    let activation = self.frames.iter().find(|it| it.number == key.0);
                    activation.is_some_and(|it| !self.mentions.is_referred_to(it.item, key.1))
                };
                self.env.values = held.into_iter().filter(|(key, _)| keeps(key)).collect();
            }
        }
    }

    /// What a loop left over is read: then it matters which pass was the last.
    fn use_left_over(&mut self, spot: &Spot) {
        let mut used = Vec::new();
        for (path, loops) in &self.env.left_over {
            let is_used = match (spot.base, spot.local_path()) {
                (Base::Anywhere, _) => true,
                (_, Some(own)) => own.meets(path),
                _ => false,
            };
            if is_used {
                used.extend(loops.iter().map(|number| (*number, path.local)));
            }
        }
        for (number, local) in used {
            let name = self.name(spot);
            let key = self.keys[number as usize];
            let facts = self.loops.entry(key).or_default();
            facts.read_later.insert(local);
            if let Some(site) = facts.site {
                facts.reasons.insert(Reason {
                    site,
                    text: format!("sets `{name}`, which is read later and then is the last one's"),
                });
            }
            facts.has_effects = true;
        }
    }

    /// A place inside a slot that somebody holds is used.
    fn use_slots(&mut self, spot: &Spot, site: SiteId) {
        let stale = spot.path.iter().any(|step| match step {
            Step::At(what) => self.env.slots.get(what).is_some_and(|slot| slot.is_stale),
            Step::Field(_) => false,
        });
        if stale {
            self.breaks(
                site,
                "this slot of the multiset was freed and may hold a new element by now; \
                 which one depends on the order of elements",
            );
        }
    }

    /// Keeps track of what becomes of slots that are held.
    fn change_slots(&mut self, spot: &Spot, update: Update) {
        if self.env.slots.is_empty() {
            return;
        }
        for slot in self.env.slots.values_mut() {
            let Some(bag) = &mut slot.bag else { continue };
            bag.has_changed |= bag.depends_on.iter().any(|read| read.meets(spot));
            let bag = &bag.spot;
            if !bag.meets(spot) {
                continue;
            }
            // A part of a slot: the bag itself stays as it is, unless the slot is freed.
            let is_inside = spot.base == bag.base && spot.path.len() > bag.path.len();
            match update {
                Update::Insert if !is_inside => slot.is_stale |= slot.is_freed,
                Update::Remove => slot.is_freed = true,
                _ if is_inside => {}
                Update::Undefine | Update::Clear => slot.is_freed = true,
                _ => {
                    slot.is_freed = true;
                    slot.is_stale = true;
                }
            }
        }
    }

    /// Opens a loop, walks through its body until nothing new comes up, and decides it.
    pub(super) fn each_pass(
        &mut self,
        var: LocalId,
        domain: &'p Domain,
        kind: Kind,
        site: SiteId,
        changed: &BTreeSet<LocalId>,
        mut body: impl FnMut(&mut Self),
    ) {
        let LocalKind::Value(var_ty) = self.current().frame.local(var).kind else {
            return;
        };
        let (is_plain, n_passes) = match domain {
            Domain::Type(ty) => {
                let label = Label::of_type(self.types(), *ty);
                let simple = self.types().simple(*ty);
                (label.is_plain(), simple.map_or(0, |simple| simple.len()))
            }
            Domain::Span { .. } => (true, u64::MAX),
        };
        // To loops around this one its variable is a local like others.
        self.reset(var, site);
        let item = self.current().item;
        let is_over_slots = self.mentions.is_slot(item, var);
        let number = self.keys.len() as LoopNo;
        self.keys.push((item, var));
        self.open.push(Passes {
            number,
            key: (item, var),
            site,
            kind,
            n_passes,
            is_by_name: (!is_plain || is_over_slots) && n_passes > 1,
            is_over_slots,
            ..self.observer()
        });
        let own = What::Element(number);
        let mut value = Value {
            what: own,
            is_defined: true,
            ..self.any(var_ty)
        };
        if is_over_slots {
            value.label = Label::slots();
            self.env.slots.insert(own, HeldSlot::new(None));
        }
        let frame = self.frame();
        self.havoc(changed);
        let mut head = self.env.clone();
        // Once for what a pass does, and again for what it finds that an earlier one left: slots
        // are freed in one pass, filled in another and used in a third.
        let rounds = if head.slots.is_empty() { 2 } else { 3 };
        for _ in 0..rounds {
            self.env = head.clone();
            let own_variable = self.whole(var).local_path();
            self.env.assigned.push(own_variable.into_iter().collect());
            self.env.values.insert((frame, var), value.clone());
            body(self);
            self.env.assigned.pop();
            self.env.values.remove(&(frame, var));
            head.join(&self.env);
        }
        self.env = head;
        self.env.slots.remove(&own);
        self.env.values.remove(&(frame, var));
        let passes = self.open.pop().expect("the loop is open");
        self.close(&passes);
    }

    /// What notes all that happens from here on.
    pub(super) fn observer(&self) -> Passes {
        Passes {
            number: self.keys.len() as LoopNo,
            key: (self.current().item, LocalId::new(0)),
            site: SiteId::new(0),
            kind: Kind::For,
            frame: self.frame(),
            first_inner_frame: self.n_frames,
            first_inner_value: self.n_values,
            n_passes: 0,
            is_by_name: false,
            is_over_slots: false,
            accesses: Vec::new(),
            may_fault: None,
            may_abandon: None,
            covers: None,
            returns: Vec::new(),
            unknown: None,
        }
    }

    /// Decides a loop whose order depends on names.
    fn close(&mut self, passes: &Passes) {
        if !passes.is_by_name {
            return;
        }
        if passes.is_over_slots {
            self.refuse_insertions(passes);
        }
        let name = |spot: &Spot| self.name(spot);
        let Decision {
            reasons,
            left_over,
            has_effects,
        } = passes.decide(&name);
        let around = self.open.iter().filter(|it| it.is_by_name);
        let around: Vec<_> = around.map(|it| it.key).collect();
        let facts = self.loops.entry(passes.key).or_default();
        facts.site = facts.site.or(Some(passes.site));
        facts.n_passes = facts.n_passes.max(passes.n_passes);
        facts.reasons.extend(reasons);
        facts.has_effects |= has_effects;
        facts.around.extend(around);
        facts.is_quantifier |= passes.kind != Kind::For;
        for path in left_over {
            if path.frame == passes.frame {
                facts.left_over.insert(path.local);
            }
            let loops = self.env.left_over.entry(path).or_default();
            loops.insert(passes.number);
        }
    }

    /// Whether an element that is added while the slots are gone through is come to depends on
    /// where it is put.
    fn refuse_insertions(&mut self, passes: &Passes) {
        let own = Step::At(What::Element(passes.number));
        let slots = passes.accesses.iter().map(|access| &access.spot);
        let slots: Vec<&Spot> = slots.filter(|spot| spot.path.contains(&own)).collect();
        for access in &passes.accesses {
            if access.update == Some(Update::Insert)
                && slots.iter().any(|slot| slot.meets(&access.spot))
            {
                let message = "this adds to the multiset that the loop runs over, so whether the loop meets the new \
                     element depends on the order of elements";
                self.breaks(access.site, message);
            }
        }
    }

    /// Forgets what a loop's body may change before it is reached again.
    pub(super) fn havoc(&mut self, changed: &BTreeSet<LocalId>) {
        let current = self.frame();
        let frames = &self.frames;
        let mentions = self.mentions;
        self.env.values.retain(|(frame, local), _| {
            let activation = frames.iter().find(|it| it.number == *frame);
            let is_referred_to =
                activation.is_none_or(|it| mentions.is_referred_to(it.item, *local));
            let is_changed = *frame == current && changed.contains(local);
            !is_referred_to && !is_changed
        });
        for ((frame, local), spots) in &mut self.env.references {
            if *frame == current && changed.contains(local) {
                let ty = spots[0].ty;
                *spots = vec![Spot::anywhere(ty)];
            }
        }
    }

    /// Follows a call. The result of a function of simple type is returned.
    pub(super) fn call(&mut self, id: FunctionId, args: &'p [Arg], site: SiteId) -> Value {
        let program = self.program;
        let callee = program.function(id);
        let item = Item::Function(id);
        let is_open = self.frames.iter().any(|it| it.item == item);
        let depth = self.frames.len();
        let is_unknown = is_open || depth > MAX_CALL_DEPTH || !self.charge();
        if depth as u64 > u64::from(self.limits.call_depth) {
            self.fault(site);
        }
        // Arguments are the caller's expressions.
        let mut values = Vec::new();
        let mut references = Vec::new();
        for (number, arg) in args.iter().enumerate() {
            let local = LocalId::new(number);
            let ty = callee.frame.local(local).kind.ty();
            match arg {
                Arg::Value(value) => {
                    let value = self.value(*value);
                    let mut value = self.stored(value, ty, site);
                    self.settle(&mut value);
                    values.push((local, value));
                }
                Arg::Copy(place) => {
                    let spots = self.resolve(place, site);
                    self.read_all(&spots, site);
                    self.same_types(&spots, ty, site);
                }
                Arg::Ref(place) => {
                    let spots = self.resolve(place, site);
                    self.same_types(&spots, ty, site);
                    references.push((local, spots));
                }
            }
        }
        if is_unknown || !self.follows_calls {
            self.call_unknown(id, site);
            return match callee.result {
                Some(ty) => self.any(ty),
                None => self.nothing(),
            };
        }
        self.push_frame(item, &callee.frame);
        let frame = self.frame();
        let locals = values.into_iter().map(|(local, it)| ((frame, local), it));
        self.env.values.extend(locals);
        let locals = references
            .into_iter()
            .map(|(local, it)| ((frame, local), it));
        self.env
            .references
            .extend(locals.filter(|(_, spots)| !spots.is_empty()));
        self.block(&callee.body);
        if callee.result.is_some() {
            self.fault_at_end(callee.site);
        }
        let activation = self.frames.pop().expect("the call is open");
        let mut env = activation.exit;
        if callee.result.is_none() || env.is_dead {
            env.join(&self.env);
        }
        // A call that never comes back has failed in every way.
        if env.is_dead {
            env.assigned = self.env.assigned.clone();
        }
        self.env = env;
        self.env.forget_frames_from(frame);
        self.env.assigned.truncate(self.open.len());
        let open = &self.open;
        self.env.slots.retain(|what, _| match what {
            What::Element(number) => open.iter().any(|it| it.number == *number),
            _ => true,
        });
        match (callee.result, activation.returned) {
            (Some(ty), Some(value)) => Value {
                label: Label::of_type(self.types(), ty),
                ..value
            },
            (Some(ty), None) => self.any(ty),
            (None, _) => self.nothing(),
        }
    }

    fn fault_at_end(&mut self, site: SiteId) {
        if !self.env.is_dead {
            self.fault(site);
        }
    }

    fn nothing(&self) -> Value {
        Value {
            what: What::Undefined,
            label: Label::none(),
            is_defined: false,
            range: None,
        }
    }

    /// A call that is not followed may do anything.
    fn call_unknown(&mut self, id: FunctionId, site: SiteId) {
        self.unknown.insert(id);
        self.fault(site);
        self.abandon(site);
        self.cover(site);
        for passes in &mut self.open {
            passes.unknown = passes.unknown.or(Some(site));
        }
        let anywhere = Spot::anywhere(TypeId::new(0));
        self.use_left_over(&anywhere);
        self.forget_value(&anywhere);
        self.env.facts.clear();
        for slot in self.env.slots.values_mut() {
            slot.is_freed = true;
            slot.is_stale = true;
        }
    }

    pub(super) fn read_all(&mut self, spots: &[Spot], site: SiteId) {
        for spot in spots {
            self.read(spot, site);
        }
    }

    /// Places that are passed or copied as a whole must mean what the other side means.
    pub(super) fn same_types(&mut self, spots: &[Spot], ty: TypeId, site: SiteId) {
        if spots
            .iter()
            .any(|spot| !same_meaning(self.types(), spot.ty, ty))
        {
            self.breaks(
                site,
                "this takes elements of a scalarset for something else, and so tells them apart",
            );
        }
    }

    /// A value that goes to a place or parameter of a type; what does not fit fails.
    pub(super) fn stored(&mut self, value: Value, ty: TypeId, site: SiteId) -> Value {
        let own = self.any(ty);
        if !value.label.agrees(&own.label) {
            self.breaks(
                site,
                "this takes elements of a scalarset for something else",
            );
        }
        let fits = match (value.range, own.range) {
            (Some((lo, hi)), Some((least, greatest))) => least <= lo && hi <= greatest,
            _ => value.what == What::Undefined,
        };
        if !fits {
            self.fault(site);
        }
        Value {
            label: own.label,
            range: own.range,
            ..value
        }
    }

    /// How people call a place.
    pub(super) fn name(&self, spot: &Spot) -> String {
        let program = self.program;
        let (mut name, mut ty) = match spot.base {
            Base::Var(var) => (program.var(var).name.clone(), program.var(var).ty),
            Base::Local(frame, local) => match self.frames.iter().find(|it| it.number == frame) {
                Some(activation) => {
                    let local = activation.frame.local(local);
                    (local.name.clone(), local.kind.ty())
                }
                None => return "a local".to_owned(),
            },
            Base::Anywhere => return "what a reference leads to".to_owned(),
        };
        for step in &spot.path {
            match (step, program.types.get(ty)) {
                (Step::Field(field), hadal_ir::Type::Record { fields }) => {
                    let field = &fields[*field as usize];
                    name.push('.');
                    name.push_str(&field.name);
                    ty = field.ty;
                }
                (
                    Step::At(what),
                    hadal_ir::Type::Array { element, .. }
                    | hadal_ir::Type::Multiset { element, .. },
                ) => {
                    name.push_str(&format!("[{}]", self.index_name(*what)));
                    ty = *element;
                }
                _ => break,
            }
        }
        name
    }

    fn index_name(&self, what: What) -> String {
        match what {
            What::Const(value) => value.to_string(),
            What::Element(number) => {
                let (item, var) = self.keys[number as usize];
                let frame = frame_of(self.program, item);
                frame.local(var).name.clone()
            }
            What::Fixed(_) | What::Undefined | What::Any => {
                let is_held = |(key, value): &(&(FrameNo, LocalId), &Value)| {
                    value.what == what && what != What::Any && key.0 == self.frame()
                };
                match self.env.values.iter().find(is_held) {
                    Some(((_, local), _)) => self.current().frame.local(*local).name.clone(),
                    None => "..".to_owned(),
                }
            }
        }
    }
}

/// The frame of an item.
pub(super) fn frame_of(program: &Program, item: Item) -> &Frame {
    match item {
        Item::Function(id) => &program.function(id).frame,
        Item::Rule(number) => &program.rules[number as usize].frame,
        Item::Start(number) => &program.starts[number as usize].frame,
        Item::Property(number) => &program.properties[number as usize].frame,
    }
}

/// What is known of a value that is one of two.
pub(super) fn either(a: Value, b: Value) -> Value {
    Value {
        what: if a.what == b.what { a.what } else { What::Any },
        label: a.label.merged(&b.label).unwrap_or_else(Label::plain),
        is_defined: a.is_defined && b.is_defined,
        range: match (a.range, b.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            _ => None,
        },
    }
}

/// Whether all of a local's part was assigned in this pass.
fn is_assigned(
    types: &Types,
    assigned: &std::collections::HashSet<super::spot::LocalPath>,
    spot: &Spot,
) -> bool {
    let Some(path) = spot.local_path() else {
        return false;
    };
    if assigned.is_empty() {
        return false;
    }
    let is_part = assigned.iter().any(|whole| whole.holds(&path));
    if is_part || !spot.is_by_fields() {
        return is_part;
    }
    // A record is assigned when all its fields are.
    match types.get(spot.ty) {
        hadal_ir::Type::Record { fields } => fields.iter().enumerate().all(|(number, field)| {
            let mut part = spot.clone();
            part.path.push(Step::Field(number as u32));
            part.ty = field.ty;
            is_assigned(types, assigned, &part)
        }),
        _ => false,
    }
}
