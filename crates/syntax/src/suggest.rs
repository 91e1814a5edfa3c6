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
    let wanted: Vec<char> = name.chars().take(LEN_MAX + 1).collect();
    if wanted.len() > LEN_MAX {
        return None;
    }
    let limit = (wanted.len() / 3).max(usize::from(wanted.len() > 1));
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name {
            continue;
        }
        if candidate.eq_ignore_ascii_case(name) {
            return Some(candidate);
        }
        let letters: Vec<char> = candidate.chars().take(LEN_MAX + 1).collect();
        if letters.len().abs_diff(wanted.len()) > limit {
            continue;
        }
        let distance = edit_distance(&wanted, &letters);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions, changes and swaps of neighbours between two words.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + change).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
