//! The values of numbers, characters and strings.

/// The value of a number of the language. It is decimal, whatever it begins with: SPIN reads `010`
/// as ten.
pub(crate) fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// The value of a number in a condition of the preprocessor, as C reads it: decimal, octal after
/// `0`, hexadecimal after `0x`.
pub(crate) fn c_number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(digits) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return i64::from_str_radix(digits, 8).ok();
    }
    digits.parse().ok()
}

/// The value of a character constant with its quotes.
pub(crate) fn character(text: &str) -> u8 {
    let inner = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
    match inner.unwrap_or_default().as_bytes() {
        [b'\\', c, ..] => escape(*c),
        [c, ..] => *c,
        [] => 0,
    }
}

fn escape(c: u8) -> u8 {
    match c {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'f' => 0x0c,
        b'0' => 0,
        other => other,
    }
}

/// The text of a string, without quotes and with its escapes resolved.
pub(crate) fn string(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let mut out = String::new();
    let mut chars = inner.unwrap_or_default().chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c) if c.is_ascii() => out.push(char::from(escape(c as u8))),
                Some(c) => out.push(c),
                None => {}
            },
            _ => out.push(c),
        }
    }
    out
}
