//! Directed search: what each strategy and estimate expands up to a violation, beside a breadth-first
//! search and one in the order of costs, and the tables of the directed paper beside ours.
//!
//! A model has another estimate in its program for each heuristic, so that it is loaded for each
//! anew. Where that fails, for example because there is no invariant that could be violated, the
//! heuristic does not apply, and the table says so.

use hadal_report::plot::Bars;
use hadal_report::table::{Cell, Mark, Readers, Report, Table, Value};
use hadal_search::{Auto, Dijkstra, DirectedFigures, Outcome};

use super::directed_paper::{self, Instance};
use super::rig::{Choice, Job, Measured, Rig, Subject};

/// Loads the models that are measured.
pub trait Loader {
    /// A model as it is, or with the estimate of a heuristic. Fails with the reason why it has none.
    fn load(&mut self, model: usize, heuristic: Option<&str>) -> Result<Subject, String>;

    /// The subject loaded last with more room, where a search of it has met more processes than it
    /// has room for.
    fn wider(&mut self, outcome: &Outcome) -> Option<Result<Subject, String>>;
}

/// What is measured on each model.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The models, as they are called in tables.
    pub names: Vec<String>,
    /// Strategies that are directed by an estimate.
    pub strategies: Vec<Choice>,
    /// What they are directed by.
    pub heuristics: Vec<String>,
}

/// The strategy and the heuristic of the directed paper's tables.
const PAPER: (&str, &str) = ("a-star", "active");

/// The title of the rows of the strategy that all others are compared with.
const BREADTH_FIRST: &str = "auto";

/// A search of a model.
struct Search {
    strategy: String,
    heuristic: Option<String>,
    /// `None` where the model has no such estimate; the reason is among the notes.
    run: Option<Measured>,
}

impl Search {
    fn is_of(&self, (strategy, heuristic): (&str, &str)) -> bool {
        self.strategy == strategy && self.heuristic.as_deref() == Some(heuristic)
    }

    /// States expanded, those opened again as often as they were.
    fn expanded(&self) -> Option<u64> {
        let outcome = self.run.as_ref()?.outcome.as_ref()?;
        Some(outcome.visited)
    }

    fn label(&self) -> String {
        match &self.heuristic {
            Some(heuristic) => format!("{} {heuristic}", self.strategy),
            None => self.strategy.clone(),
        }
    }
}

/// Measures the models, and draws a panel for each: what is expanded, in per cent of what a
/// breadth-first search expands.
pub fn measure(rig: &mut Rig<'_>, loader: &mut dyn Loader, plan: &Plan) -> (Report, Vec<Bars>) {
    let mut runs = runs_table();
    let mut best = best_table();
    let mut papers = directed_paper::table();
    let mut panels = Vec::new();
    for (model, name) in plan.names.iter().enumerate() {
        let searches = searches(rig, loader, plan, model);
        let breadth_first = searches.first();
        for search in &searches {
            runs.push(row(name, search, breadth_first));
        }
        best.push(best_row(name, &searches));
        if let Some(instance) = Instance::of(name) {
            let ours = searches.iter().find(|it| it.is_of(PAPER));
            papers.push(instance.row(ours.and_then(|it| it.run.as_ref())));
        }
        panels.push(bars(name, &searches));
    }
    let mut tables = vec![runs, best];
    if !papers.rows.is_empty() {
        tables.push(papers);
    }
    let report = Report {
        tables,
        ..Report::default()
    };
    (report, panels)
}

