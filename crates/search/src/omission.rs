//! How probable it is that a search by signatures missed something.
//!
//! A state is never visited if one with the same signature was there before, and with it may go
//! states that are only reached through it. The figures hold for signatures that are independent
//! and evenly spread; the states that were found stand for those that there are.
//!
//! A violation is certain all the same, for it is replayed. What rests on *not* having found
//! something is not: no violation means that one was missed with these probabilities at most, and
//! a goal that no state reached (a cover property) is neither reached nor proved unreachable.

/// Probabilities of having missed something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Omission {
    /// That any two states have the same signature, so that some state may not have been visited.
    pub any: f64,
    /// At most so probable that a given error was missed: that one of the states on a shortest way
    /// to it was taken for another. In a handful of states this is more than `any`, for it also
    /// reckons with a state that was never found.
    pub given_error: f64,
}

impl Omission {
    /// After a search by layers, with signatures of so many bits.
    pub(crate) fn of_layers(bits: u32, layers: &[u64]) -> Self {
        // A state on the way is up against all states up to its own layer.
        let (mut n_states, mut sum) = (0, 0.0);
        for &len in layers {
            n_states += len;
            sum += n_states as f64;
        }
        Omission::new(bits, n_states, sum)
    }

    /// Where it is only known how many layers there are, and how many states in all.
    pub(crate) fn of_states(bits: u32, n_states: u64, n_layers: u64) -> Self {
        Omission::new(bits, n_states, n_states as f64 * n_layers as f64)
    }

    fn new(bits: u32, n_states: u64, sum: f64) -> Self {
        let (n, space) = (n_states as f64, f64::from(bits).exp2());
        let pairs = n * (n - 1.0).max(0.0) / 2.0;
        Omission {
            // For small figures 1 - exp(-x) would lose all digits.
            any: -(-pairs / space).exp_m1(),
            given_error: (sum / space).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Omission;

    #[test]
    fn a_billion_states_in_150_layers() {
        let told = |bits, n_states| {
            let Omission { any, given_error } = Omission::of_states(bits, n_states, 150);
            format!("{any:.1e} {given_error:.1e}")
        };
        let billion = 1_000_000_000;
        assert_eq!(told(40, billion), "1.0e0 1.4e-1");
        assert_eq!(told(64, billion), "2.7e-2 8.1e-9");
        assert_eq!(told(96, billion), "6.3e-12 1.9e-18");
        assert_eq!(told(128, billion), "1.5e-21 4.4e-28");
        assert_eq!(told(64, 10 * billion), "9.3e-1 8.1e-8");
    }

    #[test]
    fn layers_count_all_states_up_to_theirs() {
        let space = 40_f64.exp2();
        let omission = Omission::of_layers(40, &[1, 2, 4]);
        assert!((omission.given_error * space - (1.0 + 3.0 + 7.0)).abs() < 1e-6);
        assert!((omission.any * space - 21.0).abs() < 1e-6);
    }

    #[test]
    fn probabilities_stay_probabilities() {
        let none = Omission {
            any: 0.0,
            given_error: 0.0,
        };
        assert_eq!(Omission::of_layers(64, &[]), none);
        let one = Omission::of_layers(64, &[1]);
        assert!(one.any == 0.0 && one.given_error > 0.0);
        let many = Omission::of_states(40, u64::MAX, u64::MAX);
        assert!(many.any <= 1.0 && many.given_error <= 1.0);
    }
}
