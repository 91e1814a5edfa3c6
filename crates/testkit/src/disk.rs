//! A disk in memory that crashes, fills up or flips a bit on request.
//!
//! It keeps two versions of everything: what the program sees, and what survives a crash for
//! certain. Between them are the changes that were not synced. A crash keeps any part of
//! these: some sectors of a write and not others, a later write and not the earlier one, a rename
//! and not the file's content; a seed decides. It is as adverse as `docs/reference/format.md` allows, and
//! more so than real disks.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Every file that has a name, may have one after a crash, or is open.
    files: BTreeMap<usize, Content>,
    n_created: usize,
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

#[derive(Debug, Default)]
struct Content {
    bytes: Bytes,
    safe_bytes: Bytes,
    unsafe_changes: Vec<ContentChange>,
    /// Every open file has a clone.
    open: Arc<()>,
}

#[derive(Clone, Debug)]
enum ContentChange {
    /// The number of a sector, and what is written there.
    Write(usize, Sector),
    Truncate(usize),
}

/// Shared by all versions of a file, so that a byte is copied once.
type Sector = Arc<[u8]>;

/// A version of a file.
#[derive(Clone, Debug, Default)]
struct Bytes {
    sectors: Vec<Sector>,
    /// What the last sector has beyond it does not count.
    len: usize,
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
        let content = state.content(file);
        for version in [&mut content.bytes, &mut content.safe_bytes] {
            version.flip(byte, bit);
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
        let kept: BTreeSet<usize> = names.values().copied().collect();
        let files = kept
            .into_iter()
            .map(|file| (file, state.files[&file].crash(&mut rng)))
            .collect();
        let state = State {
            safe_names: names.clone(),
            names,
            files,
            n_created: state.n_created,
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
        let len = |file: &usize| self.files[file].bytes.len as u64;
        self.names.values().map(len).sum()
    }

    /// A file that is open or has a name.
    fn content(&mut self, file: usize) -> &mut Content {
        self.files
            .get_mut(&file)
            .expect("files that are open or have a name are kept")
    }

    /// A file, opened.
    fn opened(&self, disk: &CrashDisk, file: usize) -> Arc<CrashFile> {
        Arc::new(CrashFile {
            disk: disk.clone(),
            file,
            _open: Arc::clone(&self.files[&file].open),
        })
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

impl Bytes {
    /// Bytes that are new have this value.
    fn resize(&mut self, len: usize, value: u8) {
        let within = self.len % SECTOR_BYTES;
        if len > self.len
            && within > 0
            && let Some(last) = self.sectors.last_mut()
        {
            Arc::make_mut(last)[within..].fill(value);
        }
        let n_sectors = len.div_ceil(SECTOR_BYTES);
        if n_sectors > self.sectors.len() {
            let new = Sector::from([value; SECTOR_BYTES]);
            self.sectors.resize(n_sectors, new);
        }
        self.sectors.truncate(n_sectors);
        self.len = len;
    }

    /// Replaces a whole sector. What was never written before it has the value `unwritten`.
    fn write(&mut self, number: usize, sector: &Sector, unwritten: u8) {
        let (start, end) = (number * SECTOR_BYTES, (number + 1) * SECTOR_BYTES);
        if self.len < start {
            self.resize(start, unwritten);
        }
        match self.sectors.get_mut(number) {
            Some(old) => *old = Arc::clone(sector),
            None => self.sectors.push(Arc::clone(sector)),
        }
        self.len = self.len.max(end);
    }

    /// Replaces the first bytes of a sector.
    fn write_part(&mut self, number: usize, part: &[u8], unwritten: u8) {
        let end = number * SECTOR_BYTES + part.len();
        if self.len < end {
            self.resize(end, unwritten);
        }
        if let Some(sector) = self.sectors.get_mut(number) {
            Arc::make_mut(sector)[..part.len()].copy_from_slice(part);
        }
    }

    /// Reads whole sectors; nothing where the file ends before.
    fn read(&self, number: usize, to: &mut [u8]) -> Option<()> {
        if number * SECTOR_BYTES + to.len() > self.len {
            return None;
        }
        for (part, sector) in to
            .chunks_exact_mut(SECTOR_BYTES)
            .zip(&self.sectors[number..])
        {
            part.copy_from_slice(sector);
        }
        Some(())
    }

    fn flip(&mut self, byte: usize, bit: u32) {
        if byte < self.len {
            Arc::make_mut(&mut self.sectors[byte / SECTOR_BYTES])[byte % SECTOR_BYTES] ^= 1 << bit;
        }
    }
}

impl ContentChange {
    fn apply(&self, to: &mut Bytes) {
        match self {
            Self::Write(number, sector) => to.write(*number, sector, 0),
            Self::Truncate(len) => to.resize(*len, 0),
        }
    }
}

impl Content {
    fn change(&mut self, change: ContentChange) {
        change.apply(&mut self.bytes);
        self.unsafe_changes.push(change);
    }

    /// Changes are repeated, since to copy a long file that grows a little would take long.
    fn sync(&mut self) {
        for change in self.unsafe_changes.drain(..) {
            change.apply(&mut self.safe_bytes);
        }
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
                ContentChange::Write(number, sector) => {
                    // What was never written there may be anything.
                    let unwritten = rng.random();
                    if rng.random_bool(chance) {
                        bytes.write(*number, sector, unwritten);
                    } else if rng.random_bool(0.1) {
                        // Not even a sector need be whole.
                        let part = &sector[..rng.random_range(0..sector.len())];
                        bytes.write_part(*number, part, unwritten);
                    }
                }
            }
        }
        Self {
            safe_bytes: bytes.clone(),
            bytes,
            ..Self::default()
        }
    }
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
        let file = state.n_created;
        state.n_created += 1;
        state.files.insert(file, Content::default());
        state.change_name(NameChange::Create(name.to_owned(), file));
        state.outcome()?;
        Ok(state.opened(self, file))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.operate()?;
        state.outcome()?;
        let file = *state.names.get(name).ok_or_else(missing)?;
        Ok(state.opened(self, file))
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
        let entry = |(name, file): (&String, &usize)| Entry {
            name: name.clone(),
            len: state.files[file].bytes.len as u64,
        };
        Ok(state.names.iter().map(entry).collect())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.operate()?;
        state.outcome()?;
        let State {
            names,
            safe_names,
            unsafe_changes,
            files,
            ..
        } = &mut *state;
        safe_names.clone_from(names);
        unsafe_changes.clear();
        let named: BTreeSet<&usize> = names.values().collect();
        files.retain(|file, content| named.contains(file) || Arc::strong_count(&content.open) > 1);
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
    _open: Arc<()>,
}

impl CrashFile {
    /// Claims the difference that a new length makes.
    fn room(&self, state: &State, len: usize) -> io::Result<()> {
        let more = len.saturating_sub(state.files[&self.file].bytes.len) as u64;
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
        let content = &state.files[&self.file].bytes;
        let read = content.read(offset / SECTOR_BYTES, bytes);
        read.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = check_sectors(bytes, offset)?;
        let mut state = self.disk.operate()?;
        self.room(&state, offset + bytes.len())?;
        let content = state.content(self.file);
        for (number, sector) in (offset / SECTOR_BYTES..).zip(bytes.chunks_exact(SECTOR_BYTES)) {
            content.change(ContentChange::Write(number, sector.into()));
        }
        state.outcome()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.operate()?;
        state.outcome()?;
        state.content(self.file).sync();
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.operate()?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.room(&state, len)?;
        state
            .content(self.file)
            .change(ContentChange::Truncate(len));
        state.outcome()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[&self.file].bytes.len as u64)
    }
}
