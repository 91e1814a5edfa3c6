//! The result of a check.

use std::fmt;
use std::path::Path;

use hadal_model::{FaultKind, Model, Phase, Shape};
use hadal_search::{Outcome, Reason, Strategy, Violation, ViolationKind};
use hadal_store::disk::Refusal;

use crate::claims::{LoadedClaim, ProductCounts};
use crate::folder::{NoScratch, RunFolder, has_run, store_error};
use crate::language::Naming;
use crate::prepared_check::PreparedCheck;
use crate::question::SearchOptions;
use crate::record::Record;
use crate::resources::Resources;
use crate::trace::NamedTrace;
use crate::{Error, LoadedModel, Style, TraceDetail, describe};

/// What a check found out.
///
/// While it lives it holds the folder of the run. A run in a folder that is kept stays resumable
/// until [`finish`](Checked::finish): should the process die before the result is delivered,
/// another run can find it again.
pub struct Checked<'a> {
    /// Verdict, counts and violations.
    pub outcome: Outcome,
    /// What was counted where claims about runs were checked, each in a search of its own.
    pub products: Vec<ProductCounts>,
    /// Seconds to the first state expanded, if one was.
    pub first_state_seconds: Option<f64>,
    /// Seconds in all.
    pub total_seconds: f64,
    /// The most memory that the process held since it started, in bytes, as the operating system
    /// counts it: not only for this check.
    pub peak_bytes: u64,
    pub(crate) prepared: PreparedCheck<'a>,
}

/// A violation and the run that shows it. Displays both as text.
#[derive(Clone, Copy, Debug)]
pub struct Counterexample<'c> {
    /// What is wrong.
    pub violation: &'c Violation,
    /// The run, replayed by the reference generator, in the model's names; `None` where there is
    /// none (an unreached goal), and where the check was to end before it was replayed.
    pub trace: Option<NamedTrace<'c>>,
    shape: &'c Shape,
    naming: Option<&'c dyn Naming>,
    /// Whether the model is a graph.
    is_graph: bool,
}

const CLAIM: ViolationKind = ViolationKind::Fault(FaultKind::Claim);

impl Counterexample<'_> {
    /// What is wrong, in one line.
    pub fn message(&self) -> String {
        match self.firing() {
            _ if self.is_graph && self.violation.kind == ViolationKind::Deadlock => {
                match self.violation.message.contains("enabled") {
                    true => "deadlock: no edge leaves the state".to_owned(),
                    false => "deadlock: no edge leads to another state".to_owned(),
                }
            }
            // The message names the claim, which is what matters.
            Some(firing) if self.is_named() && self.violation.kind != CLAIM => {
                describe::describe_firing(self.violation, &firing)
            }
            _ => describe::describe(self.violation, self.shape),
        }
    }

    /// What is wrong and after how many steps, in one line.
    pub fn sentence(&self) -> String {
        let after = describe::after(self.violation);
        let after = match self.has_one_start() {
            true => after.replace("a startstate", "the initial state"),
            false => after,
        };
        format!("{}{after}", self.message())
    }

    /// What meets a fault, if it is a rule: its name, or what the language calls it, which then has
    /// no parameters.
    pub fn firing(&self) -> Option<String> {
        let Violation {
            name, parameters, ..
        } = self.violation;
        let is_rule = matches!(self.violation.phase, Some(Phase::Guard | Phase::Body));
        let ViolationKind::Fault(_) = self.violation.kind else {
            return None;
        };
        is_rule.then(|| match self.naming {
            Some(naming) => {
                let state = self.trace.map_or_else(Vec::new, |trace| trace.last_state());
                naming.firing(name, parameters, &state)
            }
            None => name.clone(),
        })
    }

    /// What meets a fault, if it is a rule, and its parameters.
    pub fn failing_step(&self) -> Option<(String, &[(String, String)])> {
        let parameters = match self.is_named() {
            true => &[][..],
            false => &self.violation.parameters,
        };
        self.firing().map(|firing| (firing, parameters))
    }

    /// Of a deadlock, what waits and should not: processes with line and statement.
    pub fn blocked(&self) -> Vec<String> {
        match (self.violation.kind, self.naming, self.trace) {
            (ViolationKind::Deadlock, Some(naming), Some(trace)) => {
                naming.blocked(&trace.last_state())
            }
            _ => Vec::new(),
        }
    }

    /// Whether a model of the language has one initial state, rather than startstates.
    pub fn has_one_start(&self) -> bool {
        self.is_named() || self.is_graph
    }

    /// Whether it is the language that names what fires.
    pub fn is_named(&self) -> bool {
        self.naming.is_some()
    }
}

