//! How is a player named in one line of text?

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use tengen_gtp::{CommandLine, CommandLineError};
use tengen_search::SearchMethod;

/// A player in one line of text: its kind, then options.
///
/// | text | player |
/// |---|---|
/// | `model:PATH` | the network in a model folder or file, behind a search |
/// | `store:DIR` | the champion of a run store |
/// | `store:DIR@g000012` | the model of that generation of a run store |
/// | `gtp:COMMAND LINE` | any engine that speaks GTP 2 |
/// | `random` | random plays (see [`RandomPlayer`](crate::RandomPlayer)) |
/// | `uniform` | a search that knows the rules and nothing else |
/// | an existing path | a run store if it holds `run.json`, else a model |
///
/// Options follow as `,key=value`: `visits`, `method` (gumbel or puct), `candidates`, `noise` (on or off), `temperature`, `temperature_plies`,
/// `time` (seconds a move, with puct), `resign` (the value, 0 to 1, below minus which a game is given up), `c_scale`,
/// `margin_share` for players that search; `move_s`, `game_s`, `start_s` (seconds) and `engines` (processes side by side) for GTP;
/// `name` for all.
///
/// A GTP command line is everything after `gtp:`, commas included. To give it options, quote it:
/// `gtp:"gnugo --mode gtp --level 10",engines=2`. Inside double quotes `\"` and `\\` stand for `"` and `\`.
///
/// ```
/// use tengen_evaluator::{PlayerKind, PlayerSpec};
/// let player: PlayerSpec = "uniform,visits=256,name=plain".parse().unwrap();
/// assert_eq!(player.kind, PlayerKind::Uniform);
/// assert_eq!(player.options.visits, Some(256));
/// assert_eq!(player.to_string(), "uniform,visits=256,name=plain");
/// let error = "unifrom".parse::<PlayerSpec>().unwrap_err();
/// assert!(error.to_string().contains("did you mean 'uniform'?"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerSpec {
    /// Who plays.
    pub kind: PlayerKind,
    /// How.
    pub options: PlayerOptions,
}

/// Who plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerKind {
    /// The network in this model folder or file.
    Model(String),
    /// A model of a run store.
    Store {
        /// Folder or address of the store.
        location: String,
        /// Its generation; `None` = the champion.
        generation: Option<u32>,
    },
    /// An engine that speaks GTP 2.
    Gtp(CommandLine),
    /// Random plays.
    Random,
    /// A search without a network.
    Uniform,
}

/// How a player plays; `None` = the usual value of the kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayerOptions {
    /// Visits per move, at least 1.
    pub visits: Option<u32>,
    /// How visits are shared out.
    pub method: Option<SearchMethod>,
    /// Moves tried at the root, at least 1.
    pub candidates: Option<u32>,
    /// Whether Gumbel noise explores at the root.
    pub noise: Option<bool>,
    /// Temperature at which moves are drawn, 0 or more; 0 = always the best.
    pub temperature: Option<f32>,
    /// Plies of the game in which the temperature holds.
    pub temperature_plies: Option<usize>,
    /// Seconds of the machine for each move, in place of visits.
    pub time: Option<f64>,
    /// Gives a game up when three turns in a row have a value of at most minus this, 0 to 1; `None` = never.
    pub resign: Option<f32>,
    /// The search's c_scale.
    pub c_scale: Option<f32>,
    /// The share of the margin in what the search maximises, 0 to 1.
    pub margin_share: Option<f32>,
    /// Seconds an engine may take for a move.
    pub move_s: Option<f64>,
    /// Seconds an engine may think in a whole game.
    pub game_s: Option<f64>,
    /// Seconds an engine may take to start.
    pub start_s: Option<f64>,
    /// Engine processes side by side, at least 1.
    pub engines: Option<usize>,
    /// Name in results and records.
    pub name: Option<String>,
}

