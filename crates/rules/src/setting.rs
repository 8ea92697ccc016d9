//! Range checks for settings, so that every configuration reports errors in the same form.

use std::fmt;
use std::ops::{Bound, RangeBounds};

/// An invalid setting: its key, the value found and the values expected.
///
/// ```
/// use tengen_rules::check_setting;
/// let error = check_setting("training.batch", 0, 1..=1_000_000).unwrap_err();
/// assert_eq!(error.to_string(), "training.batch is 0: expected 1 to 1000000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The key with its sections, such as `training.learning_rate`.
    pub key: String,
    /// The value found, as text.
    pub found: String,
    /// The valid values, as text that can follow "expected".
    pub expected: String,
}

impl SettingError {
    /// A setting that violates a condition other than a range.
    pub fn new(key: impl Into<String>, found: impl fmt::Display, expected: impl Into<String>) -> SettingError {
        SettingError {
            key: key.into(),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// The same error with the name of a section in front of the key.
    pub fn under(mut self, section: &str) -> SettingError {
        self.key = format!("{section}.{}", self.key);
        self
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}: expected {}", self.key, self.found, self.expected)
    }
}

impl std::error::Error for SettingError {}

/// Checks that a setting is in its range. NaN is never in range.
///
/// # Errors
/// [`SettingError`] with the range as text.
pub fn check_setting<T>(key: &str, found: T, range: impl RangeBounds<T>) -> Result<(), SettingError>
where
    T: PartialOrd + fmt::Display + fmt::Debug,
{
    match range.contains(&found) {
        true => Ok(()),
        false => Err(SettingError::new(key, short(&found), in_words(&range))),
    }
}

/// The range of numbers larger than `low`, up to and including `high`.
pub fn above<T>(low: T, high: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(low), Bound::Included(high))
}

fn in_words<T: fmt::Display + fmt::Debug>(range: &impl RangeBounds<T>) -> String {
    use Bound::{Excluded, Included, Unbounded};
    match (range.start_bound(), range.end_bound()) {
        (Included(low), Included(high)) => format!("{} to {}", short(low), short(high)),
        (Included(low), Excluded(high)) => format!("{} or more, below {}", short(low), short(high)),
        (Excluded(low), Included(high)) => format!("above {}, up to {}", short(low), short(high)),
        (Excluded(low), Excluded(high)) => format!("above {}, below {}", short(low), short(high)),
        (Included(low), Unbounded) => format!("{} or more", short(low)),
        (Excluded(low), Unbounded) => format!("more than {}", short(low)),
        (Unbounded, Included(high)) => format!("{} or less", short(high)),
        (Unbounded, Excluded(high)) => format!("less than {}", short(high)),
        (Unbounded, Unbounded) => "any number".to_owned(),
    }
}

/// A number in few characters: `1` for 1.0, but `1e300` rather than 301 digits.
fn short<T: fmt::Display + fmt::Debug>(number: &T) -> String {
    let plain = number.to_string();
    match plain.len() {
        0..=20 => plain,
        _ => format!("{number:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_describe_the_range() {
        let message = |result: Result<(), SettingError>| result.unwrap_err().to_string();
        let share = |found: f64| message(check_setting("share", found, 0.0..=1.0));
        assert_eq!(share(1.5), "share is 1.5: expected 0 to 1");
        assert_eq!(share(f64::NAN), "share is NaN: expected 0 to 1");
        assert_eq!(share(1e300), "share is 1e300: expected 0 to 1");
        let rate = message(check_setting("rate", 0.0, above(0.0, 100.0)));
        assert_eq!(rate, "rate is 0: expected above 0, up to 100");
        let memory = message(check_setting("memory", 1.0, 0.0..1.0));
        assert_eq!(memory, "memory is 1: expected 0 or more, below 1");
        let games = message(check_setting("games", 0, 1..));
        assert_eq!(games, "games is 0: expected 1 or more");
        assert_eq!(check_setting("rate", 100.0, above(0.0, 100.0)), Ok(()));
    }

    #[test]
    fn sections_are_put_in_front_of_the_key() {
        let error = check_setting("alpha", 0.7_f32, 0.0..=0.5)
            .unwrap_err()
            .under("gate.sprt");
        assert_eq!(error.to_string(), "gate.sprt.alpha is 0.7: expected 0 to 0.5");
    }
}
