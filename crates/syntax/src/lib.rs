//! Source files, spans and diagnostics as data, shared by the front-ends.
//!
//! A front-end turns a [`Source`] into a tree and a list of [`Diagnostic`]s. A diagnostic is
//! plain data: what is wrong, where, and what to do about it. [`Renderer`] renders it
//! as text. Nothing here prints or knows terminals; the binary decides where the text goes and
//! whether it has colours.
//!
//! A program may consist of several files: see [`Sources`]; and expressions may come from outside of
//! them: see [`Outside`].
//!
//! ```
//! use hadal_syntax::{Diagnostic, Renderer, Source, Span};
//!
//! let source = Source::new("toy.m", "var x: 0..3;\n").unwrap();
//! let diagnostic = Diagnostic::error("`x` is never used", Span::new(4, 5));
//! let text = Renderer::plain().render(&source, &diagnostic);
//! assert!(text.contains("toy.m:1:5"));
//! ```

mod diagnostic;
mod outside;
mod render;
mod source;
mod sources;
mod suggest;

pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use outside::{Outside, OutsideRole};
pub use render::Renderer;
pub use source::{Position, Source, SourceError, Span};
pub use sources::{FileId, Sources};
pub use suggest::did_you_mean;
