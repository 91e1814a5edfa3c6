//! Places of a frame: what type they have, and who may write to them.

use super::VerifyErrorKind;
use super::exprs::{Locals, Sort};
use super::frames::FrameCheck;
use crate::expr::{Place, Projection, Root};
use crate::ids::{LocalId, TypeId};
use crate::program::LocalKind;
use crate::types::Type;

/// What is known about a place.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) ty: TypeId,
    /// What evaluating it touches, the root included.
    pub(super) locals: Locals,
    /// The local of the frame it lies in for sure, for values.
    own: Option<LocalId>,
    /// Why it must not be written.
    read_only: Option<&'static str>,
    /// The local that keeps the result it is part of.
    pub(super) into: Option<LocalId>,
}

impl FrameCheck<'_> {
    /// The place, or `None` after an error.
    pub(super) fn place(&mut self, place: &Place) -> Option<Found> {
        let mut locals = Locals::default();
        let (mut own, mut read_only, mut result) = (None, None, None);
        let mut ty = match &place.root {
            Root::Var(id) => self.program.var(*id).ty,
            Root::Local(id) => {
                locals.used.insert(*id);
                match self.local(*id)? {
                    LocalKind::Value(ty) => {
                        own = Some(*id);
                        ty
                    }
                    LocalKind::Ref(ty) => ty,
                    LocalKind::ConstRef(ty) => {
                        read_only = Some("a constant reference");
                        ty
                    }
                }
            }
            Root::Result {
                function,
                args,
                into,
                site,
            } => {
                if site.index() >= self.program.sites.len() {
                    let message = format!("{site} is not declared");
                    self.error(VerifyErrorKind::Place, message);
                    return None;
                }
                read_only = Some("the result of a call");
                result = Some(*into);
                self.call(*function, args, &mut locals);
                locals.changed.insert(*into);
                let kind = self.local(*into)?;
                let ty = self.program.function(*function).result;
                match (ty, kind) {
                    (Some(ty), LocalKind::Value(kept))
                        if self.program.types.simple(ty).is_none()
                            && self.same_layout(ty, kept) =>
                    {
                        ty
                    }
                    _ => {
                        let message =
                            format!("{into} cannot keep an aggregate that {function} returns");
                        self.error(VerifyErrorKind::Place, message);
                        return None;
                    }
                }
            }
        };
        for step in &place.path {
            let mut index_locals = Locals::default();
            ty = match (step, self.program.types.get(ty)) {
                (Projection::Field(n), Type::Record { fields }) => match fields.get(*n as usize) {
                    Some(field) => field.ty,
                    None => {
                        self.error(VerifyErrorKind::Place, format!("{ty} has no field {n}"));
                        return None;
                    }
                },
                (Projection::Index(id), Type::Array { index, element }) => {
                    let sort = self.simple_sort(*index);
                    self.operand(*id, sort, &mut index_locals);
                    *element
                }
                (Projection::Index(id), Type::Multiset { element, .. }) => {
                    self.operand(*id, Sort::Int, &mut index_locals);
                    *element
                }
                _ => {
                    let message = format!("the path does not fit {ty}");
                    self.error(VerifyErrorKind::Place, message);
                    return None;
                }
            };
            self.keeps_result(result, &index_locals);
            locals.extend(&index_locals);
        }
        Some(Found {
            ty,
            locals,
            own,
            read_only,
            into: result,
        })
    }

    /// A place that holds a multiset.
    pub(super) fn multiset(&mut self, place: &Place) -> Option<Found> {
        let found = self.place(place)?;
        match self.program.types.get(found.ty) {
            Type::Multiset { .. } => Some(found),
            _ => {
                let message = format!("{} is not a multiset", found.ty);
                self.error(VerifyErrorKind::Place, message);
                None
            }
        }
    }

    /// The sort of a type that must be simple.
    pub(super) fn simple_sort(&mut self, ty: TypeId) -> Sort {
        match self.program.types.simple(ty) {
            Some(simple) => Sort::of(simple),
            None => {
                self.error(VerifyErrorKind::Place, format!("{ty} is not a simple type"));
                Sort::Any
            }
        }
    }

    /// Checks that a place may be written, and returns the local that changes with it.
    pub(super) fn writable(&mut self, found: &Found) -> Option<LocalId> {
        if let Some(what) = found.read_only {
            self.error(VerifyErrorKind::Write, format!("{what} is written"));
        }
        found.own
    }

    /// Whether a place lies in a local that holds values, so that the state is out of reach.
    pub(super) fn is_own(&self, place: &Place) -> bool {
        match place.root {
            Root::Local(id) => matches!(
                self.frame.locals.get(id.index()).map(|local| local.kind),
                Some(LocalKind::Value(_))
            ),
            _ => false,
        }
    }

    /// Checks that a result is still there after an evaluation that touches `locals`.
    pub(super) fn keeps_result(&mut self, result: Option<LocalId>, locals: &Locals) {
        if let Some(into) = result
            && locals.changed.contains(&into)
        {
            let message = format!("{into} is changed while the result it keeps is in use");
            self.error(VerifyErrorKind::Place, message);
        }
    }

    /// The multiset a parameter chooses from: part of the state, found by earlier parameters.
    pub(super) fn slots_param(&mut self, place: &Place, capacity: u32, earlier: &[LocalId]) {
        if !matches!(place.root, Root::Var(_)) {
            let message = "slots are chosen from a state variable";
            self.error(VerifyErrorKind::Place, message);
        }
        let Some(found) = self.multiset(place) else {
            return;
        };
        if let Some(local) = found.locals.used.iter().find(|id| !earlier.contains(id)) {
            let message = format!("a domain uses {local}, which is no earlier parameter");
            self.error(VerifyErrorKind::Unbound, message);
        }
        match self.program.types.get(found.ty) {
            Type::Multiset { capacity: has, .. } if *has == capacity => {}
            _ => {
                let message = format!("{} does not have {capacity} slots", found.ty);
                self.error(VerifyErrorKind::Type, message);
            }
        }
    }
}