/// Why a text names no player.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// The kind is unknown.
    #[error("'{text}' names no player{}; expected model:PATH, store:DIR, store:DIR@g000012, gtp:COMMAND, random, uniform, or an existing path", did_you_mean(.nearest))]
    UnknownKind {
        /// The text given.
        text: String,
        /// The nearest known form.
        nearest: Option<&'static str>,
    },
    /// What follows the colon is missing.
    #[error("'{0}' lacks what must follow the colon")]
    Empty(&'static str),
    /// An option is unknown, or is none of this kind of player.
    #[error("'{key}' is no option of {kind} players{}", did_you_mean(.nearest))]
    UnknownOption {
        /// The option given.
        key: String,
        /// The kind of player.
        kind: &'static str,
        /// The nearest known option.
        nearest: Option<&'static str>,
    },
    /// The value of an option is wrong.
    #[error("'{value}' is no value for the option {key}: expected {expected}")]
    BadValue {
        /// The option.
        key: String,
        /// The value given.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A generation must look like `g000012`.
    #[error("'{0}' is no generation: expected a form such as g000012")]
    BadGeneration(String),
    /// The engine's command line cannot be split.
    #[error(transparent)]
    Command(#[from] CommandLineError),
    /// Something other than options follows the quoted command line.
    #[error("'{0}' follows the quoted command line: expected nothing or ,key=value")]
    AfterQuote(String),
    /// Options follow a command line that is not quoted.
    #[error(
        "'{0}' looks like options of the player, but belongs to the command line as it stands: quote the command line, gtp:\"…\"{0}"
    )]
    UnquotedOptions(String),
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or(String::new(), |nearest| format!(" (did you mean '{nearest}'?)"))
}

const FORMS: &[&str] = &["model:", "store:", "gtp:", "random", "uniform"];
const SEARCH_KEYS: &[&str] = &[
    "visits",
    "method",
    "candidates",
    "noise",
    "temperature",
    "temperature_plies",
    "time",
    "resign",
    "c_scale",
    "margin_share",
    "name",
];
const GTP_KEYS: &[&str] = &["move_s", "game_s", "start_s", "engines", "name"];
const RANDOM_KEYS: &[&str] = &["name"];

impl PlayerKind {
    fn word(&self) -> &'static str {
        match self {
            PlayerKind::Model(_) => "model",
            PlayerKind::Store { .. } => "store",
            PlayerKind::Gtp(_) => "gtp",
            PlayerKind::Random => "random",
            PlayerKind::Uniform => "uniform",
        }
    }

    fn keys(&self) -> &'static [&'static str] {
        match self {
            PlayerKind::Model(_) | PlayerKind::Store { .. } | PlayerKind::Uniform => SEARCH_KEYS,
            PlayerKind::Gtp(_) => GTP_KEYS,
            PlayerKind::Random => RANDOM_KEYS,
        }
    }
}

impl FromStr for PlayerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<PlayerSpec, SpecError> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("gtp:") {
            let (command, options) = split_command(rest)?;
            return with_options(PlayerKind::Gtp(command.parse()?), options);
        }
        let (body, options) = split_options(text);
        with_options(parse_kind(body)?, options)
    }
}

fn parse_kind(text: &str) -> Result<PlayerKind, SpecError> {
    match text {
        "random" => return Ok(PlayerKind::Random),
        "uniform" => return Ok(PlayerKind::Uniform),
        _ => {}
    }
    if let Some(path) = text.strip_prefix("model:") {
        return if path.is_empty() {
            Err(SpecError::Empty("model:"))
        } else {
            Ok(PlayerKind::Model(path.to_owned()))
        };
    }
    if let Some(store) = text.strip_prefix("store:") {
        return parse_store(store);
    }
    if !text.is_empty() && Path::new(text).exists() {
        return match Path::new(text).join("run.json").exists() {
            true => Ok(PlayerKind::Store {
                location: text.to_owned(),
                generation: None,
            }),
            false => Ok(PlayerKind::Model(text.to_owned())),
        };
    }
    let form = text.split_inclusive(':').next().unwrap_or_default();
    Err(SpecError::UnknownKind {
        text: text.chars().take(80).collect(),
        nearest: nearest(form, FORMS),
    })
}

