//! When a search will end, estimated from the sizes of its layers.
//!
//! While layers grow there is no estimate. Once they have clearly shrunk, they mostly shrink as
//! they grew: the remaining states are estimated as 0.4 to 2 times those of the growing layers that
//! were no larger than the present one, that one included. The range is a rule of thumb from the
//! layers of six models; near the end, where layers are tiny, one of them had 5 times as many left.

use hadal_search::{DiskUse, Progress};

/// What a search that filled its disk would have needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shortage {
    /// More bytes for the layer being expanded, if the rest of it is like its beginning.
    pub(crate) layer_bytes: u64,
    /// Bytes for the whole run, at least and at most; `None` while layers grow.
    pub(crate) run_bytes: Option<(f64, f64)>,
}

/// Follows a search from its first layer on.
#[derive(Debug, Default)]
pub(crate) struct Estimator {
    /// Sizes of the layers, the one being expanded included.
    layers: Vec<u64>,
    /// States of the layers before that one. Cached, since there may be millions of layers.
    before: u64,
    /// Whether all layers were seen; a resumed search does not start with the first.
    is_whole: bool,
    /// The last progress, and what was on disk when its layer started.
    last: Progress,
    disk_before: u64,
    /// Seconds and states expanded at two earlier moments, for a recent rate.
    marks: [(f64, u64); 2],
}

/// Layers have clearly shrunk once one has this percentage of the largest.
const SHRUNK_PERCENT: u64 = 80;
/// Remaining states, at least and at most, as multiples of the opposite ones.
const LEAST: f64 = 0.4;
const MOST: f64 = 2.0;
/// The rate is measured over 1 to 2 times this.
const WINDOW_SECONDS: f64 = 15.0;

impl Estimator {
    /// Records how far the search is.
    pub(crate) fn note(&mut self, progress: &Progress) {
        let depth = progress.layer as usize;
        if self.layers.is_empty() {
            self.is_whole = depth == 0;
        }
        if depth >= self.layers.len() {
            self.is_whole &= depth == self.layers.len();
            self.before += self.layers.last().copied().unwrap_or(0);
            self.layers.resize(depth, 0);
            self.layers.push(progress.frontier);
            self.disk_before = progress.disk_bytes;
        } else if depth + 1 < self.layers.len() {
            // The search was rolled back: the layers since were provisional.
            self.layers.truncate(depth + 1);
            self.before = self.layers[..depth].iter().sum();
        }
        self.last = *progress;
        if progress.seconds - self.marks[1].0 >= WINDOW_SECONDS {
            self.marks = [self.marks[1], (progress.seconds, self.expanded(progress))];
        }
    }

    /// Seconds until the end, at least and at most. Takes time linear in the number of layers.
    pub(crate) fn seconds(&self, progress: &Progress) -> Option<(f64, f64)> {
        let opposite = self.opposite()?;
        let (then, expanded) = self.marks[0];
        let passed = progress.seconds - then;
        let rate = self.expanded(progress).saturating_sub(expanded) as f64 / passed;
        if !rate.is_finite() || rate <= 0.0 {
            return None;
        }
        let done = progress.frontier_done as f64;
        // At least what is known to be left.
        let known = progress.frontier.saturating_sub(progress.frontier_done) as f64;
        let least = (LEAST * opposite - done).max(known);
        let most = (MOST * opposite - done).max(known);
        Some((least / rate, most / rate))
    }

    /// What a search that filled its disk after `states` states would have needed.
    pub(crate) fn shortage(&self, states: u64, disk: &DiskUse) -> Shortage {
        let (done, frontier) = (self.last.frontier_done, self.last.frontier);
        let by_layer = disk.used_bytes.saturating_sub(self.disk_before) as f64;
        let left = frontier.saturating_sub(done) as f64 / done.max(1) as f64;
        let bytes_per_state = disk.peak_bytes as f64 / states.max(1) as f64;
        let run_bytes = self.opposite().map(|opposite| {
            // At least as many states as were found.
            let total = |times: f64| (self.before as f64 + times * opposite).max(states as f64);
            let bytes = |times: f64| total(times) * bytes_per_state;
            (bytes(LEAST), bytes(MOST))
        });
        Shortage {
            layer_bytes: ((by_layer * left) as u64).max(disk.refused_bytes),
            run_bytes,
        }
    }

    /// States of the growing layers that are no larger than the present one, and its own; `None`
    /// while layers grow.
    fn opposite(&self) -> Option<f64> {
        let &now = self.layers.last()?;
        let (peak, &largest) = (self.layers.iter().enumerate()).max_by_key(|(_, size)| **size)?;
        if !self.is_whole || now > largest / 100 * SHRUNK_PERCENT {
            return None;
        }
        let growing = self.layers[..peak].iter().filter(|&&size| size <= now);
        Some((growing.sum::<u64>() + now) as f64)
    }

