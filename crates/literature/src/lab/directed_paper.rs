//! The directed paper's tables: three protocols, whose deadlocks A* finds, directed by the number of
//! processes that can act.

use hadal_report::table::{Cell, Readers, Table, Value};

use super::directed::{bounded, whole};
use super::rig::Measured;

/// A protocol of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Philosophers,
    Telegraph,
    Giop,
}

impl Protocol {
    const ALL: [Protocol; 3] = [Protocol::Philosophers, Protocol::Telegraph, Protocol::Giop];

    /// What models of it are called. Others of a similar name are other models.
    fn models(self) -> &'static [&'static str] {
        match self {
            Protocol::Philosophers => &["philosophers", "philosophers_laid"],
            Protocol::Telegraph => &["telegraph", "telegraph_init"],
            Protocol::Giop => &["giop"],
        }
    }

    fn table(self) -> u64 {
        match self {
            Protocol::Philosophers => 1,
            Protocol::Telegraph => 2,
            Protocol::Giop => 3,
        }
    }
}

/// What the paper has of an instance.
struct Published {
    protocol: Protocol,
    /// Its N, and its M where the protocol has two parameters.
    size: (u64, Option<u64>),
    /// d, s, e and t.
    depth: u64,
    stored: u64,
    expanded: u64,
    transitions: u64,
    gigabytes: f64,
}

const fn published(
    protocol: Protocol,
    size: (u64, Option<u64>),
    [depth, stored, expanded, transitions]: [u64; 4],
    gigabytes: f64,
) -> Published {
    Published {
        protocol,
        size,
        depth,
        stored,
        expanded,
        transitions,
        gigabytes,
    }
}

/// Tables 1 to 3.
const PUBLISHED: [Published; 12] = {
    use Protocol::{Giop, Philosophers, Telegraph};
    [
        published(
            Philosophers,
            (100, None),
            [402, 980_003, 19_503, 999_504],
            2.29,
        ),
        published(
            Philosophers,
            (150, None),
            [603, 3_330_003, 44_253, 3_374_254],
            10.4,
        ),
        published(Telegraph, (5, None), [33, 10_874, 4_945, 24_583], 0.0038),
        published(Telegraph, (7, None), [45, 333_848, 115_631, 820_319], 0.133),
        published(Telegraph, (8, None), [50, 420_498, 103_667, 917_011], 0.182),
        published(
            Telegraph,
            (9, None),
            [57, 9_293_203, 2_534_517, 23_499_519],
            4.29,
        ),
        published(Giop, (2, Some(1)), [58, 48_009, 39_260, 126_478], 0.033),
        published(Giop, (3, Some(1)), [70, 825_789, 670_679, 2_416_823], 0.572),
        published(
            Giop,
            (4, Some(1)),
            [75, 7_343_358, 5_727_909, 22_809_278],
            5.17,
        ),
        published(Giop, (2, Some(2)), [64, 158_561, 125_514, 466_339], 0.121),
        published(
            Giop,
            (3, Some(2)),
            [76, 2_705_766, 2_134_724, 8_705_588],
            2.1,
        ),
        published(
            Giop,
            (4, Some(2)),
            [81, 26_340_417, 20_861_609, 88_030_774],
            20.7,
        ),
    ]
};

/// A model of one of the paper's protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    model: String,
    protocol: Protocol,
    size: (u64, Option<u64>),
}

impl Instance {
    /// The instance that a model is, by its name in tables and the constants in it: `N`, or `USERS`
    /// and `SERVERS`.
    pub(crate) fn of(model: &str) -> Option<Self> {
        let name = model.split(' ').next()?;
        let mut protocols = Protocol::ALL.into_iter();
        let protocol = protocols.find(|protocol| protocol.models().contains(&name))?;
        let constant = |name: &str| {
            let mut pairs = model.split(' ').filter_map(|word| word.split_once('='));
            let (_, value) = pairs.find(|(known, _)| *known == name)?;
            value.parse::<u64>().ok()
        };
        let size = match protocol {
            Protocol::Giop => (constant("USERS")?, Some(constant("SERVERS")?)),
            Protocol::Philosophers | Protocol::Telegraph => (constant("N")?, None),
        };
        Some(Instance {
            model: model.to_owned(),
            protocol,
            size,
        })
    }

    /// Its row: the paper's figures, where it has the instance, and those of a run.
    pub(crate) fn row(&self, run: Option<&Measured>) -> Vec<Cell> {
        let published = PUBLISHED
            .iter()
            .find(|it| it.protocol == self.protocol && it.size == self.size);
        let theirs = |value: &dyn Fn(&Published) -> Value| {
            published.map_or_else(Cell::none, |it| value(it).into())
        };
        let ours = |value: &dyn Fn(&hadal_search::Outcome) -> Value| {
            run.map_or_else(Cell::none, |run| bounded(run, value))
        };
        vec![
            Cell::text(&self.model),
            Cell::count(self.protocol.table()),
            theirs(&|it| whole(it.depth)),
            ours(&|it| {
                let cost = it.directed.as_ref().and_then(|it| it.cost);
                cost.map_or(Value::None, whole)
            }),
            theirs(&|it| whole(it.stored)),
            ours(&|it| whole(it.states)),
            theirs(&|it| whole(it.expanded)),
            ours(&|it| whole(it.visited)),
            theirs(&|it| whole(it.transitions)),
            ours(&|it| {
                let generated = it.directed.as_ref().map(|it| it.generated);
                generated.map_or(Value::None, whole)
            }),
            theirs(&|it| Value::Bytes((it.gigabytes * 1e9) as u64)),
            ours(&|it| Value::Bytes(it.data_bytes + it.disk.peak_bytes)),
        ]
    }
}

/// The tables of the paper as one, without rows.
pub(crate) fn table() -> Table {
    Table::new(
        "A* by the number of processes that can act, beside the directed paper",
        Readers::All,
        &[
            "model",
            "table",
            "paper's d",
            "d",
            "paper's s",
            "s",
            "paper's e",
            "e",
            "paper's t",
            "t",
            "paper's space",
            "space",
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_known_by_their_names() {
        let size = |name: &str| Instance::of(name).map(|it| (it.protocol, it.size));
        assert_eq!(
            size("philosophers N=100"),
            Some((Protocol::Philosophers, (100, None)))
        );
        assert_eq!(
            size("telegraph_init N=5"),
            Some((Protocol::Telegraph, (5, None)))
        );
        assert_eq!(
            size("giop SERVERS=1 USERS=2"),
            Some((Protocol::Giop, (2, Some(1))))
        );
        for other in [
            "philosophers",
            "philosophers_deadlock N=4",
            "peterson N=4",
            "giop USERS=2",
            "telegraph N=x",
        ] {
            assert_eq!(size(other), None, "{other}");
        }
    }

    #[test]
    fn the_papers_figures_are_consistent() {
        for it in &PUBLISHED {
            assert!(it.expanded < it.stored && it.expanded < it.transitions);
            assert_eq!(it.size.1.is_some(), it.protocol == Protocol::Giop);
        }
        // Its Table 1 follows e = (2N - 3)(N - 1).
        for it in PUBLISHED
            .iter()
            .filter(|it| it.protocol == Protocol::Philosophers)
        {
            let n = it.size.0;
            assert_eq!(it.expanded, (2 * n - 3) * (n - 1));
        }
    }
}
