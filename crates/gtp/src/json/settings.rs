//! Search settings by KataGo's names.

use serde_json::{Map, Value};

use tengen_rules::{Color, Komi, Rules};

use super::fields::{Fields, Problem, shown};

/// The player from whose viewpoint an answer's values are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Viewpoint {
    /// Black's viewpoint, as in KataGo's example configuration.
    #[default]
    Black,
    /// Values are from White's viewpoint.
    White,
    /// The viewpoint of the side to move.
    SideToMove,
}

impl Viewpoint {
    /// Whether values from the viewpoint of the side to move have to be flipped.
    pub(super) fn flips(self, to_move: Color) -> bool {
        match self {
            Viewpoint::Black => to_move == Color::White,
            Viewpoint::White => to_move == Color::Black,
            Viewpoint::SideToMove => false,
        }
    }

    fn parse(text: &str) -> Option<Viewpoint> {
        match text.to_ascii_uppercase().as_str() {
            "BLACK" | "B" => Some(Viewpoint::Black),
            "WHITE" | "W" => Some(Viewpoint::White),
            "SIDETOMOVE" => Some(Viewpoint::SideToMove),
            _ => None,
        }
    }
}

/// How a position is analyzed and reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The maximum number of visits, at least 1; as in KataGo, this includes the evaluation of the position itself.
    pub visits: u32,
    /// The time limit in seconds from the first visit on; `None` for no limit.
    pub seconds: Option<f64>,
    /// The player from whose viewpoint the answer is reported.
    pub viewpoint: Viewpoint,
    /// The maximum number of moves in a principal variation after its first.
    pub pv_length: usize,
    /// The exploration constant of PUCT; `None` for the default.
    pub c_puct: Option<f32>,
    /// How much lower a move without visits is valued (first-play urgency reduction); `None` for the default.
    pub fpu_reduction: Option<f32>,
}

impl Default for Settings {
    /// 100 visits, Black's viewpoint, full variations, and the default search.
    fn default() -> Settings {
        Settings {
            visits: 100,
            seconds: None,
            viewpoint: Viewpoint::default(),
            pv_length: usize::MAX,
            c_puct: None,
            fpu_reduction: None,
        }
    }
}

/// The reason why a setting was rejected or ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The setting is supported, but not with this value.
    #[error("{name}: {message}")]
    Value {
        /// The name of the setting.
        name: String,
        /// What was expected and what was found.
        message: String,
    },
    /// The setting is not supported.
    #[error("{0} is not supported, ignored")]
    Unknown(String),
}

/// The most visits that can be requested.
pub(super) const MAX_VISITS: i64 = u32::MAX as i64;

/// The supported settings of KataGo.
const SUPPORTED: &str = "maxVisits, maxPlayouts, maxTime, reportAnalysisWinratesAs, analysisPVLen, cpuctExploration, \
                     fpuReductionMax, rootFpuReductionMax";

