//! Calls, inlined with their abstract arguments, and the checks on values that are stored or passed.

use hadal_ir::interp::Item;
use hadal_ir::{Arg, FunctionId, LocalId, SiteId, TypeId};

use super::env::Value;
use super::label::{Label, same_indices, same_meaning};
use super::spot::{Base, Spot, Symbol};
use super::walk::Walk;

/// Depth to which calls are inlined.
const MAX_CALL_DEPTH: usize = 24;

impl<'p> Walk<'p> {
    /// Inlines a call and returns the result, if it has a simple type.
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
                    self.same_places(&spots, ty, site);
                    references.push((local, spots));
                }
            }
        }
        if is_unknown || !self.follows_calls {
            self.not_inlined.insert(id);
            self.lose_slots();
            if self.follows_calls {
                self.call_unknown(id, site);
            }
            return match callee.result {
                Some(ty) => self.any(ty),
                None => Value::undefined(),
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
            // Where the end of the body can be reached.
            self.fault(callee.site);
        }
        let activation = self.frames.pop().expect("the call is open");
        let mut env = activation.exit;
        if callee.result.is_none() || env.is_dead {
            env.join(&self.env);
        }
        // A call that never returns.
        if env.is_dead {
            env.assigned = self.env.assigned.clone();
        }
        self.env = env;
        self.env.forget_frames_from(frame);
        self.env.assigned.truncate(self.open.len());
        // After its loop, the element is just some value.
        let open = &self.open;
        let is_over = |symbol: Symbol| match symbol {
            Symbol::Element(number) => !open.iter().any(|it| it.number == number),
            _ => false,
        };
        self.env.slots.retain(|holder, _| !is_over(*holder));
        self.env.values.retain(|_, value| !is_over(value.symbol));
        match (callee.result, activation.returned) {
            (Some(ty), Some(value)) => Value {
                label: Label::of_type(self.types(), ty),
                symbol: match is_over(value.symbol) {
                    true => Symbol::Any,
                    false => value.symbol,
                },
                ..value
            },
            (Some(ty), None) => self.any(ty),
            (None, _) => Value::undefined(),
        }
    }

    /// A call that is not inlined may do anything.
    fn call_unknown(&mut self, id: FunctionId, site: SiteId) {
        self.unknown.insert(id);
        self.fault(site);
        self.abandon(site);
        self.cover(site);
        for passes in &mut self.open {
            passes.unknown = passes.unknown.or(Some(site));
        }
        self.use_referred_to();
        self.forget_value(&Spot::anywhere(TypeId::new(0)));
        self.env.facts.clear();
    }

    /// The callee may read locals that something refers to, and no others.
    fn use_referred_to(&mut self) {
        let paths: Vec<_> = self.env.last_values.keys().cloned().collect();
        for path in paths {
            let activation = self.frames.iter().find(|it| it.number == path.frame);
            if let Some(activation) = activation
                && self.mentions.is_referred_to(activation.item, path.local)
            {
                let spot = Spot {
                    base: Base::Local(path.frame, path.local),
                    path: Vec::new(),
                    ty: activation.frame.local(path.local).kind.ty(),
                };
                self.use_last_values(&spot);
            }
        }
    }

    /// The callee may have freed slots and filled them again.
    fn lose_slots(&mut self) {
        for slot in self.env.slots.values_mut() {
            slot.is_freed = true;
            slot.is_stale = true;
        }
    }

    /// Aggregates that are passed or copied must have the same meaning on both sides.
    pub(super) fn same_types(&mut self, spots: &[Spot], ty: TypeId, site: SiteId) {
        if spots
            .iter()
            .any(|spot| !same_meaning(self.types(), spot.ty, ty))
        {
            self.breaks(
                site,
                "this uses elements of a scalarset as something else, and so distinguishes them",
            );
        }
    }

    /// The targets of a reference must have its meaning, and the same indices.
    pub(super) fn same_places(&mut self, spots: &[Spot], ty: TypeId, site: SiteId) {
        self.same_types(spots, ty, site);
        let types = self.types();
        if !spots.iter().all(|spot| same_indices(types, spot.ty, ty)) {
            self.breaks(
                site,
                "this refers to an array by other indices than its own",
            );
        }
    }

    /// A variable must have the same labels as its domain.
    pub(super) fn same_values(&mut self, domain: TypeId, ty: TypeId, site: SiteId) {
        let types = self.types();
        if !Label::of_type(types, domain).agrees(&Label::of_type(types, ty)) {
            self.breaks(site, "this uses elements of a scalarset as something else");
        }
    }

    /// A value that is stored in a place or parameter of a type; a fault where it does not fit.
    pub(super) fn stored(&mut self, value: Value, ty: TypeId, site: SiteId) -> Value {
        let own = self.any(ty);
        if !value.label.agrees(&own.label) {
            self.breaks(site, "this uses elements of a scalarset as something else");
        }
        let fits = match (value.range, own.range) {
            (Some((lo, hi)), Some((least, greatest))) => least <= lo && hi <= greatest,
            _ => value.symbol == Symbol::Undefined,
        };
        if !fits {
            self.fault(site);
        }
        Value {
            label: own.label,
            range: match value.symbol {
                Symbol::Const(_) => value.range,
                _ => own.range,
            },
            ..value
        }
    }
}
