//! What has the controller said about thinking time? (GTP 2, section 4.2)

use tengen_rules::Color;

/// Canadian overtime as set by `time_settings`; all times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeSettings {
    /// Main time.
    pub main_seconds: u32,
    /// Length of one overtime period.
    pub overtime_seconds: u32,
    /// Stones to be played in one overtime period. Zero with a positive period means that there is no limit at all.
    pub overtime_stones: u32,
}

impl TimeSettings {
    /// True when the settings say "no time limit" (GTP 2, 4.2: a positive overtime with zero stones).
    pub fn unlimited(&self) -> bool {
        self.overtime_seconds > 0 && self.overtime_stones == 0
    }
}

/// What one player has left, as told by `time_left`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLeft {
    /// Seconds left in main time or in the present overtime period. Never negative.
    pub seconds: u32,
    /// Stones still to be played in the present overtime period; 0 while main time is being counted.
    pub stones: u32,
}

/// Everything known about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Clock {
    /// The time settings; `None` until the controller has set them.
    pub settings: Option<TimeSettings>,
    left: [Option<TimeLeft>; 2],
}

impl Clock {
    /// What `color` has left, if the controller has told.
    pub fn left(&self, color: Color) -> Option<TimeLeft> {
        self.left[color.index()]
    }

    /// Notes what `color` has left.
    pub fn set_left(&mut self, color: Color, left: TimeLeft) {
        self.left[color.index()] = Some(left);
    }

    /// Sets new time settings and forgets what was left under the old ones.
    pub fn set(&mut self, settings: TimeSettings) {
        *self = Clock {
            settings: Some(settings),
            left: [None; 2],
        };
    }

    /// Forgets what was left, as for a new game under the same settings.
    pub fn restart(&mut self) {
        self.left = [None; 2];
    }
}
