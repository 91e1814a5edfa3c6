//! Lists in one argument, and what stands in them.

/// Part of the memory that a search of everything in memory needs.
pub(crate) fn parse_fraction(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(fraction) if fraction > 0.0 && fraction <= 100.0 => Ok(fraction),
        _ => Err(format!("`{text}` is not a fraction; write for example 0.1")),
    }
}

/// The parts of a list at its commas, except those within parentheses.
pub(crate) fn split_list(text: &str) -> Vec<&str> {
    let (mut parts, mut open, mut first) = (Vec::new(), 0u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            ',' if open == 0 => {
                parts.push(&text[first..at]);
                first = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[first..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_in_a_list_keep_their_commas() {
        assert_eq!(
            split_list("ram,snapshots:(c2,lru,3)(o2,lfu,1),part"),
            ["ram", "snapshots:(c2,lru,3)(o2,lfu,1)", "part"]
        );
    }

    #[test]
    fn fractions_are_positive() {
        assert_eq!(parse_fraction("0.05"), Ok(0.05));
        for bad in ["0", "-1", "x", "nan", "inf", ""] {
            assert!(parse_fraction(bad).is_err(), "{bad}");
        }
    }
}
