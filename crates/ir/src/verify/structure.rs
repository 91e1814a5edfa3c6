//! The first stage: ids, types, maps and limits. Nothing is assumed about the program here.

use super::{
    MAX_EXPR_DEPTH, MAX_STMT_DEPTH, MAX_TYPE_DEPTH, MAX_TYPE_PARTS, VerifyError, VerifyErrorKind,
};
use crate::ids::{ScalarsetId, SiteId, TypeId};
use crate::program::{Frame, Guard, Param, ParamDomain, Program, ValueMap};
use crate::stmt::Stmt;
use crate::types::{MAX_STATE_BITS, Simple, SimpleKind, Type, UnionPart};
use crate::walk::Mention;

pub(super) fn check(program: &Program, errors: &mut Vec<VerifyError>) {
    let mut check = Structure {
        program,
        errors,
        type_parts: Vec::new(),
    };
    check.sites();
    check.types();
    check.arithmetic();
    check.vars();
    check.maps();
    check.exprs();
    check.items();
}

struct Structure<'a> {
    program: &'a Program,
    errors: &'a mut Vec<VerifyError>,
    /// Number of parts of each type, itself included, saturating.
    type_parts: Vec<u64>,
}

impl Structure<'_> {
    fn error(&mut self, kind: VerifyErrorKind, at: &str, message: impl Into<String>) {
        self.errors.push(VerifyError {
            kind,
            at: at.to_owned(),
            message: message.into(),
        });
    }

    fn sites(&mut self) {
        for (number, site) in self.program.sites.iter().enumerate() {
            let at = format!("site @{number}");
            if site.file.index() >= self.program.files.len() {
                let message = format!("there is no file {}", site.file);
                self.error(VerifyErrorKind::Reference, &at, message);
            }
            if let Some(used_at) = site.used_at.filter(|it| it.index() >= number) {
                let message = format!("{used_at} is not an earlier site");
                self.error(VerifyErrorKind::Reference, &at, message);
            }
        }
    }

    fn types(&mut self) {
        let types = &self.program.types;
        let mut depths: Vec<u32> = Vec::with_capacity(types.len());
        for number in 0..types.len() {
            let at = format!("type t{number}");
            let mut parts: Vec<(TypeId, u64)> = Vec::new();
            match types.get(TypeId::new(number)) {
                Type::Simple(simple) => self.simple(simple, &at),
                Type::Array { index, element } => {
                    let n = match types.simple_checked(*index) {
                        Some(simple) if !simple.is_empty() => simple.len(),
                        Some(_) => {
                            let message = "the index type of an array has no value";
                            self.error(VerifyErrorKind::Type, &at, message);
                            0
                        }
                        None => {
                            let message = "the index type of an array is not simple";
                            self.error(VerifyErrorKind::Type, &at, message);
                            0
                        }
                    };
                    parts.push((*element, n));
                }
                Type::Record { fields } => {
                    parts.extend(fields.iter().map(|field| (field.ty, 1)));
                }
                Type::Multiset { capacity, element } => {
                    parts.push((*element, u64::from(*capacity)));
                }
            }
            let (mut depth, mut n_parts) = (1u32, 1u64);
            for (part, n) in parts {
                match (depths.get(part.index()), self.type_parts.get(part.index())) {
                    (Some(inner), Some(inner_parts)) => {
                        depth = depth.max(inner.saturating_add(1));
                        n_parts = n_parts.saturating_add(n.saturating_mul(*inner_parts));
                    }
                    _ => {
                        let message = format!("{part} is not an earlier type");
                        self.error(VerifyErrorKind::Reference, &at, message);
                    }
                }
            }
            if depth > MAX_TYPE_DEPTH {
                let message = format!("types are nested deeper than {MAX_TYPE_DEPTH}");
                self.error(VerifyErrorKind::Limit, &at, message);
            }
            depths.push(depth);
            self.type_parts.push(n_parts);
        }
    }

    fn simple(&mut self, simple: &Simple, at: &str) {
        let n = i128::from(simple.hi) - i128::from(simple.lo) + 1;
        // The least 64-bit integer stands for undefined where values are computed.
        if !(0..1i128 << 64).contains(&n) || simple.lo == i64::MIN {
            let message = format!("{}..{} is not a range", simple.lo, simple.hi);
            self.error(VerifyErrorKind::Type, at, message);
            return;
        }
        let is_of_names = matches!(simple.kind, SimpleKind::Scalarset(_) | SimpleKind::Union(_));
        if simple.is_total && (!simple.contains(0) || is_of_names) {
            let message = "a type that is never undefined has the value 0 and no scalarset";
            self.error(VerifyErrorKind::Type, at, message);
        }
        let expected = match &simple.kind {
            SimpleKind::Range => return,
            SimpleKind::Boolean => Some(2),
            SimpleKind::Enum(members) => Some(members.len() as i128),
            SimpleKind::Scalarset(id) => self.scalarset_size(*id, at),
            SimpleKind::Union(parts) => parts.iter().try_fold(0i128, |sum, part| {
                Some(match part {
                    UnionPart::Enum(members) => sum + members.len() as i128,
                    UnionPart::Scalarset(id) => sum + self.scalarset_size(*id, at)?,
                })
            }),
        };
        if let Some(expected) = expected
            && (simple.lo != 0 || n != expected)
        {
            let message = format!(
                "the values are {}..{}, but there are {expected} of them from 0 on",
                simple.lo, simple.hi
            );
            self.error(VerifyErrorKind::Type, at, message);
        }
    }

    fn scalarset_size(&mut self, id: ScalarsetId, at: &str) -> Option<i128> {
        let set = self.program.types.scalarsets.get(id.index());
        if set.is_none() {
            let message = format!("there is no scalarset {id}");
            self.error(VerifyErrorKind::Reference, at, message);
        }
        set.map(|set| i128::from(set.size))
    }

    fn arithmetic(&mut self) {
        let arithmetic = self.program.arithmetic;
        let at = "arithmetic";
        if arithmetic.min > 0 || arithmetic.max < 0 || arithmetic.min < -i64::MAX {
            let message = "the range of integers must hold 0 and leave out the least 64-bit one";
            self.error(VerifyErrorKind::Type, at, message);
        } else if arithmetic.wraps {
            let n = (arithmetic.max as u64).wrapping_add(1);
            if !n.is_power_of_two() || arithmetic.min != (n as i64).wrapping_neg() {
                let message = "only a two's complement range can wrap around";
                self.error(VerifyErrorKind::Type, at, message);
            }
        }
    }

    fn vars(&mut self) {
        let mut total = 0u64;
        for (number, var) in self.program.vars.iter().enumerate() {
            total = total.saturating_add(self.whole_type(var.ty, &format!("var v{number}")));
        }
        self.registers();
        if total > MAX_STATE_BITS {
            let message = format!("a state of {total} bits exceeds {MAX_STATE_BITS}");
            self.error(VerifyErrorKind::Limit, "vars", message);
        }
    }

    /// Registers are 0 in a state at rest, so all of their leaves must be total.
    fn registers(&mut self) {
        let (vars, types) = (&self.program.vars, &self.program.types);
        let Some(first) = vars.len().checked_sub(self.program.n_registers) else {
            let message = "there are more registers than variables";
            self.error(VerifyErrorKind::Reference, "vars", message);
            return;
        };
        for (number, var) in vars.iter().enumerate().skip(first) {
            // A type with too many parts has been reported; walking it could take forever.
            let n_parts = self.type_parts.get(var.ty.index());
            let is_walkable = n_parts.is_some_and(|n| *n <= MAX_TYPE_PARTS);
            if is_walkable && !types.is_total(var.ty) {
                let message = "a register may be undefined or holds a multiset";
                self.error(VerifyErrorKind::Type, &format!("var v{number}"), message);
            }
        }
    }

    /// Checks a type that something is to have, and returns its width.
    fn whole_type(&mut self, ty: TypeId, at: &str) -> u64 {
        match self.type_parts.get(ty.index()) {
            None => {
                let message = format!("there is no type {ty}");
                self.error(VerifyErrorKind::Reference, at, message);
                0
            }
            Some(&n_parts) => {
                if n_parts > MAX_TYPE_PARTS {
                    let message = format!("{ty} has more than {MAX_TYPE_PARTS} parts");
                    self.error(VerifyErrorKind::Limit, at, message);
                }
                self.program.types.bits(ty)
            }
        }
    }

    fn maps(&mut self) {
        for (number, map) in self.program.maps.iter().enumerate() {
            self.map(map, &format!("map m{number}"));
        }
        for (number, point) in self.program.cover_points.iter().enumerate() {
            self.site(point.site, &format!("cover c{number}"));
        }
    }

    fn map(&mut self, map: &ValueMap, at: &str) {
        if self.program.types.simple_checked(map.from).is_none() {
            let message = format!("{} is not a simple type", map.from);
            self.error(VerifyErrorKind::Type, at, message);
        }
        for (number, segment) in map.segments.iter().enumerate() {
            let last = i128::from(segment.to) + i128::from(segment.hi) - i128::from(segment.lo);
            if segment.lo > segment.hi || last > i128::from(i64::MAX) {
                let message = format!("segment {number} is empty or its image is too large");
                self.error(VerifyErrorKind::Type, at, message);
            }
        }
        let mut sorted = map.segments.clone();
        sorted.sort_by_key(|segment| segment.lo);
        if sorted.windows(2).any(|pair| pair[0].hi >= pair[1].lo) {
            self.error(VerifyErrorKind::Type, at, "two segments overlap");
        }
    }

    fn exprs(&mut self) {
        let mut depths: Vec<u32> = Vec::with_capacity(self.program.exprs.len());
        for (number, (expr, site)) in self.program.exprs.iter().enumerate() {
            let at = format!("expr e{number}");
            self.site(*site, &at);
            let mut depth = 1u32;
            expr.for_each_mention(&mut |mention| match mention {
                Mention::Expr(id) => match depths.get(id.index()) {
                    Some(inner) => depth = depth.max(inner.saturating_add(1)),
                    None => {
                        let message = format!("{id} is not an earlier expression");
                        self.error(VerifyErrorKind::Reference, &at, message);
                    }
                },
                other => self.mention(other, &at),
            });
            if depth == MAX_EXPR_DEPTH + 1 {
                let message = format!("expressions are nested deeper than {MAX_EXPR_DEPTH}");
                self.error(VerifyErrorKind::Limit, &at, message);
            }
            depths.push(depth);
        }
    }

    fn items(&mut self) {
        let program = self.program;
        for (number, function) in program.functions.iter().enumerate() {
            let at = format!("function f{number}");
            self.site(function.site, &at);
            if let Some(result) = function.result {
                self.whole_type(result, &format!("{at} result"));
            }
            self.frame(&function.frame, &at);
            self.block(&function.body, &format!("{at} body"), 0);
        }
        for (number, start) in program.starts.iter().enumerate() {
            let at = format!("start {number}");
            self.site(start.site, &at);
            self.frame(&start.frame, &at);
            self.params(&start.params, &at);
            self.block(&start.body, &format!("{at} body"), 0);
        }
        for (number, rule) in program.rules.iter().enumerate() {
            let at = format!("rule r{number}");
            self.site(rule.site, &at);
            self.frame(&rule.frame, &at);
            self.params(&rule.params, &at);
            self.guard(&rule.guard, &format!("{at} guard"));
            self.block(&rule.body, &format!("{at} body"), 0);
        }
        for (number, property) in program.properties.iter().enumerate() {
            let at = format!("property p{number}");
            self.site(property.site, &at);
            self.frame(&property.frame, &at);
            self.params(&property.params, &at);
            self.guard(&property.condition, &format!("{at} condition"));
        }
        self.measures();
    }

    fn measures(&mut self) {
        let program = self.program;
        for (number, measure) in program.measures.iter().enumerate() {
            let at = format!("measure {number}");
            self.site(measure.site, &at);
            self.frame(&measure.frame, &at);
            self.block(&measure.body, &format!("{at} body"), 0);
            self.mention(Mention::Expr(measure.value), &format!("{at} value"));
            let kind = std::mem::discriminant(&measure.kind);
            let mut earlier = program.measures[..number].iter();
            if earlier.any(|other| std::mem::discriminant(&other.kind) == kind) {
                let message = "there is another measure of this kind";
                self.error(VerifyErrorKind::Measure, &at, message);
            }
            if measure.name.is_empty() || measure.name.contains(char::is_control) {
                let message = "the name is empty or has a control character";
                self.error(VerifyErrorKind::Measure, &at, message);
            }
        }
    }

    fn frame(&mut self, frame: &Frame, at: &str) {
        let mut total = 0u64;
        for (number, local) in frame.locals.iter().enumerate() {
            let width = self.whole_type(local.kind.ty(), &format!("{at} local l{number}"));
            total = total.saturating_add(width);
        }
        if total > MAX_STATE_BITS {
            let message = format!("locals of {total} bits exceed {MAX_STATE_BITS}");
            self.error(VerifyErrorKind::Limit, at, message);
        }
    }

    fn params(&mut self, params: &[Param], at: &str) {
        for param in params {
            match &param.domain {
                ParamDomain::Type(ty) => self.mention(Mention::Type(*ty), at),
                ParamDomain::Span { .. } => {}
                ParamDomain::Slots { multiset, .. } => {
                    multiset.for_each_mention(&mut |mention| self.mention(mention, at));
                }
            }
        }
    }

    fn guard(&mut self, guard: &Guard, at: &str) {
        self.block(&guard.prologue, at, 0);
        if let Some(condition) = guard.condition {
            self.mention(Mention::Expr(condition), at);
        }
    }

    fn block(&mut self, block: &[Stmt], at: &str, depth: u32) {
        if depth > MAX_STMT_DEPTH {
            let message = format!("statements are nested deeper than {MAX_STMT_DEPTH}");
            self.error(VerifyErrorKind::Limit, at, message);
            return;
        }
        for stmt in block {
            self.site(stmt.site, at);
            stmt.for_each_mention(&mut |mention| self.mention(mention, at));
            stmt.for_each_block(&mut |inner| self.block(inner, at, depth + 1));
        }
    }

    fn site(&mut self, site: SiteId, at: &str) {
        if site.index() >= self.program.sites.len() {
            let message = format!("there is no site {site}");
            self.error(VerifyErrorKind::Reference, at, message);
        }
    }

    fn mention(&mut self, mention: Mention, at: &str) {
        let program = self.program;
        let (found, what) = match mention {
            Mention::Expr(id) => (id.index() < program.exprs.len(), format!("expression {id}")),
            Mention::Type(id) => (id.index() < program.types.len(), format!("type {id}")),
            Mention::Var(id) => (id.index() < program.vars.len(), format!("variable {id}")),
            // Locals belong to frames, which come later.
            Mention::Local(_) => return,
            Mention::Function(id) => (
                id.index() < program.functions.len(),
                format!("function {id}"),
            ),
            Mention::Map(id) => (id.index() < program.maps.len(), format!("map {id}")),
            Mention::Cover(point) => (
                (point as usize) < program.cover_points.len(),
                format!("cover point c{point}"),
            ),
        };
        if !found {
            self.error(
                VerifyErrorKind::Reference,
                at,
                format!("there is no {what}"),
            );
        }
    }
}

impl crate::types::Types {
    /// The simple type behind an id, if it exists and is one.
    fn simple_checked(&self, id: TypeId) -> Option<&Simple> {
        if id.index() < self.len() {
            self.simple(id)
        } else {
            None
        }
    }
}
