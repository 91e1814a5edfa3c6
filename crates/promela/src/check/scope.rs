//! Names and what they stand for.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ast;
use crate::program::Scalar;
use crate::text::TokenSpan;

/// A `typedef`.
pub(super) struct Struct {
    pub(super) fields: Vec<Field>,
    /// Number of scalars, arrays counted by their elements.
    pub(super) n_scalars: usize,
}

/// A field of a structure.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) ty: FieldType,
    pub(super) len: Option<u32>,
    pub(super) init: Option<ast::Init>,
}

/// The type of a field or variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    Scalar(Scalar),
    Struct(usize),
}

/// A declared variable. Its scalars are variables of the program, numbered by `leaves` in the
/// order of fields.
#[derive(Clone)]
pub(super) struct Symbol {
    pub(super) is_global: bool,
    pub(super) ty: FieldType,
    pub(super) len: Option<u32>,
    /// The variable of each path of fields; the empty path for a scalar.
    pub(super) leaves: Arc<FxHashMap<String, usize>>,
    pub(super) span: TokenSpan,
}

/// The scopes that are open: the global one, then those of a process.
#[derive(Default)]
pub(super) struct Scopes {
    globals: FxHashMap<Arc<str>, Symbol>,
    locals: Vec<FxHashMap<Arc<str>, Symbol>>,
    proctype: Option<usize>,
}

impl Scopes {
    pub(super) fn begin_process(&mut self, idx: Option<usize>) {
        self.locals.clear();
        self.locals.push(FxHashMap::default());
        self.proctype = idx;
    }

    /// The process type at hand.
    pub(super) fn proctype(&self) -> Option<usize> {
        self.proctype
    }

    pub(super) fn open(&mut self) {
        self.locals.push(FxHashMap::default());
    }

    pub(super) fn close(&mut self) {
        self.locals.pop();
    }

    /// Declares a name in the innermost scope; returns the one that has it already there.
    pub(super) fn declare(&mut self, name: &Arc<str>, symbol: Symbol) -> Option<TokenSpan> {
        let scope = match symbol.is_global {
            true => &mut self.globals,
            false => self.locals.last_mut()?,
        };
        let old = scope.insert(name.clone(), symbol);
        old.map(|it| it.span)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Symbol> {
        let locals = self.locals.iter().rev().find_map(|it| it.get(name));
        locals.or_else(|| self.globals.get(name))
    }

    /// All names that are visible.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let locals = self.locals.iter().flat_map(|it| it.keys());
        locals.chain(self.globals.keys()).map(|it| &**it)
    }
}
