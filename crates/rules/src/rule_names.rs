//! Parsing and formatting the names of rule sets.

use std::fmt;
use std::str::FromStr;

use crate::rules::{GameEnd, HandicapBonus, KoRule, LongCycle, Rules, Scoring, Suicide};

const NAMED: [(&str, Rules); 9] = [
    ("tromp_taylor", Rules::tromp_taylor()),
    ("tromp_taylor_1996", Rules::tromp_taylor_1996()),
    ("tromp_taylor_practice", Rules::tromp_taylor_practice()),
    ("new_zealand", Rules::new_zealand()),
    ("simplified_ing", Rules::simplified_ing()),
    ("aga", Rules::aga()),
    ("chinese_written", Rules::chinese_written()),
    ("chinese_practice", Rules::chinese_practice()),
    ("japanese2008", Rules::japanese2008()),
];

/// Names that other programs use for one of our sets.
const SAME_MEANING: [(&str, Rules); 11] = [
    ("tromp-taylor", Rules::tromp_taylor()),
    ("tromptaylor", Rules::tromp_taylor()),
    ("tt", Rules::tromp_taylor()),
    ("ing", Rules::simplified_ing()),
    ("goe", Rules::simplified_ing()),
    ("bga", Rules::aga()),
    ("french", Rules::aga()),
    ("aga-button", AGA_BUTTON),
    ("aga_button", AGA_BUTTON),
    ("chinese-ogs", CHINESE_SERVERS),
    ("chinese-kgs", CHINESE_SERVERS),
];

const AGA_BUTTON: Rules = Rules {
    button: true,
    ..Rules::aga()
};

const CHINESE_SERVERS: Rules = Rules {
    handicap_bonus: HandicapBonus::Stones,
    ..Rules::chinese_written()
};

/// Names in common use for rules that are not among ours, with what to choose instead.
const OTHER_MEANING: [(&str, &str); 7] = [
    (
        "japanese",
        "their official text leaves the life of chains to judgment, and KataGo's version plays cleanup phases; \
         japanese2008 is the computable variant",
    ),
    (
        "korean",
        "like the Japanese rules, they leave the life of chains to judgment; japanese2008 is the computable variant",
    ),
    (
        "chinese",
        "elsewhere the name means basic ko with long cycles that void the game; choose chinese_practice (long cycles \
         tie the game) or chinese_written (positional superko)",
    ),
    (
        "new-zealand",
        "in KataGo the name means situational superko without one-stone suicide; choose new_zealand for the New \
         Zealand rules as written",
    ),
    (
        "nz",
        "in KataGo the name means situational superko without one-stone suicide; choose new_zealand for the New \
         Zealand rules as written",
    ),
    (
        "stone-scoring",
        "they have a group tax, which no supported rules have; the closest are tromp_taylor",
    ),
    (
        "ancient-territory",
        "they have a group tax, which no supported rules have; the closest are japanese2008",
    ),
];

impl Rules {
    /// The names of the named sets, in a fixed order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// The name of the set, or `custom` for a combination without a name, which its text ([`Display`](fmt::Display))
    /// spells out.
    pub fn name(&self) -> &'static str {
        self.known_name().unwrap_or("custom")
    }

    fn known_name(&self) -> Option<&'static str> {
        NAMED.iter().find(|(_, rules)| rules == self).map(|(name, _)| *name)
    }
}

/// The names of the values of one setting.
type Words<T> = &'static [(&'static str, T)];

const KO: Words<KoRule> = &[
    ("positional", KoRule::PositionalSuperko),
    ("situational", KoRule::SituationalSuperko),
    ("1996", KoRule::Superko1996),
    ("natural_situational", KoRule::NaturalSituationalSuperko),
    ("basic", KoRule::Basic),
    ("fixed", KoRule::Fixed),
];
const LONG_CYCLE: Words<LongCycle> = &[
    ("goes_on", LongCycle::GoesOn),
    ("tie_if_equal", LongCycle::TieIfEqual),
    ("practice_tie", LongCycle::PracticeTie),
];
const SUICIDE: Words<Suicide> = &[
    ("allowed", Suicide::Allowed),
    ("multi_only", Suicide::MultiOnly),
    ("forbidden", Suicide::Forbidden),
];
const END: Words<GameEnd> = &[
    ("two_passes", GameEnd::TwoPasses),
    ("four_passes", GameEnd::FourPasses),
    ("agreement", GameEnd::Agreement),
    ("one_resumption", GameEnd::OneResumption),
    ("japanese2008", GameEnd::Japanese2008),
];
const SCORING: Words<Scoring> = &[
    ("area", Scoring::Area),
    ("half", Scoring::Half),
    ("territory", Scoring::Territory),
];
const BONUS: Words<HandicapBonus> = &[
    ("none", HandicapBonus::Nothing),
    ("n", HandicapBonus::Stones),
    ("n_minus_1", HandicapBonus::StonesButOne),
];
const BUTTON: Words<bool> = &[("no", false), ("yes", true)];

fn word<T: PartialEq>(words: Words<T>, value: &T) -> &'static str {
    words.iter().find(|(_, v)| v == value).map_or("?", |(word, _)| word)
}

fn value<T: Copy>(words: Words<T>, key: &str, text: &str) -> Result<T, RulesError> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|&(_, v)| v).ok_or_else(|| RulesError::Value {
        key: key.to_owned(),
        value: text.to_owned(),
        expected: words.iter().map(|(word, _)| *word).collect(),
    })
}

