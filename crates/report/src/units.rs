//! Sizes, durations and counts as people write and read them.

use std::time::Duration;

/// `300M`, `1.5G`, `4096`: powers of 1024; a bare number is bytes, and has no fraction.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let bad = || format!("`{text}` is not a size; write for example 300M or 1.5G");
    let too_large = || format!("`{text}` is too large");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(bad()),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) if shift > 0 && (1..=9).contains(&fraction.len()) => {
            let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
            let parts: u128 = fraction
                .parse()
                .ok()
                .filter(|_| is_number)
                .ok_or_else(bad)?;
            let all = 10u128.pow(fraction.len() as u32);
            (whole, ((parts << shift) / all) as u64)
        }
        Some(_) => return Err(bad()),
        None => (digits, 0),
    };
    let number: u64 = whole.parse().map_err(|_| bad())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(too_large)?;
    bytes.checked_add(fraction).ok_or_else(too_large)
}

/// `90s`, `15m`, `2h`, `1h30m`, `1d`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let bad = || format!("`{text}` is not a duration; write for example 90s, 15m or 2h");
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number: u64 = rest[..number_end].parse().map_err(|_| bad())?;
        rest = &rest[number_end..];
        let unit_end = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let millis = match &rest[..unit_end] {
            "ms" => 1,
            "" | "s" => 1000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(bad()),
        };
        rest = &rest[unit_end..];
        let part = number.checked_mul(millis).ok_or_else(bad)?;
        total = total
            .checked_add(Duration::from_millis(part))
            .ok_or_else(bad)?;
    }
    Ok(total)
}

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 state`, `2 states`.
pub fn counted(n: u64, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(n))
}

/// `45.2 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{n} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// `0.42 s`, `3 min 5 s`, `2 h 10 min`.
pub fn seconds(value: f64) -> String {
    let whole = value.round() as u64;
    match whole {
        0..=9 => format!("{value:.2} s"),
        10..=119 => format!("{value:.1} s"),
        120..=7199 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `40 s`, `12 min`, `3 h`: as precise as a guess.
pub fn about(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} s", s.ceil()),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// `1.2 M`, `34 k`: three significant places are enough for a rate.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if !r.is_finite() => "-".to_owned(),
        r if r >= 10e6 => format!("{:.0} M", r / 1e6),
        r if r >= 1e6 => format!("{:.1} M", r / 1e6),
        r if r >= 10e3 => format!("{:.0} k", r / 1e3),
        r if r >= 1e3 => format!("{:.1} k", r / 1e3),
        r => format!("{r:.0} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("300M"), Ok(300 << 20));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert_eq!(parse_size("1KiB"), Ok(1024));
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        assert_eq!(parse_size("0.25k"), Ok(256));
        assert_eq!(parse_size("1.999999999T"), Ok((2 << 40) - 1100));
        for bad in [
            "",
            "M",
            "-1",
            "1.5",
            "1.G",
            ".5G",
            "1.-5G",
            "1.+5G",
            "1.5.5G",
            "12X",
            "99999999999999T",
        ] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_may_be_composed() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("5"), Ok(Duration::from_secs(5)));
        for bad in ["", "s", "5x", "-1s", "1.5h", "99999999999999999999s"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(45 << 20), "45.0 MiB");
        assert_eq!(seconds(0.418), "0.42 s");
        assert_eq!(seconds(185.0), "3 min 5 s");
        assert_eq!(rate(1_234_567.0), "1.2 M");
        assert_eq!(about(0.2), "1 s");
        assert_eq!(about(125.0), "2 min");
        assert_eq!(about(9000.0), "2 h");
        assert_eq!(counted(1, "state"), "1 state");
    }
}
