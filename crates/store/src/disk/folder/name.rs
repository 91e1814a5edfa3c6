//! Names of block files: kind and number.

use crate::disk::Kind;

const SUFFIX: &str = "hadal";

/// The name of a file.
pub(super) fn of(kind: Kind, number: u64) -> String {
    format!("{kind}-{number:08}.{SUFFIX}")
}

/// The number in a name made by [`of`]; no other file is ever touched.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let (kind, rest) = name.split_once('-')?;
    let digits = rest.strip_suffix(SUFFIX)?.strip_suffix('.')?;
    let is_kind = kind.len() == 4
        && kind
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    // Long enough for any search, and short enough that there is always a next number.
    let is_number =
        (8..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_kind && is_number {
        digits.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn only_names_of_ours_have_numbers() {
        assert_eq!(number_of("prnt-00000012.hadal"), Some(12));
        assert_eq!(number_of("run0-123456789.hadal"), Some(123_456_789));
        for name in [
            "prnt-0000012.hadal",
            "prnt-00000012hadal",
            "prnt-00000012.hadal.bak",
            "notes-00000012.hadal",
            "Prnt-00000012.hadal",
            "prnt-+0000012.hadal",
            "prnt-18446744073709551615.hadal",
            "prnt.hadal",
            "MANIFEST",
        ] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }
}
