//! Settings by KataGo's names: which mean something here?

use serde_json::{Map, Value};
use tengen_rules::Color;

use super::fields::{Complaint, Fields, shown};

/// Whose chances the numbers of an answer tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Viewpoint {
    /// Black's, as in KataGo's example configuration.
    #[default]
    Black,
    /// White's.
    White,
    /// Those of the side to move.
    SideToMove,
}

impl Viewpoint {
    /// Whether numbers seen by the side to move have to be turned round.
    pub(super) fn turns(self, to_move: Color) -> bool {
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

/// How a position is analyzed, and what of it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Most visits, the evaluation of the position itself among them as KataGo counts them; at least 1.
    pub visits: u32,
    /// Most seconds from the first visit on; none for as long as it takes.
    pub seconds: Option<f64>,
    /// Whose chances the answer tells.
    pub viewpoint: Viewpoint,
    /// Most moves of a principal variation after its first.
    pub pv_length: usize,
    /// The exploration constant of PUCT, where another than the usual one is wanted.
    pub c_puct: Option<f32>,
    /// How much lower a move without a visit is valued, where another figure than the usual one is wanted.
    pub fpu_reduction: Option<f32>,
}

impl Default for Settings {
    /// 100 visits, Black's viewpoint, whole variations, the usual search.
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

/// Why a setting was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// It is one of ours, but the value is none.
    #[error("{name}: {message}")]
    Value {
        /// The setting.
        name: String,
        /// What was expected and what was found.
        message: String,
    },
    /// It means nothing here.
    #[error("{0} means nothing here and changes nothing")]
    Unknown(String),
}

/// The most visits that can be asked for.
pub(super) const MOST_VISITS: i64 = u32::MAX as i64;

/// Settings of KataGo's that are taken, with what they do here.
const TAKEN: &str = "maxVisits, maxPlayouts, maxTime, reportAnalysisWinratesAs, analysisPVLen, cpuctExploration, \
                     fpuReductionMax, rootFpuReductionMax";

impl Settings {
    /// Takes one setting by KataGo's name: `maxVisits`, `maxPlayouts` (the same, as every analysis begins afresh), `maxTime`,
    /// `reportAnalysisWinratesAs`, `analysisPVLen`, `cpuctExploration`, `fpuReductionMax` and `rootFpuReductionMax`. Others
    /// are taken with the value that changes nothing, such as `wideRootNoise` 0.
    ///
    /// # Errors
    /// [`SettingError`]; nothing has changed then.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), SettingError> {
        let object: Map<String, Value> = [(name.to_owned(), value.clone())].into_iter().collect();
        let wrong = |complaint: Complaint| SettingError::Value {
            name: name.to_owned(),
            message: complaint.message,
        };
        if self.take(name, Fields(&object)).map_err(wrong)? || changes_nothing(name, value) {
            return Ok(());
        }
        Err(SettingError::Unknown(format!("{name} = {}", shown(value))))
    }

    /// Takes a setting; false where there is none of this name.
    fn take(&mut self, name: &str, fields: Fields<'_>) -> Result<bool, Complaint> {
        match name {
            "maxVisits" | "maxPlayouts" => {
                let visits = fields.whole(name, 1, i64::MAX)?;
                self.visits = visits.map_or(self.visits, |visits| visits.min(MOST_VISITS) as u32);
            }
            "maxTime" => self.seconds = fields.number(name, 0.0, f64::MAX)?,
            "reportAnalysisWinratesAs" => {
                let text = fields.text(name)?.unwrap_or_default();
                self.viewpoint = Viewpoint::parse(text).ok_or_else(|| {
                    Complaint::about(name, format!("expected BLACK, WHITE or SIDETOMOVE, found {text:?}"))
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

    /// Takes all settings of an object; says what was not taken.
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
                "{}: without meaning here, so nothing changes; there are {TAKEN}",
                unknown.join(", ")
            )
        }))
    }
}

/// Whether a setting that is not ours asks for what happens here anyway.
fn changes_nothing(name: &str, value: &Value) -> bool {
    match name {
        "wideRootNoise" | "playoutDoublingAdvantage" => value.as_f64() == Some(0.0),
        "rootPolicyTemperature" | "rootPolicyTemperatureEarly" => value.as_f64() == Some(1.0),
        "rootNoiseEnabled" | "antiMirror" => *value == Value::Bool(false),
        "humanSLProfile" => value.as_str() == Some(""),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_means_something_is_taken() {
        let mut settings = Settings::default();
        let asked = json!({
            "maxVisits": 10_000_000_000u64, "maxTime": 0.5, "reportAnalysisWinratesAs": "SideToMove", "analysisPVLen": 3,
            "cpuctExploration": 2, "fpuReductionMax": 0, "wideRootNoise": 0.0, "antiMirror": false,
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
    fn the_rest_is_named() {
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
            let error = settings.set(name, &value).expect_err("a wrong value").to_string();
            assert!(error.starts_with(name) && error.contains(part), "{error}");
        }
    }
}
