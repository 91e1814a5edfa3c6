//! From names of Promela back to leaves of the lowered program.
//!
//! [`Naming::state`] gives names that may depend on the state: a process that is started while the
//! model runs has another pid in each run, and a channel that it creates another number. What is
//! here is what a name stands for in every state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::{Leaf, Naming, is_part};

/// Names that stand for the same leaves in every state.
#[derive(Debug, Clone)]
pub struct FixedNames {
    by_name: BTreeMap<String, Meaning>,
    /// Numbers of global channels, by name.
    channels: HashMap<String, i64>,
    /// Process types whose instances have another pid in each run.
    varying: Vec<String>,
    /// Process types with the channels that each instance creates.
    created: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone)]
enum Meaning {
    /// A leaf.
    Leaf {
        name: String,
        /// Whether it holds the number of a channel.
        is_channel: bool,
    },
    /// The messages of a channel.
    Queue(Queue),
}

/// The queue of a channel.
#[derive(Debug, Clone)]
struct Queue {
    /// What the names of its leaves begin with.
    prefix: String,
    /// Number of messages that it has room for.
    capacity: usize,
    /// Number of fields of each.
    n_fields: usize,
}

/// Why there are no leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLeaves {
    /// Nothing has this name.
    Unknown,
    /// It belongs to processes of this type, which have another pid in each run.
    Varies(String),
    /// It is a channel that a process creates, which has another number in each run.
    Created,
    /// The value is not how messages of a channel are written.
    NoMessages,
    /// The channel cannot hold these messages.
    NoRoom {
        /// Number of messages that it has room for.
        capacity: usize,
        /// Number of fields of each.
        n_fields: usize,
    },
}

impl fmt::Display for NoLeaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoLeaves::Unknown => f.write_str("there is nothing of this name"),
            NoLeaves::Varies(process) => write!(
                f,
                "processes of the type `{process}` are started while the model runs, and have \
                 another pid in each run"
            ),
            NoLeaves::Created => f.write_str(
                "channels of processes are created while the model runs, and have another number \
                 in each run",
            ),
            NoLeaves::NoMessages => {
                f.write_str("messages are written `[1,2] [3,4]`, and `empty` if there are none")
            }
            NoLeaves::NoRoom { capacity, n_fields } => {
                let plural = |n: usize| if n == 1 { "" } else { "s" };
                write!(
                    f,
                    "it has room for {capacity} message{} of {n_fields} field{}",
                    plural(*capacity),
                    plural(*n_fields)
                )
            }
        }
    }
}

impl Naming {
    /// What names stand for in every state, of a program with these leaves.
    pub fn fixed_names<'a>(&self, leaves: impl IntoIterator<Item = &'a str>) -> FixedNames {
        let elements = || self.classes.iter().flat_map(|it| &it.elements);
        let names_by_number: HashMap<i64, &str> = elements()
            .map(|(name, number)| (*number, name.as_str()))
            .collect();
        let varying = self.processes.iter().filter(|it| it.pids.is_none());
        let leaves: HashSet<&str> = leaves.into_iter().collect();
        let mut by_name = BTreeMap::new();
        for &name in &leaves {
            if let Some((name, meaning)) = self.meaning(name, &leaves, &names_by_number) {
                by_name.insert(name, meaning);
            }
        }
        FixedNames {
            by_name,
            channels: elements().cloned().collect(),
            varying: varying.map(|it| it.name.to_string()).collect(),
            created: (self.processes.iter())
                .map(|it| (it.name.to_string(), it.channels.clone()))
                .collect(),
        }
    }

    /// What a leaf is called, unless that depends on the state or it is a part of what has a name.
    fn meaning(
        &self,
        name: &str,
        leaves: &HashSet<&str>,
        channels: &HashMap<i64, &str>,
    ) -> Option<(String, Meaning)> {
        let leaf = Leaf::new(name);
        let of_leaf = |is_channel| Meaning::Leaf {
            name: name.to_owned(),
            is_channel,
        };
        if let Some((process, slot)) = self.process(&leaf) {
            let pid = process.pids.as_ref()?.get(slot)?;
            let label = format!("{}({pid})", process.name);
            return match leaf.rest {
                "at" => Some((label, of_leaf(false))),
                "_pid" | "_channels" => None,
                rest => {
                    let is_channel = process.chan_locals.iter().any(|it| is_part(rest, it));
                    Some((format!("{label}:{rest}"), of_leaf(is_channel)))
                }
            };
        }
        if let Some(number) = self.channel_number(&leaf) {
            let prefix = &name[..name.len() - leaf.rest.len()];
            let prefix = match leaf.rest {
                "len" => prefix.to_owned(),
                "queue.len" => format!("{prefix}queue."),
                _ => return None,
            };
            let name = channels.get(&number)?;
            let has = |message, field| leaves.contains(&*field_name(&prefix, message, field));
            let queue = Queue {
                capacity: (0..).take_while(|&message| has(message, 0)).count(),
                n_fields: (0..).take_while(|&field| has(0, field)).count(),
                prefix,
            };
            return Some(((*name).to_owned(), Meaning::Queue(queue)));
        }
        let is_channel = self.chan_globals.iter().any(|it| is_part(name, it));
        Some((name.to_owned(), of_leaf(is_channel)))
    }
}

