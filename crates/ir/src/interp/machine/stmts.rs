//! Execution of statements.

use hadal_model::FaultKind;

use super::super::prepare::Parts;
use super::exprs::Values;
use super::{Ended, Halt, Machine, RawFault, UNDEFINED};
use crate::bits;
use crate::expr::{Arg, Place};
use crate::ids::{LocalId, SiteId, TypeId};
use crate::stmt::{Block, PutItem, ReturnValue, Stmt, StmtKind};

impl<'p> Machine<'p> {
    /// Runs the body of a rule or startstate, or a prologue.
    pub(in crate::interp) fn run_body(&mut self, body: &'p Block) -> Result<(), Halt> {
        self.run(body).map(|_| ())
    }

    pub(super) fn run(&mut self, block: &'p Block) -> Result<Ended, Halt> {
        for stmt in block {
            if self.step(stmt)? == Ended::ByReturn {
                return Ok(Ended::ByReturn);
            }
        }
        Ok(Ended::Normally)
    }

    fn step(&mut self, stmt: &'p Stmt) -> Result<Ended, Halt> {
        let code = self.code;
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                let value = self.eval(*value)?;
                let (at, ty) = self.resolve_written(place, stmt.site)?;
                if !self.fits(ty, value) {
                    let name = format!("`{}`", self.place_name(place));
                    return self.range_fault(value, ty, &name, stmt.site);
                }
                self.store(at, ty, value);
            }
            StmtKind::Copy { to, from } => {
                let (from, ty) = self.resolve(from)?;
                let (to, _) = self.resolve_written(to, stmt.site)?;
                let n_bits = code.program.types.bits(ty) as usize;
                bits::copy_within(&mut self.memory, from, to, n_bits);
            }
            StmtKind::Clear(place) => {
                let (at, ty) = self.resolve_written(place, stmt.site)?;
                self.clear(at, ty);
            }
            StmtKind::Undefine(place) => {
                let (at, ty) = self.resolve_written(place, stmt.site)?;
                bits::zero(&mut self.memory, at, code.program.types.bits(ty) as usize);
            }
            StmtKind::If { arms, otherwise } => {
                for (condition, block) in arms {
                    if self.holds(*condition)? {
                        return self.run(block);
                    }
                }
                return self.run(otherwise);
            }
            StmtKind::For { var, domain, body } => {
                let values = self.domain(domain, stmt.site)?;
                if self.order.is_some() {
                    return self.for_each_in_any_order(*var, values, body, stmt.site);
                }
                return self.for_each(*var, values, body);
            }
            StmtKind::While { condition, body } => {
                let mut rounds = 0;
                while self.holds(*condition)? {
                    if rounds >= self.limits.loop_rounds {
                        let limit = self.limits.loop_rounds;
                        let message = format!("a loop ran more than {limit} times");
                        return self.fault(FaultKind::LoopLimit, message, stmt.site);
                    }
                    rounds += 1;
                    self.poll()?;
                    if self.run(body)? == Ended::ByReturn {
                        return Ok(Ended::ByReturn);
                    }
                }
            }
            StmtKind::Bind { local, place } => {
                let (to, _) = self.resolve(place)?;
                let at = self.current.frame_bit + self.current.frame.slot(*local).offset;
                bits::set(&mut self.memory, at, 64, to as u64);
            }
            StmtKind::Call { function, args } => {
                // An unused aggregate result goes to room reserved above this frame.
                let before = self.current;
                let result_bit = before.top * 8;
                if let Some(ty) = code.program.function(*function).result {
                    self.current.top += (code.program.types.bits(ty) as usize).div_ceil(8);
                    self.reserve();
                }
                self.call(*function, args, stmt.site, result_bit)?;
                self.current = before;
            }
            StmtKind::Return(value) => {
                self.return_value(value, stmt.site)?;
                return Ok(Ended::ByReturn);
            }
            StmtKind::Assert {
                condition,
                message,
                goes_on,
            } => {
                if !self.holds(*condition)? {
                    // Where orders are compared, a failure is something that they have in common.
                    if !goes_on || self.order.is_some() {
                        return self.fault(FaultKind::Assertion, message.clone(), stmt.site);
                    }
                    self.reported.push(RawFault {
                        kind: FaultKind::Assertion,
                        message: message.clone(),
                        site: stmt.site,
                        goes_on: true,
                    });
                }
            }
            StmtKind::Error { kind, message } => {
                return self.fault(*kind, message.clone(), stmt.site);
            }
            StmtKind::Assume(condition) => {
                if !self.holds(*condition)? {
                    return Err(Halt::Abandoned);
                }
            }
            StmtKind::Cover { point, condition } => {
                if self.holds(*condition)? {
                    self.covered.push(*point);
                }
            }
            StmtKind::Put(item) => self.put(item)?,
            StmtKind::MultisetAdd { multiset, value } => {
                self.multiset_add(multiset, value, stmt.site)?;
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                let value = self.eval(*slot)?;
                let (at, ty) = self.resolve_written(multiset, stmt.site)?;
                let Some((element_at, element)) = self.element(at, ty, value) else {
                    return self.index_fault(multiset, ty, value, *slot);
                };
                if bits::get(&self.memory, at + value as usize, 1) == 0 {
                    let name = format!("{}{{{value}}}", self.place_name(multiset));
                    return self.removed_fault(&name, "removed", stmt.site);
                }
                bits::set(&mut self.memory, at + value as usize, 1, 0);
                let n_bits = code.program.types.bits(element) as usize;
                bits::zero(&mut self.memory, element_at, n_bits);
            }
        }
        Ok(Ended::Normally)
    }

    pub(super) fn for_each(
        &mut self,
        var: LocalId,
        mut values: Values,
        body: &'p Block,
    ) -> Result<Ended, Halt> {
        while let Some(value) = values.next() {
            self.poll()?;
            self.set_local(var, value);
            if self.run(body)? == Ended::ByReturn {
                return Ok(Ended::ByReturn);
            }
        }
        Ok(Ended::Normally)
    }

    fn return_value(&mut self, value: &'p ReturnValue, site: SiteId) -> Result<(), Halt> {
        match value {
            ReturnValue::Nothing => {}
            ReturnValue::Value(value) => {
                let value = self.eval(*value)?;
                self.check_returned(value, site)?;
                self.returned = value;
            }
            ReturnValue::Copy(place) => {
                let (from, ty) = self.resolve(place)?;
                let n_bits = self.code.program.types.bits(ty) as usize;
                bits::copy_within(&mut self.memory, from, self.current.return_bit, n_bits);
            }
        }
        Ok(())
    }

    /// A returned value must be one of the function's result type.
    fn check_returned(&self, value: i64, site: SiteId) -> Result<(), Halt> {
        let Some(function) = self.current.function else {
            return Ok(());
        };
        let function = self.code.program.function(function);
        match function.result {
            Some(ty) if !self.fits(ty, value) => {
                let what = format!("the result of `{}`", function.name);
                self.range_fault(value, ty, &what, site)
            }
            _ => Ok(()),
        }
    }

    /// Sets every leaf to its least value, or 0 where it is total, and empties multisets.
    fn clear(&mut self, at: usize, ty: TypeId) {
        match &self.code.parts[ty.index()] {
            Parts::Simple {
                lo, hi, is_total, ..
            } => {
                let cleared = match is_total {
                    true => 0,
                    false if lo <= hi => *lo,
                    false => UNDEFINED,
                };
                self.store(at, ty, cleared);
            }
            Parts::Array {
                len,
                stride,
                element,
                ..
            } => {
                for position in 0..*len as usize {
                    self.clear(at + position * stride, *element);
                }
            }
            Parts::Record { fields } => {
                for &(offset, field) in fields {
                    self.clear(at + offset, field);
                }
            }
            Parts::Multiset { .. } => {
                let n_bits = self.code.program.types.bits(ty) as usize;
                bits::zero(&mut self.memory, at, n_bits);
            }
        }
    }

    fn multiset_add(
        &mut self,
        multiset: &'p Place,
        value: &'p Arg,
        site: SiteId,
    ) -> Result<(), Halt> {
        // Evaluated or found before the multiset is, as an assignment does with its value.
        enum Element {
            Value(i64),
            At(usize),
        }
        let element_value = match value {
            Arg::Value(value) => Element::Value(self.eval(*value)?),
            Arg::Copy(place) | Arg::Ref(place) => Element::At(self.resolve(place)?.0),
        };
        let (at, ty) = self.resolve_written(multiset, site)?;
        let Parts::Multiset {
            capacity,
            stride,
            element,
        } = self.code.parts[ty.index()]
        else {
            unreachable!("verified: elements are added to multisets");
        };
        let slots = 0..capacity as usize;
        let Some(slot) = { slots }.find(|slot| bits::get(&self.memory, at + slot, 1) == 0) else {
            let name = self.place_name(multiset);
            let message = format!("multiset `{name}` is full: it holds at most {capacity}");
            return self.fault(FaultKind::MultisetFull, message, site);
        };
        let to = at + capacity as usize + slot * stride;
        match element_value {
            Element::Value(value) => {
                if !self.fits(element, value) {
                    let name = format!("an element of `{}`", self.place_name(multiset));
                    return self.range_fault(value, element, &name, site);
                }
                self.store(to, element, value);
            }
            Element::At(from) => bits::copy_within(&mut self.memory, from, to, stride),
        }
        bits::set(&mut self.memory, at + slot, 1, 1);
        Ok(())
    }

    fn put(&mut self, item: &'p PutItem) -> Result<(), Halt> {
        let types = &self.code.program.types;
        let text = match item {
            // Most runs of a body are not shown to anyone.
            PutItem::Text(_) if self.output.is_none() => return Ok(()),
            PutItem::Text(text) => text.clone(),
            PutItem::Value(value, ty) => match self.eval(*value)? {
                UNDEFINED => "undefined".to_owned(),
                value => types.value_name(*ty, value),
            },
            PutItem::Number(value, notation) => match self.eval(*value)? {
                UNDEFINED => "undefined".to_owned(),
                value => notation.text(value),
            },
            PutItem::Place(place, name) => {
                let (at, ty) = self.resolve(place)?;
                let mut lines = String::new();
                types.for_each_leaf(ty, &mut name.clone(), at, &mut |name, ty, at| {
                    let value = types.leaf_name(&self.memory, ty, at);
                    lines.push_str(&format!("{name}:{value}\n"));
                });
                lines
            }
        };
        if let Some(output) = &mut self.output {
            output.push_str(&text);
        }
        Ok(())
    }
}