/// All searches of a model, the breadth-first one first.
fn searches(rig: &mut Rig<'_>, loader: &mut dyn Loader, plan: &Plan, model: usize) -> Vec<Search> {
    let blind = [
        Choice::new(BREADTH_FIRST, Auto),
        Choice::new("dijkstra", Dijkstra),
    ];
    let mut searches = Vec::new();
    // Why there is no estimate, and of which heuristics.
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let mut group = |heuristic: Option<&String>, choices: &[Choice]| {
        if rig.is_interrupted() {
            return;
        }
        let search = |strategy: &str, run| Search {
            strategy: strategy.to_owned(),
            heuristic: heuristic.cloned(),
            run,
        };
        let mut subject = match loader.load(model, heuristic.map(String::as_str)) {
            Ok(subject) => subject,
            Err(why) => {
                let what = heuristic.map_or("the model", String::as_str);
                match reasons.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, names)) => names.push(what.to_owned()),
                    None => reasons.push((why, vec![what.to_owned()])),
                }
                searches.push(search("", None));
                return;
            }
        };
        for choice in choices {
            let job = Job::unbounded(choice.clone());
            let label = heuristic.map_or(String::new(), |it| format!(" by {it}"));
            let job = job.called(format!("{}{label}", choice.label));
            let run = loop {
                let run = rig.fastest(&subject, &job);
                match run.outcome.as_ref().and_then(|it| loader.wider(it)) {
                    Some(Ok(wider)) => subject = wider,
                    Some(Err(why)) => {
                        rig.notes.push(format!("{}: {why}", plan.names[model]));
                        break Measured::failed();
                    }
                    None => break run,
                }
            };
            searches.push(search(&choice.label, Some(run)));
        }
    };
    group(None, &blind);
    for heuristic in &plan.heuristics {
        group(Some(heuristic), &plan.strategies);
    }
    for (why, names) in reasons {
        let name = &plan.names[model];
        rig.notes
            .push(format!("{name}: {}: {why}", names.join(", ")));
    }
    searches
}

fn runs_table() -> Table {
    Table::new(
        "States expanded up to a violation, by strategy and estimate",
        Readers::All,
        &[
            "model",
            "strategy",
            "heuristic",
            "expanded",
            "of breadth-first",
            "generated",
            "opened again",
            "inconsistent",
            "steps",
            "cost",
            "least",
            "states",
            "seconds",
            "data bytes",
            "disk bytes",
            "end",
        ],
    )
}

fn row(name: &str, search: &Search, breadth_first: Option<&Search>) -> Vec<Cell> {
    let mut row = vec![
        Cell::text(name),
        Cell::text(&search.strategy),
        Cell::text(search.heuristic.as_deref().unwrap_or("")),
    ];
    let Some(run) = &search.run else {
        row.extend(vec![Cell::none(); 12]);
        row.push(Cell::text("does not apply"));
        return row;
    };
    let figure = |value: &dyn Fn(&Outcome) -> Value| bounded(run, value);
    let directed = |value: &dyn Fn(&DirectedFigures) -> u64| {
        let has_estimate = search.heuristic.is_some();
        figure(&|it| match &it.directed {
            Some(figures) if has_estimate => whole(value(figures)),
            _ => Value::None,
        })
    };
    let [steps, cost, least] = violation(run);
    row.extend([
        figure(&|it| whole(it.visited)),
        ratio(search, breadth_first),
        figure(&|it| whole((it.directed.as_ref()).map_or(it.transitions, |it| it.generated))),
        directed(&|it| it.reopened),
        directed(&|it| it.inconsistent),
        steps,
        cost,
        least,
        figure(&|it| whole(it.states)),
        figure(&|_| Value::Seconds(run.seconds)),
        figure(&|it| Value::Bytes(it.data_bytes)),
        figure(&|it| Value::Bytes(it.disk.peak_bytes)),
        Cell::text(run.end()),
    ]);
    row
}

/// Steps and cost of the violation that a run found, and what of it is known to be least. A run that
/// was cut off has no bounds of these.
fn violation(run: &Measured) -> [Cell; 3] {
    let outcome = run.outcome.as_ref().filter(|_| run.is_violated());
    let Some((outcome, first)) = outcome.and_then(|it| Some((it, it.violations.first()?))) else {
        return [Cell::none(), Cell::none(), Cell::none()];
    };
    let cost = outcome.directed.as_ref().and_then(|it| it.cost);
    [
        Cell::count(first.depth.into()),
        cost.map_or_else(Cell::none, Cell::count),
        Cell::text(least(outcome)),
    ]
}

/// What is known to be least about a violation that was found.
fn least(outcome: &Outcome) -> &'static str {
    match &outcome.directed {
        None => "steps",
        Some(directed) if directed.is_least => "cost",
        Some(_) => "no",
    }
}

