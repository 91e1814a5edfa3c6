//! Checkpoints: a search as it is written to its folder now and then, so that a later run can resume
//! it.
//!
//! A checkpoint is taken between windows, when no block is half expanded. It holds all counts and
//! findings of the search and lists the files that hold its states. Next to it the manifest keeps a
//! label, bytes of whoever asked for the search (the model, say), which are returned unread.

mod schedule;

use std::ops::Range;

use hadal_store::disk::Payload;
use hadal_store::tiers::RunEntry;
use hadal_store::{Error as StoreError, SegmentEntry, SpillEntry};
use serde::{Deserialize, Serialize};

use crate::findings::SavedFindings;
use crate::rank::Rank;
use crate::totals::Totals;
use crate::{Error, StoreKind};

pub(crate) use schedule::Schedule;

/// What the manifest of a folder holds.
pub(crate) struct Manifest {
    pub(crate) label: Vec<u8>,
    pub(crate) content: Content,
}

/// How far the search of a folder is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Content {
    /// There is no checkpoint yet: a later run starts over.
    Begun,
    /// It resumes from here.
    Underway(Box<Checkpoint>),
    /// It is finished.
    Finished,
}

/// A search between two windows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// The order of ranks.
    pub(crate) order: String,
    /// The rank being expanded.
    pub(crate) rank: Rank,
    /// States of the rank that are still to be expanded.
    pub(crate) frontier: Range<u64>,
    /// States of the rank that were opened again.
    pub(crate) reopened: Vec<Range<u64>>,
    pub(crate) layers: Vec<u64>,
    /// The ranks that these are of, where they are not depths.
    pub(crate) ranks: Option<Vec<Rank>>,
    pub(crate) totals: Totals,
    /// The totals at the start of the rank.
    pub(crate) before: Totals,
    pub(crate) findings: SavedFindings,
    pub(crate) stored: StoredStates,
    /// What the sink needs to resume, if there is one.
    pub(crate) sink: Option<Blob>,
}

/// The states of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredStates {
    /// Number of states found.
    pub(crate) n_states: u64,
    /// What is stored of a state, and the seed of signatures.
    pub(crate) store: (StoreKind, u64),
    /// Dictionaries and layouts of the codec.
    pub(crate) codec: Blob,
    /// The records of states: all of them, or those that are in no run.
    pub(crate) log: Vec<SegmentEntry>,
    /// The mark of the parent log, and its file.
    pub(crate) parents: Blob,
    pub(crate) parents_file: Option<String>,
    /// The runs, if storage is external.
    pub(crate) runs: Option<StoredRuns>,
    /// Candidates of the next rank, in a search by depth.
    pub(crate) candidates: Option<NextRank>,
    /// Candidates of the ranks that are open, in any other search.
    pub(crate) open: Vec<SpillEntry>,
    /// The log of edges, where the sink wants the graph.
    pub(crate) edges: Option<Vec<SegmentEntry>>,
}

/// The runs of a checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredRuns {
    pub(crate) tiers: Vec<Vec<RunEntry>>,
    /// The tier being written by a merge, and how many behind it are merged.
    pub(crate) compaction: Option<(usize, usize)>,
}

/// Candidates of a rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NextRank {
    pub(crate) rank: Rank,
    pub(crate) log: Vec<SegmentEntry>,
    pub(crate) n_candidates: u64,
}

impl StoredStates {
    /// The files of logs.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &SegmentEntry> {
        let candidates = self.candidates.iter().flat_map(|rank| &rank.log);
        let edges = self.edges.iter().flatten();
        self.log.iter().chain(candidates).chain(edges)
    }

    /// The files of runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunEntry> {
        self.runs
            .iter()
            .flat_map(|runs| runs.tiers.iter().flatten())
    }

    /// Names of all files.
    pub(crate) fn files(&self) -> Vec<&str> {
        (self.logs().map(|entry| &entry.name[..]))
            .chain(self.runs().map(|entry| &entry.name[..]))
            .chain(self.open.iter().map(|entry| &entry.name[..]))
            .chain(self.parents_file.as_deref())
            .collect()
    }
}

/// Bytes, written as hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blob(pub(crate) Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = String::with_capacity(2 * self.0.len());
        for byte in &self.0 {
            digits.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
            digits.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        }
        serializer.serialize_str(&digits)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let bytes = digits.as_bytes().chunks(2).map(|pair| match pair {
            &[high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
            _ => None,
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        let error = || serde::de::Error::custom("bytes are pairs of hexadecimal digits");
        bytes.map(Blob).ok_or_else(error)
    }
}

/// Version of the payload of a manifest. Bump it when [`Content`] or anything in it changes.
pub const PAYLOAD_VERSION: u32 = 7;

/// The bytes of a manifest: length of the label, the label, the content.
pub(crate) fn to_manifest(label: &[u8], content: &Content) -> Vec<u8> {
    let mut bytes = (label.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(label);
    let content = serde_json::to_vec(content).expect("numbers and names become text");
    bytes.extend(content);
    bytes
}

/// Parses the payload of a manifest, if it has this version.
pub(crate) fn from_manifest(payload: &Payload) -> Result<Manifest, Error> {
    let bytes = payload.of_version(PAYLOAD_VERSION)?;
    let split = || {
        let (len, rest) = bytes.split_first_chunk::<8>()?;
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
    };
    let (label, content) = split().ok_or_else(|| damaged_manifest("it ends too soon"))?;
    let content = serde_json::from_slice(content);
    let content = content.map_err(|error| damaged_manifest(&error.to_string()))?;
    Ok(Manifest {
        label: label.to_vec(),
        content,
    })
}

/// The error for a manifest that is not what was written.
pub(crate) fn damaged_manifest(what: &str) -> Error {
    Error::Store(StoreError::Damaged {
        file: "the manifest".to_owned(),
        offset: 0,
        what: what.to_owned(),
    })
}

/// What the manifest of a folder says about its search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStatus {
    /// The label that the search was given.
    pub label: Vec<u8>,
    /// Whether it is finished.
    pub is_finished: bool,
    /// States found at the last checkpoint.
    pub states: u64,
    /// Number of the rank that was being expanded: the depth, in a search by depth.
    pub layer: u32,
}

/// Reads what the manifest of a folder says about its search.
pub fn read_status(manifest: &Payload) -> Result<RunStatus, Error> {
    let Manifest { label, content } = from_manifest(manifest)?;
    let (is_finished, states, layer) = match content {
        Content::Begun => (false, 0, 0),
        Content::Underway(checkpoint) => {
            let layer = checkpoint.layers.len().saturating_sub(1) as u32;
            (false, checkpoint.stored.n_states, layer)
        }
        Content::Finished => (true, 0, 0),
    };
    Ok(RunStatus {
        label,
        is_finished,
        states,
        layer,
    })
}

#[cfg(test)]
#[path = "../../tests/parts/checkpoint.rs"]
mod tests;
