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

/// A number that a user states, or `auto`: left to a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting<T> {
    /// Left to a measurement on the machine where it matters.
    Auto,
    /// Stated.
    Is(T),
}

/// How a setting is written that is left to a measurement.
const AUTO: &str = "auto";

impl<T> Setting<T> {
    /// Whether it is left to a measurement.
    pub fn is_auto(&self) -> bool {
        matches!(self, Setting::Auto)
    }

    /// The number that was stated, otherwise this one.
    pub fn unwrap_or(self, otherwise: T) -> T {
        match self {
            Setting::Auto => otherwise,
            Setting::Is(number) => number,
        }
    }

    /// The same with another number.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        match self {
            Setting::Auto => Setting::Auto,
            Setting::Is(number) => Setting::Is(change(number)),
        }
    }
}

impl<T: PartialOrd + fmt::Display + fmt::Debug> Setting<T> {
    /// Checks that a stated number is in its range.
    ///
    /// # Errors
    /// As [`check_setting`].
    pub fn check(self, key: &str, range: impl RangeBounds<T>) -> Result<(), SettingError> {
        match self {
            Setting::Auto => Ok(()),
            Setting::Is(number) => check_setting(key, number, range),
        }
    }
}

impl<T> From<T> for Setting<T> {
    fn from(number: T) -> Setting<T> {
        Setting::Is(number)
    }
}

impl<T: fmt::Display> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Auto => f.write_str(AUTO),
            Setting::Is(number) => number.fmt(f),
        }
    }
}

#[cfg(feature = "serde")]
mod with_serde {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{AUTO, Setting};

    impl<T: Serialize> Serialize for Setting<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Setting::Auto => serializer.serialize_str(AUTO),
                Setting::Is(number) => number.serialize(serializer),
            }
        }
    }

    struct NumberOrAuto<T>(PhantomData<T>);

    impl<T: TryFrom<u64>> Visitor<'_> for NumberOrAuto<T> {
        type Value = Setting<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number or \"auto\"")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Setting<T>, E> {
            let wrong = || E::invalid_value(Unexpected::Unsigned(number), &self);
            T::try_from(number).map(Setting::Is).map_err(|_| wrong())
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Setting<T>, E> {
            match u64::try_from(number) {
                Ok(number) => self.visit_u64(number),
                Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
            }
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Setting<T>, E> {
            match text {
                AUTO => Ok(Setting::Auto),
                _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
            }
        }
    }

    impl<'de, T: TryFrom<u64>> Deserialize<'de> for Setting<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting<T>, D::Error> {
            deserializer.deserialize_any(NumberOrAuto(PhantomData))
        }
    }
}

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

    #[test]
    fn a_number_is_stated_or_left_to_a_measurement() {
        let auto = Setting::<u32>::Auto;
        assert_eq!(
            (auto.to_string().as_str(), auto.unwrap_or(7), auto.check("games", 1..=9)),
            ("auto", 7, Ok(()))
        );
        let stated = Setting::from(64);
        assert_eq!(
            (
                stated.to_string().as_str(),
                stated.unwrap_or(7),
                stated.map(|games| games + 1)
            ),
            ("64", 64, 65.into())
        );
        let error = stated.check("games", 1..=9).unwrap_err();
        assert_eq!(error.to_string(), "games is 64: expected 1 to 9");
    }
}