impl fmt::Display for Rules {
    /// Writes the name, or every setting as `key=value` if the combination has no name; both can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.known_name() {
            return f.write_str(name);
        }
        write!(
            f,
            "ko={},long_cycle={},suicide={},end={},scoring={},handicap_bonus={},button={}",
            word(KO, &self.ko),
            word(LONG_CYCLE, &self.long_cycle),
            word(SUICIDE, &self.suicide),
            word(END, &self.end),
            word(SCORING, &self.scoring),
            word(BONUS, &self.handicap_bonus),
            word(BUTTON, &self.button),
        )
    }
}

impl FromStr for Rules {
    type Err = RulesError;

    /// Parses a name, or `key=value` settings separated by commas that change Tromp-Taylor, or a name followed by such
    /// settings. Names of other programs are accepted if they mean the same rules.
    fn from_str(text: &str) -> Result<Rules, RulesError> {
        let text: String = text.trim().chars().take(400).collect();
        let text = text.to_ascii_lowercase();
        let mut rules = Rules::tromp_taylor();
        for (i, part) in text.split(',').map(str::trim).enumerate() {
            match part.split_once('=') {
                Some((key, value)) => rules.change(key.trim(), value.trim())?,
                None if i == 0 => rules = named(part)?,
                None => return Err(RulesError::Setting(part.to_owned())),
            }
        }
        Ok(rules)
    }
}

fn named(name: &str) -> Result<Rules, RulesError> {
    if let Some((_, rules)) = NAMED.into_iter().chain(SAME_MEANING).find(|(n, _)| *n == name) {
        return Ok(rules);
    }
    let hyphened = name.replace('_', "-");
    Err(match OTHER_MEANING.iter().find(|(n, _)| *n == hyphened) {
        Some((_, reason)) => RulesError::OtherMeaning {
            name: name.to_owned(),
            reason,
        },
        None => RulesError::Unknown(name.to_owned()),
    })
}

impl Rules {
    fn change(&mut self, key: &str, text: &str) -> Result<(), RulesError> {
        match key {
            "ko" => self.ko = value(KO, key, text)?,
            "long_cycle" => self.long_cycle = value(LONG_CYCLE, key, text)?,
            "suicide" => self.suicide = value(SUICIDE, key, text)?,
            "end" => self.end = value(END, key, text)?,
            "scoring" => self.scoring = value(SCORING, key, text)?,
            "handicap_bonus" => self.handicap_bonus = value(BONUS, key, text)?,
            "button" => self.button = value(BUTTON, key, text)?,
            _ => return Err(RulesError::Setting(key.to_owned())),
        }
        Ok(())
    }
}

/// The reason why the name of a rule set is invalid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RulesError {
    /// The name is unknown.
    Unknown(String),
    /// The name commonly means rules that are not supported.
    OtherMeaning {
        /// The name as given.
        name: String,
        /// What the name means elsewhere and what to choose instead.
        reason: &'static str,
    },
    /// There is no such setting.
    Setting(String),
    /// The setting has no such value.
    Value {
        /// The name of the setting.
        key: String,
        /// The invalid value.
        value: String,
        /// The valid values.
        expected: Vec<&'static str>,
    },
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::Unknown(name) => {
                let names: Vec<_> = Rules::names().collect();
                write!(
                    f,
                    "there are no rules named '{name}'; choose one of {}",
                    names.join(", ")
                )
            }
            RulesError::OtherMeaning { name, reason } => {
                write!(f, "the rules '{name}' are not supported: {reason}")
            }
            RulesError::Setting(key) => write!(
                f,
                "'{key}' is not a setting of rules; the settings are ko, long_cycle, suicide, end, scoring, \
                 handicap_bonus and button, each written as key=value"
            ),
            RulesError::Value { key, value, expected } => {
                write!(f, "{key} cannot be '{value}'; choose one of {}", expected.join(", "))
            }
        }
    }
}

impl std::error::Error for RulesError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_round_trips_through_text() {
        for name in Rules::names() {
            let rules: Rules = name.parse().unwrap();
            assert_eq!(rules.name(), name);
            assert_eq!(rules.to_string().parse(), Ok(rules));
        }
        for (name, rules) in SAME_MEANING {
            assert_eq!(name.parse(), Ok(rules));
            assert_eq!(rules.to_string().parse(), Ok(rules));
        }
    }

    #[test]
    fn settings_change_a_named_set() {
        let rules: Rules = " AGA, button=yes,suicide=multi_only".parse().unwrap();
        assert_eq!(
            rules,
            Rules {
                suicide: Suicide::MultiOnly,
                ..AGA_BUTTON
            }
        );
        assert_eq!(rules.name(), "custom");
    }

    #[test]
    fn invalid_rules_are_rejected_with_a_reason() {
        let check = |text: &str, part: &str| {
            let message = text.parse::<Rules>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        };
        check("japanese", "japanese2008");
        check("chinese", "chinese_practice");
        check("new-zealand", "new_zealand");
        check("go", "tromp_taylor");
        check("aga,ko=super", "situational");
        check("aga,color=red", "'color'");
        check("aga,aga", "'aga'");
        check("", "no rules named ''");
    }
}