pub(crate) fn whole(n: u64) -> Value {
    Value::Count(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A figure of a run, which is a lower bound where the run was cut off.
pub(crate) fn bounded(run: &Measured, value: impl FnOnce(&Outcome) -> Value) -> Cell {
    let mark = match run.was_cut_off() {
        true => Some(Mark::AtLeast),
        false => run.mark(None),
    };
    let cell = run.cell(None, value);
    let is_known = cell.value != Value::None;
    cell.marked(mark.filter(|_| is_known || run.outcome.is_none()))
}

/// What a search has expanded, as a ratio to a breadth-first one. Of two that were cut off nothing is
/// known.
fn ratio(search: &Search, breadth_first: Option<&Search>) -> Cell {
    let ratio = breadth_first.and_then(|base| {
        let (of, to) = (search.expanded()?, base.expanded()?);
        let mark = match (search.run.as_ref()?, base.run.as_ref()?) {
            (search, base) if search.was_cut_off() && base.was_cut_off() => return None,
            (search, _) if search.was_cut_off() => Some(Mark::AtLeast),
            (_, base) if base.was_cut_off() => Some(Mark::AtMost),
            _ => None,
        };
        let ratio = Value::Real(of as f64 / to.max(1) as f64);
        Some(Cell::from(ratio).marked(mark))
    });
    ratio.unwrap_or_else(Cell::none)
}

fn best_table() -> Table {
    Table::new(
        "The search of each model that expands least, and how many expand more than a breadth-first \
         one",
        Readers::All,
        &[
            "model",
            "breadth-first states",
            "expanded",
            "strategy",
            "heuristic",
            "best expanded",
            "of breadth-first",
            "steps",
            "cost",
            "worse",
            "searches",
        ],
    )
}

fn best_row(name: &str, searches: &[Search]) -> Vec<Cell> {
    let base = searches.first();
    let base_run = base.and_then(|it| it.run.as_ref());
    let of_base = |value: &dyn Fn(&Outcome) -> u64| match base_run {
        Some(run) => bounded(run, |it| whole(value(it))),
        None => Cell::none(),
    };
    let mut row = vec![
        Cell::text(name),
        of_base(&|it| it.states),
        of_base(&|it| it.visited),
    ];
    let directed = || searches.iter().filter(|it| it.heuristic.is_some());
    let found = directed().filter_map(|it| Some((it, it.run.as_ref()?)));
    let found = found.filter(|(_, run)| run.is_violated());
    // The first of several that expand as little, in the order in which they were asked for.
    match found.min_by_key(|(search, _)| search.expanded()) {
        Some((best, run)) => {
            let [steps, cost, _] = violation(run);
            row.extend([
                Cell::text(&best.strategy),
                Cell::text(best.heuristic.as_deref().unwrap_or("")),
                bounded(run, |it| whole(it.visited)),
                ratio(best, base),
                steps,
                cost,
            ]);
        }
        None => row.extend(vec![Cell::none(); 6]),
    }
    let n_run = directed().filter(|it| it.run.is_some()).count();
    // Nothing is worse for certain than a search that was cut off.
    let base_expanded = base.filter(|_| base_run.is_some_and(|run| !run.was_cut_off()));
    let n_worse = base_expanded.and_then(Search::expanded).map(|limit| {
        let is_worse = |it: &&Search| it.expanded().is_some_and(|expanded| expanded > limit);
        directed().filter(is_worse).count()
    });
    row.extend([
        n_worse.map_or_else(Cell::none, |n| Cell::count(n as u64)),
        Cell::count(n_run as u64),
    ]);
    row
}

fn bars(name: &str, searches: &[Search]) -> Bars {
    let base = searches.first().and_then(Search::expanded);
    let of_base = |search: &Search| {
        let expanded = search.expanded().unwrap_or(0);
        100.0 * expanded as f64 / base.unwrap_or(1).max(1) as f64
    };
    let run = || searches.iter().filter(|it| it.run.is_some());
    Bars {
        title: format!("{name}: states expanded, in per cent of a breadth-first search"),
        labels: run().map(Search::label).collect(),
        values: run().map(of_base).collect(),
    }
}
