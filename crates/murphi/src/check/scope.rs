//! What names stand for, scope by scope.
//!
//! A name is looked up from the innermost scope outwards; an inner declaration hides an outer
//! one. Two declarations of a name in one scope are an error.

use std::sync::Arc;

use hadal_ir::{LocalId, Place, VarId};
use hadal_syntax::Span;
use rustc_hash::FxHashMap;

use super::operand::{Access, Operand, Origin};
use super::types::Ty;

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Def {
    /// Something that was reported where it was declared.
    Error,
    /// A constant, or a member of an enumeration.
    Const { value: i64, ty: Ty },
    /// A type.
    Type(Ty),
    /// A variable, parameter or alias.
    Object(Object),
    /// The index of an element of a multiset, bound by `choose` and its kin.
    Slot(Slot),
    /// A function or procedure, by its number.
    Function(usize),
}

/// The index of an element of a multiset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) local: LocalId,
    /// The type of the multiset.
    pub(super) multiset: Ty,
    /// The state variable that the multiset is part of, where that is known.
    pub(super) var: Option<VarId>,
}

/// A variable, parameter or alias.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) place: Place,
    pub(super) ty: Ty,
    pub(super) access: Access,
    pub(super) origin: Origin,
    /// For an alias around rules: what it stands for, without other aliases. The multiset of a
    /// `choose` is evaluated before any alias is bound.
    pub(super) expansion: Option<Box<Operand>>,
}

/// A declared name.
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    pub(super) def: Def,
    /// Where it was declared.
    pub(super) span: Span,
    /// Whether it was looked up.
    pub(super) used: bool,
}

/// The open scopes.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    scopes: Vec<FxHashMap<Arc<str>, Symbol>>,
}

impl Scopes {
    /// Opens a scope inside the innermost one.
    pub(super) fn push(&mut self) {
        self.scopes.push(FxHashMap::default());
    }

    /// Closes the innermost scope.
    pub(super) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// Declares a name in the innermost scope; the span of an earlier declaration there is an
    /// error, and the earlier one stays.
    pub(super) fn declare(&mut self, name: &Arc<str>, def: Def, span: Span) -> Result<(), Span> {
        let Some(scope) = self.scopes.last_mut() else {
            return Ok(());
        };
        if let Some(earlier) = scope.get(name) {
            return Err(earlier.span);
        }
        let used = false;
        scope.insert(name.clone(), Symbol { def, span, used });
        Ok(())
    }

    /// Declares a name in the outermost scope, whatever is open.
    pub(super) fn declare_global(
        &mut self,
        name: &Arc<str>,
        def: Def,
        span: Span,
    ) -> Result<(), Span> {
        let inner = self.scopes.split_off(1.min(self.scopes.len()));
        let result = self.declare(name, def, span);
        self.scopes.extend(inner);
        result
    }

    /// What a name stands for here; it is then in use.
    pub(super) fn look_up(&mut self, name: &str) -> Option<&Symbol> {
        let scopes = self.scopes.iter_mut().rev();
        for scope in scopes {
            if let Some(symbol) = scope.get_mut(name) {
                symbol.used = true;
                return Some(symbol);
            }
        }
        None
    }

    /// Says what an alias of the innermost scope stands for without other aliases.
    pub(super) fn set_expansion(&mut self, name: &str, expansion: Operand) {
        let symbol = self.scopes.last_mut().and_then(|scope| scope.get_mut(name));
        if let Some(Symbol {
            def: Def::Object(object),
            ..
        }) = symbol
        {
            object.expansion = Some(Box::new(expansion));
        }
    }

    /// Whether a name declared in the innermost scope was looked up since.
    pub(super) fn is_used(&self, name: &str) -> bool {
        let symbol = self.scopes.last().and_then(|scope| scope.get(name));
        symbol.is_none_or(|symbol| symbol.used || matches!(symbol.def, Def::Error))
    }

    /// The names that can be seen, innermost first, each scope in order of its declarations.
    pub(super) fn names(&self) -> Vec<(&str, &Symbol)> {
        let mut names = Vec::new();
        for scope in self.scopes.iter().rev() {
            let first = names.len();
            names.extend(scope.iter().map(|(name, symbol)| (&**name, symbol)));
            names[first..].sort_by_key(|(_, symbol)| symbol.span.start);
        }
        names
    }
}
