//! Tables as data: what was measured, before it is known how it will be written down.

/// What a command of the laboratory prints.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tables: Vec<Table>,
    /// Small pictures, for people only.
    pub(crate) plots: Vec<String>,
    /// What a reader should know: runs that failed, models that could not be measured.
    pub(crate) notes: Vec<String>,
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) readers: Readers,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// Who a table is for. People get the layout of the papers, programs one row for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    All,
    People,
    Programs,
}

/// A figure, and whether something is to be said about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: Value,
    pub(crate) mark: Option<Mark>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    None,
    Text(String),
    Count(i64),
    Bytes(u64),
    Seconds(f64),
    /// To three places, as in the papers.
    Ratio(f64),
    /// Of 1; shown in percent.
    Share(f64),
    /// To seven places.
    Real(f64),
}

/// Why a figure is not that of a run which came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// The strategy gave up, but all states had been visited by then.
    AllVisited,
    /// The strategy gave up, and states are missing.
    StatesMissing,
    Time,
    Memory,
    Interrupted,
    Failed,
    /// Another run that it needed did not end.
    NotRun,
}

impl Mark {
    /// What is written behind a figure.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Mark::AllVisited => "*",
            Mark::StatesMissing => "∞",
            Mark::Time => " (time)",
            Mark::Memory => " (memory)",
            Mark::Interrupted => " (interrupted)",
            Mark::Failed => " (failed)",
            Mark::NotRun => "-",
        }
    }

    /// What it means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Mark::AllVisited => "stopped by the strategy itself, after all states were visited",
            Mark::StatesMissing => "stopped by the strategy itself, with states not visited",
            Mark::Time => "cut off by the time limit; a time is a lower bound",
            Mark::Memory => "stopped because its memory did not suffice",
            Mark::Interrupted => "the run was interrupted before its end",
            Mark::Failed => "the run failed; see the notes",
            Mark::NotRun => "not run, for want of a complete run to compare with",
        }
    }
}

impl Table {
    pub(crate) fn new(name: &str, readers: Readers, columns: &[&str]) -> Self {
        Table {
            name: name.to_owned(),
            readers,
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.name);
        self.rows.push(row);
    }

    /// The marks that occur, each once.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let cells = self.rows.iter().flatten();
        let mut marks: Vec<Mark> = cells.filter_map(|cell| cell.mark).collect();
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

impl Cell {
    pub(crate) fn none() -> Self {
        Value::None.into()
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Value::Text(text.into()).into()
    }

    pub(crate) fn count(count: u64) -> Self {
        Value::Count(i64::try_from(count).unwrap_or(i64::MAX)).into()
    }

    pub(crate) fn marked(self, mark: Option<Mark>) -> Self {
        Cell { mark, ..self }
    }

    /// For people.
    pub(crate) fn shown(&self) -> String {
        let sign = self.mark.map_or("", Mark::sign);
        match self.value.shown() {
            value if value.is_empty() => sign.trim_start().to_owned(),
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
            Value::Count(count) if *count >= 0 => crate::units::count(count.unsigned_abs()),
            Value::Count(count) => format!("-{}", crate::units::count(count.unsigned_abs())),
            Value::Bytes(bytes) => crate::units::bytes(*bytes),
            Value::Seconds(seconds) => format!("{seconds:.3} s"),
            Value::Ratio(ratio) => format!("{ratio:.3}"),
            Value::Share(share) => format!("{:.1} %", share * 100.0),
            Value::Real(real) => format!("{real:.7}"),
        }
    }

    /// Whether it is lined up on its right side.
    pub(crate) fn is_number(&self) -> bool {
        !matches!(self, Value::Text(_))
    }

    /// For programs: plain numbers, in seconds, bytes and parts of 1.
    pub(crate) fn json(&self) -> serde_json::Value {
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
