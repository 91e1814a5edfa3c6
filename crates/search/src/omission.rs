//! The probability that a search by signatures missed something.
//!
//! A state is not visited if another with the same signature was visited before it, and with it
//! states that are reached only through it may be missed. The figures assume signatures that are
//! independent and uniform, and take the number of states found for that of all states.
//!
//! A violation is certain all the same, because it is replayed. The absence of one is not: no
//! violation means that one was missed with at most these probabilities, and a goal that no state
//! reached (a cover property) is neither reached nor proved unreachable.

/// Probabilities that something was missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Omission {
    /// Of any two states having the same signature, so that some state may not have been visited.
    pub any: f64,
    /// Upper bound for missing a given error: for one of the states on a shortest path to it having
    /// been taken for another. With a handful of states this exceeds `any`, because it includes a
    /// state that was never found.
    pub given_error: f64,
}

impl Omission {
    /// After a search by layers, with signatures of `bits` bits.
    pub fn of_layers(bits: u32, layers: &[u64]) -> Self {
        // A state on the path may collide with all states up to its own layer.
        let (mut n_states, mut sum) = (0, 0.0);
        for &len in layers {
            n_states += len;
            sum += n_states as f64;
        }
        Omission::new(bits, n_states, sum)
    }

    /// From the number of layers and of all states only.
    pub fn of_states(bits: u32, n_states: u64, n_layers: u64) -> Self {
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
