//! Display names of places.

use hadal_ir::{LocalId, Type};

use super::env::Value;
use super::spot::{Base, FrameNo, Spot, Step, Symbol};
use super::walk::Walk;

impl<'p> Walk<'p> {
    /// The display name of a place.
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
                (Step::Field(field), Type::Record { fields }) => {
                    let field = &fields[*field as usize];
                    name.push('.');
                    name.push_str(&field.name);
                    ty = field.ty;
                }
                (Step::At(what), Type::Array { element, .. } | Type::Multiset { element, .. }) => {
                    name.push_str(&format!("[{}]", self.index_name(*what)));
                    ty = *element;
                }
                _ => break,
            }
        }
        name
    }

    fn index_name(&self, symbol: Symbol) -> String {
        match symbol {
            Symbol::Const(value) => value.to_string(),
            Symbol::Element(number) => {
                let (item, var) = self.keys[number as usize];
                let frame = item.frame(self.program);
                frame.local(var).name.clone()
            }
            Symbol::Fixed(_) | Symbol::Undefined | Symbol::Any => {
                let is_held = |(key, value): &(&(FrameNo, LocalId), &Value)| {
                    value.symbol == symbol && symbol != Symbol::Any && key.0 == self.frame()
                };
                match self.env.values.iter().find(is_held) {
                    Some(((_, local), _)) => self.current().frame.local(*local).name.clone(),
                    None => "..".to_owned(),
                }
            }
        }
    }
}