fn parse_store(store: &str) -> Result<PlayerKind, SpecError> {
    if store.is_empty() {
        return Err(SpecError::Empty("store:"));
    }
    let whole = || PlayerKind::Store {
        location: store.to_owned(),
        generation: None,
    };
    match store.rsplit_once('@') {
        // An address may hold an @ of its own, always followed by more of the address.
        Some((location, generation)) if !location.is_empty() && !generation.contains('/') => {
            let number = generation.strip_prefix('g').and_then(|digits| digits.parse().ok());
            let generation = Some(number.ok_or_else(|| SpecError::BadGeneration(generation.to_owned()))?);
            Ok(PlayerKind::Store {
                location: location.to_owned(),
                generation,
            })
        }
        _ => Ok(whole()),
    }
}

/// The options are all `,key=value` at the end; a comma that is followed by anything else belongs to the path.
fn split_options(text: &str) -> (&str, &str) {
    let mut end = text.len();
    while let Some(comma) = text[..end].rfind(',') {
        let (key, has_value) = match text[comma + 1..end].split_once('=') {
            Some((key, _)) => (key, true),
            None => ("", false),
        };
        if !has_value
            || !key
                .trim()
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        {
            break;
        }
        end = comma;
    }
    (&text[..end], &text[end..])
}

/// A command line in quotes may be followed by options; any other has none.
fn split_command(rest: &str) -> Result<(Cow<'_, str>, &str), SpecError> {
    let whole = || {
        let (_, options) = split_options(rest);
        let key = options.split(['=', ',']).nth(1).unwrap_or_default();
        match GTP_KEYS.contains(&key.trim()) {
            true => Err(SpecError::UnquotedOptions(options.to_owned())),
            false => Ok((Cow::Borrowed(rest), "")),
        }
    };
    let Some(quote) = rest.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
        return whole();
    };
    let end = closing_quote(rest, quote).ok_or(CommandLineError::OpenQuote(quote))?;
    let (inside, after) = (&rest[1..end], &rest[end + 1..]);
    match after.chars().next() {
        None | Some(',') if quote == '"' => Ok((Cow::Owned(unescaped(inside)), after)),
        None | Some(',') => Ok((Cow::Borrowed(inside), after)),
        // Only the program was quoted.
        Some(next) if next.is_whitespace() => whole(),
        Some(_) => Err(SpecError::AfterQuote(after.to_owned())),
    }
}

/// Where the quote at the start of the text is closed. Backslashes escape inside double quotes.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => drop(chars.next()),
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(escaped @ ('"' | '\\'))) => {
                plain.push(escaped);
                chars.next();
            }
            (c, _) => plain.push(c),
        }
    }
    plain
}

fn with_options(kind: PlayerKind, text: &str) -> Result<PlayerSpec, SpecError> {
    let mut options = PlayerOptions::default();
    for option in text.split(',').skip(1) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let (key, value) = (key.trim(), value.trim());
        if !kind.keys().contains(&key) {
            let nearest = nearest(key, kind.keys());
            return Err(SpecError::UnknownOption {
                key: key.to_owned(),
                kind: kind.word(),
                nearest,
            });
        }
        options.set(key, value)?;
    }
    Ok(PlayerSpec { kind, options })
}

