//! Measures how much of its time a thread spends working.

use std::time::Instant;

/// The working time of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    seconds: f64,
    /// When the current work began, if there is any.
    since: Option<Instant>,
}

impl Busy {
    /// Marks the start of work.
    pub(crate) fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Marks the end of work.
    pub(crate) fn end(&mut self) {
        self.seconds = self.seconds();
        self.since = None;
    }

    /// Seconds worked so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds + self.since.map_or(0.0, |since| since.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_work_counts() {
        let pause = || std::thread::sleep(Duration::from_millis(20));
        let mut busy = Busy::default();
        pause();
        assert_eq!(busy.seconds(), 0.0);
        busy.begin();
        pause();
        busy.begin();
        let so_far = busy.seconds();
        assert!(so_far >= 0.02, "{so_far}");
        busy.end();
        let worked = busy.seconds();
        pause();
        assert!(worked >= so_far);
        assert_eq!(busy.seconds(), worked);
    }
}
