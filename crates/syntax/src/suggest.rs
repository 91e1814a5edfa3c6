//! "Did you mean": the nearest known name to one that is not known.

/// The candidate most like `name`, if one is near enough to be a likely typo.
///
/// A candidate that differs only in case wins; otherwise the edit distance (insertion, deletion,
/// change, swap of neighbours) decides, and may be at most a third of the name's length.
/// Among equals the first candidate is taken.
///
/// ```
/// use hadal_syntax::did_you_mean;
///
/// assert_eq!(did_you_mean("staet", ["status", "state"]), Some("state"));
/// assert_eq!(did_you_mean("x", ["y", "z"]), None);
/// ```
pub fn did_you_mean<'a, I>(name: &str, candidates: I) -> Option<&'a str>
where
    I: IntoIterator<Item = &'a str>,
{
    // Names this long are not typos, and the distance is quadratic in the length.
    const LEN_MAX: usize = 100;
    let n_chars = |word: &str| word.chars().take(LEN_MAX + 1).count();
    let name_len = n_chars(name);
    if name_len > LEN_MAX {
        return None;
    }
    let limit = (name_len / 3).max(usize::from(name_len > 1));
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name {
            continue;
        }
        if candidate.eq_ignore_ascii_case(name) {
            return Some(candidate);
        }
        // At most a third longer than the name, which is short.
        if n_chars(candidate).abs_diff(name_len) > limit {
            continue;
        }
        let distance = strsim::osa_distance(name, candidate);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn near_names_are_found() {
        let names = ["HomeNode", "Dst", "Src", "InvalidateCount"];
        assert_eq!(did_you_mean("HomeNod", names), Some("HomeNode"));
        assert_eq!(did_you_mean("dst", names), Some("Dst"));
        assert_eq!(did_you_mean("Scr", names), Some("Src"));
        assert_eq!(
            did_you_mean("InvalidatedCount", names),
            Some("InvalidateCount")
        );
    }

    #[test]
    fn far_names_are_not() {
        assert_eq!(did_you_mean("queue", ["Net", "Procs"]), None);
        assert_eq!(did_you_mean("", ["a"]), None);
        assert_eq!(did_you_mean("Net", []), None);
        assert_eq!(did_you_mean("Net", ["Net"]), None);
    }

    #[test]
    fn a_word_of_any_length_is_taken() {
        let long = "x".repeat(1_000_000);
        assert_eq!(did_you_mean(&long, [long.as_str(), "x"]), None);
        assert_eq!(did_you_mean("abc", [long.as_str()]), None);
    }
}
