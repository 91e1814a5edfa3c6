//! Reporting: once, not for text that never runs, and with a suggestion of what was meant.

use hadal_syntax::{Diagnostic, Severity, Span, did_you_mean};

use super::Checker;
use super::scope::{Def, Symbol};
use crate::Dialect;
use crate::ast::Name;

/// A suggestion costs a walk over all names, and a thousand of them are not read.
const SUGGESTIONS_MAX: usize = 100;

/// Text that is quoted in a message or becomes a name is cut to this number of characters.
const QUOTED_CHARS: usize = 60;

impl Checker<'_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.muted {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports what is certain to fault when it runs. The text may be one that never runs, and
    /// rumur accepts such text.
    pub(super) fn report_certain_fault(&mut self, mut diagnostic: Diagnostic) {
        if self.dead > 0 {
            return;
        }
        if self.dialect == Dialect::Rumur {
            diagnostic.severity = Severity::Warning;
            diagnostic = diagnostic.note("this is a fault as soon as it runs");
        }
        self.report(diagnostic);
    }

    /// Warns of an unused name. If some text could not be parsed, it may be used there.
    pub(super) fn warn_unused(&mut self, name: &Name, what: &str, consequence: Option<&str>) {
        if !self.tree_is_whole || self.scopes.is_used(name) {
            return;
        }
        let message = format!("unused {what} `{name}`");
        let mut diagnostic = Diagnostic::warning(message, name.span);
        if let Some(consequence) = consequence {
            diagnostic = diagnostic.note(consequence);
        }
        self.report(diagnostic);
    }

    /// Declares a name in the innermost scope.
    pub(super) fn declare(&mut self, name: &Name, def: Def) {
        if let Err(earlier) = self.scopes.declare(&name.text, def, name.span) {
            self.report(
                Diagnostic::error(format!("`{name}` is declared twice"), name.span)
                    .label("declared again here")
                    .context(earlier, "first declared here"),
            );
        }
    }

    /// What a name stands for; an unknown one is reported, once.
    pub(super) fn look_up(&mut self, name: &Name, wanted: Wanted) -> (Def, Span) {
        if let Some(Symbol { def, span, .. }) = self.scopes.look_up(name) {
            return (def.clone(), *span);
        }
        if let Some(def) = self.element(name) {
            return (def, name.span);
        }
        if !self.muted && self.unknown_names.insert(name.text.clone()) {
            let message = format!("unknown {} `{name}`", wanted.noun());
            let mut diagnostic =
                Diagnostic::error(message, name.span).label("not declared above this place");
            if let Some(near) = self.near_name(name, wanted) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            self.report(diagnostic);
        }
        (Def::Error, name.span)
    }

    fn near_name(&mut self, name: &str, wanted: Wanted) -> Option<String> {
        if !self.may_suggest() {
            return None;
        }
        let names = self.scopes.names();
        let fitting = names
            .iter()
            .filter(|(_, symbol)| wanted.fits(&symbol.def))
            .map(|(name, _)| *name);
        did_you_mean(name, fitting).map(str::to_owned)
    }

    /// Whether another suggestion may be made.
    pub(super) fn may_suggest(&mut self) -> bool {
        self.n_suggestions += 1;
        self.n_suggestions <= SUGGESTIONS_MAX && !self.muted
    }

    /// The text under a span in one line, cut if it is long.
    pub(super) fn quote(&self, span: Span) -> String {
        let text = self.source.slice(span);
        let mut words = text.split_whitespace();
        let mut line = words.next().unwrap_or("").to_owned();
        for word in words {
            line.push(' ');
            line.push_str(word);
            if line.len() > 4 * QUOTED_CHARS {
                break;
            }
        }
        match line.char_indices().nth(QUOTED_CHARS) {
            Some((at, _)) => format!("{}...", &line[..at]),
            None => line,
        }
    }
}

/// The kind of name that is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Value,
    Type,
    Function,
}

impl Wanted {
    fn noun(self) -> &'static str {
        match self {
            Wanted::Value => "name",
            Wanted::Type => "type",
            Wanted::Function => "function",
        }
    }

    fn fits(self, def: &Def) -> bool {
        match self {
            Wanted::Value => matches!(def, Def::Const { .. } | Def::Object(_) | Def::Slot(_)),
            Wanted::Type => matches!(def, Def::Type(_)),
            Wanted::Function => matches!(def, Def::Function(_)),
        }
    }
}
