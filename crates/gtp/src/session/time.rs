//! Time commands: the time control and the time left.

use super::{Args, Outcome, Session};
use crate::clock::{TimeLeft, TimeSettings};
use crate::engine::Engine;

impl<E: Engine> Session<E> {
    /// `time_settings` (GTP 2, 4.2): main time, overtime, stones. An overtime with 0 stones means no time limit.
    pub(super) fn time_settings(&mut self, args: &Args<'_>) -> Outcome {
        let main = seconds(args, 0, "main time")?;
        let overtime = seconds(args, 1, "overtime")?;
        let stones = args.number(2, "number of stones")?;
        let settings = match overtime > 0.0 && stones == 0 {
            true => TimeSettings::Unlimited,
            false => TimeSettings::Canadian { main, overtime, stones },
        };
        self.clock.set(settings);
        Ok(String::new())
    }

    /// `kgs-time_settings` and `kata-time_settings`: the kind of time control, then its numbers.
    pub(super) fn named_time_settings(&mut self, args: &Args<'_>) -> Outcome {
        let kind = args.word(0).unwrap_or_default().to_ascii_lowercase();
        let main = || seconds(args, 1, "main time");
        let settings = match kind.as_str() {
            "none" => TimeSettings::Unlimited,
            "absolute" => TimeSettings::Canadian {
                main: main()?,
                overtime: 0.0,
                stones: 0,
            },
            "canadian" => TimeSettings::Canadian {
                main: main()?,
                overtime: seconds(args, 2, "overtime")?,
                stones: args.number(3, "number of stones")?,
            },
            "byoyomi" => TimeSettings::ByoYomi {
                main: main()?,
                period: seconds(args, 2, "period")?,
                periods: args.number(3, "number of periods")?,
            },
            "fischer" => TimeSettings::Fischer {
                main: main()?,
                increment: seconds(args, 2, "increment")?,
            },
            _ => return Err("syntax error: expected none, absolute, canadian, byoyomi or fischer".to_owned()),
        };
        self.clock.set(settings);
        Ok(String::new())
    }

    pub(super) fn time_left(&mut self, args: &Args<'_>) -> Outcome {
        let color = args.color(0)?;
        let left: f64 = args.number(1, "time")?;
        let stones = args.number(2, "number of stones")?;
        if !left.is_finite() {
            return Err("time not a number".to_owned());
        }
        let seconds = left.max(0.0);
        self.clock.set_left(color, TimeLeft { seconds, stones });
        Ok(String::new())
    }
}

fn seconds(args: &Args<'_>, index: usize, what: &str) -> Result<f64, String> {
    let seconds: f64 = args.number(index, what)?;
    match seconds.is_finite() && seconds >= 0.0 {
        true => Ok(seconds),
        false => Err(format!("{what} not a number of seconds")),
    }
}
