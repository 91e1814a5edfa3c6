//! The policy of deferral alone: when old runs are skipped, and for how many ranks.

use super::{DeferralPolicy, Hits};

const THIN: u64 = 1000;

/// Calm ranks until runs with a hundred keys for each candidate are skipped.
fn n_wanted(policy: &mut DeferralPolicy) -> Option<u32> {
    (1..100).find(|_| {
        policy.note_rank(0);
        policy.most_ranks(1000, 10, THIN).is_some()
    })
}

#[test]
fn runs_are_skipped_after_calm_ranks_and_later_after_a_roll_back() {
    let unlisted = Hits {
        n_keys: 1,
        keys: Vec::new(),
    };
    let mut policy = DeferralPolicy::default();
    assert_eq!(n_wanted(&mut policy), Some(8));
    assert_eq!(policy.most_ranks(1000, 10, THIN), Some(8));
    assert_eq!(policy.most_ranks(1000, 200, THIN), None, "ranks are large");
    policy.note_committed(3);
    assert_eq!(policy.most_ranks(1000, 10, THIN), Some(11));
    policy.note_rank(1);
    assert_eq!(n_wanted(&mut policy), Some(8));
    policy.note_rolled_back(5, 50, &unlisted);
    assert_eq!(n_wanted(&mut policy), Some(16));
    policy.note_rolled_back(5, 50, &unlisted);
    assert_eq!(n_wanted(&mut policy), Some(32));
}

#[test]
fn known_hits_are_used_once_and_thin_ranks_are_risked() {
    let few = Hits {
        n_keys: 2,
        keys: vec![1, 2],
    };
    let many = Hits {
        n_keys: 60,
        keys: Vec::new(),
    };
    let mut policy = DeferralPolicy::default();
    policy.note_rank(7);
    let of_thin = |policy: &DeferralPolicy| policy.most_ranks(1_000_000, 10, THIN);
    assert_eq!(of_thin(&policy), Some(8));
    policy.note_rolled_back(8, 100, &few);
    assert_eq!(of_thin(&policy), Some(8), "repeated");
    policy.note_committed(8);
    assert_eq!(of_thin(&policy), Some(16), "few hits");
    policy.note_rolled_back(16, 100, &many);
    assert_eq!(of_thin(&policy), None, "too many hits to list");
    (0..8).for_each(|_| policy.note_rank(1));
    assert_eq!(of_thin(&policy), Some(8));
    policy.note_rolled_back(8, 100, &few);
    policy.note_rolled_back(8, 100, &few);
    assert_eq!(of_thin(&policy), None, "twice is enough");
    (0..16).for_each(|_| policy.note_rank(1));
    assert_eq!(of_thin(&policy), Some(8));
    let unknown = policy.most_ranks(1_000_000, 0, THIN);
    assert_eq!(unknown, None, "nothing is known about the ranks");
}
