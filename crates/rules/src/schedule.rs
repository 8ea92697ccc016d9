//! Settings that change during a run: lists of (positions of self-play, value from then on).

use std::fmt::Debug;

use crate::setting::SettingError;

/// The value of the last entry that begins with `positions` or fewer; `None` before the first.
///
/// ```
/// use tengen_rules::value_at;
/// let visits = [(1000, 16), (5000, 32)];
/// assert_eq!(value_at(&visits, 999), None);
/// assert_eq!(value_at(&visits, 5000), Some(&32));
/// ```
pub fn value_at<T>(schedule: &[(u64, T)], positions: u64) -> Option<&T> {
    let reached = schedule.iter().take_while(|(from, _)| *from <= positions);
    reached.last().map(|(_, value)| value)
}

/// Checks that every entry begins after the one before it.
///
/// # Errors
/// [`SettingError`] naming the first entry that does not, with `key` as the key of the list.
pub fn check_schedule<T: Debug>(key: &str, schedule: &[(u64, T)]) -> Result<(), SettingError> {
    let neighbors = schedule.iter().zip(schedule.iter().skip(1));
    match neighbors.enumerate().find(|(_, (before, entry))| entry.0 <= before.0) {
        None => Ok(()),
        Some((number, ((earlier, of), (positions, value)))) => Err(SettingError::new(
            format!("{key}[{}]", number + 1),
            format!("[{positions}, {value:?}]"),
            format!("more positions than [{earlier}, {of:?}], the entry before it"),
        )),
    }
}