impl PlayerOptions {
    fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        match key {
            "visits" => self.visits = Some(number(key, value, "a whole number from 1", |&n: &u32| n > 0)?),
            "method" => self.method = Some(method(key, value)?),
            "candidates" => self.candidates = Some(number(key, value, "a whole number from 1", |&n: &u32| n > 0)?),
            "noise" => self.noise = Some(switch(key, value)?),
            "temperature" => {
                self.temperature = Some(number(key, value, "a number from 0 to 10", |t| {
                    (0.0..=10.0).contains(t)
                })?);
            }
            "temperature_plies" => self.temperature_plies = Some(number(key, value, "a whole number", |_| true)?),
            "time" => self.time = Some(seconds(key, value.strip_suffix('s').unwrap_or(value))?),
            "resign" => {
                self.resign = Some(number(key, value, "a number above 0, at most 1", |v: &f32| {
                    *v > 0.0 && *v <= 1.0
                })?);
            }
            "c_scale" => {
                self.c_scale = Some(number(key, value, "a positive number", |c: &f32| {
                    *c > 0.0 && c.is_finite()
                })?)
            }
            "margin_share" => {
                self.margin_share = Some(number(key, value, "a number from 0 to 1", |s| (0.0..=1.0).contains(s))?);
            }
            "move_s" => self.move_s = Some(seconds(key, value)?),
            "game_s" => self.game_s = Some(seconds(key, value)?),
            "start_s" => self.start_s = Some(seconds(key, value)?),
            "engines" => {
                self.engines = Some(number(key, value, "a whole number from 1 to 1024", |n| {
                    (1..=1024).contains(n)
                })?);
            }
            _ => self.name = Some(number(key, value, "some text", |name: &String| !name.is_empty())?),
        }
        Ok(())
    }

    fn written(&self) -> Vec<(&'static str, Option<String>)> {
        fn text<T: fmt::Display>(value: &Option<T>) -> Option<String> {
            value.as_ref().map(T::to_string)
        }
        vec![
            ("visits", text(&self.visits)),
            ("method", self.method.map(|method| method_name(method).to_owned())),
            ("candidates", text(&self.candidates)),
            (
                "noise",
                self.noise.map(|noise| if noise { "on" } else { "off" }.to_owned()),
            ),
            ("temperature", text(&self.temperature)),
            ("temperature_plies", text(&self.temperature_plies)),
            ("time", text(&self.time)),
            ("resign", text(&self.resign)),
            ("c_scale", text(&self.c_scale)),
            ("margin_share", text(&self.margin_share)),
            ("move_s", text(&self.move_s)),
            ("game_s", text(&self.game_s)),
            ("start_s", text(&self.start_s)),
            ("engines", text(&self.engines)),
            ("name", text(&self.name)),
        ]
    }
}

fn number<T: FromStr>(
    key: &str,
    value: &str,
    expected: &'static str,
    fits: impl Fn(&T) -> bool,
) -> Result<T, SpecError> {
    let bad = || SpecError::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        expected,
    };
    value.parse().ok().filter(fits).ok_or_else(bad)
}

fn seconds(key: &str, value: &str) -> Result<f64, SpecError> {
    number(key, value, "seconds from 0.01 to 1000000", |s| (0.01..=1e6).contains(s))
}

fn switch(key: &str, value: &str) -> Result<bool, SpecError> {
    match value {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(SpecError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            expected: "on or off",
        }),
    }
}

fn method(key: &str, value: &str) -> Result<SearchMethod, SpecError> {
    let methods = [SearchMethod::Gumbel, SearchMethod::Puct];
    let found = methods.into_iter().find(|&method| method_name(method) == value);
    found.ok_or_else(|| SpecError::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: "gumbel or puct",
    })
}

fn method_name(method: SearchMethod) -> &'static str {
    match method {
        SearchMethod::Gumbel => "gumbel",
        SearchMethod::Puct => "puct",
    }
}

fn nearest(text: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&text.to_ascii_lowercase(), known);
    known
        .iter()
        .copied()
        .min_by_key(|known| distance(known))
        .filter(|known| distance(known) <= 3)
}

