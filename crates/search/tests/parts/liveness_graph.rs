//! Rows of the graph that liveness needs.

use super::Rows;

#[test]
fn parts_agree_with_single_goals() {
    for n_goals in [1, 3, 63, 64, 65, 130] {
        let n_states = 9;
        let mut rows = Rows::new(n_states, n_goals);
        let is_in = |state: usize, goal: usize| (state * 7 + goal * 5).is_multiple_of(3);
        for state in 0..n_states {
            for goal in (0..n_goals).filter(|&goal| is_in(state, goal)) {
                match goal % 2 {
                    0 => rows.set(state, goal),
                    _ => rows.add(state, goal / 64, 1 << (goal % 64)),
                }
            }
        }
        for state in 0..n_states {
            assert!((0..n_goals).all(|goal| rows.get(state, goal) == is_in(state, goal)));
            let before = rows.clone();
            for part in 0..n_goals.div_ceil(64) {
                let goals = rows.take(state, part);
                for bit in 0..64 {
                    let goal = 64 * part + bit;
                    let expected = goal < n_goals && is_in(state, goal);
                    assert_eq!((goals >> bit) & 1 == 1, expected);
                }
            }
            assert!(!rows.has_any(state));
            let others = (0..n_states).filter(|&other| other != state);
            for other in others {
                assert!((0..n_goals).all(|goal| rows.get(other, goal) == is_in(other, goal)));
            }
            rows = before;
        }
    }
}
