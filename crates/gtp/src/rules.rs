//! Does a controller ask for the rules this engine plays?

use tengen_rules::{Rules, RulesError};

/// Tromp-Taylor rules in the words of KataGo's `kata-get-rules`.
pub(crate) const TROMP_TAYLOR_JSON: &str = r#"{"friendlyPassOk":false,"hasButton":false,"ko":"POSITIONAL","scoring":"AREA","suicide":true,"tax":"NONE","whiteHandicapBonus":"0"}"#;

/// The settings of KataGo's JSON with the values that mean Tromp-Taylor; a setting left out means the same there.
const TROMP_TAYLOR_SETTINGS: [(&str, &str); 9] = [
    ("friendlypassok", "false"),
    ("hasbutton", "false"),
    ("ko", "positional"),
    ("multistonesuicidelegal", "true"),
    ("score", "area"),
    ("scoring", "area"),
    ("suicide", "true"),
    ("tax", "none"),
    ("whitehandicapbonus", "0"),
];

/// Checks that a text means Tromp-Taylor rules: a name, settings `key=value`, or KataGo's JSON.
///
/// # Errors
/// The reason, where it means other rules or nothing.
pub(crate) fn check_tromp_taylor(text: &str) -> Result<(), String> {
    if text.starts_with('{') {
        return check_json(text);
    }
    // Names may be written with spaces.
    let text = match text.contains('=') {
        true => text.to_owned(),
        false => text.split_ascii_whitespace().collect::<Vec<_>>().join("_"),
    };
    match text.parse::<Rules>() {
        Ok(rules) if rules == Rules::tromp_taylor() => Ok(()),
        Ok(_) => Err(other(&text)),
        Err(RulesError::Unknown(_)) => Err(format!("unknown rules '{text}': this engine plays tromp-taylor")),
        Err(error) => Err(error.to_string()),
    }
}

/// Compares every setting of a flat JSON object.
fn check_json(text: &str) -> Result<(), String> {
    let malformed = || "syntax error: the rules are no JSON object".to_owned();
    let body = text
        .strip_prefix('{')
        .and_then(|text| text.trim_end().strip_suffix('}'));
    let settings = body.ok_or_else(malformed)?.trim();
    for setting in settings.split(',').filter(|_| !settings.is_empty()) {
        let (key, value) = setting.split_once(':').ok_or_else(malformed)?;
        let [key, value] = [key, value].map(|word| word.trim().trim_matches('"').to_ascii_lowercase());
        match TROMP_TAYLOR_SETTINGS.iter().find(|(name, _)| *name == key) {
            Some((_, expected)) if *expected == value => {}
            Some((_, expected)) => return Err(other(&format!("{key} {value} instead of {expected}"))),
            None => return Err(format!("unknown setting of rules '{key}'")),
        }
    }
    Ok(())
}

fn other(what: &str) -> String {
    format!("unsupported rules: {what}; this engine plays tromp-taylor only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_accepted() {
        for text in [
            "tromp-taylor",
            "Tromp Taylor",
            "TROMP_TAYLOR",
            "tt",
            "ko=positional, suicide=allowed",
            TROMP_TAYLOR_JSON,
            r#"{ "suicide": true, "ko": "POSITIONAL", "scoring": "AREA" }"#,
            "{}",
        ] {
            assert_eq!(check_tromp_taylor(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn other_rules_are_refused_with_the_reason() {
        let check = |text: &str, part: &str| {
            let message = check_tromp_taylor(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        };
        check("japanese", "japanese2008");
        check("chinese", "chinese_practice");
        check("aga", "unsupported rules: aga");
        check("tromp-taylor,ko=situational", "tromp-taylor only");
        check("tromp-taylor,ko=super", "positional");
        check("martian", "unknown rules 'martian'");
        check("", "unknown rules ''");
        check(r#"{"ko":"SIMPLE"}"#, "ko simple instead of positional");
        check(r#"{"ko":"POSITIONAL","color":1}"#, "'color'");
        check(r#"{"ko":"POSITIONAL""#, "syntax error");
        check(r#"{,}"#, "syntax error");
    }
}