impl FixedNames {
    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The leaves of the program with their values that a value stands for.
    pub fn leaves(&self, name: &str, value: &str) -> Result<Vec<(String, String)>, NoLeaves> {
        match self.by_name.get(name) {
            None => Err(self.varying_part(name).unwrap_or(NoLeaves::Unknown)),
            Some(Meaning::Leaf { name, is_channel }) => {
                let number = self.channels.get(value).filter(|_| *is_channel);
                let value = match number {
                    Some(number) => number.to_string(),
                    None => match self.varying_part(value).filter(|_| *is_channel) {
                        Some(why) => return Err(why),
                        None => value.to_owned(),
                    },
                };
                Ok(vec![(name.clone(), value)])
            }
            Some(Meaning::Queue(queue)) => {
                let messages = split_messages(value).ok_or(NoLeaves::NoMessages)?;
                let Queue {
                    ref prefix,
                    capacity,
                    n_fields,
                } = *queue;
                let fits = messages.iter().all(|fields| fields.len() == n_fields);
                if !fits || messages.len() > capacity {
                    return Err(NoLeaves::NoRoom { capacity, n_fields });
                }
                let mut leaves = vec![(format!("{prefix}len"), messages.len().to_string())];
                for (message, fields) in messages.iter().enumerate() {
                    for (field, value) in fields.iter().enumerate() {
                        let name = field_name(prefix, message, field);
                        leaves.push((name, (*value).to_owned()));
                    }
                }
                Ok(leaves)
            }
        }
    }

    /// Why `Type(pid)` or `Type(pid):part` is not the same in all states, if it is not.
    fn varying_part(&self, name: &str) -> Option<NoLeaves> {
        let (process, rest) = name.split_once('(')?;
        if self.varying.iter().any(|it| it == process) {
            return Some(NoLeaves::Varies(process.to_owned()));
        }
        let (_, part) = rest.split_once("):")?;
        let (_, created) = self.created.iter().find(|(name, _)| name == process)?;
        let is_created = created.iter().any(|it| it == part);
        is_created.then_some(NoLeaves::Created)
    }
}

/// The leaf of a field of a message.
fn field_name(prefix: &str, message: usize, field: usize) -> String {
    format!("{prefix}messages[{message}].{field}")
}

/// The fields of the messages of a queue; the reverse of [`messages`](super::messages).
fn split_messages(text: &str) -> Option<Vec<Vec<&str>>> {
    if text == "empty" {
        return Some(Vec::new());
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let messages = inner.split("] [").map(|fields| {
        let fields: Vec<&str> = fields.split(',').map(str::trim).collect();
        let is_one = |it: &&str| !it.is_empty() && !it.contains(['[', ']']);
        fields.iter().all(is_one).then_some(fields)
    });
    messages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_split_as_they_are_written() {
        assert_eq!(split_messages("empty"), Some(Vec::new()));
        assert_eq!(
            split_messages("[1,red] [-2,0]"),
            Some(vec![vec!["1", "red"], vec!["-2", "0"]])
        );
        for bad in ["", "1", "[1", "[]", "[1][2]", "[1,]", "[[1]]"] {
            assert_eq!(split_messages(bad), None, "{bad}");
        }
    }
}
