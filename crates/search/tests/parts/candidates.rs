//! What earlier ranks predict: samples of several of them.

use super::EarlierRanks;
use hadal_store::codec::KeyShape;

#[test]
fn keys_of_several_ranks_are_sampled_and_of_no_other_layout() {
    let shape = |version| KeyShape {
        version,
        n_bits: 128,
        n_words: 2,
    };
    let rank = |number: u64, n: u64| (0..n).flat_map(|at| [number, at]).collect::<Vec<_>>();
    let counts = |before: &EarlierRanks| {
        let of = |number: u64| before.sample.chunks(2).filter(move |key| key[0] == number);
        [1, 2, 3].map(|number| of(number).count())
    };
    let mut before = EarlierRanks::default();
    before.add(rank(1, 400), shape(0));
    assert_eq!(counts(&before), [400, 0, 0]);
    before.add(rank(2, 800), shape(0));
    assert_eq!(counts(&before), [400, 400, 0]);
    before.add(rank(3, 80), shape(0));
    assert_eq!(counts(&before), [30, 30, 20]);
    before.add(rank(3, 7), shape(1));
    assert_eq!(counts(&before), [0, 0, 7]);
    before.add(Vec::new(), shape(1));
    assert_eq!(counts(&before), [0, 0, 0]);
}
