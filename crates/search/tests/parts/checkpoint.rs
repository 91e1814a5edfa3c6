//! Checkpoints alone: what is written comes back, and its shape is that of its version.

use std::sync::Arc;

use expect_test::expect;
use hadal_model::{Failure, Fault, FaultKind, Phase, Source};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::Graph;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::findings::Findings;
use crate::fixture::folder_on;
use crate::{Deadlock, Duplicates};

/// Writes a payload as a manifest, and reads it again.
fn written_and_read(version: u32, payload: &[u8]) -> Payload {
    let disk = Arc::new(CrashDisk::new());
    let folder = folder_on(&disk);
    folder.commit(version, payload).expect("the disk works");
    drop(folder);
    // Whatever else a crash does, a manifest that was committed is there.
    let disk: Arc<dyn hadal_store::disk::Disk> = Arc::new(disk.crash(1));
    let options = hadal_store::disk::FolderOptions::default();
    let (_, manifest) = hadal_store::disk::Folder::open(disk, options).expect("the disk works");
    manifest.expect("there is a manifest")
}

#[test]
fn checkpoints_come_back_as_they_were_written() {
    for seed in 0..200 {
        let mut random = Random(Pcg64Mcg::seed_from_u64(seed));
        let content = match seed {
            0 => Content::Begun,
            1 => Content::Finished,
            _ => Content::Underway(Box::new(random.checkpoint())),
        };
        let label = random.bytes();
        let payload = written_and_read(PAYLOAD_VERSION, &to_manifest(&label, &content));
        let manifest = from_manifest(&payload).expect("it is what was written");
        assert_eq!(manifest.label, label);
        assert_eq!(
            format!("{:?}", manifest.content),
            format!("{content:?}"),
            "seed {seed}"
        );
        let status = read_status(&payload).expect("it is what was written");
        let (n_states, n_layers) = match &content {
            Content::Underway(checkpoint) => (checkpoint.stored.n_states, checkpoint.layers.len()),
            Content::Begun | Content::Finished => (0, 0),
        };
        let expected = RunStatus {
            label,
            is_finished: matches!(content, Content::Finished),
            states: n_states,
            layer: n_layers.saturating_sub(1) as u32,
        };
        assert_eq!(status, expected, "seed {seed}");
    }
}

#[test]
fn a_payload_of_another_version_is_no_damage() {
    let bytes = to_manifest(b"the model", &Content::Begun);
    for version in [0, PAYLOAD_VERSION - 1, PAYLOAD_VERSION + 1] {
        let error = read_status(&written_and_read(version, &bytes)).err();
        let is_other = matches!(&error, Some(Error::Store(StoreError::OtherVersion { .. })));
        assert!(is_other, "version {version}: {error:?}");
    }
}

#[test]
fn a_payload_that_ends_too_soon_is_damage() {
    let content = Content::Underway(Box::new(sample()));
    let bytes = to_manifest(b"the model", &content);
    for len in (0..bytes.len()).step_by(37).chain([7, 8, 16, 17]) {
        let error = read_status(&written_and_read(PAYLOAD_VERSION, &bytes[..len])).err();
        let is_damage = matches!(&error, Some(Error::Store(StoreError::Damaged { .. })));
        assert!(is_damage, "{len} bytes: {error:?}");
    }
}

#[test]
fn bytes_are_pairs_of_digits() {
    let blob = Blob(vec![0x00, 0x0f, 0xf0, 0xff]);
    let text = serde_json::to_string(&blob).expect("digits become text");
    assert_eq!(text, "\"000ff0ff\"");
    for wrong in ["\"0\"", "\"0g\"", "\"000\"", "1"] {
        assert!(serde_json::from_str::<Blob>(wrong).is_err(), "{wrong}");
    }
}

