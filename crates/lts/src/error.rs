//! What can go wrong with a graph and its file.

use std::io;

/// Why a graph could not be read, written or computed with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or write.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A text in the `.aut` format is wrong.
    #[error("line {line}: {reason}")]
    Aut {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: AutReason,
    },
    /// The file does not begin as an `.hlts` file does.
    #[error("this is no .hlts file")]
    NotHlts,
    /// An `.hlts` file of another version of the format.
    #[error(
        "this .hlts file has version {found} of the format; this program reads version {known}"
    )]
    OtherVersion {
        /// The version of the file.
        found: u32,
        /// The version that this program reads and writes.
        known: u32,
    },
    /// An `.hlts` file is not as it was written.
    #[error("the file is damaged at byte {at}: {reason}")]
    Damaged {
        /// Where the damaged part begins.
        at: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Edges were given out of the order of their sources, or a value too many or too few.
    #[error("edges and values must be written in the order of states")]
    Order,
    /// A state that does not exist, in a graph that is written.
    #[error("state {state} is not one of {n_states}")]
    NoSuchState {
        /// The state.
        state: u64,
        /// Number of states.
        n_states: u64,
    },
    /// More labels than have numbers, or than have room.
    #[error("the labels need more than {limit} bytes of memory")]
    LabelMemory {
        /// What they may take.
        limit: u64,
    },
    /// A label that has no place in a text of one line an edge.
    #[error("label {label:?} contains a line break, which .aut cannot express")]
    LineBreak {
        /// The label.
        label: String,
    },
    /// A label that a reader of the text would take for something else.
    #[error("label {label:?} means a probability or a rate in .aut; .hlts takes it as it is")]
    Rate {
        /// The label.
        label: String,
    },
    /// A graph that nobody could look at.
    #[error(
        "a picture of {n_states} states and {n_edges} edges is of no use; .dot takes up to {most} of each"
    )]
    TooLargeForDot {
        /// Number of states.
        n_states: u64,
        /// Number of edges.
        n_edges: u64,
        /// Most states, and most edges.
        most: u64,
    },
    /// The name of a file does not say what it is.
    #[error("the name must end in .aut, .hlts or .dot, and .zst may follow")]
    UnknownFormat,
    /// A format that is only written.
    #[error(".dot files are written, not read")]
    NotReadable,
    /// The budget does not suffice.
    #[error("{what} needs {needed} bytes of memory, and {limit} are allowed")]
    Memory {
        /// What for.
        what: &'static str,
        /// What it needs at least.
        needed: u64,
        /// The budget.
        limit: u64,
    },
    /// Levels of invisible steps have numbers of 31 bits.
    #[error("there is a path of 2^31 invisible steps, which is more than can be sorted")]
    TooManyLevels,
    /// [`Stop`](hadal_model::Stop) was raised.
    #[error("stopped before the end")]
    Stopped,
}

/// What is wrong with a line of an `.aut` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AutReason {
    /// The file has no first line.
    #[error("the file is empty; it must begin with `des (initial, transitions, states)`")]
    Empty,
    /// The first line is not a header.
    #[error("expected `des (initial, transitions, states)`")]
    Header,
    /// A number of the header cannot be read.
    #[error("the {what} is not a number from 0 to 2^64-1: `{found}`")]
    HeaderNumber {
        /// What the number is.
        what: &'static str,
        /// What stands there.
        found: String,
    },
    /// The initial state does not exist.
    #[error(
        "the initial state {initial} is not one of {n_states} states, which are numbered from 0"
    )]
    Initial {
        /// The initial state.
        initial: u64,
        /// Number of states in the header.
        n_states: u64,
    },
    /// The line is no edge.
    #[error("expected `(from, label, to)`")]
    Edge,
    /// A state is not a number.
    #[error("the {which} state is not a number from 0 to 2^64-1: `{found}`")]
    State {
        /// `source` or `target`.
        which: &'static str,
        /// What stands there.
        found: String,
    },
    /// A state is a number, but not of a state.
    #[error(
        "the {which} state {state} is out of range: the header declares {n_states} states, which \
         are numbered from 0"
    )]
    Range {
        /// `source` or `target`.
        which: &'static str,
        /// The state.
        state: u64,
        /// Number of states in the header.
        n_states: u64,
    },
    /// There is nothing between the commas.
    #[error("the label is missing; write \"\" for an empty one")]
    NoLabel,
    /// A label begins with a quote and does not end with one, or the other way round.
    #[error("the label's quotes do not match: `{found}`")]
    Quotes {
        /// The label.
        found: String,
    },
    /// A probability or a rate.
    #[error("probabilities and rates are not supported: `{found}`")]
    Probability {
        /// What stands there.
        found: String,
    },
    /// Another edge than those counted.
    #[error("there are more edges than the {declared} that the header declares")]
    TooMany {
        /// The number in the header.
        declared: u64,
    },
    /// The file ends early.
    #[error("the file ends after {found} of the {declared} edges that the header declares")]
    TooFew {
        /// The number in the header.
        declared: u64,
        /// Edges in the file.
        found: u64,
    },
    /// The line does not fit into memory.
    #[error("the line is longer than {limit} bytes")]
    TooLong {
        /// What a line may have.
        limit: u64,
    },
}
