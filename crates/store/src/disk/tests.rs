//! Blocks, folders and logs on a real disk. Crashes are tested in `testkit`, on a disk made for
//! that.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tempfile::TempDir;

use super::*;
use crate::{BLOCK_BYTES, BlockSink, BlockSource, Error, Parent};

const KIND: Kind = Kind::Log;
const SMALL: FolderOptions = FolderOptions {
    limit_bytes: u64::MAX,
    reserve_bytes: 0,
    buffer_bytes: 0,
    threads: true,
};

fn open(path: &Path, options: FolderOptions) -> Result<(Folder, Option<Payload>), Error> {
    Folder::open(Arc::new(NativeDisk::open(path)?), options)
}

fn new_folder(options: FolderOptions) -> (TempDir, Folder) {
    let path = tempfile::tempdir().unwrap();
    let (folder, manifest) = open(path.path(), options).unwrap();
    assert_eq!(manifest, None);
    (path, folder)
}

/// Block `number` of a file: long or short, and never the same.
fn payload(number: u32) -> Vec<u8> {
    let mut rng = Pcg64Mcg::seed_from_u64(u64::from(number));
    let len = match number % 5 {
        0 => rng.random_range(0..BLOCK_BYTES),
        _ => BLOCK_BYTES,
    };
    let mut bytes = vec![0; len];
    rng.fill(&mut bytes[..]);
    bytes
}

fn write(folder: &Folder, n_blocks: u32) -> BlockFile {
    let mut writer = BlockWriter::create(folder, KIND).unwrap();
    for number in 0..n_blocks {
        writer.put(&payload(number)).unwrap();
    }
    writer.sync().unwrap();
    writer.finish().unwrap()
}

