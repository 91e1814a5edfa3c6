//! Declarations: types, variables, channels and symbolic constants.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Checker;
use super::scope::{Field, FieldType, Struct, Symbol};
use crate::ast;
use crate::program::{ChannelType, Expr, Initial, MtypeSet, Scalar, Variable};
use crate::text::TokenSpan;

/// Number of elements of an array.
const MAX_LEN: i32 = 65_536;

/// Number of scalars that a structure holds, and that a program declares.
const MAX_SCALARS: usize = 1 << 20;

/// Number of messages that a channel holds.
const MAX_CAPACITY: i32 = 255;

impl Checker<'_> {
    /// Numbers the constants: the last name of a set is 1, and a later set of the same name
    /// continues above.
    pub(super) fn mtypes_of(&mut self, model: &ast::Model) {
        for item in &model.items {
            match item {
                ast::Item::Mtype(it) => self.mtype_set(it),
                ast::Item::Proctype(it) => self.mtypes_in(&it.body),
                _ => {}
            }
        }
    }

    fn mtypes_in(&mut self, seq: &ast::Seq) {
        for stmt in &seq.stmts {
            if let ast::StmtKind::Mtype(it) = &stmt.kind {
                self.mtype_set(it);
            }
        }
    }

    fn mtype_set(&mut self, it: &ast::Mtype) {
        let set = match &it.set {
            None => 0,
            Some(name) => self.set_named(&name.text).unwrap_or_else(|| {
                self.mtypes.push(MtypeSet {
                    name: Some(name.text.clone()),
                    names: Vec::new(),
                });
                self.mtypes.len() - 1
            }),
        };
        let before = self.mtypes[set].names.len();
        if before + it.names.len() > 255 {
            self.error("a set has at most 255 constants", it.span);
            return;
        }
        for (idx, name) in it.names.iter().enumerate() {
            let value = (before + it.names.len() - idx) as u8;
            self.mtypes[set].names.push((name.text.clone(), value));
            if self
                .mtype_names
                .insert(name.text.clone(), (set, value))
                .is_some()
            {
                self.error(
                    format!("the constant `{name}` is declared twice"),
                    name.span,
                );
            }
        }
    }

    fn set_named(&self, name: &str) -> Option<usize> {
        self.mtypes
            .iter()
            .position(|it| it.name.as_deref() == Some(name))
    }

    pub(super) fn typedef(&mut self, it: &ast::Typedef) {
        if self.struct_names.contains_key(&it.name.text) {
            let message = format!("the type `{}` is declared twice", it.name);
            return self.error(message, it.name.span);
        }
        let mut fields: Vec<Field> = Vec::new();
        let mut n_scalars = 0usize;
        for decl in &it.fields {
            for var in &decl.vars {
                let Some(ty) = self.ty(&decl.ty, var) else {
                    continue;
                };
                let len = self.len(var);
                let own = match ty {
                    FieldType::Scalar(_) => 1,
                    FieldType::Struct(idx) => self.structs[idx].n_scalars,
                };
                n_scalars = n_scalars.saturating_add(own.saturating_mul(len.unwrap_or(1) as usize));
                if fields.iter().any(|it| it.name == var.name.text) {
                    let message = format!("the field `{}` is declared twice", var.name);
                    self.error(message, var.name.span);
                    continue;
                }
                fields.push(Field {
                    name: var.name.text.clone(),
                    ty,
                    len,
                    init: var.init.clone(),
                });
            }
        }
        if n_scalars > MAX_SCALARS {
            self.error(format!("more than {MAX_SCALARS} fields"), it.name.span);
            return;
        }
        self.structs.push(Struct { fields, n_scalars });
        self.struct_names
            .insert(it.name.text.clone(), self.structs.len() - 1);
    }

    /// The type of a declared name.
    fn ty(&mut self, ty: &ast::Type, var: &ast::Var) -> Option<FieldType> {
        let is_unsigned = matches!(ty.kind, ast::TypeKind::Unsigned);
        if let Some(width) = var.width.as_ref().filter(|_| !is_unsigned) {
            self.error("only `unsigned` variables have a width", width.span);
        }
        if is_unsigned {
            let bits = match &var.width {
                Some(width) => self.constant(width, "a width"),
                None => 0,
            };
            if !(1..=32).contains(&bits) {
                let error = self
                    .text
                    .error("an `unsigned` variable needs a width of 1 to 32", var.span)
                    .help(format!("write `unsigned {} : 4` for 4 bits", var.name));
                self.diagnostics.push(error);
                return Some(FieldType::Scalar(Scalar::Unsigned(8)));
            }
            return Some(FieldType::Scalar(Scalar::Unsigned(bits as u8)));
        }
        self.plain_ty(ty)
    }

    fn plain_ty(&mut self, ty: &ast::Type) -> Option<FieldType> {
        Some(FieldType::Scalar(match &ty.kind {
            ast::TypeKind::Bit => Scalar::Bit,
            ast::TypeKind::Byte | ast::TypeKind::Pid => Scalar::Byte,
            ast::TypeKind::Short => Scalar::Short,
            ast::TypeKind::Int => Scalar::Int,
            ast::TypeKind::Unsigned => Scalar::Unsigned(32),
            ast::TypeKind::Chan => Scalar::Chan,
            ast::TypeKind::Mtype(None) => Scalar::Mtype(0),
            ast::TypeKind::Mtype(Some(name)) => match self.set_named(name) {
                Some(set) => Scalar::Mtype(set),
                None => {
                    self.error(format!("there is no set of constants `{name}`"), name.span);
                    Scalar::Mtype(0)
                }
            },
            ast::TypeKind::Name(name) => {
                if let Some(&idx) = self.struct_names.get(&name.text) {
                    return Some(FieldType::Struct(idx));
                }
                let words = [
                    "bit", "bool", "byte", "short", "int", "unsigned", "chan", "mtype",
                ];
                let others = [
                    "atomic", "d_step", "proctype", "goto", "printf", "assert", "run",
                ];
                let known = self.struct_names.keys().map(|it| &**it);
                let known = known.chain(words).chain(others);
                let guess = hadal_syntax::did_you_mean(name, known);
                let error = self
                    .text
                    .error(format!("there is no type `{name}`"), name.span);
                self.diagnostics.push(match guess {
                    Some(guess) => error.help(format!("did you mean `{guess}`?")),
                    None => error.help("a type is declared with `typedef` before it is used"),
                });
                return None;
            }
        }))
    }

    /// The size of an array.
    fn len(&mut self, var: &ast::Var) -> Option<u32> {
        let len = var.len.as_ref()?;
        let value = self.constant(len, "the size of an array");
        if !(1..=MAX_LEN).contains(&value) {
            let message = format!("the size of an array must be 1 to {MAX_LEN}, not {value}");
            self.error(message, len.span);
            return Some(1);
        }
        Some(value as u32)
    }

    pub(super) fn globals(&mut self, decl: &ast::Decl) {
        let hidden = decl.prefix == Some(ast::Prefix::Hidden);
        for var in &decl.vars {
            self.declare(decl, var, hidden, Storage::Global);
        }
    }

    pub(super) fn params(&mut self, decl: &ast::Decl) {
        for var in &decl.vars {
            if let Some(len) = &var.len {
                self.error("a parameter cannot be an array", len.span);
            }
            if let ast::TypeKind::Name(name) = &decl.ty.kind
                && self.struct_names.contains_key(&name.text)
            {
                self.error("a parameter cannot be a structure", name.span);
                continue;
            }
            self.declare(decl, var, false, Storage::Param);
        }
    }

    /// Declares a local variable: initialised with its process, or by a step of its own.
    pub(super) fn local(&mut self, decl: &ast::Decl, var: &ast::Var, is_late: bool) {
        let storage = if is_late {
            Storage::Late
        } else {
            Storage::Local
        };
        self.declare(decl, var, false, storage);
    }

    fn declare(&mut self, decl: &ast::Decl, var: &ast::Var, hidden: bool, storage: Storage) {
        let Some(ty) = self.ty(&decl.ty, var) else {
            // Declared all the same, so that its uses are no errors.
            let unknown = self.symbol(FieldType::Scalar(Scalar::Int), None, storage, var);
            self.scopes.declare(&var.name.text, unknown);
            return;
        };
        let name = &var.name;
        if name.starts_with('_') && matches!(&**name, "_" | "_pid" | "_nr_pr" | "_last") {
            self.error(format!("`{name}` is predefined"), name.span);
        }
        let is_process = storage == Storage::Global && self.proctypes.contains_key(&name.text);
        let taken = match () {
            () if self.mtype_names.contains_key(&name.text) => Some("a constant of an `mtype`"),
            () if self.struct_names.contains_key(&name.text) => Some("a type"),
            () if is_process => Some("a process type"),
            () => None,
        };
        if let Some(what) = taken {
            self.error(format!("`{name}` is the name of {what}"), name.span);
        }
        let len = self.len(var);
        let init = match (&var.init, storage) {
            (Some(ast::Init::Chan(chan)), Storage::Late) => {
                let error = self
                    .text
                    .error(
                        "a channel cannot be created after the first statement",
                        chan.span,
                    )
                    .help("declare it at the start of the process, or globally");
                self.diagnostics.push(error);
                None
            }
            // The step assigns it.
            (_, Storage::Late) => None,
            (_, Storage::Param) => Some(Initial::Param),
            (None, _) => None,
            (Some(init), _) => Some(self.initial(init, ty, len)),
        };
        let mut leaves = Leaves::default();
        let at = Position {
            path: String::new(),
            dims: len.into_iter().collect(),
            dim_ends: len.iter().map(|_| name.len()).collect(),
            root_len: name.len(),
            init: init.unwrap_or(Initial::Zero),
        };
        self.flatten(ty, at, storage == Storage::Late, &mut leaves);
        let total = self.globals.len() + self.locals.len() + leaves.0.len();
        if total > MAX_SCALARS {
            self.error("the program has too many variables", var.span);
            return;
        }
        let mut symbol = self.symbol(ty, len, storage, var);
        let mut map = FxHashMap::default();
        for leaf in leaves.0 {
            let path = leaf.path;
            let full: Arc<str> = match path.is_empty() {
                true => name.text.clone(),
                false => format!("{name}.{path}").into(),
            };
            let variable = Variable {
                name: full,
                ty: leaf.ty,
                dims: leaf.dims,
                dim_ends: leaf.dim_ends,
                hidden,
                initial: leaf.init,
                span: name.span,
            };
            let variables = match storage {
                Storage::Global => &mut self.globals,
                _ => &mut self.locals,
            };
            variables.push(variable);
            map.insert(path, variables.len() - 1);
        }
        symbol.leaves = Arc::new(map);
        if let Some(old) = self.scopes.declare(&name.text, symbol) {
            let message = format!("`{name}` is declared twice");
            let error = self.text.error(message, name.span);
            let error = self.text.context(error, old, "it is declared here");
            self.diagnostics.push(error);
        }
    }

    fn symbol(&self, ty: FieldType, len: Option<u32>, storage: Storage, var: &ast::Var) -> Symbol {
        Symbol {
            is_global: storage == Storage::Global,
            ty,
            len,
            leaves: Arc::default(),
            span: var.name.span,
        }
    }

    /// The scalars of a type.
    fn flatten(&mut self, ty: FieldType, at: Position, is_late: bool, out: &mut Leaves) {
        let idx = match ty {
            FieldType::Scalar(scalar) => {
                out.0.push(Leaf {
                    path: at.path,
                    ty: scalar,
                    dims: at.dims,
                    dim_ends: at.dim_ends,
                    init: at.init,
                });
                return;
            }
            FieldType::Struct(idx) => idx,
        };
        for field in self.structs[idx].fields.clone() {
            let path = match at.path.is_empty() {
                true => field.name.to_string(),
                false => format!("{}.{}", at.path, field.name),
            };
            let (mut dims, mut dim_ends) = (at.dims.clone(), at.dim_ends.clone());
            dims.extend(field.len);
            dim_ends.extend(field.len.map(|_| at.root_len + 1 + path.len()));
            let init = match field.init.as_ref().filter(|_| !is_late) {
                Some(init) => self.initial(init, field.ty, field.len),
                None => Initial::Zero,
            };
            let at = Position {
                path,
                dims,
                dim_ends,
                root_len: at.root_len,
                init,
            };
            self.flatten(field.ty, at, is_late, out);
        }
    }

    fn initial(&mut self, init: &ast::Init, ty: FieldType, len: Option<u32>) -> Initial {
        match init {
            ast::Init::Chan(chan) => {
                if ty != FieldType::Scalar(Scalar::Chan) {
                    self.error("only a `chan` can be initialised with a channel", chan.span);
                    return Initial::Zero;
                }
                Initial::Channel(self.channel(chan))
            }
            ast::Init::Expr(value) => {
                let FieldType::Scalar(scalar) = ty else {
                    self.error("a structure has no initial value", value.span);
                    return Initial::Zero;
                };
                let expr = self.expr(value);
                self.warn_truncation(scalar, &expr, value.span);
                if self.is_global_level && self.constant_of(&expr).is_none() {
                    self.not_constant(&expr, "the value of a global variable", value.span);
                    return Initial::Zero;
                }
                Initial::Expr(expr)
            }
            ast::Init::List(values, span) => {
                let FieldType::Scalar(scalar) = ty else {
                    self.error("a structure has no initial value", *span);
                    return Initial::Zero;
                };
                if values.len() > len.unwrap_or(1) as usize {
                    let n = len.unwrap_or(1);
                    let message = format!("{} values for an array of {n}", values.len());
                    self.error(message, *span);
                }
                let exprs: Vec<Expr> = values
                    .iter()
                    .map(|value| {
                        let expr = self.expr(value);
                        self.warn_truncation(scalar, &expr, value.span);
                        if self.is_global_level && self.constant_of(&expr).is_none() {
                            self.not_constant(&expr, "the value of a global variable", value.span);
                        }
                        expr
                    })
                    .collect();
                Initial::List(exprs)
            }
        }
    }

    fn channel(&mut self, chan: &ast::ChanInit) -> usize {
        let capacity = self.constant(&chan.capacity, "the capacity of a channel");
        if !(0..=MAX_CAPACITY).contains(&capacity) {
            let message = format!("the capacity of a channel must be 0 to {MAX_CAPACITY}");
            self.error(message, chan.capacity.span);
        }
        let mut fields = Vec::new();
        for ty in &chan.fields {
            match self.plain_ty(ty) {
                Some(ty) => self.message_fields(ty, 1, chan.span, &mut fields),
                None => fields.push(Scalar::Int),
            }
        }
        self.channels.push(ChannelType {
            capacity: capacity.clamp(0, MAX_CAPACITY) as u32,
            fields,
        });
        self.channels.len() - 1
    }

    /// The scalars of a field of a message, in the order of a structure's fields.
    fn message_fields(&mut self, ty: FieldType, n: u32, span: TokenSpan, out: &mut Vec<Scalar>) {
        const MAX_FIELDS: usize = 1_000;
        for _ in 0..n {
            match ty {
                FieldType::Scalar(scalar) => out.push(scalar),
                FieldType::Struct(idx) => {
                    for field in self.structs[idx].fields.clone() {
                        self.message_fields(field.ty, field.len.unwrap_or(1), span, out);
                    }
                }
            }
            if out.len() > MAX_FIELDS {
                if out.len() <= 2 * MAX_FIELDS {
                    self.error(format!("a message has at most {MAX_FIELDS} fields"), span);
                    out.resize(2 * MAX_FIELDS + 1, Scalar::Bit);
                }
                return;
            }
        }
    }

    /// Warns of a constant that a store would change.
    pub(super) fn warn_truncation(&mut self, ty: Scalar, value: &Expr, span: TokenSpan) {
        let Some(constant) = self.constant_of(value) else {
            return;
        };
        let stored = ty.truncate(constant);
        if stored != constant && (constant != -1 || ty != Scalar::Unsigned(32)) {
            let (least, greatest) = ty.range();
            let message = format!("{constant} does not fit and is stored as {stored}");
            let warning = self.text.warning(message, span);
            let note = format!("the values of this type are {least} to {greatest}");
            self.diagnostics.push(warning.note(note));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    Global,
    Param,
    Local,
    Late,
}

/// Paths, types, dimensions and initial values of the scalars of a variable.
#[derive(Default)]
struct Leaves(Vec<Leaf>);

struct Leaf {
    path: String,
    ty: Scalar,
    dims: Vec<u32>,
    dim_ends: Vec<usize>,
    init: Initial,
}

struct Position {
    path: String,
    dims: Vec<u32>,
    dim_ends: Vec<usize>,
    /// Length of the variable's own name.
    root_len: usize,
    init: Initial,
}
