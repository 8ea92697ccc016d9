//! Formats counts, durations, and Elo intervals as text.

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

/// A count with its noun, in the plural unless the count is one: `1 game`, `1,234 games`.
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

/// The generation in a model's id, without the hash: `g000011` for `g000011-0aa1fdf832b0`. Other names stay as they
/// are.
pub fn short_model(id: &str) -> &str {
    let is_generation = |name: &str| {
        let number = name.strip_prefix('g');
        number.is_some_and(|number| number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    match id.split_once('-') {
        Some((generation, _)) if is_generation(generation) => generation,
        _ => id,
    }
}

/// An Elo difference with its sign, such as `+35`.
pub fn elo(difference: f64) -> String {
    // Adding zero turns -0 into 0.
    format!("{:+.0}", difference.round() + 0.0)
}

/// An interval of Elo differences, where `None` means no bound: `-12 to +35`, `+318 or more`, `-318 or less`.
pub fn elo_interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", elo(low), elo(high)),
        (Some(low), None) => format!("{} or more", elo(low)),
        (None, Some(high)) => format!("{} or less", elo(high)),
        (None, None) => "unbounded".to_owned(),
    }
}

/// An estimate of an Elo difference with its interval: `+12 (-12 to +35)`. If one side of the interval is unbounded,
/// the estimate is left out, because its distance from the bound says nothing: `+318 or more`.
pub fn elo_estimate(estimate: f64, low: Option<f64>, high: Option<f64>) -> String {
    let interval = elo_interval(low, high);
    match (low, high) {
        (Some(_), Some(_)) => format!("{} ({interval})", elo(estimate)),
        _ => interval,
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

    #[test]
    fn formats_intervals_for_people() {
        assert_eq!(elo_estimate(-0.2, Some(-11.7), Some(11.7)), "+0 (-12 to +12)");
        assert_eq!(elo_estimate(795.0, Some(318.4), None), "+318 or more");
        assert_eq!(elo_estimate(-795.0, None, Some(-318.4)), "-318 or less");
        assert_eq!(elo_estimate(0.0, None, None), "unbounded");
    }
}