impl<'a> Checked<'a> {
    /// The violations, least first, with their traces.
    pub fn violations(&self) -> Vec<Counterexample<'_>> {
        let view = |violation| Counterexample {
            violation,
            trace: (violation.trace.as_ref()).map(|trace| {
                let trace = NamedTrace::new(self.model_of(violation), trace);
                trace.in_words_of(self.loaded())
            }),
            shape: self.model().shape(),
            naming: self.loaded().and_then(|loaded| loaded.naming.as_deref()),
            is_graph: (self.loaded()).is_some_and(|loaded| loaded.graph().is_some()),
        };
        self.outcome.violations.iter().map(view).collect()
    }

    /// The model that the run to a violation is one of: the product with a claim, where that is
    /// violated.
    fn model_of(&self, violation: &Violation) -> &'a dyn Model {
        let claims = self.loaded().map_or(&[][..], |loaded| &loaded.claims);
        let is_violated = |claim: &&LoadedClaim| violation.property == Some(claim.property as u32);
        let product = claims
            .iter()
            .find(is_violated)
            .and_then(LoadedClaim::product);
        product.unwrap_or_else(|| self.model())
    }

    /// The run record: everything about the run, for programs.
    pub fn record(&self) -> Record<'_> {
        Record::new(self)
    }

    /// Ends a run in a folder that is kept: deletes its files and notes that it is finished. To be
    /// called once the result is delivered: until then a later run finds the result again. Does
    /// nothing for a run that stopped early, has no such folder, or has a violation without its
    /// trace, which a later run can still find.
    pub fn finish(&self) -> Result<(), Error> {
        let folder = self.prepared.folder.as_ref();
        let kept = folder.and_then(|folder| Some((folder, folder.kept.as_ref()?)));
        let Some((folder, path)) = kept.filter(|_| self.is_at_its_end()) else {
            return Ok(());
        };
        let search_folder = self.prepared.search_folder(folder)?;
        hadal_search::finish(&search_folder).map_err(|error| match error {
            hadal_search::Error::Store(error) => store_error(path, error),
            error => Error::Internal(error.to_string()),
        })
    }

    /// Whether a later run would find nothing more.
    fn is_at_its_end(&self) -> bool {
        if self.prepared.question.output.is_some() {
            // What was left undecided is not asked.
            let reason = self.outcome.reason;
            return matches!(reason, None | Some(Reason::Liveness | Reason::Unchecked));
        }
        let is_untraced = self.outcome.violations.iter().any(Violation::is_untraced);
        self.outcome.reason.is_none() && !is_untraced
    }

    /// The model.
    pub fn model(&self) -> &'a dyn Model {
        self.prepared.model.model()
    }

    /// The model as loaded, if it has texts.
    pub fn loaded(&self) -> Option<&'a LoadedModel> {
        self.prepared.model.loaded()
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        self.prepared.model.name()
    }

    /// The strategy.
    pub fn strategy(&self) -> &dyn Strategy {
        self.prepared.strategy.get()
    }

    /// What was asked.
    pub fn search_options(&self) -> &SearchOptions {
        &self.prepared.question.search
    }

    /// The resources that were given.
    pub fn resources(&self) -> &Resources {
        &self.prepared.resources
    }

    /// The memory budget of the process, in bytes.
    pub fn budget_bytes(&self) -> u64 {
        self.prepared.budget
    }

    /// Threads that expanded states.
    pub fn threads(&self) -> usize {
        self.prepared.options.threads
    }

    /// Whether an earlier run started it.
    pub fn is_resumed(&self) -> bool {
        self.prepared.manifest.is_some()
    }

    /// The folder from which a later run can resume.
    pub fn resumable(&self) -> Option<&Path> {
        let kept = self.prepared.folder.as_ref()?.kept.as_deref();
        kept.filter(|path| has_run(path))
    }

    /// Bytes on disk that [`finish`](Self::finish) deletes, or the end of this value.
    pub fn deletable_bytes(&self) -> u64 {
        let deletable = |folder: &&RunFolder| folder.kept.is_none() || self.is_at_its_end();
        let folder = self.prepared.folder.as_ref().filter(deletable);
        folder.map_or(0, |folder| folder.folder.statistics().disk_bytes)
    }

    /// Why there was no scratch folder.
    pub fn no_scratch(&self) -> Option<&NoScratch> {
        self.prepared.no_scratch.as_ref()
    }

    /// Why there was no more room on disk; `None` where there was, or the system refused a write.
    pub fn disk_refusal(&self) -> Option<Refusal> {
        self.prepared.folder()?.refusal()
    }

    /// The most that was on disk at a time, for each state.
    pub fn disk_bytes_per_state(&self) -> f64 {
        match self.outcome.states {
            0 => 0.0,
            n => self.outcome.disk.peak_bytes as f64 / n as f64,
        }
    }
}

impl fmt::Debug for Checked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked")
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Counterexample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", describe::described(self.violation, self.shape))?;
        match self.trace {
            Some(trace) => write!(f, "{trace}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for NamedTrace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(TraceDetail::Diff, Style::plain()))
    }
}
