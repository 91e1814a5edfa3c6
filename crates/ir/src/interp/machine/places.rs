//! Places: the address of something that can be read or written, and its name for messages.

use hadal_model::FaultKind;

use super::super::prepare::Parts;
use super::{Halt, Machine};
use crate::bits;
use crate::expr::{Place, Projection, Root};
use crate::ids::{ExprId, LocalId, SiteId, TypeId};
use crate::program::LocalKind;
use crate::types::Type;

impl<'p> Machine<'p> {
    /// The address and type of a place.
    pub(super) fn resolve(&mut self, place: &'p Place) -> Result<(usize, TypeId), Halt> {
        let (mut at, mut ty) = match &place.root {
            Root::Var(var) => (
                self.code.layout.var(*var),
                self.code.program.vars[var.index()].ty,
            ),
            Root::Local(local) => self.local_place(*local),
            Root::Result {
                function,
                args,
                into,
                site,
            } => {
                let (at, ty) = self.local_place(*into);
                self.call(*function, args, *site, at)?;
                (at, ty)
            }
        };
        for projection in &place.path {
            (at, ty) = match projection {
                Projection::Field(field) => match &self.code.parts[ty.index()] {
                    Parts::Record { fields } => {
                        let (offset, ty) = fields[*field as usize];
                        (at + offset, ty)
                    }
                    _ => unreachable!("verified: fields are of records"),
                },
                Projection::Index(index) => {
                    let value = self.eval(*index)?;
                    match self.element(at, ty, value) {
                        Some(found) => found,
                        None => return self.index_fault(place, ty, value, *index),
                    }
                }
            };
        }
        Ok((at, ty))
    }

    /// The address and type of a place that is about to be written. A fault where it is part of an
    /// element of a multiset that is not there.
    pub(super) fn resolve_written(
        &mut self,
        place: &'p Place,
        site: SiteId,
    ) -> Result<(usize, TypeId), Halt> {
        let (at, ty) = self.resolve(place)?;
        let code = self.code;
        let (types, bags) = (&code.program.types, &code.bags);
        let after = bags.partition_point(|&(_, first_bit)| first_bit <= at);
        let Some(&(bag, first_bit)) = after.checked_sub(1).and_then(|it| bags.get(it)) else {
            return Ok((at, ty));
        };
        let is_inside = at < first_bit + types.bits(bag) as usize && types.bits(ty) > 0;
        if is_inside && types.is_in_free_slot(&self.memory, bag, first_bit, at) {
            let name = self.place_name(place);
            return self.removed_fault(&name, "written", site);
        }
        Ok((at, ty))
    }

    /// An element of a multiset is used that was removed before.
    pub(super) fn removed_fault<T>(&self, name: &str, used: &str, site: SiteId) -> Result<T, Halt> {
        let message = format!("`{name}` is {used}, but the element has been removed");
        self.fault(FaultKind::Index, message, site)
    }

    fn local_place(&self, local: LocalId) -> (usize, TypeId) {
        let slot = self.current.frame.slot(local);
        let at = self.current.frame_bit + slot.offset;
        match slot.kind {
            LocalKind::Value(ty) => (at, ty),
            LocalKind::Ref(ty) | LocalKind::ConstRef(ty) => {
                (bits::get(&self.memory, at, 64) as usize, ty)
            }
        }
    }

    /// Address and type of an element, if there is one at that index.
    pub(super) fn element(&self, at: usize, ty: TypeId, value: i64) -> Option<(usize, TypeId)> {
        match self.code.parts[ty.index()] {
            Parts::Array {
                lo,
                len,
                stride,
                element,
                ..
            } => {
                let position = value.wrapping_sub(lo) as u64;
                (value >= lo && position < len).then(|| (at + position as usize * stride, element))
            }
            Parts::Multiset {
                capacity,
                stride,
                element,
            } => (value >= 0 && value < i64::from(capacity))
                .then(|| (at + capacity as usize + value as usize * stride, element)),
            _ => unreachable!("verified: elements are of arrays and multisets"),
        }
    }

    pub(super) fn index_fault<T>(
        &mut self,
        place: &'p Place,
        ty: TypeId,
        value: i64,
        index: ExprId,
    ) -> Result<T, Halt> {
        let types = &self.code.program.types;
        let (shown, bounds) = match self.code.parts[ty.index()] {
            Parts::Array { index, lo, len, .. } => {
                let hi = lo.wrapping_add(len as i64).wrapping_sub(1);
                let bounds = format!(
                    "{}..{}",
                    types.value_name(index, lo),
                    types.value_name(index, hi)
                );
                (types.value_name(index, value), bounds)
            }
            Parts::Multiset { capacity, .. } => {
                (value.to_string(), format!("0..{}", i64::from(capacity) - 1))
            }
            _ => (value.to_string(), String::new()),
        };
        let name = match self.code.program.index_names.get(&index) {
            Some(name) => name.clone(),
            None => self.root_name(place),
        };
        let site = self.code.program.expr_site(index);
        let message = format!("index {shown} of `{name}` is outside {bounds}");
        self.fault(FaultKind::Index, message, site)
    }

    fn root_name(&self, place: &Place) -> String {
        match &place.root {
            Root::Var(var) => self.code.program.vars[var.index()].name.clone(),
            Root::Local(local) => self.current.names.local(*local).name.clone(),
            Root::Result { function, .. } => {
                format!("{}(...)", self.code.program.function(*function).name)
            }
        }
    }

    /// The name of a place with the values of its indices, for messages.
    pub(super) fn place_name(&mut self, place: &'p Place) -> String {
        let mut name = self.root_name(place);
        let mut ty = match &place.root {
            Root::Var(var) => self.code.program.vars[var.index()].ty,
            Root::Local(local) | Root::Result { into: local, .. } => {
                self.current.frame.slot(*local).kind.ty()
            }
        };
        for projection in &place.path {
            match (projection, &self.code.parts[ty.index()]) {
                (Projection::Field(field), Parts::Record { fields }) => {
                    if let Type::Record { fields } = self.code.program.types.get(ty) {
                        name.push('.');
                        name.push_str(&fields[*field as usize].name);
                    }
                    ty = fields[*field as usize].1;
                }
                (
                    Projection::Index(index),
                    Parts::Array {
                        index: by, element, ..
                    },
                ) => {
                    let shown = match self.eval_again(*index) {
                        Some(value) => self.code.program.types.value_name(*by, value),
                        None => "?".to_owned(),
                    };
                    name.push_str(&format!("[{shown}]"));
                    ty = *element;
                }
                (Projection::Index(index), Parts::Multiset { element, .. }) => {
                    let shown = self.eval_again(*index).unwrap_or(-1);
                    name.push_str(&format!("{{{shown}}}"));
                    ty = *element;
                }
                _ => unreachable!("verified: paths fit their types"),
            }
        }
        name
    }

    /// Re-evaluates an index, for a message. A fault during this has no effect.
    fn eval_again(&mut self, index: ExprId) -> Option<i64> {
        let before = self.current;
        let value = self.eval(index).ok();
        self.current = before;
        value
    }
}
