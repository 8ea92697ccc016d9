//! How often to print progress where lines cannot be redrawn.

use std::time::{Duration, Instant};

/// The shortest time between two lines.
const SHORTEST: Duration = Duration::from_secs(10);

/// The longest time between two lines.
const LONGEST: Duration = Duration::from_secs(300);

/// How long to wait before the next line about work of this age: a twentieth of it, but at least ten seconds and at
/// most five minutes, so that the log of a week stays short.
fn pause(age: Duration) -> Duration {
    (age / 20).clamp(SHORTEST, LONGEST)
}

/// The age of some work, and when something was last printed about it.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    begun: Instant,
    printed: Option<Instant>,
}

impl Pace {
    /// The pace of work that begins now. Its first line is due at once.
    pub fn eager() -> Pace {
        let begun = Instant::now();
        Pace { begun, printed: None }
    }

    /// The pace of work that begins now and that is not worth a line if it ends within ten seconds.
    pub fn patient() -> Pace {
        let begun = Instant::now();
        let printed = Some(begun);
        Pace { begun, printed }
    }

    /// Whether a line is due now; if so, counts it as printed.
    pub fn take_due(&mut self) -> bool {
        let now = Instant::now();
        let due = self.is_due_at(now);
        if due {
            self.printed = Some(now);
        }
        due
    }

    fn is_due_at(&self, now: Instant) -> bool {
        let wait = pause(now.duration_since(self.begun));
        self.printed.is_none_or(|printed| now.duration_since(printed) >= wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a line is due at this age, in seconds, if one was printed after `printed` seconds.
    fn is_due(mut pace: Pace, printed: Option<u64>, age: u64) -> bool {
        let at = |seconds| pace.begun + Duration::from_secs(seconds);
        let now = at(age);
        pace.printed = printed.map(at).or(pace.printed);
        pace.is_due_at(now)
    }

    #[test]
    fn lines_come_ever_more_rarely_but_at_least_every_five_minutes() {
        for (printed, age, expected) in [
            (0, 9, false),
            (0, 10, true),
            (10, 19, false),
            (190, 200, true),
            (1000, 1049, false),
            (1000, 1053, true),
            (600_000, 600_299, false),
            (600_000, 600_300, true),
        ] {
            assert_eq!(is_due(Pace::eager(), Some(printed), age), expected, "{printed} {age}");
        }
    }

    #[test]
    fn short_work_prints_a_line_at_once_or_none() {
        assert!(is_due(Pace::eager(), None, 0));
        assert!(!is_due(Pace::patient(), None, 9) && is_due(Pace::patient(), None, 10));
    }
}
