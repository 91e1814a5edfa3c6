//! Colours, where they are wanted.

use std::io::IsTerminal;

use crate::flags::ColorName;

/// Paints text, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    enabled: bool,
}

impl Style {
    /// The style of a stream, as flag, environment and the stream itself have it.
    pub(crate) fn new(color: ColorName, stream: &impl IsTerminal) -> Self {
        let enabled = match color {
            ColorName::Always => true,
            ColorName::Never => false,
            ColorName::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                stream.is_terminal() && !refused && !dumb
            }
        };
        Style { enabled }
    }

    pub(crate) fn is_enabled(self) -> bool {
        self.enabled
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.enabled {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn doubtful(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }
}
