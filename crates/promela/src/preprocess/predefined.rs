//! Macros that need no definition.

use std::sync::Arc;

use super::Preprocessor;
use crate::text::Token;
use crate::token::TokenKind;

/// Those with a value, and those whose value would differ from run to run, which are errors.
const NAMES: [&str; 7] = [
    "__FILE__",
    "__LINE__",
    "__COUNTER__",
    "__STDC__",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
];

impl Preprocessor<'_, '_> {
    /// Whether a name is that of a macro.
    pub(super) fn is_macro(&self, name: &str) -> bool {
        self.macros.contains_key(name) || NAMES.contains(&name)
    }

    /// What a token is replaced by, if it is the name of a predefined macro. File and line are those
    /// of the text outside all definitions, as `#line` has them.
    pub(super) fn predefined(&mut self, token: &Token) -> Option<(TokenKind, Arc<str>)> {
        let name = *NAMES.iter().find(|it| ***it == *token.text)?;
        let place = self.text.outer_span(token).start;
        let (kind, text) = match name {
            "__FILE__" => {
                let (file, _) = self.text.file_and_line(place);
                let file = file.replace('\\', "\\\\").replace('"', "\\\"");
                (TokenKind::Str, format!("\"{file}\""))
            }
            "__LINE__" => {
                let (_, line) = self.text.file_and_line(place);
                (TokenKind::Number, line.to_string())
            }
            "__COUNTER__" => {
                let value = self.counter;
                self.counter = value.saturating_add(1);
                (TokenKind::Number, value.to_string())
            }
            "__STDC__" => (TokenKind::Number, "1".to_owned()),
            _ => {
                let message = format!("`{name}` would make each run another one");
                let error = hadal_syntax::Diagnostic::error(message, self.text.outer_span(token));
                let error = error.help(format!("define it on the command line: `-D{name}=...`"));
                self.diagnostics.push(error);
                (TokenKind::Str, "\"\"".to_owned())
            }
        };
        Some((kind, self.interner.get(&text)))
    }
}