/// Writes the player so that parsing it again gives the same.
impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options.written();
        let quoted = options.iter().any(|(_, value)| value.is_some());
        match &self.kind {
            PlayerKind::Model(path) => write!(f, "model:{path}")?,
            PlayerKind::Store {
                location,
                generation: None,
            } => write!(f, "store:{location}")?,
            PlayerKind::Store {
                location,
                generation: Some(generation),
            } => write!(f, "store:{location}@g{generation:06}")?,
            PlayerKind::Gtp(command) => {
                let command = command.to_string();
                let plain = split_command(&command).is_ok_and(|(inside, _)| inside == command);
                match quoted || !plain {
                    true => write!(f, "gtp:\"{}\"", command.replace('\\', "\\\\").replace('"', "\\\""))?,
                    false => write!(f, "gtp:{command}")?,
                }
            }
            PlayerKind::Random => f.write_str("random")?,
            PlayerKind::Uniform => f.write_str("uniform")?,
        }
        options
            .iter()
            .filter_map(|(key, value)| Some((key, value.as_ref()?)))
            .try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PlayerSpec {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn error(text: &str) -> String {
        text.parse::<PlayerSpec>().expect_err(text).to_string()
    }

    #[test]
    fn forms_round_trip() {
        for text in [
            "random",
            "random,name=dice",
            "uniform,visits=256,noise=off",
            "model:data/models/a,b/c",
            "model:data/m,visits=64,temperature=0.5,temperature_plies=6",
            "uniform,visits=64,method=puct",
            "uniform,time=0.5,resign=0.95",
            "store:data/runs/demo",
            "store:data/runs/demo@g000012,visits=64",
            "store:s3://user@bucket/run",
            "gtp:gnugo --mode gtp --level 10, or so",
            "gtp:\"gnugo --mode gtp\",move_s=2.5,engines=2,name=GNU Go",
            "gtp:\"sh -c 'exec gnugo'\",engines=2",
            "gtp:'my engine' --mode gtp",
            "gtp:\"'my engine' --mode gtp\",engines=2",
            "gtp:\"'my engine'\"",
            "gtp:\"sh -c \\\"it's\\\"\",engines=2",
            "gtp:engine --set a=1,b=2",
            "gtp:\"engine --set a=1,name=2\"",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn parts_are_read() {
        let store = parse("store:runs/a@g000007,visits=64");
        assert_eq!(
            store.kind,
            PlayerKind::Store {
                location: "runs/a".to_owned(),
                generation: Some(7)
            }
        );
        let PlayerKind::Gtp(command) = parse("gtp:'my engine' --mode gtp").kind else {
            panic!("a gtp player")
        };
        assert_eq!((command.program.as_str(), command.args.len()), ("my engine", 2));
        let PlayerKind::Gtp(command) = parse("gtp:\"gnugo --level 1\"").kind else {
            panic!("a gtp player")
        };
        assert_eq!(command.program, "gnugo");
        assert!(parse("model:m,noise=on").options.noise.expect("noise"));
    }

    #[test]
    fn existing_paths_are_players() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display().to_string();
        assert_eq!(parse(&path).kind, PlayerKind::Model(path.clone()));
        std::fs::write(folder.path().join("run.json"), "{}").expect("a file");
        assert_eq!(
            parse(&path).kind,
            PlayerKind::Store {
                location: path.clone(),
                generation: None
            }
        );
        assert_eq!(parse(&format!("{path},visits=5")).options.visits, Some(5));
    }

    #[test]
    fn typos_name_the_nearest_form() {
        assert!(error("radnom").contains("did you mean 'random'?"));
        assert!(error("modle:data/x").contains("did you mean 'model:'?"));
        assert!(error("gpt:gnugo").contains("did you mean 'gtp:'?"));
        assert!(!error("something/else/altogether").contains("did you mean"));
        assert!(error("uniform,vists=5").contains("did you mean 'visits'?"));
        assert!(error("random,visits=5").contains("no option of random players"));
        assert!(
            error("uniform,visits=many").contains("'many' is no value for the option visits: expected a whole number")
        );
        assert!(error("uniform,visits=0").contains("from 1"));
        assert!(error("uniform,noise=maybe").contains("on or off"));
        assert!(error("uniform,method=uct").contains("gumbel or puct"));
        assert!(error("store:x@12").contains("g000012"));
        assert!(error("model:").contains("lacks"));
        assert!(error("").contains("names no player"));
        assert!(error("gtp:").contains("empty"));
        assert!(error("gtp:\"gnugo").contains("never closes"));
        assert!(error("gtp:\"gnugo\"x").contains("follows the quoted"));
        assert!(error("gtp:gnugo --mode gtp,engines=2").contains("gtp:\"…\",engines=2"));
    }

    proptest::proptest! {
        #[test]
        fn any_command_line_round_trips(
            program in "[a-z '\"\\\\,=]{1,8}",
            args in proptest::collection::vec("[a-z '\"\\\\,=]{0,8}", 0..4),
            engines in proptest::option::of(1_usize..9),
        ) {
            let options = PlayerOptions { engines, ..PlayerOptions::default() };
            let spec = PlayerSpec { kind: PlayerKind::Gtp(CommandLine { program, args }), options };
            proptest::prop_assert_eq!(parse(&spec.to_string()), spec);
        }

        #[test]
        fn any_text_is_answered(text in "(gtp:|model:|store:|random|uniform|)[\\PC,='\"@:]{0,24}") {
            if let Ok(spec) = text.parse::<PlayerSpec>() {
                let _ = spec.to_string();
            }
        }
    }
}
