//! `hadal lab directed`: models are loaded anew for each estimate, which is part of a model's program.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use hadal::{Directed, Error, ModelSource, ScratchFolder, TargetText};
use hadal_literature::lab::directed::{self, Loader, Plan};
use hadal_literature::lab::{Choice, Conditions, Rig, Subject};
use hadal_model::FaultKind;
use hadal_report::plot::svg_of_bars;
use hadal_search::{Deadlock, Options, Outcome, Violation, ViolationKind};

use super::args::Common;
use super::models::{self, Named};
use super::{in_lab, options, refuse_end_states};
use crate::exit::Exit;

/// What was asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) common: &'a Common,
    pub(crate) strategies: &'a [Choice],
    pub(crate) heuristics: &'a [String],
    pub(crate) target: Option<&'a str>,
    pub(crate) state_limit: u64,
    pub(crate) svg: Option<&'a Path>,
}

/// Heuristics that are measured where none is named: each that is derived from a model, and where it
/// adds up parts also as a sum.
const DERIVED: [&str; 7] = [
    "active",
    "blocked",
    "formula",
    "sum(formula)",
    "control",
    "sum(control)",
    "sum(formula,control)",
];

/// The option for how many processes of a type there is room, which is a guess at first.
const INSTANCES: &str = "instances";
const GUESSED_INSTANCES: u32 = 8;
const MOST_INSTANCES: u32 = 255;

/// After how long a run is cut off unless another limit is set, so that the table always ends.
const TIME_LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn run(wanted: &Wanted<'_>) -> anyhow::Result<Exit> {
    let common = wanted.common;
    let heuristics = heuristics(wanted)?;
    let conditions = |folder: &ScratchFolder| Conditions {
        options: Options {
            max_errors: 1,
            time_limit: Some(common.time_limit.unwrap_or(TIME_LIMIT)),
            ..options(common)
        },
        most_states: Some(wanted.state_limit),
        repeat: common.repeat,
        folder: folder.path().to_owned(),
    };
    in_lab("directed", common, wanted.svg, conditions, || {
        let Some(mut loader) = Models::new(wanted)? else {
            return Ok(None);
        };
        let plan = Plan {
            names: loader.named.iter().map(|it| it.name.clone()).collect(),
            strategies: wanted.strategies.to_vec(),
            heuristics,
        };
        Ok(Some(move |rig: &mut Rig<'_>| {
            let (report, bars) = directed::measure(rig, &mut loader, &plan);
            Ok((report, svg_of_bars(&bars)))
        }))
    })
}

fn heuristics(wanted: &Wanted<'_>) -> anyhow::Result<Vec<String>> {
    let needs_target =
        |text: &String| Directed::new(text, Deadlock::Off).is_ok_and(|it| it.needs_target());
    let mut heuristics = wanted.heuristics.to_vec();
    if heuristics.is_empty() {
        heuristics = DERIVED.map(str::to_owned).to_vec();
        heuristics.extend(wanted.target.map(|_| "hamming".to_owned()));
    } else if wanted.target.is_some() && !heuristics.iter().any(needs_target) {
        bail!("--target is for the heuristic `hamming`; name it with --heuristic");
    }
    Ok(heuristics)
}

/// The models of a measurement.
struct Models {
    named: Vec<Named>,
    /// What counts as a deadlock, where it was typed.
    deadlock: Option<Deadlock>,
    /// The one that was loaded last, and its number.
    last: Option<(usize, ModelSource)>,
}

impl Models {
    /// Loads all models once, so that a bad one costs nothing. `None` where one is rejected, which is
    /// printed.
    fn new(wanted: &Wanted<'_>) -> anyhow::Result<Option<Self>> {
        let common = wanted.common;
        let mut named = models::named(common)?;
        let target = wanted.target.map(TargetText::read).transpose()?;
        for Named { source, .. } in &mut named {
            let Some(loaded) = models::loaded(source)? else {
                return Ok(None);
            };
            if loaded.graph().is_some() {
                let name = source.name();
                bail!("`{name}` is a graph, from which no estimate is derived");
            }
            refuse_end_states(common, std::iter::once(&*loaded.model))?;
            if let Some(target) = &target {
                *source = source.clone().target(target)?;
            }
        }
        Ok(Some(Models {
            named,
            deadlock: common.deadlock,
            last: None,
        }))
    }

    fn deadlock_of(&self, source: &ModelSource) -> Deadlock {
        self.deadlock.unwrap_or_else(|| source.default_deadlock())
    }

    fn load_source(&mut self, model: usize, source: ModelSource) -> Result<Subject, String> {
        let deadlock = self.deadlock_of(&source);
        let loaded = source.load().map_err(|error| reason(&error))?;
        self.last = Some((model, source));
        Ok(Subject {
            name: self.named[model].name.clone(),
            model: loaded.model,
            deadlock,
        })
    }
}

impl Loader for Models {
    fn load(&mut self, model: usize, heuristic: Option<&str>) -> Result<Subject, String> {
        let mut source = self.named[model].source.clone();
        if let Some(heuristic) = heuristic {
            let directed = Directed::new(heuristic, self.deadlock_of(&source));
            source = source.directed_by(directed.map_err(|error| error.to_string())?);
        }
        self.load_source(model, source)
    }

    fn wider(&mut self, outcome: &Outcome) -> Option<Result<Subject, String>> {
        let (model, source) = self.last.as_ref()?;
        let (model, mut source) = (*model, source.clone());
        let is_limit = |it: &Violation| it.kind == ViolationKind::Fault(FaultKind::ProcessLimit);
        if !outcome.violations.iter().any(is_limit) {
            return None;
        }
        let room = source.options.get(INSTANCES);
        let room = room.map_or(Some(GUESSED_INSTANCES), |text| text.parse().ok())?;
        if room >= MOST_INSTANCES {
            return None;
        }
        let wider = (2 * room).min(MOST_INSTANCES).to_string();
        source.options.replace(INSTANCES, &wider);
        // So that the searches after this one have the room at once.
        self.named[model].source.options.replace(INSTANCES, &wider);
        Some(self.load_source(model, source))
    }
}

/// Why a model has no such estimate, in one line.
fn reason(error: &Error) -> String {
    let Error::Rejected(rejection) = error else {
        return error.to_string();
    };
    let first = rejection.diagnostics.first().map(|it| it.message.clone());
    let first = first.or_else(|| rejection.messages.first().cloned());
    first.unwrap_or_else(|| error.to_string())
}
