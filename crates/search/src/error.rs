//! Why a search ends without a verdict.

use hadal_model::Fault;

use crate::{StoreKind, Violation};

/// What keeps a search from giving an [`Outcome`](crate::Outcome).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model has no startstate, or assumptions discard all of them.
    #[error("no startstate is left to search from: there is none, or assumptions discard them all")]
    NoStartstate,
    /// A reduction noticed that it is not sound for this model, although nothing the model may say
    /// should have made it so.
    #[error(
        "internal error: the reduction by symmetry is wrong here: `{rule}` tells apart what the \
         model declares interchangeable: {message}"
    )]
    BrokenSymmetry {
        /// The rule or property that tells the elements apart.
        rule: String,
        /// What was seen, as a sentence.
        message: String,
    },
    /// The startstates are not symmetric, and a property asks about single elements.
    #[error("the startstates tell apart what the model declares interchangeable: {message}")]
    AsymmetricStarts {
        /// What was seen, as a sentence.
        message: String,
    },
    /// The model is not as symmetric as it declares, and what was asked for is not a verdict, which
    /// would say so as [`Verdict::Rejected`](crate::Verdict::Rejected).
    #[error("the result of a loop in `{}` depends on the order of its passes: {}", .0.name, .0.message)]
    OrderDependence(Box<Fault>),
    /// A second expansion of a state gave a successor that the first one did not give.
    #[error("internal error: state {ordinal} has other successors when it is expanded again")]
    Unrepeatable {
        /// The ordinal of the state.
        ordinal: u64,
    },
    /// A sink failed.
    #[error("a receiver of states or edges failed: {0}")]
    Sink(std::io::Error),
    /// A search is to be resumed that remembered states in another way.
    #[error(
        "the run was begun with the store `{}` and seed {}, and cannot be resumed with `{}` and seed {}",
        begun.0.name(), begun.1, asked.0.name(), asked.1
    )]
    OtherStore {
        /// Store and seed of the run.
        begun: (StoreKind, u64),
        /// Those it was to be resumed with.
        asked: (StoreKind, u64),
    },
    /// A search is resumed in another order of ranks.
    #[error("the run was begun by {begun}, and cannot be resumed by {asked}")]
    OtherOrder {
        /// The order of the run.
        begun: String,
        /// The one it was to be resumed in.
        asked: String,
    },
    /// A search is resumed without the sink that it had, or with one that it did not have.
    #[error("{}", other_sink(*has_sink))]
    OtherSink {
        /// Whether it was to be resumed with a sink.
        has_sink: bool,
    },
    /// Something went wrong with what is on disk.
    #[error(transparent)]
    Store(#[from] hadal_store::Error),
    /// A violation was found, but not how it is reached.
    #[error("the path to a violation cannot be read: {source}")]
    LostPath {
        /// What was found.
        violation: Box<Violation>,
        /// What is wrong with what is on disk.
        source: hadal_store::Error,
    },
    /// An option that the strategy cannot honour.
    #[error("the strategy `{strategy}` cannot have {option}: {why}")]
    Unsupported {
        /// The strategy.
        strategy: &'static str,
        /// The option.
        option: &'static str,
        /// Why not, as a clause.
        why: &'static str,
    },
    /// The order of the search depends on an estimate, and the model has none.
    #[error("{strategy} needs an estimate of what is left to a violation, and the model has none")]
    NoEstimate {
        /// The strategy.
        strategy: &'static str,
    },
    /// A state has no value of a measure that the order of the search depends on.
    #[error("`{measure}` has no value in a reachable state: {message}")]
    Unmeasured {
        /// The name of the measure.
        measure: String,
        /// Why, as a clause.
        message: String,
    },
    /// The cost of a run does not fit what the order of the search can tell.
    #[error(
        "the cost of a run and its weighted estimate are more than {} together: make costs, estimate or \
         weight smaller, or use --strategy dijkstra or best-first",
        u32::MAX
    )]
    TooCostly,
    /// The operating system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

fn other_sink(has_sink: bool) -> &'static str {
    match has_sink {
        true => "the run was begun without a sink, which would not receive its first states",
        false => "the run was begun with a sink, and cannot be resumed without one",
    }
}
