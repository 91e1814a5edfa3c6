//! `mono`: Stern and Dill's search with signatures on magnetic disk.
//!
//! Every check reads all signatures (see [`delayed`]), so nothing is ever visited
//! twice and the search always ends. A check is needed whenever the table is full, so the disk is
//! read about once for each time that the states visited fill the table.
//!
//! The authors used an open-address table. In PART's paper the same search is many times faster
//! with chains, since most signatures that are read are not in the table, and a full open table
//! takes long to say so. Both are here.

use std::iter;

use hadal_model::Shape;
use hadal_search::strategy::Run;
use hadal_search::{Error, Outcome, Stats, Strategy, Value};

use crate::breadth_first::Forgets;
use crate::configurable::{Configurable, Flag, Line, ParameterError};
use crate::delayed::{self, Detected, ReadPlan, ReadPolicy, TableKind};
use crate::explorer;
use crate::figures::{Figures, Visits};

/// All signatures on disk, all of them read whenever the table is full (Stern and Dill).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mono {
    /// The table of candidates.
    pub table: TableKind,
}

impl Strategy for Mono {
    fn name(&self) -> &'static str {
        "mono"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("table", self.table.name().to_owned())]
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let all = Everything::default();
        delayed::search(run, self.table, all, Forgets::Never, false)
    }
}

impl Configurable for Mono {
    fn about(&self) -> &'static str {
        "Stern and Dill: all signatures on disk, read as a whole"
    }

    fn flags(&self) -> &'static [Flag] {
        &[delayed::TABLE_FLAG]
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "table" => self.table = TableKind::parse(value, self.name())?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn set_variant(&mut self, variant: &str) -> Result<(), ParameterError> {
        self.set("table", variant)
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        figures.lines(vec![figures.time_split(&[
            ("successors", "seconds_generation"),
            ("insertion", "seconds_insertion"),
            ("duplicate detection", "seconds_detection"),
            ("I/O", "seconds_io"),
        ])])
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

/// All signatures are read.
#[derive(Debug, Default)]
struct Everything {
    n_checks: u64,
    n_read: u64,
    n_old: u64,
}

impl ReadPolicy for Everything {
    fn plan(&mut self, n_signatures: u64) -> ReadPlan {
        self.n_checks += 1;
        self.n_read += n_signatures;
        ReadPlan {
            first: iter::once(0..n_signatures).collect(),
            then: Vec::new(),
        }
    }

    fn learn(&mut self, detected: Detected) {
        self.n_old += detected.n_old_first;
    }

    fn forgot(&self) -> bool {
        false
    }

    fn report(&mut self, _: &Visits, stats: &mut Stats) {
        stats.push("checks", Value::Count(self.n_checks));
        stats.push("signatures_read", Value::Count(self.n_read));
        stats.push("duplicates_disk", Value::Count(self.n_old));
    }
}
