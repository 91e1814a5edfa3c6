//! Where figures come from: program, commit, machine, seed, command line. A time means nothing
//! without them.

use std::fs;

use hadal_report::units;
use serde_json::Value;

/// The origin of a report of the laboratory's table `lab`.
pub(crate) fn origin(lab: &'static str, seed: u64) -> Vec<(&'static str, Value)> {
    let arguments = std::env::args_os().skip(1);
    let words: Vec<String> = arguments
        .map(|argument| quoted(&argument.to_string_lossy()))
        .collect();
    vec![
        ("lab", lab.into()),
        ("hadal", env!("CARGO_PKG_VERSION").into()),
        ("commit", commit().into()),
        ("machine", machine().into()),
        ("seed", seed.into()),
        ("command", format!("hadal {}", words.join(" ")).into()),
    ]
}

/// The commit that was built, as `build.rs` found it.
fn commit() -> &'static str {
    option_env!("HADAL_COMMIT").unwrap_or("unknown")
}

fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = value_of(&processors, "model name").unwrap_or(std::env::consts::ARCH);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![processor.to_owned(), units::counted(cores as u64, "core")];
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes = value_of(&memory, "MemTotal").and_then(|text| text.strip_suffix(" kB"));
    if let Some(kibibytes) = kibibytes.and_then(|text| text.parse::<u64>().ok()) {
        parts.push(units::bytes(kibibytes * 1024));
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    parts.push(format!("{} {}", std::env::consts::OS, release.trim()));
    parts.join(", ").trim_end().to_owned()
}

/// The value of the first line `name : value`.
fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.trim() == name);
    found.map(|(_, value)| value.trim())
}

/// A word as a shell would take it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+%@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_given_to_a_shell_again() {
        assert_eq!(quoted("sym/mcslock1.m:N=4"), "sym/mcslock1.m:N=4");
        assert_eq!(quoted("(c2,llnr,5)"), "'(c2,llnr,5)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn files_of_the_system_are_read() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nMemTotal:  16 kB\n";
        assert_eq!(value_of(text, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(value_of(text, "MemTotal"), Some("16 kB"));
        assert_eq!(value_of(text, "absent"), None);
    }
}
