//! `local`: DMurphi's search, which reads only some of the signatures on disk (the locality paper,
//! section 5).
//!
//! As [`mono`](super::mono), but a check reads a *disk cloud*: blocks of the file drawn at random,
//! recent ones more likely than old ones, since most successors lie near. An old state that is not
//! in the cloud is visited again, and stored again. Every tenth check reads the whole file and
//! adapts the size of the cloud: it grows where it missed more than half of the old states, and
//! shrinks where it missed less than three tenths.
//!
//! The paper leaves open, and is silent about, some of this. The chance of the very oldest block
//! (b0) is only said to be positive: here, as in the authors' code, the line starts at zero and
//! the oldest of a hundred blocks has a hundredth. Blocks are drawn without replacement. Their code
//! starts with half of the blocks where the paper says 60 %, and lets the cloud shrink to nothing,
//! though it defines a least size of a tenth, which holds here. "Too long above a critical limit"
//! (95 %) means five calibrations here; then the size goes back to the first one, in half of the
//! cases.
//!
//! There is no proof that the search ends; it is stopped when it only repeats itself.

use std::ops::Range;

use hadal_model::Shape;
use hadal_report::units::counted;
use hadal_search::strategy::Run;
use hadal_search::{Error, Outcome, Stats, Strategy, Value};

use crate::breadth_first::Forgets;
use crate::configurable::{Configurable, Flag, Line, ParameterError, parse_bool, parse_number};
use crate::delayed::{self, Detected, ReadPlan, ReadPolicy, TableKind};
use crate::explorer;
use crate::figures::{Figures, MAY_STOP, Visits, percent, push_revisits};
use crate::tables::Random;

/// Points of the curve: where in the file, from the oldest block to the newest, and the chance.
const CURVE: [(f64, f64); 4] = [(0.0, 0.0), (0.4, 0.4), (0.7, 0.6), (1.0, 1.0)];
const SPEEDUP: f64 = 0.15;
const SLOWDOWN: f64 = 0.15;
/// Shares of old states missed, below which the cloud shrinks and above which it grows.
const FEW: f64 = 0.3;
const MANY: f64 = 0.5;
const LEAST_SHARE: f64 = 0.1;
const CRITICAL_SHARE: f64 = 0.95;
const MOST_CRITICAL: u32 = 5;

/// All signatures on disk, of which a random part is read, mostly what is recent (DMurphi).
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The table of candidates.
    pub table: TableKind,
    /// Blocks that the signatures are divided into.
    pub blocks: u32,
    /// The least number of signatures in a block.
    pub min_block: u64,
    /// After this many checks one reads all signatures and adapts the size of the cloud.
    pub calibrate_every: u32,
    /// Share of the blocks that is read to begin with.
    pub initial_share: f64,
    /// Whether the distinct states are counted at the end.
    pub count_distinct: bool,
}

impl Default for Local {
    fn default() -> Self {
        Local {
            table: TableKind::Open,
            blocks: 100,
            min_block: 10_000,
            calibrate_every: 10,
            initial_share: 0.5,
            count_distinct: true,
        }
    }
}

impl Strategy for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("table", self.table.name().to_owned())]
    }

    fn remark(&self) -> Option<&'static str> {
        Some(MAY_STOP)
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let cloud = Cloud {
            share: self.initial_share.clamp(LEAST_SHARE, 1.0),
            parameters: self.clone(),
            random: Random::new(run.options.seed ^ 0x10ca1),
            n_checks: 0,
            is_calibrating: false,
            something_left_out: false,
            n_left_out: 0,
            n_read: 0,
            n_critical: 0,
            shares: Vec::new(),
            sizes: Vec::new(),
        };
        delayed::search(
            run,
            self.table,
            cloud,
            Forgets::ForEver,
            self.count_distinct,
        )
    }
}

