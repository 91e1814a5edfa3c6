//! The values of numbers and strings.

use crate::Dialect;
use crate::dialect::StringEscapes;

/// Why a numeral has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadInt {
    /// It is 2^64 or more.
    TooLarge,
    /// A leading zero makes it octal in this dialect, and it has a digit 8 or 9.
    NotOctal,
}

/// The value of a numeral.
pub(crate) fn int_value(text: &str, dialect: Dialect) -> Result<u64, BadInt> {
    let hex = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let (digits, radix) = match hex {
        Some(digits) => (digits, 16),
        None if dialect.octal_literals() && has_leading_zero(text) => (text, 8),
        None => (text, 10),
    };
    let mut value: u64 = 0;
    for c in digits.chars() {
        let digit = c.to_digit(radix).ok_or(BadInt::NotOctal)?;
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)))
            .ok_or(BadInt::TooLarge)?;
    }
    Ok(value)
}

/// Whether the existing tools disagree on the value of a numeral.
pub(crate) fn is_ambiguous_int(text: &str) -> bool {
    let significant = text.trim_start_matches('0');
    let one_octal_digit = significant.len() <= 1 && !significant.contains(['8', '9']);
    has_leading_zero(text) && !one_octal_digit
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
}

/// The characters meant by a string token, which may lack its closing quote.
pub(crate) fn string_value(token: &str, dialect: Dialect) -> String {
    let is_quote = |c: char| matches!(c, '"' | '“' | '”');
    let mut chars = token.strip_prefix(is_quote).unwrap_or(token).chars();
    let mut value = String::with_capacity(token.len());
    while let Some(c) = chars.next() {
        // The lexer ended the token at the first closing quote that is not escaped. A quote of
        // the other kind may stand inside.
        if is_quote(c) && chars.as_str().is_empty() {
            break;
        }
        if c != '\\' {
            value.push(c);
            continue;
        }
        match (dialect.string_escapes(), chars.clone().next()) {
            (StringEscapes::None, _) | (_, None) => value.push('\\'),
            (StringEscapes::Few, Some(next)) => match next {
                'n' => take(&mut chars, &mut value, '\n'),
                '"' | '\\' | '“' | '”' => take(&mut chars, &mut value, next),
                _ => value.push('\\'),
            },
            (StringEscapes::C, Some(next)) => {
                let meant = match next {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\x07',
                    'b' => '\x08',
                    'f' => '\x0c',
                    'v' => '\x0b',
                    '0' => '\0',
                    other => other,
                };
                take(&mut chars, &mut value, meant);
            }
        }
    }
    value
}

fn take(chars: &mut std::str::Chars<'_>, value: &mut String, meant: char) {
    chars.next();
    value.push(meant);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_follow_the_dialect() {
        assert_eq!(int_value("010", Dialect::Hadal), Ok(10));
        assert_eq!(int_value("010", Dialect::Cmurphi), Ok(10));
        assert_eq!(int_value("010", Dialect::Rumur), Ok(8));
        assert_eq!(int_value("09", Dialect::Rumur), Err(BadInt::NotOctal));
        assert_eq!(int_value("09", Dialect::Hadal), Ok(9));
        assert_eq!(int_value("0x1F", Dialect::Rumur), Ok(31));
        assert_eq!(int_value("0", Dialect::Rumur), Ok(0));
    }

    #[test]
    fn a_numeral_is_ambiguous_only_if_its_value_is() {
        for text in ["010", "09", "08", "0077"] {
            assert!(is_ambiguous_int(text), "{text}");
        }
        for text in ["0", "00", "07", "10", "0x10", "8"] {
            assert!(!is_ambiguous_int(text), "{text}");
        }
    }

    #[test]
    fn huge_numerals_are_refused() {
        let text = "9".repeat(100_000);
        assert_eq!(int_value(&text, Dialect::Hadal), Err(BadInt::TooLarge));
        assert_eq!(
            int_value("18446744073709551615", Dialect::Hadal),
            Ok(u64::MAX)
        );
    }

    #[test]
    fn escapes_follow_the_dialect() {
        let text = r#""a\n\"\t\\""#;
        assert_eq!(string_value(text, Dialect::Hadal), "a\n\"\\t\\");
        assert_eq!(string_value(text, Dialect::Rumur), "a\n\"\t\\");
        assert_eq!(string_value(r#""a\n""#, Dialect::Cmurphi), r"a\n");
        assert_eq!(string_value("“a\"b”", Dialect::Hadal), "a\"b");
        assert_eq!(string_value("\"open", Dialect::Hadal), "open");
    }
}
