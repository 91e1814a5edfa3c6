//! Text with or without colours.

use anstyle::{AnsiColor, Style as Ansi};
use hadal_syntax::Renderer;

/// Paints text, or returns it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    is_coloured: bool,
}

impl Style {
    /// Without colours.
    pub const fn plain() -> Self {
        Style { is_coloured: false }
    }

    /// With colours.
    pub const fn coloured() -> Self {
        Style { is_coloured: true }
    }

    /// The renderer of diagnostics in this style.
    pub fn renderer(self) -> Renderer {
        match self.is_coloured {
            true => Renderer::coloured(),
            false => Renderer::plain(),
        }
    }

    /// A name.
    pub fn bold(self, text: &str) -> String {
        self.paint(Ansi::new().bold(), text)
    }

    /// A good result.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default().bold(), text)
    }

    /// A bad result.
    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    /// A result to look at twice.
    pub fn doubtful(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default().bold(), text)
    }

    /// What matters less.
    pub fn faint(self, text: &str) -> String {
        self.paint(Ansi::new().dimmed(), text)
    }

    fn paint(self, style: Ansi, text: &str) -> String {
        match self.is_coloured {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }
}
