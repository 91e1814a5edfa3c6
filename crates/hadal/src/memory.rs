//! Memory of the machine and of this process, as the operating system counts it.

use std::fs;

use crate::system_limits;

/// The default budget: half of what is available.
pub fn default_budget() -> u64 {
    (available_bytes().unwrap_or(2 << 30) / 2).max(64 << 20)
}

/// What this process could still have, within the limits of its container and on its address
/// space; `None` if unknown.
pub fn available_bytes() -> Option<u64> {
    let limits = [
        meminfo("MemAvailable:"),
        cgroup_left(),
        system_limits::address_space_left(),
    ];
    limits.into_iter().flatten().min()
}

/// Memory the process holds now.
pub fn resident_bytes() -> u64 {
    status("VmRSS:").unwrap_or(0)
}

/// The most memory the process ever held, as the operating system counts it.
pub fn peak_bytes() -> u64 {
    status("VmHWM:").unwrap_or(0)
}

/// Address space of the process, as the operating system counts it.
pub(crate) fn mapped_bytes() -> u64 {
    status("VmSize:").unwrap_or(0)
}

fn meminfo(key: &str) -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, key)
}

fn status(key: &str) -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, key)
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
        assert!(peak_bytes() > 0);
    }
}
