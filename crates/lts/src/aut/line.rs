//! One line of an `.aut` file.

use crate::error::AutReason;

/// The numbers of a header: initial state, edges, states.
pub(super) fn parse_header(line: &[u8]) -> Result<[u64; 3], AutReason> {
    let rest = line.trim_ascii().strip_prefix(b"des");
    let inside = rest.and_then(in_parentheses).ok_or(AutReason::Header)?;
    let mut fields = inside.split(|&byte| byte == b',');
    let mut numbers = [0; 3];
    let names = ["initial state", "number of edges", "number of states"];
    for (number, what) in numbers.iter_mut().zip(names) {
        let field = fields.next().ok_or(AutReason::Header)?.trim_ascii();
        *number = parse_number(field).ok_or_else(|| match is_distribution(field) {
            true => probability(field),
            false => AutReason::HeaderNumber {
                what,
                found: shown(field),
            },
        })?;
    }
    match fields.next() {
        Some(_) => Err(AutReason::Header),
        None => Ok(numbers),
    }
}

/// The parts of an edge, the label without its quotes.
pub(super) struct EdgeLine<'a> {
    pub(super) source: u64,
    pub(super) label: &'a [u8],
    pub(super) target: u64,
}

pub(super) fn parse_edge(line: &[u8]) -> Result<EdgeLine<'_>, AutReason> {
    let inside = in_parentheses(line).ok_or(AutReason::Edge)?;
    let is_comma = |&byte: &u8| byte == b',';
    let first = inside.iter().position(is_comma).ok_or(AutReason::Edge)?;
    let last = inside.iter().rposition(is_comma).unwrap_or(first);
    if first == last {
        return Err(AutReason::Edge);
    }
    Ok(EdgeLine {
        source: parse_state("source", &inside[..first])?,
        label: parse_label(inside[first + 1..last].trim_ascii())?,
        target: parse_state("target", &inside[last + 1..])?,
    })
}

fn in_parentheses(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii();
    text.strip_prefix(b"(")?.strip_suffix(b")")
}

fn parse_state(which: &'static str, field: &[u8]) -> Result<u64, AutReason> {
    let field = field.trim_ascii();
    parse_number(field).ok_or_else(|| match is_distribution(field) {
        true => probability(field),
        false => AutReason::State {
            which,
            found: shown(field),
        },
    })
}

fn parse_label(field: &[u8]) -> Result<&[u8], AutReason> {
    let quotes = || AutReason::Quotes {
        found: shown(field),
    };
    let label = match field {
        [] => return Err(AutReason::NoLabel),
        [b'"', label @ .., b'"'] => label,
        [b'"', ..] | [.., b'"'] => return Err(quotes()),
        bare => bare,
    };
    match is_rate(label) {
        true => Err(probability(label)),
        false => Ok(label),
    }
}

/// Digits only: a sign or a blank inside a number is a mistake.
fn parse_number(field: &[u8]) -> Option<u64> {
    let is_number = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let text = is_number
        .then(|| std::str::from_utf8(field).ok())
        .flatten()?;
    text.parse().ok()
}

/// `0 1/3 1 2/3 2`: mCRL2 writes states with their probabilities where a state is expected.
fn is_distribution(field: &[u8]) -> bool {
    let mut words = field.split(u8::is_ascii_whitespace);
    let is_part = |word: &[u8]| {
        let mut halves = word.split(|&byte| byte == b'/');
        halves.all(|half| parse_number(half).is_some())
    };
    field.contains(&b'/') && words.all(|word| word.is_empty() || is_part(word))
}

/// `prob 0.5`, `rate 2`, or one of them behind an action and a semicolon, as CADP writes them.
pub(super) fn is_rate(label: &[u8]) -> bool {
    let last = label.rsplit(|&byte| byte == b';').next().unwrap_or(label);
    let last = last.trim_ascii();
    let number = last.strip_prefix(b"prob ").or(last.strip_prefix(b"rate "));
    number.is_some_and(|number| {
        let number = number.trim_ascii();
        let mut parts = number.splitn(2, |&byte| byte == b'.');
        parts.all(|part| parse_number(part).is_some())
    })
}

fn probability(field: &[u8]) -> AutReason {
    AutReason::Probability {
        found: shown(field),
    }
}

/// A piece of the line for a message, not longer than a message should be.
fn shown(field: &[u8]) -> String {
    const MOST: usize = 60;
    match field.len() > MOST {
        true => format!("{}...", String::from_utf8_lossy(&field[..MOST])),
        false => String::from_utf8_lossy(field).into_owned(),
    }
}