impl Settings {
    /// Changes a setting by KataGo's name: `maxVisits`, `maxPlayouts` (equivalent, since no analysis reuses a tree),
    /// `maxTime`, `reportAnalysisWinratesAs`, `analysisPVLen`, `cpuctExploration`, `fpuReductionMax` or
    /// `rootFpuReductionMax`. Some others are accepted with the value that has no effect, such as `wideRootNoise` 0.
    ///
    /// # Errors
    /// [`SettingError`]; the settings are then unchanged.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), SettingError> {
        let object: Map<String, Value> = [(name.to_owned(), value.clone())].into_iter().collect();
        let wrong = |problem: Problem| SettingError::Value {
            name: name.to_owned(),
            message: problem.message,
        };
        if self.take(name, Fields(&object)).map_err(wrong)? || changes_nothing(name, value) {
            return Ok(());
        }
        Err(SettingError::Unknown(format!("{name} = {}", shown(value))))
    }

    /// Changes a setting; false if there is no setting of this name.
    fn take(&mut self, name: &str, fields: Fields<'_>) -> Result<bool, Problem> {
        match name {
            "maxVisits" | "maxPlayouts" => {
                let visits = fields.whole(name, 1, i64::MAX)?;
                self.visits = visits.map_or(self.visits, |visits| visits.min(MAX_VISITS) as u32);
            }
            "maxTime" => self.seconds = fields.number(name, 0.0, f64::MAX)?,
            "reportAnalysisWinratesAs" => {
                let text = fields.text(name)?.unwrap_or_default();
                self.viewpoint = Viewpoint::parse(text).ok_or_else(|| {
                    Problem::about(name, format!("expected BLACK, WHITE or SIDETOMOVE, found {text:?}"))
                })?;
            }
            "analysisPVLen" => {
                let length = fields.whole(name, 1, 1000)?;
                self.pv_length = length.map_or(self.pv_length, |length| length as usize);
            }
            "cpuctExploration" => self.c_puct = fields.number(name, 0.0, 10.0)?.map(|c| c as f32),
            "fpuReductionMax" | "rootFpuReductionMax" => {
                self.fpu_reduction = fields.number(name, 0.0, 2.0)?.map(|reduction| reduction as f32);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Changes all settings of an object; returns a warning about those that were ignored.
    pub(super) fn set_all(&mut self, settings: &Map<String, Value>) -> Result<Option<String>, SettingError> {
        let mut unknown = Vec::new();
        for (name, value) in settings {
            match self.set(name, value) {
                Err(SettingError::Unknown(setting)) => unknown.push(setting),
                other => other?,
            }
        }
        Ok((!unknown.is_empty()).then(|| {
            format!(
                "ignored unsupported settings: {}; supported are {SUPPORTED}",
                unknown.join(", ")
            )
        }))
    }
}

/// Whether an unsupported setting has the value that corresponds to our behavior.
fn changes_nothing(name: &str, value: &Value) -> bool {
    match name {
        "wideRootNoise" | "playoutDoublingAdvantage" => value.as_f64() == Some(0.0),
        "rootPolicyTemperature" | "rootPolicyTemperatureEarly" => value.as_f64() == Some(1.0),
        "rootNoiseEnabled" | "antiMirror" => *value == Value::Bool(false),
        "humanSLProfile" => value.as_str() == Some(""),
        _ => false,
    }
}

/// How the engine identifies itself.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The version of the program.
    pub version: String,
    /// The name of the network.
    pub model: String,
    /// The largest number of positions in one batch for the network.
    pub batch: usize,
}

/// The values used for everything that a query does not specify.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// How positions are searched and from whose viewpoint they are reported.
    pub settings: Settings,
    /// The points added to White's score.
    pub komi: Komi,
    /// Rules that override those of every query; if `None`, queries with unsupported rules are rejected.
    pub rules: Option<Rules>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn supported_settings_are_applied() {
        let mut settings = Settings::default();
        let asked = json!({
            "maxVisits": 10_000_000_000u64, "maxTime": 0.5, "reportAnalysisWinratesAs": "SideToMove",
            "analysisPVLen": 3, "cpuctExploration": 2, "fpuReductionMax": 0, "wideRootNoise": 0.0, "antiMirror": false,
        });
        assert_eq!(settings.set_all(asked.as_object().expect("an object")), Ok(None));
        let expected = Settings {
            visits: u32::MAX,
            seconds: Some(0.5),
            viewpoint: Viewpoint::SideToMove,
            pv_length: 3,
            c_puct: Some(2.0),
            fpu_reduction: Some(0.0),
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn unsupported_settings_and_invalid_values_are_named() {
        let mut settings = Settings::default();
        let asked = json!({"wideRootNoise": 0.04, "antiMirror": true, "maxVisits": 7});
        let said = settings.set_all(asked.as_object().expect("an object"));
        let said = said.expect("nothing is wrong").expect("something is unknown");
        assert!(
            said.contains("antiMirror = true, wideRootNoise = 0.04") && said.contains("maxVisits"),
            "{said}"
        );
        assert_eq!(settings.visits, 7);
        for (name, value, part) in [
            ("maxVisits", json!(0), "from 1"),
            ("maxVisits", json!("many"), "found \"many\""),
            ("maxTime", json!(-1), "found -1"),
            ("reportAnalysisWinratesAs", json!("RED"), "SIDETOMOVE"),
            ("analysisPVLen", json!(0), "from 1"),
        ] {
            let error = settings.set(name, &value).expect_err("an invalid value").to_string();
            assert!(error.starts_with(name) && error.contains(part), "{error}");
        }
    }
}
