//! A disk in memory that crashes, fills up or flips a bit on request.
//!
//! It keeps two versions of everything: what the program sees, and what survives a crash for
//! certain. Between them are the changes that were not synced. A crash keeps any part of
//! these: some sectors of a write and not others, a later write and not the earlier one, a rename
//! and not the file's content; a seed decides. It is as adverse as `docs/reference/format.md` allows, and
//! more so than real disks.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hadal_store::disk::{Disk, DiskFile, Entry, Medium, SECTOR_BYTES};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[cfg(test)]
mod tests;

/// The disk; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct CrashDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    unsafe_changes: Vec<NameChange>,
    /// Every file there ever was, also those without a name.
    files: Vec<Content>,
    n_operations: u64,
    stop_at: Option<u64>,
    fill_at: Option<u64>,
    capacity: Option<Capacity>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    safe_bytes: Vec<u8>,
    unsafe_changes: Vec<ContentChange>,
}

#[derive(Clone, Debug)]
enum ContentChange {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Clone, Copy, Debug)]
struct Capacity {
    bytes: u64,
    is_told: bool,
}

impl CrashDisk {
    /// An empty disk that works.
    pub fn new() -> Self {
        Self::default()
    }

    /// From operation `n` on, which may still have some effect, every operation fails.
    pub fn stop_at(&self, n: u64) {
        self.state().stop_at = Some(n);
    }

    /// From operation `n` on the disk is full: no file can grow.
    pub fn fill_at(&self, n: u64) {
        self.state().fill_at = Some(n);
    }

    /// Operations so far.
    pub fn n_operations(&self) -> u64 {
        self.state().n_operations
    }

    /// Limits the total size of files to `bytes`; `is_told` if the disk reports its free space.
    pub fn set_capacity(&self, bytes: u64, is_told: bool) {
        let mut state = self.state();
        state.capacity = Some(Capacity { bytes, is_told });
        state.fill_at = None;
    }

