//! A search as it is written to a folder now and then, so that a later run can go on with it.
//!
//! A snapshot is taken between rounds, when no block is half expanded. It has all numbers of the
//! search, and lists the files that hold its states; with it goes a label, bytes of whoever asked
//! for the search (the model, say), which is given back unread.

use std::ops::Range;

use hadal_store::{Error as StoreError, SegmentEntry};
use serde::{Deserialize, Serialize};

use crate::findings::SavedFindings;
use crate::totals::Totals;
use crate::{Error, StoreKind};

/// What the manifest of a folder tells.
pub(crate) struct Manifest {
    pub(crate) label: Vec<u8>,
    pub(crate) content: Content,
}

/// How far the search of a folder is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Content {
    /// Nothing is kept yet: a later run begins anew.
    Begun,
    /// It goes on from here.
    Underway(Box<Snapshot>),
    /// It came to its end.
    Finished,
}

/// A search between two rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) depth: u32,
    /// States of the layer that are still to be expanded.
    pub(crate) frontier: Range<u64>,
    /// Number of states found.
    pub(crate) n_states: u64,
    pub(crate) layers: Vec<u64>,
    pub(crate) totals: Totals,
    /// The totals at the beginning of the layer.
    pub(crate) before: Totals,
    pub(crate) findings: SavedFindings,
    /// What is remembered of states, and the seed of signatures.
    pub(crate) store: (StoreKind, u64),
    /// What the codec knows.
    pub(crate) codec: Blob,
    /// The records of states, all of them or those that runs do not have.
    pub(crate) log: Vec<SegmentEntry>,
    /// The mark of the parent log, and its file.
    pub(crate) parents: Blob,
    pub(crate) parents_file: Option<String>,
    /// The runs, if states have left memory.
    pub(crate) external: Option<SavedExternal>,
}

/// What there is on disk once memory has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedExternal {
    pub(crate) tiers: Vec<Vec<RunEntry>>,
    /// The tier that is being made, and how many behind it are made one.
    pub(crate) merging: Option<(usize, usize)>,
    pub(crate) candidates: Vec<SegmentEntry>,
    pub(crate) n_candidates: u64,
}

/// A run, as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunEntry {
    pub(crate) name: String,
    pub(crate) n_blocks: u32,
    pub(crate) version: u32,
}

impl Snapshot {
    /// Names of all files it needs.
    pub(crate) fn files(&self) -> Vec<&str> {
        let external = self.external.as_ref();
        let logs = external
            .map(|external| &external.candidates[..])
            .unwrap_or_default();
        let runs = (external.into_iter()).flat_map(|external| external.tiers.iter().flatten());
        (self.log.iter().chain(logs).map(|entry| &entry.name[..]))
            .chain(runs.map(|entry| &entry.name[..]))
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

/// The bytes of a manifest: length of the label, the label, the content.
pub(crate) fn to_manifest(label: &[u8], content: &Content) -> Vec<u8> {
    let mut bytes = (label.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(label);
    let content = serde_json::to_vec(content).expect("numbers and names become text");
    bytes.extend(content);
    bytes
}

/// What the bytes of a manifest tell.
pub(crate) fn from_manifest(bytes: &[u8]) -> Result<Manifest, Error> {
    let damaged = |what: String| {
        Error::Store(StoreError::Damaged {
            file: "the manifest".to_owned(),
            offset: 0,
            what,
        })
    };
    let split = || {
        let (len, rest) = bytes.split_first_chunk::<8>()?;
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
    };
    let (label, content) = split().ok_or_else(|| damaged("it ends too soon".to_owned()))?;
    let content = serde_json::from_slice(content).map_err(|error| damaged(error.to_string()))?;
    Ok(Manifest {
        label: label.to_vec(),
        content,
    })
}

/// What someone sees who looks into a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// What the search was given to keep.
    pub label: Vec<u8>,
    /// Whether it came to its end.
    pub is_finished: bool,
    /// States found when it was last written down.
    pub states: u64,
    /// Depth of the layer that was being expanded.
    pub layer: u32,
}

/// Tells what the manifest of a folder is about.
pub fn look_into(manifest: &[u8]) -> Result<Unfinished, Error> {
    let Manifest { label, content } = from_manifest(manifest)?;
    let (is_finished, states, layer) = match content {
        Content::Begun => (false, 0, 0),
        Content::Underway(snapshot) => (false, snapshot.n_states, snapshot.depth),
        Content::Finished => (true, 0, 0),
    };
    Ok(Unfinished {
        label,
        is_finished,
        states,
        layer,
    })
}
