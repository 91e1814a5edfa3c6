//! Tables as data, independent of how they are rendered.

use crate::units;

/// Tables, plots and notes.
#[derive(Debug, Default)]
pub struct Report {
    /// The tables.
    pub tables: Vec<Table>,
    /// Small pictures, for people only.
    pub plots: Vec<String>,
    /// What a reader should know: runs that failed, models that could not be measured.
    pub notes: Vec<String>,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its title.
    pub name: String,
    /// Who it is for.
    pub readers: Readers,
    /// Titles of the columns.
    pub columns: Vec<String>,
    /// Rows, as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// Who a table is for. People get the layout of the papers, programs one row for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Both.
    All,
    /// Rendered as an aligned table or in Markdown only.
    People,
    /// Rendered as CSV or JSON only.
    Programs,
}

/// A figure, and a mark that qualifies it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The figure.
    pub value: Value,
    /// Why it is not that of a complete run, if it is not.
    pub mark: Option<Mark>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None.
    None,
    /// A name.
    Text(String),
    /// A number of things.
    Count(i64),
    /// A size.
    Bytes(u64),
    /// A time.
    Seconds(f64),
    /// To three places, as in the papers.
    Ratio(f64),
    /// Of 1; shown in percent.
    Share(f64),
    /// To seven places.
    Real(f64),
}

/// Why a figure is not that of a complete run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The strategy gave up, but all states had been visited by then.
    AllVisited,
    /// The strategy gave up, and states are missing.
    StatesMissing,
    /// The time limit came first.
    Time,
    /// Memory did not suffice.
    Memory,
    /// Somebody interrupted it.
    Interrupted,
    /// The run failed.
    Failed,
    /// Another run that it needed did not end.
    NotRun,
    /// The run was cut off, and the true figure is no smaller.
    AtLeast,
    /// What the figure is compared with was cut off, and the true one is no greater.
    AtMost,
}

impl Mark {
    /// What is written behind a figure, or before it where it is a comparison.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::AllVisited => "*",
            Mark::StatesMissing => "∞",
            Mark::Time => " (time)",
            Mark::Memory => " (memory)",
            Mark::Interrupted => " (interrupted)",
            Mark::Failed => " (failed)",
            Mark::NotRun => "-",
            Mark::AtLeast => ">",
            Mark::AtMost => "<",
        }
    }

    /// Whether its sign stands before a figure.
    fn is_comparison(self) -> bool {
        matches!(self, Mark::AtLeast | Mark::AtMost)
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Mark::AllVisited => "stopped by the strategy itself, after all states were visited",
            Mark::StatesMissing => "stopped by the strategy itself, with states not visited",
            Mark::Time => "cut off by the time limit; a time is a lower bound",
            Mark::Memory => "stopped because its memory did not suffice",
            Mark::Interrupted => "the run was interrupted before its end",
            Mark::Failed => "the run failed; see the notes",
            Mark::NotRun => "not run, for want of a complete run to compare with",
            Mark::AtLeast => "cut off at a limit; the figure is a lower bound",
            Mark::AtMost => "compared with a run that was cut off; the figure is an upper bound",
        }
    }
}

impl Table {
    /// An empty table.
    pub fn new(name: &str, readers: Readers, columns: &[&str]) -> Self {
        Table {
            name: name.to_owned(),
            readers,
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.name);
        self.rows.push(row);
    }

    /// The marks that occur, each once.
    pub fn marks(&self) -> Vec<Mark> {
        let cells = self.rows.iter().flatten();
        let mut marks: Vec<Mark> = cells.filter_map(|cell| cell.mark).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

impl Cell {
    /// An empty cell.
    pub fn none() -> Self {
        Value::None.into()
    }

    /// A cell with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Value::Text(text.into()).into()
    }

    /// A cell with a count.
    pub fn count(count: u64) -> Self {
        Value::Count(i64::try_from(count).unwrap_or(i64::MAX)).into()
    }

    /// The same with this mark.
    pub fn marked(self, mark: Option<Mark>) -> Self {
        Cell { mark, ..self }
    }

    /// For people.
    pub fn shown(&self) -> String {
        let sign = self.mark.map_or("", Mark::sign);
        match self.value.shown() {
            value if value.is_empty() => sign.trim_start().to_owned(),
            value if self.mark.is_some_and(Mark::is_comparison) => format!("{sign} {value}"),
            value => format!("{value}{sign}"),
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Cell { value, mark: None }
    }
}

impl Value {
    fn shown(&self) -> String {
        match self {
            Value::None => String::new(),
            Value::Text(text) => text.clone(),
            Value::Count(count) if *count >= 0 => units::count(count.unsigned_abs()),
            Value::Count(count) => format!("-{}", units::count(count.unsigned_abs())),
            Value::Bytes(bytes) => units::bytes(*bytes),
            Value::Seconds(seconds) => format!("{seconds:.3} s"),
            Value::Ratio(ratio) => format!("{ratio:.3}"),
            Value::Share(share) => format!("{:.1} %", share * 100.0),
            Value::Real(real) => format!("{real:.7}"),
        }
    }

    /// Whether it is lined up on its right side.
    pub fn is_number(&self) -> bool {
        !matches!(self, Value::Text(_))
    }

    /// For programs: plain numbers, in seconds, bytes and parts of 1.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::None => serde_json::Value::Null,
            Value::Text(text) => text.clone().into(),
            Value::Count(count) => (*count).into(),
            Value::Bytes(bytes) => (*bytes).into(),
            // Nothing that is not finite can be written.
            Value::Seconds(x) | Value::Ratio(x) | Value::Share(x) | Value::Real(x) => (*x).into(),
        }
    }
}
