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

use super::MonoTable;
use super::breadth::{Forgets, Told};
use super::delayed::{self, Choice, Learnt, Reading};
use super::explorer::Run;
use crate::{Error, Outcome, Stats, Value};

pub(super) fn search(run: &Run<'_>, table: MonoTable) -> Result<Outcome, Error> {
    delayed::search(run, table, Everything::default(), Forgets::Never)
}

/// All signatures are read.
#[derive(Debug, Default)]
struct Everything {
    n_checks: u64,
    n_read: u64,
    n_old: u64,
}

impl Reading for Everything {
    fn choose(&mut self, n_signatures: u64) -> Choice {
        self.n_checks += 1;
        self.n_read += n_signatures;
        Choice {
            first: iter::once(0..n_signatures).collect(),
            then: Vec::new(),
        }
    }

    fn learn(&mut self, learnt: Learnt) {
        self.n_old += learnt.n_old_first;
    }

    fn forgot(&self) -> bool {
        false
    }

    fn tell(&mut self, _: &Told, stats: &mut Stats) {
        stats.push("checks", Value::Count(self.n_checks));
        stats.push("signatures_read", Value::Count(self.n_read));
        stats.push("duplicates_disk", Value::Count(self.n_old));
    }
}
