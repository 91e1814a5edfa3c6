//! Strategies that a command line can name and configure.
//!
//! Everything a program needs to offer a strategy comes from its value: the name, the flags, their
//! help, the lines of the summary, hints. A new strategy is a file of this crate and a line in
//! [`papers`](crate::papers).

use std::fmt;

use hadal_search::{Outcome, Reason, Sink, Strategy};

/// A strategy with parameters that can be set by name.
pub trait Configurable: Strategy + fmt::Debug + Send {
    /// One line for help texts.
    fn about(&self) -> &'static str;

    /// The parameters that have a flag of their own.
    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    /// Sets a parameter. Those without a flag can be set as well.
    fn set(&mut self, parameter: &str, _value: &str) -> Result<(), ParameterError> {
        Err(ParameterError::unknown(self.name(), parameter))
    }

    /// Sets what is written after the name and a colon, as in `mono:open`.
    fn set_variant(&mut self, _variant: &str) -> Result<(), ParameterError> {
        let name = self.name();
        let what = format!("the strategy `{name}` has no variants");
        Err(ParameterError::Invalid(what))
    }

    /// What `Options::memory_bytes` should be for it.
    fn budget(&self) -> Budget {
        Budget::TableAndQueue { one_in: 2 }
    }

    /// Whether it uses a folder.
    fn uses_disk(&self) -> bool {
        true
    }

    /// What a person must know before it starts, if there is something.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// This strategy, which passes the graph of all states to `sink` when it has visited them; `None`
    /// if it makes no graphs.
    fn with_sink<'s>(&self, _sink: &'s mut dyn Sink) -> Option<Box<dyn Strategy + 's>> {
        None
    }

    /// Lines of the summary: a label and a text.
    fn summary(&self, _outcome: &Outcome) -> Vec<Line> {
        Vec::new()
    }

    /// What to do after a search that stopped for this reason.
    fn hint(&self, reason: Reason) -> Option<Hint> {
        usual_hint(reason)
    }

    /// A copy.
    fn boxed_clone(&self) -> Box<dyn Configurable>;
}

/// What to do after a search that stopped early. A program puts it in words, with its own flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Search with `Auto`(hadal_search::Auto), which continues on disk, or with more memory.
    DiskOrMoreMemory,
    /// Search with more memory, or with `Auto`, which visits every state.
    MoreMemoryOrAuto,
    /// Search with `Auto`.
    UseAuto,
    /// Use a folder with more room.
    MoreDisk,
    /// Increase the parameter `layers`, or set it to `auto`, or search with `Auto`.
    MoreLayers,
    /// Reset the parameter `bounded`, so that the search ends.
    Unbounded,
}

/// A line of the summary: a label and a text.
pub type Line = (&'static str, String);

impl Clone for Box<dyn Configurable> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// A flag of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name, without dashes; that of the parameter.
    pub name: &'static str,
    /// What stands for its value in help texts. A flag without one sets the parameter to `yes`.
    pub value_name: Option<&'static str>,
    /// The values it may have; empty if they are not listed.
    pub values: &'static [&'static str],
    /// What it does, for help texts.
    pub help: &'static str,
}

/// What a strategy counts against its memory budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// All of its data.
    AllData,
    /// Table and queue, as in the papers. Of the memory of a process they get one part in `one_in`:
    /// the rest is for a table that is copied while it grows, for buffers, for the logs behind
    /// traces and counts, and for what maps take beside their entries. That is an estimate, so the
    /// process has to be measured.
    TableAndQueue {
        /// The divisor.
        one_in: u64,
    },
}

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The strategy has no such parameter.
    #[error("the strategy `{strategy}` has no parameter `{parameter}`")]
    Unknown {
        /// The strategy.
        strategy: &'static str,
        /// What was to be set.
        parameter: String,
    },
    /// The value makes no sense.
    #[error("{0}")]
    Invalid(String),
}

impl ParameterError {
    pub(crate) fn unknown(strategy: &'static str, parameter: &str) -> Self {
        ParameterError::Unknown {
            strategy,
            parameter: parameter.to_owned(),
        }
    }
}

impl From<crate::SpecError> for ParameterError {
    fn from(error: crate::SpecError) -> Self {
        ParameterError::Invalid(error.to_string())
    }
}

/// `yes` or `no`.
pub(crate) fn parse_bool(text: &str) -> Result<bool, ParameterError> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(ParameterError::Invalid(format!(
            "`{text}` is neither yes nor no"
        ))),
    }
}

/// A number.
pub(crate) fn parse_number<T: std::str::FromStr>(text: &str) -> Result<T, ParameterError> {
    let invalid = |_| ParameterError::Invalid(format!("`{text}` is not a number of this kind"));
    text.trim().parse().map_err(invalid)
}

/// The reverse of [`parse_bool`].
pub(crate) fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// The hint of most strategies.
pub(crate) fn usual_hint(reason: Reason) -> Option<Hint> {
    match reason {
        Reason::Memory => Some(Hint::DiskOrMoreMemory),
        Reason::Collisions => Some(Hint::MoreMemoryOrAuto),
        Reason::Liveness | Reason::Revisits => Some(Hint::UseAuto),
        Reason::Disk => Some(Hint::MoreDisk),
        _ => None,
    }
}
