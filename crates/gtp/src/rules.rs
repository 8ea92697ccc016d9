//! Parsing rules requested by a controller, and writing ours for controllers and engines.

use serde_json::json;

use tengen_rules::{GameEnd, HandicapBonus, KoRule, Rules, RulesError, Scoring, Suicide};

/// The JSON key for our own text, used for rules that KataGo's settings cannot express.
const OWN_KEY: &str = "tengen";

/// The rules in the format of KataGo's `kata-get-rules` if it can express them, otherwise `{"tengen":"<our text>"}`.
pub(crate) fn rules_json(rules: Rules) -> String {
    let ko = match (rules.ko, rules.suicide) {
        (KoRule::PositionalSuperko, _) => Some("POSITIONAL"),
        (KoRule::SituationalSuperko, Suicide::MultiOnly | Suicide::Forbidden) => Some("SITUATIONAL"),
        _ => None,
    };
    let plain = Rules {
        ko: rules.ko,
        suicide: rules.suicide,
        handicap_bonus: rules.handicap_bonus,
        ..Rules::tromp_taylor()
    };
    let Some(ko) = ko.filter(|_| rules == plain) else {
        return format!(r#"{{"{OWN_KEY}":"{rules}"}}"#);
    };
    let suicide = rules.suicide != Suicide::Forbidden;
    let bonus = match rules.handicap_bonus {
        HandicapBonus::Nothing => "0",
        HandicapBonus::Stones => "N",
        HandicapBonus::StonesButOne => "N-1",
    };
    json!({
        "friendlyPassOk": false, "hasButton": false, "ko": ko, "scoring": "AREA", "suicide": suicide, "tax": "NONE",
        "whiteHandicapBonus": bonus,
    })
    .to_string()
}

/// The argument of `kata-set-rules` that tells another engine the rules of a game between machines: KataGo's settings
/// if they can express the rules, otherwise our own text in the same form, which only Tengen accepts. The end of the
/// game is ignored, since two passes end every game between machines.
pub fn rules_for_engine(rules: Rules) -> String {
    let same_in_katago = rules_json(Rules {
        end: GameEnd::TwoPasses,
        ..rules
    });
    match own_text(same_in_katago.trim_matches(['{', '}'])) {
        None => same_in_katago,
        Some(_) => rules_json(rules),
    }
}

/// Parses rules: one of our names or another program's name for the same rules, `key=value` settings, or KataGo's JSON.
///
/// # Errors
/// The reason if the text is invalid or means rules that are not supported.
pub(crate) fn read_rules(text: &str) -> Result<Rules, String> {
    let rules = match text.starts_with('{') {
        true => read_json(text)?,
        false => read_name(text)?,
    };
    rules
        .check_for_machines()
        .map_err(|error| format!("unsupported rules: {error}"))?;
    Ok(rules)
}

/// These rules with one of KataGo's settings changed.
///
/// # Errors
/// The reason if the setting is unknown, leads to unsupported rules, or KataGo's settings cannot express these rules.
pub(crate) fn with_setting(rules: Rules, key: &str, value: &str) -> Result<Rules, String> {
    let settings = rules_json(rules);
    let settings = settings.trim_matches(['{', '}']);
    if own_text(settings).is_some() {
        return Err(format!(
            "the rules {rules} cannot be expressed by such settings: set all rules with kata-set-rules"
        ));
    }
    read_rules(&format!("{{{settings},\"{key}\":\"{value}\"}}"))
}

fn read_name(text: &str) -> Result<Rules, String> {
    // Names may be written with spaces; a controller that sends `new zealand` means KataGo's rules of that name.
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if let Err(error @ RulesError::OtherMeaning { .. }) = words.join("-").parse::<Rules>() {
        return Err(error.to_string());
    }
    let text = match text.contains('=') {
        true => text.to_owned(),
        false => words.join("_"),
    };
    text.parse().map_err(|error| match error {
        RulesError::Unknown(_) => {
            let names: Vec<_> = Rules::names().collect();
            format!("unknown rules '{text}': choose one of {}", names.join(", "))
        }
        error => error.to_string(),
    })
}

/// Parses a flat JSON object of settings; missing settings are those of the Tromp-Taylor rules.
fn read_json(text: &str) -> Result<Rules, String> {
    let malformed = || "syntax error: the rules are not a JSON object".to_owned();
    let body = text
        .strip_prefix('{')
        .and_then(|text| text.trim_end().strip_suffix('}'));
    let settings = body.ok_or_else(malformed)?.trim();
    if let Some(own) = own_text(settings) {
        return read_name(own);
    }
    let mut rules = Rules::tromp_taylor();
    for setting in settings.split(',').filter(|_| !settings.is_empty()) {
        let (key, value) = setting.split_once(':').ok_or_else(malformed)?;
        let [key, value] = [key, value].map(|word| word.trim().trim_matches('"').to_ascii_lowercase());
        take_setting(&mut rules, &key, &value)?;
    }
    // KataGo's suicide setting excludes single stones, which makes no difference under positional superko.
    if rules.ko == KoRule::SituationalSuperko && rules.suicide == Suicide::Allowed {
        rules.suicide = Suicide::MultiOnly;
    }
    Ok(rules)
}

/// The text of `"tengen":"<text>"` if that is the only setting.
fn own_text(settings: &str) -> Option<&str> {
    let (key, value) = settings.split_once(':')?;
    let value = value.trim().strip_prefix('"')?.strip_suffix('"')?;
    (key.trim().trim_matches('"') == OWN_KEY).then_some(value)
}

fn take_setting(rules: &mut Rules, key: &str, value: &str) -> Result<(), String> {
    match (key, value) {
        ("ko", "positional") => rules.ko = KoRule::PositionalSuperko,
        ("ko", "situational") => rules.ko = KoRule::SituationalSuperko,
        ("suicide" | "multistonesuicidelegal", "true") => rules.suicide = Suicide::Allowed,
        ("suicide" | "multistonesuicidelegal", "false") => rules.suicide = Suicide::Forbidden,
        ("whitehandicapbonus", "0") => rules.handicap_bonus = HandicapBonus::Nothing,
        ("whitehandicapbonus", "n") => rules.handicap_bonus = HandicapBonus::Stones,
        ("whitehandicapbonus", "n-1") => rules.handicap_bonus = HandicapBonus::StonesButOne,
        ("hasbutton", "true") => rules.button = true,
        ("friendlypassok" | "hasbutton", "false") | ("score" | "scoring", "area") | ("tax", "none") => {}
        _ => return Err(refusal(key, value)),
    }
    debug_assert!(rules.end == GameEnd::TwoPasses && rules.scoring == Scoring::Area);
    Ok(())
}

/// The reason why one of KataGo's settings is rejected.
fn refusal(key: &str, value: &str) -> String {
    let reason = match (key, value) {
        ("ko", "simple") => "long cycles void the game in KataGo; chinese_practice makes them a tie",
        ("score" | "scoring", "territory") => "KataGo plays cleanup phases; japanese2008 is the computable variant",
        ("tax", _) => "no supported rules have a group tax; use NONE",
        ("friendlypassok", _) => "all stones left on the board are counted; use false",
        ("ko", _) => "use POSITIONAL or SITUATIONAL",
        ("score" | "scoring", _) => "use AREA",
        ("suicide" | "multistonesuicidelegal" | "hasbutton", _) => "use true or false",
        ("whitehandicapbonus", _) => "use 0, N or N-1",
        _ => return format!("unknown rule setting '{key}'"),
    };
    format!("unsupported rules: {key} {value}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_rules_are_accepted() {
        for text in [
            "tromp-taylor",
            "Tromp Taylor",
            "TROMP_TAYLOR",
            "tt",
            "ko=positional, suicide=allowed",
            r#"{ "suicide": true, "ko": "POSITIONAL", "scoring": "AREA" }"#,
            "{}",
        ] {
            assert_eq!(read_rules(text), Ok(Rules::tromp_taylor()), "{text}");
        }
        assert_eq!(read_rules("goe"), Ok(Rules::simplified_ing()));
        assert_eq!(read_rules("bga"), Ok(Rules::aga()));
        let situational = read_rules(r#"{"ko":"SITUATIONAL","suicide":true}"#).unwrap();
        assert_eq!(situational.suicide, Suicide::MultiOnly);
    }

    #[test]
    fn rules_round_trip_through_json() {
        let texts = [
            "ko=situational,suicide=forbidden",
            "handicap_bonus=n",
            "ko=natural_situational",
            "aga,suicide=allowed",
        ];
        for text in Rules::names().chain(texts) {
            let rules = read_rules(text).unwrap();
            assert_eq!(
                read_rules(&rules_json(rules)),
                Ok(rules),
                "{text}: {}",
                rules_json(rules)
            );
        }
        assert!(rules_json(Rules::tromp_taylor()).contains(r#""ko":"POSITIONAL""#));
        assert_eq!(rules_json(Rules::japanese2008()), r#"{"tengen":"japanese2008"}"#);
    }

    #[test]
    fn single_settings_are_changed() {
        let forbidden = with_setting(Rules::tromp_taylor(), "suicide", "false").unwrap();
        assert_eq!(forbidden.suicide, Suicide::Forbidden);
        assert_eq!(with_setting(forbidden, "SUICIDE", "True"), Ok(Rules::tromp_taylor()));
        let refused = |rules, key, value| with_setting(rules, key, value).unwrap_err();
        assert!(refused(Rules::tromp_taylor(), "ko", "simple").contains("chinese_practice"));
        assert!(refused(Rules::tromp_taylor(), "colour", "1").contains("'colour'"));
        assert!(refused(Rules::japanese2008(), "ko", "positional").contains("kata-set-rules"));
    }

    #[test]
    fn unsupported_rules_are_rejected_with_a_reason() {
        let check = |text: &str, part: &str| {
            let message = read_rules(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        };
        check("japanese", "japanese2008");
        check("chinese", "chinese_practice");
        check("new-zealand", "new_zealand");
        check("New Zealand", "situational superko");
        check("stone_scoring", "group tax");
        check("aga-button", "half a point");
        check("tromp-taylor,ko=super", "positional");
        check("martian", "unknown rules 'martian'");
        check("", "unknown rules ''");
        check(r#"{"ko":"SIMPLE"}"#, "chinese_practice");
        check(r#"{"scoring":"TERRITORY"}"#, "japanese2008");
        check(r#"{"tax":"ALL"}"#, "tax");
        check(r#"{"hasButton":true}"#, "half a point");
        check(r#"{"ko":"POSITIONAL","color":1}"#, "'color'");
        check(r#"{"ko":"POSITIONAL""#, "syntax error");
        check(r#"{,}"#, "syntax error");
    }
}