    /// Length of all files together.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes()
    }

    /// Flips a bit of a file, for good.
    pub fn flip(&self, name: &str, byte: usize, bit: u32) {
        let mut state = self.state();
        let file = state.names[name];
        let content = &mut state.files[file];
        content.bytes[byte] ^= 1 << bit;
        if let Some(byte) = content.safe_bytes.get_mut(byte) {
            *byte ^= 1 << bit;
        }
    }

    /// The disk after a crash at this point, working again.
    pub fn crash(&self, seed: u64) -> Self {
        let state = self.state();
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut names = state.safe_names.clone();
        let chance = chance(&mut rng);
        for change in &state.unsafe_changes {
            if rng.random_bool(chance) {
                change.apply(&mut names);
            }
        }
        let files: Vec<Content> = state
            .files
            .iter()
            .map(|content| content.crash(&mut rng))
            .collect();
        let state = State {
            safe_names: names.clone(),
            names,
            files,
            ..State::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation. The one at which the disk stops may have an effect, though it fails
    /// (see [`State::outcome`]); those behind it fail here.
    fn operate(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.stop_at.is_some_and(|n| state.n_operations >= n) {
            return Err(io::Error::other("the disk has stopped"));
        }
        state.n_operations += 1;
        Ok(state)
    }
}

/// How likely each change is to survive: often all or nothing.
fn chance(rng: &mut Pcg64Mcg) -> f64 {
    [0.0, 1.0, 0.5, 0.1, 0.9][rng.random_range(0..5)]
}

impl State {
    /// Whether the operation just counted is the one at which the disk stops.
    fn outcome(&self) -> io::Result<()> {
        match self.stop_at {
            Some(n) if self.n_operations >= n => Err(io::Error::other("the disk stops here")),
            _ => Ok(()),
        }
    }

    fn used_bytes(&self) -> u64 {
        let len = |&file: &usize| self.files[file].bytes.len() as u64;
        self.names.values().map(len).sum()
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsafe_changes.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl Content {
    fn change(&mut self, change: ContentChange) {
        match &change {
            ContentChange::Write(offset, bytes) => write(&mut self.bytes, *offset, bytes, 0),
            ContentChange::Truncate(len) => self.bytes.resize(*len, 0),
        }
        self.unsafe_changes.push(change);
    }

    fn crash(&self, rng: &mut Pcg64Mcg) -> Self {
        let mut bytes = self.safe_bytes.clone();
        let chance = chance(rng);
        for change in &self.unsafe_changes {
            match change {
                ContentChange::Truncate(len) => {
                    if rng.random_bool(chance) {
                        bytes.resize(*len, 0);
                    }
                }
                ContentChange::Write(offset, written) => {
                    for (sector, part) in written.chunks(SECTOR_BYTES).enumerate() {
                        // What was never written there may be anything.
                        let unwritten = rng.random();
                        let offset = offset + sector * SECTOR_BYTES;
                        if rng.random_bool(chance) {
                            write(&mut bytes, offset, part, unwritten);
                        } else if rng.random_bool(0.1) {
                            // Not even a sector need be whole.
                            let part = &part[..rng.random_range(0..part.len())];
                            write(&mut bytes, offset, part, unwritten);
                        }
                    }
                }
            }
        }
        Self {
            safe_bytes: bytes.clone(),
            bytes,
            unsafe_changes: Vec::new(),
        }
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, written: &[u8], unwritten: u8) {
    let end = offset + written.len();
    if bytes.len() < end {
        bytes.resize(end, unwritten);
    }
    bytes[offset..end].copy_from_slice(written);
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for CrashDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.operate()?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = state.files.len();
        state.files.push(Content::default());
        state.change_name(NameChange::Create(name.to_owned(), file));
        let disk = self.clone();
        let file = Arc::new(CrashFile { disk, file });
        state.outcome()?;
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.operate()?;
        state.outcome()?;
        let file = *state.names.get(name).ok_or_else(missing)?;
        let disk = self.clone();
        Ok(Arc::new(CrashFile { disk, file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.operate()?;
        if !state.names.contains_key(from) {
            return Err(missing());
        }
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()));
        state.outcome()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.operate()?;
        if !state.names.contains_key(name) {
            return Err(missing());
        }
        state.change_name(NameChange::Remove(name.to_owned()));
        state.outcome()
    }

    fn list(&self) -> io::Result<Vec<Entry>> {
        let state = self.operate()?;
        state.outcome()?;
        let entry = |(name, &file): (&String, &usize)| Entry {
            name: name.clone(),
            len: state.files[file].bytes.len() as u64,
        };
        Ok(state.names.iter().map(entry).collect())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.operate()?;
        state.outcome()?;
        state.safe_names = state.names.clone();
        state.unsafe_changes.clear();
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let state = self.state();
        Ok(match state.capacity {
            Some(capacity) if capacity.is_told => capacity.bytes.saturating_sub(state.used_bytes()),
            _ => u64::MAX,
        })
    }

    fn medium(&self) -> Medium {
        Medium::Device
    }
}

struct CrashFile {
    disk: CrashDisk,
    file: usize,
}

impl CrashFile {
    /// Claims the difference that a new length makes.
    fn room(&self, state: &State, len: usize) -> io::Result<()> {
        let more = len.saturating_sub(state.files[self.file].bytes.len()) as u64;
        if more > 0 && state.fill_at.is_some_and(|n| state.n_operations > n) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match state.capacity {
            Some(capacity) if more > 0 && state.used_bytes() + more > capacity.bytes => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }
}

/// Everything that touches a device does so in whole sectors.
fn check_sectors(bytes: &[u8], offset: u64) -> io::Result<usize> {
    let is_whole = bytes.len().is_multiple_of(SECTOR_BYTES)
        && bytes.as_ptr().addr().is_multiple_of(SECTOR_BYTES)
        && offset.is_multiple_of(SECTOR_BYTES as u64);
    match usize::try_from(offset) {
        Ok(offset) if is_whole => Ok(offset),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl DiskFile for CrashFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let offset = check_sectors(bytes, offset)?;
        let state = self.disk.operate()?;
        state.outcome()?;
        let content = &state.files[self.file].bytes;
        match content.get(offset..offset + bytes.len()) {
            Some(found) => {
                bytes.copy_from_slice(found);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = check_sectors(bytes, offset)?;
        let mut state = self.disk.operate()?;
        self.room(&state, offset + bytes.len())?;
        let content = &mut state.files[self.file];
        content.change(ContentChange::Write(offset, bytes.to_vec()));
        state.outcome()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.operate()?;
        state.outcome()?;
        let content = &mut state.files[self.file];
        content.safe_bytes = content.bytes.clone();
        content.unsafe_changes.clear();
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.operate()?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.room(&state, len)?;
        state.files[self.file].change(ContentChange::Truncate(len));
        state.outcome()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.file].bytes.len() as u64)
    }
}