fn check(file: &BlockFile, wanted: Vec<Range<u32>>) {
    let mut expected = wanted.clone().into_iter().flatten();
    let mut reader = file.read(wanted);
    while let Some((number, bytes)) = reader.next().unwrap() {
        assert_eq!(Some(number), expected.next());
        assert!(bytes == payload(number), "block {number}");
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn blocks_come_back() {
    for options in [
        FolderOptions::default(),
        SMALL,
        FolderOptions {
            threads: false,
            ..SMALL
        },
    ] {
        let (_path, folder) = new_folder(options);
        for n_blocks in [0, 1, 2, 15, 16, 17, 100] {
            let file = write(&folder, n_blocks);
            assert_eq!(file.n_blocks(), n_blocks);
            for file in [
                &file,
                &BlockFile::open(&folder, file.name(), KIND, n_blocks).unwrap(),
            ] {
                #[expect(clippy::single_range_in_vec_init, reason = "a list of one range")]
                check(file, vec![0..n_blocks]);
                check(file, vec![]);
                let every_third = (0..n_blocks).filter(|number| number % 3 == 1);
                check(file, every_third.map(|number| number..number + 1).collect());
                let pieces = (0..n_blocks / 7).map(|piece| piece * 7..piece * 7 + 4);
                check(file, pieces.collect());
            }
            let mut bytes = Vec::new();
            for number in (0..n_blocks).rev() {
                file.get(number, &mut bytes).unwrap();
                assert!(bytes == payload(number));
            }
            assert!(file.get(n_blocks, &mut bytes).is_err());
        }
    }
}

#[test]
fn many_streams_with_little_memory_come_to_an_end() {
    let (_path, folder) = new_folder(SMALL);
    let mut writers: Vec<_> = (0..10)
        .map(|_| BlockWriter::create(&folder, KIND).unwrap())
        .collect();
    for number in 0..20 {
        for writer in &mut writers {
            writer.put(&payload(number)).unwrap();
        }
    }
    let files: Vec<_> = writers
        .into_iter()
        .map(|writer| writer.finish().unwrap())
        .collect();
    let mut readers: Vec<_> = files
        .iter()
        .map(|file| file.read(std::iter::once(0..20).collect()))
        .collect();
    for expected in 0..20 {
        for reader in &mut readers {
            let (number, bytes) = reader.next().unwrap().unwrap();
            assert_eq!(number, expected);
            assert!(bytes == payload(number));
        }
    }
    // Two blocks for all, and one for each of the ten.
    assert!(folder.data_bytes() <= 12 * (68 << 10));
}

#[test]
fn a_file_is_read_while_it_grows_and_continues_where_it_was_truncated() {
    let (_path, folder) = new_folder(FolderOptions::default());
    let mut writer = BlockWriter::create(&folder, KIND).unwrap();
    for number in 0..25 {
        writer.put(&payload(number)).unwrap();
        // Every fifth block is short, and is followed by more.
        check(
            &writer.written().unwrap(),
            std::iter::once(0..number + 1).collect(),
        );
    }
    let name = writer.name().to_owned();
    drop(writer);
    for cut in [24, 21, 11, 0] {
        let mut writer = BlockWriter::reopen(&folder, &name, KIND, cut).unwrap();
        for number in cut..cut + 3 {
            writer.put(&payload(number)).unwrap();
        }
        let file = writer.finish().unwrap();
        check(&file, std::iter::once(0..cut + 3).collect());
    }
    assert!(BlockWriter::reopen(&folder, &name, KIND, 4).is_err());
    assert!(BlockFile::open(&folder, &name, Kind::Run, 3).is_err());
}

#[test]
fn no_flipped_bit_goes_unseen() {
    let (path, folder) = new_folder(SMALL);
    let file = write(&folder, 6);
    let at = path.path().join(file.name());
    let whole = fs::read(&at).unwrap();
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    // All of the header and of a frame's header, both ends of all frames, and places at random.
    let mut places: Vec<usize> = (0..4096 + 64).collect();
    places.extend((1..6).flat_map(|n| 4096 + n * 65536 - 40..4096 + n * 65536 + 40));
    places.extend(whole.len() - 4096..whole.len());
    places.extend((0..300).map(|_| rng.random_range(0..whole.len())));
    let raw = fs::OpenOptions::new().write(true).open(&at).unwrap();
    for place in places {
        let flipped = whole[place] ^ (1 << rng.random_range(0..8));
        raw.write_all_at(&[flipped], place as u64).unwrap();
        let error = read_all(&folder, file.name(), 6).expect_err("a flipped bit");
        let Error::Damaged {
            file: name, offset, ..
        } = error
        else {
            panic!("{error} at {place}");
        };
        assert_eq!(name, file.name());
        let block = |place: usize| (place + 65536 - 4096) / 65536;
        assert_eq!(block(place), block(offset as usize), "{place} {offset}");
        raw.write_all_at(&[whole[place]], place as u64).unwrap();
    }
    read_all(&folder, file.name(), 6).unwrap();
    // Two blocks that were swapped.
    let mut bytes = whole.clone();
    bytes.copy_within(4096 + 65536..4096 + 2 * 65536, 4096 + 2 * 65536);
    fs::write(&at, &bytes).unwrap();
    assert!(read_all(&folder, file.name(), 6).is_err());
    // A truncated file.
    fs::write(&at, &whole[..whole.len() - 4096]).unwrap();
    assert!(read_all(&folder, file.name(), 6).is_err());
    // Another file's content.
    let other = write(&folder, 6);
    fs::copy(path.path().join(other.name()), &at).unwrap();
    assert!(read_all(&folder, file.name(), 6).is_err());
}

fn read_all(folder: &Folder, name: &str, n_blocks: u32) -> Result<(), Error> {
    let file = BlockFile::open(folder, name, KIND, n_blocks)?;
    let mut reader = file.read(std::iter::once(0..n_blocks).collect());
    while reader.next()?.is_some() {}
    Ok(())
}

#[test]
fn the_limit_is_never_passed() {
    let limit_bytes = 1 << 20;
    let (path, folder) = new_folder(FolderOptions {
        limit_bytes,
        ..SMALL
    });
    let mut writer = BlockWriter::create(&folder, KIND).unwrap();
    let name = writer.name().to_owned();
    let outcome = (0..100).try_for_each(|number| writer.put(&payload(number)));
    assert!(matches!(outcome, Err(Error::Full { .. })));
    assert!(matches!(writer.put(&[1]), Err(Error::Full { .. })));
    assert!(matches!(writer.flush(), Err(Error::Full { .. })));
    let statistics = folder.statistics();
    assert!(statistics.peak_disk_bytes <= limit_bytes);
    assert!(statistics.peak_disk_bytes > limit_bytes - (64 << 10));
    let on_disk = fs::metadata(path.path().join(&name)).unwrap().len();
    assert!(on_disk <= statistics.disk_bytes);
    drop(writer);
    // It is abandoned, so it is deleted and makes room again.
    folder.wait_for_deletions().unwrap();
    assert!(!path.path().join(&name).exists());
    assert_eq!(folder.statistics().disk_bytes, 0);
    write(&folder, 10);
}

#[test]
fn files_that_are_never_listed_go_at_once_whatever_manifests_were_written() {
    let (path, folder) = new_folder(SMALL);
    let scratch = || {
        let mut writer = BlockWriter::create_scratch(&folder, KIND).unwrap();
        writer.put(&payload(1)).unwrap();
        writer
    };
    let (retired, abandoned, begun) = (
        scratch().finish().unwrap(),
        scratch().finish().unwrap(),
        scratch(),
    );
    folder.commit(1, b"first").unwrap();
    folder.commit(1, b"second").unwrap();
    folder.retire(retired.name()).unwrap();
    abandoned.abandon();
    begun.discard().unwrap();
    folder.wait_for_deletions().unwrap();
    let is_ours = |name: &str| name.starts_with("test");
    let names = fs::read_dir(path.path()).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.find(|name| is_ours(name)), None);
    assert_eq!(folder.retired_bytes(), 0);
}

#[test]
fn retired_files_go_with_the_next_manifest_and_unlisted_ones_at_opening() {
    let path = tempfile::tempdir().unwrap();
    fs::write(path.path().join("notes.txt"), "not ours").unwrap();
    let exists = |name: &str| path.path().join(name).exists();
    let (folder, _) = open(path.path(), FolderOptions::default()).unwrap();
    let names: Vec<String> = (0..4)
        .map(|_| write(&folder, 3).name().to_owned())
        .collect();
    let [kept, old, fresh, unlisted] = &names[..] else {
        unreachable!("four files were written");
    };
    folder.retire(fresh).unwrap();
    folder.wait_for_deletions().unwrap();
    assert!(!exists(fresh));
    folder.commit(1, b"first").unwrap();
    folder.retire(old).unwrap();
    assert!(exists(old));
    folder.commit(1, b"second").unwrap();
    folder.wait_for_deletions().unwrap();
    assert!(!exists(old));
    let before = folder.statistics().disk_bytes;
    drop(folder);

    let (folder, manifest) = open(path.path(), FolderOptions::default()).unwrap();
    assert_eq!(manifest.unwrap().of_version(1).unwrap(), b"second");
    assert_eq!(folder.statistics().disk_bytes, before);
    folder.sweep([kept.as_str()]).unwrap();
    assert!(exists(kept) && !exists(unlisted) && exists("notes.txt"));
    check(
        &BlockFile::open(&folder, kept, KIND, 3).unwrap(),
        std::iter::once(0..3).collect(),
    );
    assert!(matches!(
        folder.sweep([unlisted.as_str()]),
        Err(Error::Damaged { .. })
    ));
    // A new file never takes the name of one that is there.
    assert_ne!(write(&folder, 1).name(), kept);
    assert!(folder.statistics().disk_bytes > 0);
    drop(folder);

    let at = path.path().join("MANIFEST");
    let mut bytes = fs::read(&at).unwrap();
    bytes[70] ^= 1;
    fs::write(&at, bytes).unwrap();
    assert!(matches!(
        open(path.path(), FolderOptions::default()),
        Err(Error::Damaged { .. })
    ));
    assert!(exists(kept));
}

#[test]
fn a_cleared_folder_has_nothing_of_ours() {
    let (path, folder) = new_folder(FolderOptions::default());
    write(&folder, 3);
    folder.commit(1, b"first").unwrap();
    let name = write(&folder, 3).name().to_owned();
    folder.retire(&name).unwrap();
    folder.clear().unwrap();
    assert_eq!(folder.statistics().disk_bytes, 0);
    let left = fs::read_dir(path.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["LOCK"]);
    write(&folder, 3);
    folder.commit(1, b"again").unwrap();
}

#[test]
fn a_folder_of_another_version_is_refused_unharmed_and_can_be_started_anew() {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"));
    for fixture in ["manifest-format-6", "manifest-format-99"] {
        let path = tempfile::tempdir().unwrap();
        let manifest = path.path().join("MANIFEST");
        fs::copy(fixtures.join(fixture), &manifest).unwrap();
        let run = path.path().join("kind-00000007.hadal");
        fs::write(&run, [0; 4096]).unwrap();
        let others = path.path().join("notes.txt");
        fs::write(&others, "").unwrap();
        let refused = open(path.path(), FolderOptions::default());
        assert!(
            matches!(refused, Err(Error::OtherVersion { .. })),
            "{fixture}"
        );
        drop(refused);
        assert!(manifest.exists() && run.exists());

        let disk = Arc::new(NativeDisk::open(path.path()).unwrap());
        let folder = Folder::open_anew(disk, FolderOptions::default()).unwrap();
        assert!(!manifest.exists() && !run.exists() && others.exists());
        assert_eq!(write(&folder, 1).name(), "logs-00000008.hadal");
        folder.commit(1, b"mine").unwrap();
        drop(folder);
        let (_, payload) = open(path.path(), FolderOptions::default()).unwrap();
        assert_eq!(payload.unwrap().of_version(1).unwrap(), b"mine");
    }
}

/// Sets a field of a file's header and makes the checksum right again.
fn set_field(path: &Path, at: usize, value: u32) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..SECTOR_BYTES - 4]);
    bytes[SECTOR_BYTES - 4..SECTOR_BYTES].copy_from_slice(&crc.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_file_of_another_version_is_no_damage() {
    let (path, folder) = new_folder(FolderOptions::default());
    for (at, value) in [(8, FORMAT_VERSION + 1), (36, KIND.version() + 1)] {
        let name = write(&folder, 1).name().to_owned();
        set_field(&path.path().join(&name), at, value);
        let opened = BlockFile::open(&folder, &name, KIND, 1);
        assert!(matches!(opened, Err(Error::OtherVersion { .. })), "{at}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_in_memory_is_known_as_such() {
    let path = tempfile::tempdir_in("/dev/shm").unwrap();
    let (folder, _) = open(path.path(), FolderOptions::default()).unwrap();
    assert_eq!(folder.medium(), Medium::Memory);
    check(&write(&folder, 20), std::iter::once(0..20).collect());
}

/// Parents as they come, with some far apart, and now and then some that begin lower again.
fn parents(n: u64) -> Vec<Parent> {
    let mut rng = Pcg64Mcg::seed_from_u64(n);
    let mut ordinal = 0;
    let mut parent = || {
        if rng.random_range(0..300) == 0 {
            ordinal = rng.random_range(0..=ordinal);
        }
        ordinal += match rng.random_range(0..100) {
            0 => rng.random_range(0..1 << 40),
            1..50 => 0,
            _ => rng.random_range(0..3),
        };
        let index = match rng.random_range(0..50) {
            0 => u32::MAX,
            _ => rng.random_range(0..200),
        };
        Parent { ordinal, index }
    };
    (0..n).map(|_| parent()).collect()
}

fn push(log: &mut ParentLog, parents: &[Parent]) {
    for &parent in parents {
        let most = log.data_bytes() + log.growth_bytes(1);
        log.push(parent).unwrap();
        assert!(log.data_bytes() <= most);
    }
}

fn check_log(log: &ParentLog, parents: &[Parent]) {
    assert_eq!(log.len(), parents.len() as u64);
    for at in (0..parents.len())
        .step_by(997)
        .chain(parents.len().checked_sub(1))
    {
        assert_eq!(log.get(at as u64).unwrap(), Some(parents[at]));
    }
    assert_eq!(log.get(log.len()).unwrap(), None);
    let mut finder = log.finder();
    for at in (0..parents.len()).rev().step_by(7) {
        assert_eq!(finder.get(at as u64).unwrap(), Some(parents[at]));
    }
    assert_eq!(finder.get(log.len()).unwrap(), None);
}

#[test]
fn a_parent_log_rolls_back_and_continues() {
    for is_on_disk in [false, true] {
        let (_path, folder) = new_folder(FolderOptions::default());
        let all = parents(400_000);
        for (n_before, n_between) in [(0, 1000), (10, 300_000), (200_000, 100), (200_000, 200_000)]
        {
            let mut log = ParentLog::new();
            if is_on_disk {
                log.attach(&folder).unwrap();
            }
            push(&mut log, &all[..n_before]);
            let waymark = log.position();
            push(&mut log, &all[n_before..n_before + n_between]);
            log.roll_back(waymark).unwrap();
            check_log(&log, &all[..n_before]);
            // Other entries than those that were rolled back.
            let mut others = all[..n_before].to_vec();
            let to = n_before + n_between / 2;
            others.extend(all[n_before..].iter().step_by(2).take(to - n_before));
            push(&mut log, &others[n_before..]);
            check_log(&log, &others);
        }
    }
}

#[test]
fn parents_come_back_from_memory_and_disk() {
    for n in [0, 1, 1000, 300_000] {
        let parents = parents(n);
        let (before, after) = parents.split_at(parents.len() / 2);
        let mut log = ParentLog::new();
        push(&mut log, before);
        check_log(&log, before);
        let (_path, folder) = new_folder(FolderOptions::default());
        log.attach(&folder).unwrap();
        check_log(&log, before);
        push(&mut log, after);
        check_log(&log, &parents);
        assert!(log.data_bytes() < 70_000);
    }
}

/// Pushed one by one or appended together, entries make the same blocks.
#[test]
fn parents_are_appended_many_at_once() {
    let parents = parents(200_000);
    let (mut pushed, mut appended) = (ParentLog::new(), ParentLog::new());
    push(&mut pushed, &parents);
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let mut together = Parents::default();
    let mut rest = parents.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rng.random_range(0..9000).min(rest.len()));
        rest = later;
        together.clear();
        now.iter().for_each(|&parent| together.push(parent));
        let most = appended.data_bytes() + appended.growth_bytes(now.len() as u64);
        appended.append(&together).unwrap();
        assert!(appended.data_bytes() <= most);
    }
    check_log(&appended, &parents);
    assert_eq!(appended.data_bytes(), pushed.data_bytes());
}

#[test]
fn a_log_resumes_from_its_last_commit() {
    let path = tempfile::tempdir().unwrap();
    let parents = parents(200_000);
    let (folder, _) = open(path.path(), FolderOptions::default()).unwrap();
    let mut log = ParentLog::new();
    let mut committed = 0;
    for n in [0, 10, 90_000, 170_000] {
        push(&mut log, &parents[committed..n]);
        committed = n;
        folder.commit(1, &log.commit(&folder).unwrap()).unwrap();
    }
    push(&mut log, &parents[committed..]);
    log.get(190_000).unwrap();
    drop((log, folder));

    let (folder, mark) = open(path.path(), FolderOptions::default()).unwrap();
    let mark = mark.unwrap().of_version(1).unwrap().to_vec();
    let mut log = ParentLog::reopen(&folder, &mark).unwrap();
    folder.sweep([log.file_name().unwrap().as_str()]).unwrap();
    check_log(&log, &parents[..committed]);
    push(&mut log, &parents[committed..]);
    check_log(&log, &parents);
    // A mark that is cut off or changed is refused, or at least does no harm.
    for at in (0..mark.len().min(60)).chain((60..mark.len()).step_by(97)) {
        assert!(ParentLog::reopen(&folder, &mark[..at]).is_err());
    }
    for at in (0..mark.len().min(60)).chain((60..mark.len()).step_by(101)) {
        for bit in 0..8 {
            let mut changed = mark.clone();
            changed[at] ^= 1 << bit;
            if let Ok(log) = ParentLog::reopen(&folder, &changed) {
                for ordinal in (0..200_000).step_by(50_000) {
                    let _ = log.get(ordinal);
                }
            }
        }
    }
}

#[test]
fn a_log_takes_little_more_than_a_byte_an_entry() {
    let mut log = ParentLog::new();
    for ordinal in 0..1_000_000 {
        log.push(Parent {
            ordinal: ordinal / 3,
            index: (ordinal % 40) as u32,
        })
        .unwrap();
    }
    assert!(log.data_bytes() < 1_100_000);
}

#[test]
fn a_refusal_names_the_limit_or_the_reserve() {
    let (_path, folder) = new_folder(FolderOptions {
        reserve_bytes: 1 << 60,
        ..SMALL
    });
    assert_eq!(folder.refusal(), None);
    assert!(!folder.has_free(1));
    let asked = folder.refusal();
    let mut writer = BlockWriter::create(&folder, KIND).unwrap();
    let put = writer.put(&payload(1)).and_then(|()| writer.flush());
    assert!(matches!(put, Err(Error::Full { .. })));
    for refusal in [asked, folder.refusal()] {
        let Some(Refusal::Reserve {
            free_bytes,
            reserve_bytes,
        }) = refusal
        else {
            panic!("{refusal:?}");
        };
        assert!(free_bytes > 0 && free_bytes < reserve_bytes);
        assert_eq!(reserve_bytes, 1 << 60);
    }

    let (_path, folder) = new_folder(FolderOptions {
        limit_bytes: 1000,
        ..SMALL
    });
    let mut writer = BlockWriter::create(&folder, KIND).unwrap();
    let put = writer.put(&payload(1)).and_then(|()| writer.flush());
    assert!(matches!(put, Err(Error::Full { .. })));
    assert_eq!(folder.refusal(), Some(Refusal::Limit));
}
