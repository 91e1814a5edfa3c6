//! Memory of the machine and of this process, as the operating system counts it.
//!
//! The file with the figures of this process stays open from the first use on: a process at its
//! limit of open files can still be measured. A figure that cannot be read is never taken for 0,
//! which no budget would refuse.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use crate::{Error, system_limits};

static STATUS: OnceLock<File> = OnceLock::new();

/// Opens what the memory of this process is measured by, unless it is open already. Loading within
/// limits and checking do so as well; a program calls it first, while files can be opened.
pub fn start_measuring() -> Result<(), Error> {
    let opened = || -> io::Result<()> {
        if STATUS.get().is_none() {
            let _ = STATUS.set(File::open("/proc/self/status")?);
        }
        status("VmRSS:").map(|_| ())
    };
    opened().map_err(Error::Unmeasured)
}

/// The default budget: half of what is available.
pub fn default_budget() -> u64 {
    (available_bytes().unwrap_or(2 << 30) / 2).max(64 << 20)
}

/// What this process could still have, within the limits of its container and on its address
/// space; `None` if unknown.
pub fn available_bytes() -> Option<u64> {
    let limits = [free_bytes(), system_limits::address_space_left()];
    limits.into_iter().flatten().min()
}

/// What this process could still have before the system ends it or another one; `None` if unknown.
pub(crate) fn free_bytes() -> Option<u64> {
    let limits = [meminfo("MemAvailable:"), cgroup_left()];
    limits.into_iter().flatten().min()
}

/// Memory the process holds now; `u64::MAX` where that cannot be measured
/// ([`start_measuring`]).
pub fn resident_bytes() -> u64 {
    status("VmRSS:").unwrap_or(u64::MAX)
}

/// The most memory the process ever held, as the operating system counts it; `u64::MAX` where that
/// cannot be measured.
pub fn peak_bytes() -> u64 {
    status("VmHWM:").unwrap_or(u64::MAX)
}

/// Address space of the process, as the operating system counts it; `u64::MAX` where that cannot be
/// measured.
pub(crate) fn mapped_bytes() -> u64 {
    status("VmSize:").unwrap_or(u64::MAX)
}

fn meminfo(key: &str) -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, key)
}

/// A figure of this process.
fn status(key: &str) -> io::Result<u64> {
    let file = STATUS.get().ok_or(io::ErrorKind::NotConnected)?;
    // The figures of memory are in the first KiB.
    let mut text = [0; 4096];
    let len = file.read_at(&mut text, 0)?;
    let figure = kibibytes(&String::from_utf8_lossy(&text[..len]), key);
    figure.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The value of a line such as `VmHWM:     1234 kB`.
fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

/// What the control group of this process still allows, if it has a limit.
fn cgroup_left() -> Option<u64> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut least: Option<u64> = None;
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next(), parts.next()?, parts.next()?);
        let (root, limit, usage) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max", "memory.current")
        } else if controllers.split(',').any(|name| name == "memory") {
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )
        } else {
            continue;
        };
        // Any level above may have a limit; inside a container the own level is the root.
        let mut level = path.trim_start_matches('/').to_owned();
        loop {
            let folder = format!("{root}/{level}");
            let read = |name: &str| -> Option<u64> {
                let text = fs::read_to_string(format!("{folder}/{name}")).ok()?;
                text.trim().parse().ok()
            };
            if let Some(max) = read(limit) {
                let left = max.saturating_sub(read(usage).unwrap_or(0));
                least = Some(least.map_or(left, |least| least.min(left)));
            }
            match level.rfind('/') {
                Some(slash) => level.truncate(slash),
                None if level.is_empty() => break,
                None => level.clear(),
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_files_are_read() {
        let text = "VmPeak:\t  20 kB\nVmHWM:\t    1234 kB\n";
        assert_eq!(kibibytes(text, "VmHWM:"), Some(1234 * 1024));
        assert_eq!(kibibytes(text, "VmSwap:"), None);
    }

    #[test]
    fn there_is_a_budget() {
        assert!(default_budget() >= 64 << 20);
    }

    #[test]
    fn the_process_is_measured_again_and_again() {
        start_measuring().expect("there is a file with the figures");
        let before = resident_bytes();
        let data = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes();
        assert!(after >= before + (32 << 20), "{before} {after}");
        assert!(peak_bytes() >= after && peak_bytes() < u64::MAX);
        drop(data);
    }
}