/// Whoever changes the text below changes what is in the folders of others: bump
/// `PAYLOAD_VERSION` with it, so that these are refused by their version and not as damage.
#[test]
fn another_shape_needs_another_payload_version() {
    let content = Content::Underway(Box::new(sample()));
    let text = serde_json::to_string_pretty(&content).expect("numbers and names become text");
    let text = format!("PAYLOAD_VERSION {PAYLOAD_VERSION}\n{text}\n");
    expect![[r#"
        PAYLOAD_VERSION 7
        {
          "Underway": {
            "order": "cost",
            "rank": 12,
            "frontier": {
              "start": 100,
              "end": 200
            },
            "reopened": [
              {
                "start": 120,
                "end": 150
              },
              {
                "start": 180,
                "end": 200
              }
            ],
            "layers": [
              1,
              99,
              100
            ],
            "ranks": [
              0,
              5,
              12
            ],
            "totals": {
              "visited": 1000,
              "transitions": 1001,
              "generated": 1008,
              "reopened": 1009,
              "inconsistent": 1010,
              "fired_by_rule": [
                1002,
                1003
              ],
              "goals": [
                1004
              ],
              "duplicates": {
                "memory": 1005,
                "layer": 1006,
                "disk": 1007
              }
            },
            "before": {
              "visited": 10,
              "transitions": 11,
              "generated": 18,
              "reopened": 19,
              "inconsistent": 20,
              "fired_by_rule": [
                12,
                13
              ],
              "goals": [
                14
              ],
              "duplicates": {
                "memory": 15,
                "layer": 16,
                "disk": 17
              }
            },
            "findings": {
              "accepted": [
                {
                  "kind": {
                    "Fault": 3
                  },
                  "phase": "Start",
                  "name": "start",
                  "message": "out of range",
                  "at": "model:1:2",
                  "depth": 0,
                  "ordinal": null,
                  "property": null,
                  "parameters": [
                    [
                      "p",
                      "1"
                    ]
                  ],
                  "faulty_start": [
                    "start",
                    [
                      [
                        "p",
                        "1"
                      ]
                    ]
                  ]
                },
                {
                  "kind": {
                    "Fault": 3
                  },
                  "phase": "Body",
                  "name": "rule",
                  "message": "out of range",
                  "at": "model:1:2",
                  "depth": 1,
                  "ordinal": 3,
                  "property": null,
                  "parameters": [
                    [
                      "p",
                      "1"
                    ]
                  ],
                  "faulty_start": null
                },
                {
                  "kind": "Deadlock",
                  "phase": null,
                  "name": "deadlock",
                  "message": "no rule leads to another state",
                  "at": "",
                  "depth": 1,
                  "ordinal": 4,
                  "property": null,
                  "parameters": [],
                  "faulty_start": null
                }
              ],
              "waiting": [
                [
                  5,
                  {
                    "kind": "Invariant",
                    "phase": null,
                    "name": "property 0",
                    "message": "",
                    "at": "graph:0:2",
                    "depth": 2,
                    "ordinal": 5,
                    "property": 0,
                    "parameters": [
                      [
                        "n",
                        "2"
                      ]
                    ],
                    "faulty_start": null
                  }
                ]
              ],
              "coming": [
                [
                  6,
                  {
                    "kind": "Invariant",
                    "phase": null,
                    "name": "property 1",
                    "message": "",
                    "at": "graph:1:2",
                    "depth": 3,
                    "ordinal": 6,
                    "property": 1,
                    "parameters": [
                      [
                        "n",
                        "2"
                      ]
                    ],
                    "faulty_start": null
                  }
                ]
              ],
              "known": [
                [
                  "Deadlock",
                  "State"
                ],
                [
                  {
                    "Fault": 3
                  },
                  {
                    "Rule": "rule"
                  }
                ],
                [
                  {
                    "Fault": 3
                  },
                  {
                    "Start": "start"
                  }
                ],
                [
                  "Invariant",
                  {
                    "Property": 0
                  }
                ],
                [
                  "Invariant",
                  {
                    "Property": 1
                  }
                ]
              ],
              "faulted": true
            },
            "stored": {
              "n_states": 200,
              "store": [
                "Hash64",
                7
              ],
              "codec": "c0de",
              "log": [
                {
                  "name": "log-1",
                  "n_blocks": 2
                }
              ],
              "parents": "01",
              "parents_file": "parents-2",
              "runs": {
                "tiers": [
                  [
                    {
                      "name": "run-3",
                      "n_blocks": 4,
                      "version": 0
                    }
                  ],
                  [
                    {
                      "name": "run-4",
                      "n_blocks": 1,
                      "version": 1
                    }
                  ]
                ],
                "compaction": [
                  0,
                  1
                ]
              },
              "candidates": {
                "rank": 13,
                "log": [
                  {
                    "name": "log-5",
                    "n_blocks": 1
                  }
                ],
                "n_candidates": 17
              },
              "open": [
                {
                  "name": "rank-6",
                  "n_blocks": 3,
                  "left": {
                    "start": 40,
                    "end": 150000
                  }
                }
              ],
              "edges": [
                {
                  "name": "log-7",
                  "n_blocks": 9
                }
              ]
            },
            "sink": "514b"
          }
        }
    "#]]
    .assert_eq(&text);
}

/// A checkpoint with something in every field.
fn sample() -> Checkpoint {
    let totals = |n: u64| Totals {
        visited: n,
        transitions: n + 1,
        generated: n + 8,
        reopened: n + 9,
        inconsistent: n + 10,
        fired_by_rule: vec![n + 2, n + 3],
        goals: vec![n + 4],
        duplicates: Duplicates {
            memory: n + 5,
            layer: n + 6,
            disk: n + 7,
        },
    };
    let segment = |name: &str, n_blocks| SegmentEntry {
        name: name.to_owned(),
        n_blocks,
    };
    let run = |name: &str, n_blocks, version| RunEntry {
        name: name.to_owned(),
        n_blocks,
        version,
    };
    Checkpoint {
        order: "cost".to_owned(),
        rank: Rank(12),
        frontier: 100..200,
        reopened: vec![120..150, 180..200],
        layers: vec![1, 99, 100],
        ranks: Some(vec![Rank(0), Rank(5), Rank(12)]),
        totals: totals(1000),
        before: totals(10),
        findings: sample_findings(),
        stored: StoredStates {
            n_states: 200,
            store: (StoreKind::Hash64, 7),
            codec: Blob(vec![0xc0, 0xde]),
            log: vec![segment("log-1", 2)],
            parents: Blob(vec![0x01]),
            parents_file: Some("parents-2".to_owned()),
            runs: Some(StoredRuns {
                tiers: vec![vec![run("run-3", 4, 0)], vec![run("run-4", 1, 1)]],
                compaction: Some((0, 1)),
            }),
            candidates: Some(NextRank {
                rank: Rank(13),
                log: vec![segment("log-5", 1)],
                n_candidates: 17,
            }),
            open: vec![SpillEntry {
                name: "rank-6".to_owned(),
                n_blocks: 3,
                left: 40..150_000,
            }],
            edges: Some(vec![segment("log-7", 9)]),
        },
        sink: Some(Blob(vec![0x51, 0x4b])),
    }
}

/// A violation that is accepted, one that waits for its state and one that comes with the next
/// rank; a startstate that faults, and every field of a violation.
fn sample_findings() -> SavedFindings {
    let mut graph = Graph::new(2, &[0], vec![vec![]]);
    (0..2).for_each(|_| graph.fail(&[]));
    let fault = |phase, name: &str| Fault {
        kind: FaultKind::Range,
        message: "out of range".to_owned(),
        at: "model:1:2".to_owned(),
        phase,
        name: name.to_owned(),
        parameters: vec![("p".to_owned(), "1".to_owned())],
        goes_on: false,
    };
    let failure = |property| Failure {
        state: 0,
        property,
        parameters: vec![("n".to_owned(), "2".to_owned())],
        fault: None,
    };
    let mut findings = Findings::new(&graph.shape, Deadlock::Stuttering, 100);
    findings.add_start_fault(0, &fault(Phase::Start, "start"));
    findings.begin_rank();
    findings.add_source(
        3,
        1,
        &Source {
            faults: vec![fault(Phase::Body, "rule")],
            ..Source::default()
        },
    );
    findings.add_source(4, 1, &Source::default());
    findings.add_failure(5, 2, &failure(0));
    findings.end_rank();
    findings.begin_rank();
    findings.add_failure(6, 3, &failure(1));
    findings.save()
}

/// Makes checkpoints.
struct Random(Pcg64Mcg);

impl Random {
    fn checkpoint(&mut self) -> Checkpoint {
        let frontier = self.number();
        Checkpoint {
            order: ["depth", "cost", ""][self.0.random_range(0..3)].to_owned(),
            rank: Rank(self.number()),
            frontier: frontier..frontier.saturating_add(self.number()),
            reopened: self.list(|random| random.number()..random.number()),
            layers: self.list(Self::number),
            ranks: self.option(|random| random.list(|random| Rank(random.number()))),
            totals: self.totals(),
            before: self.totals(),
            findings: match self.0.random_range(0..2) {
                0 => SavedFindings::default(),
                _ => sample_findings(),
            },
            stored: StoredStates {
                n_states: self.number(),
                store: (
                    [StoreKind::Exact, StoreKind::Hash128][self.0.random_range(0..2)],
                    self.number(),
                ),
                codec: Blob(self.bytes()),
                log: self.list(Self::segment),
                parents: Blob(self.bytes()),
                parents_file: self.option(Self::name),
                runs: self.option(|random| StoredRuns {
                    tiers: random.list(|random| random.list(Self::run)),
                    compaction: random.option(|random| (random.0.random_range(0..9), 2)),
                }),
                candidates: self.option(|random| NextRank {
                    rank: Rank(random.number()),
                    log: random.list(Self::segment),
                    n_candidates: random.number(),
                }),
                open: self.list(|random| SpillEntry {
                    name: random.name(),
                    n_blocks: random.0.random(),
                    left: random.number()..random.number(),
                }),
                edges: self.option(|random| random.list(Self::segment)),
            },
            sink: self.option(|random| Blob(random.bytes())),
        }
    }

    fn totals(&mut self) -> Totals {
        Totals {
            visited: self.number(),
            transitions: self.number(),
            generated: self.number(),
            reopened: self.number(),
            inconsistent: self.number(),
            fired_by_rule: self.list(Self::number),
            goals: self.list(Self::number),
            duplicates: Duplicates {
                memory: self.number(),
                layer: self.number(),
                disk: self.number(),
            },
        }
    }

    /// Small numbers as often as large ones; all 64 bits are kept.
    fn number(&mut self) -> u64 {
        let number: u64 = self.0.random();
        number >> self.0.random_range(0..64)
    }

    fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.0.random_range(0..40)];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    fn name(&mut self) -> String {
        format!("file-{}", self.number())
    }

    fn segment(&mut self) -> SegmentEntry {
        SegmentEntry {
            name: self.name(),
            n_blocks: self.0.random(),
        }
    }

    fn run(&mut self) -> RunEntry {
        RunEntry {
            name: self.name(),
            n_blocks: self.0.random(),
            version: self.0.random(),
        }
    }

    fn list<T>(&mut self, mut entry: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.0.random_range(0..4))
            .map(|_| entry(self))
            .collect()
    }

    fn option<T>(&mut self, mut value: impl FnMut(&mut Self) -> T) -> Option<T> {
        (self.0.random_range(0..2) == 0).then(|| value(self))
    }
}