impl Configurable for Local {
    fn about(&self) -> &'static str {
        "DMurphi: the same, of which only a part is read, mostly what is recent"
    }

    fn flags(&self) -> &'static [Flag] {
        &[delayed::TABLE_FLAG]
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "table" => self.table = TableKind::parse(value, self.name())?,
            "blocks" => self.blocks = parse_number(value)?,
            "min-block" => self.min_block = parse_number(value)?,
            "calibrate-every" => self.calibrate_every = parse_number(value)?,
            "initial-share" => self.initial_share = parse_number(value)?,
            "count-distinct" => self.count_distinct = parse_bool(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn set_variant(&mut self, variant: &str) -> Result<(), ParameterError> {
        self.set("table", variant)
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let mut lines = Vec::from_iter(cloud_line(&figures));
        lines.push(figures.all_visited());
        figures.lines(lines)
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

/// How the share of the signatures that is read developed.
fn cloud_line(figures: &Figures<'_>) -> Option<Line> {
    let shares = figures.series("cloud_share")?;
    let text = match (shares.first(), shares.last()) {
        (Some(&first), Some(&last)) => {
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let most = shares.iter().copied().fold(0.0, f64::max);
            format!(
                "{} of the signatures read after the first of {}, {} after the last ({} to {})",
                percent(first),
                counted(shares.len() as u64, "calibration"),
                percent(last),
                percent(least),
                percent(most),
            )
        }
        _ => "never calibrated, for want of checks".to_owned(),
    };
    Some(("cloud", text))
}

/// The blocks that checks read.
struct Cloud {
    parameters: Local,
    /// Share of the blocks that a check reads.
    share: f64,
    random: Random,
    n_checks: u64,
    is_calibrating: bool,
    /// Whether some block is not in the cloud of this check.
    something_left_out: bool,
    /// Signatures that were not read by checks.
    n_left_out: u64,
    n_read: u64,
    /// Calibrations in a row with a cloud above the critical size.
    n_critical: u32,
    /// The share after each calibration.
    shares: Vec<f64>,
    /// Signatures in the cloud that each calibration was about.
    sizes: Vec<f64>,
}

impl Cloud {
    /// The blocks of a file of `n_signatures`, oldest first.
    fn blocks(&self, n_signatures: u64) -> Vec<Range<u64>> {
        let size = n_signatures.div_ceil(u64::from(self.parameters.blocks.max(1)));
        let size = size.max(self.parameters.min_block).max(1);
        let starts = (0..n_signatures).step_by(size as usize);
        starts.map(|at| at..n_signatures.min(at + size)).collect()
    }

    /// Draws `n` of the blocks; says for each whether it was drawn.
    fn draw(&mut self, n_blocks: usize, n: usize) -> Vec<bool> {
        let weight = |block: usize| chance((block + 1) as f64 / n_blocks as f64);
        let mut weights: Vec<f64> = (0..n_blocks).map(weight).collect();
        let mut drawn = vec![false; n_blocks];
        for _ in 0..n {
            let mut at = self.random.fraction() * weights.iter().sum::<f64>();
            let mut chosen = None;
            for (block, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                chosen = Some(block);
                at -= weight;
                if at < 0.0 {
                    break;
                }
            }
            if let Some(block) = chosen {
                drawn[block] = true;
                weights[block] = 0.0;
            }
        }
        drawn
    }

    fn calibrate(&mut self, detected: Detected) {
        let n_old = detected.n_old_first + detected.n_old_then;
        if self.something_left_out && n_old > 0 {
            let missed = detected.n_old_then as f64 / n_old as f64;
            if missed > MANY {
                self.share *= 1.0 + SPEEDUP;
            } else if missed < FEW {
                self.share *= 1.0 - SLOWDOWN;
            }
            self.share = self.share.clamp(LEAST_SHARE, 1.0);
        }
        self.n_critical = match self.share > CRITICAL_SHARE {
            true => self.n_critical + 1,
            false => 0,
        };
        if self.n_critical >= MOST_CRITICAL && self.random.below(2) == 0 {
            self.share = self.parameters.initial_share.clamp(LEAST_SHARE, 1.0);
            self.n_critical = 0;
        }
        self.shares.push(self.share);
    }
}

/// The chance of a block at this place in the file, which is between zero and one.
fn chance(place: f64) -> f64 {
    let segment = CURVE.windows(2).find(|ends| place <= ends[1].0);
    let [(x0, y0), (x1, y1)] = segment.map_or([CURVE[2], CURVE[3]], |ends| [ends[0], ends[1]]);
    y0 + (y1 - y0) * (place - x0) / (x1 - x0)
}

impl ReadPolicy for Cloud {
    fn plan(&mut self, n_signatures: u64) -> ReadPlan {
        self.n_checks += 1;
        let every = u64::from(self.parameters.calibrate_every.max(1));
        self.is_calibrating = self.n_checks.is_multiple_of(every);
        let blocks = self.blocks(n_signatures);
        let n = (self.share * blocks.len() as f64).ceil() as usize;
        let drawn = self.draw(blocks.len(), n);
        let mut plan = ReadPlan::default();
        for (block, drawn) in blocks.into_iter().zip(drawn) {
            match drawn {
                true => plan.first.push(block),
                false => plan.then.push(block),
            }
        }
        self.something_left_out = !plan.then.is_empty();
        let len = |blocks: &[Range<u64>]| blocks.iter().map(|b| b.end - b.start).sum::<u64>();
        match self.is_calibrating {
            true => self.sizes.push(len(&plan.first) as f64),
            false => {
                self.n_left_out += len(&plan.then);
                plan.then.clear();
            }
        }
        self.n_read += len(&plan.first) + len(&plan.then);
        plan
    }

    fn learn(&mut self, detected: Detected) {
        if self.is_calibrating {
            self.calibrate(detected);
        }
    }

    fn forgot(&self) -> bool {
        self.n_left_out > 0
    }

    fn report(&mut self, visits: &Visits, stats: &mut Stats) {
        push_revisits(visits, stats);
        stats.push("all_visited", Value::Count(u64::from(visits.all_visited)));
        stats.push("checks", Value::Count(self.n_checks));
        stats.push("calibrations", Value::Count(self.shares.len() as u64));
        stats.push("signatures_read", Value::Count(self.n_read));
        stats.push(
            "cloud_share",
            Value::Series(std::mem::take(&mut self.shares)),
        );
        stats.push(
            "cloud_signatures",
            Value::Series(std::mem::take(&mut self.sizes)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::chance;

    #[test]
    fn chances_follow_the_curve() {
        for (place, expected) in [
            (0.01, 0.01),
            (0.4, 0.4),
            (0.55, 0.5),
            (0.7, 0.6),
            (1.0, 1.0),
        ] {
            assert!((chance(place) - expected).abs() < 1e-9, "{place}");
        }
    }
}