    fn expanded(&self, progress: &Progress) -> u64 {
        self.before + progress.frontier_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_is_rolled_back_is_followed() {
        let mut estimator = Estimator::default();
        let mut see = |layer: u32, frontier: u64| {
            let progress = Progress {
                layer,
                frontier,
                ..Progress::default()
            };
            estimator.note(&progress);
            (estimator.layers.clone(), estimator.before)
        };
        for (layer, frontier) in [(0, 1), (1, 5), (2, 7)] {
            see(layer, frontier);
        }
        assert_eq!(see(3, 9), (vec![1, 5, 7, 9], 13));
        assert_eq!(see(1, 5), (vec![1, 5], 1));
        assert_eq!(see(2, 6), (vec![1, 5, 6], 6));
    }

    /// A search that expands a thousand states a second, seen at the start of each layer: the
    /// estimate and the true time left.
    fn estimates(layers: &[u64], from: usize) -> Vec<(Option<(f64, f64)>, f64)> {
        let total: u64 = layers.iter().sum();
        let mut estimator = Estimator::default();
        let mut before = 0;
        let mut estimates = Vec::new();
        for (depth, &frontier) in layers.iter().enumerate() {
            let progress = Progress {
                layer: depth as u32,
                frontier,
                seconds: before as f64 / 1000.0,
                ..Progress::default()
            };
            if depth >= from {
                estimator.note(&progress);
                let left = (total - before) as f64 / 1000.0;
                estimates.push((estimator.seconds(&progress), left));
            }
            before += frontier;
        }
        estimates
    }

    /// Layers that grow by `up` steps to a million and shrink by `down`.
    fn bell(up: i32, down: i32) -> Vec<u64> {
        let size = |at: i32| {
            let width = f64::from(if at < 0 { up } else { down }) / 3.5;
            (1e6 * (-0.5 * (f64::from(at) / width).powi(2)).exp()).ceil() as u64
        };
        (-up..=down).map(size).collect()
    }

    #[test]
    fn there_is_no_estimate_while_layers_grow_and_a_true_range_after() {
        for (up, down) in [(40, 40), (40, 25), (25, 30), (100, 60)] {
            let all = estimates(&bell(up, down), 0);
            let mut n_estimates = 0;
            for (depth, (estimate, left)) in all.iter().enumerate() {
                if depth <= up as usize {
                    assert_eq!(*estimate, None, "{up} {down} at {depth}");
                }
                // A bell has no true end, so its last few states are as they happen to be cut.
                if let (Some((least, most)), 10.0..) = (estimate, *left) {
                    n_estimates += 1;
                    assert!((least..=most).contains(&left), "{up} {down} at {depth}");
                }
            }
            assert!(n_estimates > down / 2, "{up} {down}: {n_estimates}");
        }
    }

    #[test]
    fn a_shortage_is_estimated_by_layer_and_for_the_whole_run() {
        let layers = bell(40, 40);
        let total: u64 = layers.iter().sum();
        let mut estimator = Estimator::default();
        let mut found = 0;
        for (depth, &frontier) in layers.iter().enumerate() {
            found += frontier;
            // Eight bytes for each state that was found before the layer.
            let mut progress = Progress {
                layer: depth as u32,
                frontier,
                disk_bytes: 8 * found,
                ..Progress::default()
            };
            estimator.note(&progress);
            progress.frontier_done = frontier / 4;
            estimator.note(&progress);
            let disk = DiskUse {
                peak_bytes: 8 * found + 6_000,
                used_bytes: 8 * found + 6_000,
                refused_bytes: 4096,
                ..DiskUse::default()
            };
            let shortage = estimator.shortage(found, &disk);
            if frontier > 1_000 {
                // A quarter took six thousand bytes.
                assert!(
                    (17_900..=18_100).contains(&shortage.layer_bytes),
                    "{shortage:?}"
                );
            }
            assert_eq!(shortage.run_bytes.is_some(), estimator.opposite().is_some());
            if let (Some((least, most)), true) = (shortage.run_bytes, found < total - 100) {
                let needed = 8.0 * total as f64;
                assert!(
                    least <= needed + 6_000.0 && needed <= most,
                    "{depth}: {shortage:?}"
                );
            }
        }
    }

    #[test]
    fn a_search_seen_from_its_middle_on_has_no_estimate() {
        let all = estimates(&bell(40, 40), 10);
        assert!(all.iter().all(|(estimate, _)| estimate.is_none()));
    }

    #[test]
    fn a_second_wave_withdraws_the_estimate() {
        let layers = [
            bell(20, 20),
            bell(20, 20).iter().map(|size| size * 3).collect(),
        ]
        .concat();
        let all = estimates(&layers, 0);
        let at = |depth: usize| all[depth].0;
        assert!(at(35).is_some() && at(60).is_none() && at(75).is_some());
    }
}
