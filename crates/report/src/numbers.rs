//! Counts and durations as text.

/// A count with thousands separators, such as `1,234,567`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun, in the plural unless it is one: `1 game`, `1,234 games`.
pub fn counted(n: u64, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", thousands(n))
}

/// A duration such as `1 h 02 min`, `3 min 04 s` or `5.6 s`.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes} min {rest:02} s"),
        _ => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_numbers_for_people() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), text);
        }
        for (n, text) in [(0, "0 games"), (1, "1 game"), (1000, "1,000 games")] {
            assert_eq!(counted(n, "game"), text);
        }
        assert_eq!(counted(2, "match"), "2 matches");
        for (seconds, text) in [(5.55, "5.5 s"), (184.0, "3 min 04 s"), (3720.0, "1 h 02 min")] {
            assert_eq!(duration(seconds), text);
        }
    }
}
