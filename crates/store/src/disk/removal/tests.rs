//! Deleting on a disk that is slow, or refuses.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::disk::{
    BlockFile, BlockWriter, Disk, DiskFile, Entry, Folder, FolderOptions, Kind, Medium, NativeDisk,
};
use crate::{BlockSink, Error};

const KIND: Kind = Kind::Log;
const LIMIT_BYTES: u64 = 1 << 20;

/// What a disk does with a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Obeys,
    Waits,
    Refuses,
}

struct MoodyDisk {
    disk: NativeDisk,
    mood: Mutex<Mood>,
    changed: Condvar,
}

impl MoodyDisk {
    fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
        self.changed.notify_all();
    }
}

impl Disk for MoodyDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mood = self.mood.lock().unwrap();
        let is_waiting = |mood: &mut Mood| *mood == Mood::Waits;
        let mood = self.changed.wait_while(mood, is_waiting).unwrap();
        match *mood {
            Mood::Refuses => Err(io::Error::other("it stays")),
            _ => self.disk.remove(name),
        }
    }

    fn list(&self) -> io::Result<Vec<Entry>> {
        self.disk.list()
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.disk.sync_folder()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }

    fn medium(&self) -> Medium {
        self.disk.medium()
    }
}

fn new_folder(mood: Mood) -> (TempDir, Arc<MoodyDisk>, Folder) {
    let path = tempfile::tempdir().unwrap();
    let disk = Arc::new(MoodyDisk {
        disk: NativeDisk::open(path.path()).unwrap(),
        mood: Mutex::new(mood),
        changed: Condvar::new(),
    });
    let options = FolderOptions {
        limit_bytes: LIMIT_BYTES,
        reserve_bytes: 0,
        ..FolderOptions::default()
    };
    let (folder, _) = Folder::open(Arc::clone(&disk) as Arc<dyn Disk>, options).unwrap();
    (path, disk, folder)
}

fn write(folder: &Folder, n_blocks: u32) -> Result<BlockFile, Error> {
    let mut writer = BlockWriter::create(folder, KIND)?;
    (0..n_blocks).try_for_each(|_| writer.put(&[7; 60_000]))?;
    writer.finish()
}

#[test]
fn what_is_to_go_counts_until_it_is_gone_and_nobody_waits_but_for_room() {
    let (path, disk, folder) = new_folder(Mood::Waits);
    let file = write(&folder, 10).unwrap();
    let name = file.name().to_owned();
    let before = folder.statistics().disk_bytes;
    folder.retire(&name).unwrap();
    drop(file);
    // Small files have room beside it.
    let small = write(&folder, 1).unwrap();
    let now = folder.statistics().disk_bytes;
    assert_eq!(now, before + small.disk_bytes());
    assert!(path.path().join(&name).exists());
    assert!(folder.has_free(1));
    thread::scope(|scope| {
        let large = scope.spawn(|| write(&folder, 10));
        let asked = scope.spawn(|| folder.has_free(LIMIT_BYTES / 2));
        thread::sleep(Duration::from_millis(30));
        assert!(!large.is_finished() && !asked.is_finished());
        assert!(folder.statistics().disk_bytes <= LIMIT_BYTES);
        disk.set(Mood::Obeys);
        assert_eq!(large.join().unwrap().unwrap().n_blocks(), 10);
        asked.join().unwrap();
    });
    assert!(!path.path().join(&name).exists());
    assert!(folder.statistics().peak_disk_bytes <= LIMIT_BYTES);
}

#[test]
fn a_folder_does_not_end_before_what_is_to_go_is_gone() {
    let (path, disk, folder) = new_folder(Mood::Waits);
    let names: Vec<String> = (0..5)
        .map(|_| write(&folder, 1).unwrap().name().to_owned())
        .collect();
    for name in &names {
        folder.retire(name).unwrap();
    }
    thread::scope(|scope| {
        let end = scope.spawn(move || drop(folder));
        thread::sleep(Duration::from_millis(30));
        assert!(!end.is_finished());
        disk.set(Mood::Obeys);
    });
    assert!(names.iter().all(|name| !path.path().join(name).exists()));
}

#[test]
fn a_file_that_cannot_be_deleted_is_reported_once_and_still_counts() {
    let (path, disk, folder) = new_folder(Mood::Waits);
    let file = write(&folder, 2).unwrap();
    folder.retire(file.name()).unwrap();
    disk.set(Mood::Refuses);
    let error = folder.wait_for_deletions().expect_err("the disk refuses");
    assert!(matches!(error, Error::Io { file: name, .. } if name == file.name()));
    folder.wait_for_deletions().unwrap();
    assert_eq!(folder.statistics().disk_bytes, file.disk_bytes());
    // If nobody waits for it, the next deletion reports it.
    disk.set(Mood::Waits);
    let [first, second] = [(); 2].map(|()| write(&folder, 1).unwrap());
    folder.retire(first.name()).unwrap();
    disk.set(Mood::Refuses);
    assert!(!folder.has_made_room(folder.n_gone()));
    assert!(folder.retire(second.name()).is_err());
    // All of them are still known, so they are deleted once that is possible.
    let _ = folder.wait_for_deletions();
    disk.set(Mood::Obeys);
    folder.sweep([]).unwrap();
    assert_eq!(folder.statistics().disk_bytes, 0);
    assert_eq!(fs_names(&path), ["LOCK"]);
}

fn fs_names(path: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(path.path()).unwrap();
    let name = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let names = entries.map(|entry| name(entry).into_string().unwrap());
    names.collect()
}

/// A file that nobody could read is deleted with its writer; others stay until they are retired.
#[test]
fn what_was_begun_and_not_finished_does_not_stay() {
    let (path, _disk, folder) = new_folder(Mood::Obeys);
    let exists = |name: &str| path.path().join(name).exists();
    let begin = || {
        let mut writer = BlockWriter::create(&folder, KIND).unwrap();
        writer.put(&[1; 100]).unwrap();
        let name = writer.name().to_owned();
        (writer, name)
    };
    let (unfinished, gone) = begin();
    drop(unfinished);
    let (mut read, kept) = begin();
    drop(read.written().unwrap());
    drop(read);
    let (mut listed, also_kept) = begin();
    listed.sync().unwrap();
    folder.commit(1, b"listed").unwrap();
    // What comes after the manifest may be truncated, but the file must stay.
    listed.put(&[2; 100]).unwrap();
    drop(listed);
    let reopened = BlockWriter::reopen(&folder, &also_kept, KIND, 1).unwrap();
    drop(reopened);
    let (mut full, refused) = begin();
    // It was needed, but is no longer.
    full.written().unwrap();
    let outcome = (0..50).try_for_each(|_| full.put(&[3; 60_000]));
    assert!(matches!(outcome, Err(Error::Full { .. })));
    drop(full);
    folder.wait_for_deletions().unwrap();
    assert!(!exists(&gone) && exists(&kept) && exists(&also_kept) && !exists(&refused));
    let lens = fs_names(&path).into_iter().filter(|name| name != "LOCK");
    let len = |name: String| std::fs::metadata(path.path().join(name)).unwrap().len();
    assert_eq!(folder.statistics().disk_bytes, lens.map(len).sum::<u64>());
}
