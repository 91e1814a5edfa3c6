//! Labels of edges against the maps that they stand for.

use hadal_model::{Goal, GoalKind, Shape};

use super::{LabelMaker, Labelled};
use crate::liveness::maps::Maps;

/// A shape with `n` liveness goals.
fn shape(n: u32) -> Shape {
    let goal = |_| Goal {
        property: 0,
        kind: GoalKind::Liveness,
        parameters: Vec::new(),
    };
    Shape {
        goals: (0..n).map(goal).collect(),
        ..Shape::default()
    }
}

#[test]
fn goals_come_back_through_labels_however_few_maps_have_numbers() {
    let n_goals = 70;
    let shape = shape(n_goals);
    // The identity, turns of all goals, and an exchange of two.
    let mut maps: Vec<Vec<u32>> = (0..n_goals)
        .step_by(9)
        .map(|by| (0..n_goals).map(|goal| (goal + by) % n_goals).collect())
        .collect();
    let mut exchange: Vec<u32> = (0..n_goals).collect();
    exchange.swap(3, 68);
    maps.push(exchange);
    for bytes in [0, 3 * Maps::bytes_for(n_goals as usize), u64::MAX] {
        let maker = LabelMaker::new(&shape, bytes);
        let mut labels = Vec::new();
        // Two blocks, in which maps have other numbers.
        for block in [&maps[..5], &maps[2..]] {
            let mut local = Maps::new(&shape);
            let numbers: Vec<u32> = block.iter().map(|map| local.number_of(map)).collect();
            let labelled = maker.labels_of(&local);
            labels.push((block, numbers, labelled));
        }
        let end = maker.end().expect("there are few goals");
        let finished = maker.finish();
        let mut n_by_goal = 0;
        for (block, numbers, labelled) in labels {
            for (map, number) in block.iter().zip(numbers) {
                let labels = match &labelled[number as usize] {
                    Labelled::Whole(label) => vec![*label],
                    Labelled::ByGoal(labels) => {
                        n_by_goal += 1;
                        labels.to_vec()
                    }
                };
                for image in 0..n_goals as usize {
                    let mut origins = Vec::new();
                    for &label in &labels {
                        assert!(label < end);
                        let goals = 1 << (image % 64);
                        let known =
                            finished.each_origin(label, image / 64, goals, |it| origins.push(it));
                        assert_eq!(known, Some(()));
                    }
                    let origin = map.iter().position(|&to| to as usize == image);
                    assert_eq!(origins, Vec::from_iter(origin));
                }
            }
        }
        assert_eq!(n_by_goal > 0, bytes < u64::MAX, "{bytes} {n_by_goal}");
        assert_eq!(finished.each_origin(end, 0, 1, |_| ()), None);
    }
}
