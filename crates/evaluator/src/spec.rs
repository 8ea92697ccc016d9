//! Descriptions of players in one line of text.

mod command;
mod error;
mod options;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use tengen_gtp::CommandLine;

use command::split_command;
pub use error::SpecError;
use error::{engine, nearest};
use options::{GTP_KEYS, MCTS_KEYS, RANDOM_KEYS, SEARCH_KEYS, split_options, with_options};
pub use options::{MOST_LEAVES, PlayerOptions};

/// A player described in one line of text: its kind, then its options.
///
/// | text | player |
/// |---|---|
/// | `model:PATH` | the network in a model folder or file, or in a KataGo file, with a search |
/// | `store:DIR` | the champion of a run store |
/// | `store:DIR@g000012` | the model of that generation in a run store; `@12` means the same |
/// | `gtp:COMMAND LINE` | any engine that speaks GTP 2 |
/// | `random` | random moves (see [`RandomPlayer`](crate::RandomPlayer)) |
/// | `mcts` | a tree search over random games (see [`MctsPlayer`](crate::MctsPlayer)) |
/// | `uniform` | the search of networks over a stand-in that calls every position even and every move equally likely |
/// | an existing path | a run store if it holds `run.json`, otherwise a model |
///
/// Options follow as `,key=value`. For players that search: `visits`, `method` (the name of a
/// [`SearchMethod`](tengen_search::SearchMethod)), `candidates`, `noise` (on or off), `temperature`,
/// `temperature_plies`, `time` (seconds per move, with an anytime method such as puct), `resign` (0 to 1; the player
/// resigns when its value stays at or below minus this), `c_scale`, `lcb`, `leaves` (evaluated in one call of the
/// network), `images` and `root_images` (mirror images over which predictions are averaged), and `margin_share`. For
/// `mcts`: `playouts` (random games per move). For GTP engines: `move_s`, `game_s`, `start_s` (seconds), and `engines`
/// (parallel processes). For all players: `name`.
///
/// Everything after `gtp:` is the command line, commas included. To add options, quote the command line:
/// `gtp:"gnugo --mode gtp --level 10",engines=2`. Inside double quotes, `\"` and `\\` stand for `"` and `\`.
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
    /// What chooses the moves: a network, an engine, or one of the built-in players.
    pub kind: PlayerKind,
    /// How it plays: search settings, time limits, and its name in results.
    pub options: PlayerOptions,
}

/// What chooses a player's moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerKind {
    /// The network in this model folder or file.
    Model(String),
    /// A model of a run store.
    Store {
        /// Folder or address of the store.
        location: String,
        /// The model's generation; `None` means the champion.
        generation: Option<u32>,
    },
    /// An engine that speaks GTP 2.
    Gtp(CommandLine),
    /// Random moves (see [`RandomPlayer`](crate::RandomPlayer)).
    Random,
    /// A tree search over random games (see [`MctsPlayer`](crate::MctsPlayer)).
    Mcts,
    /// The search of networks over a stand-in: every position is a tie and every move equally likely.
    Uniform,
}

const FORMS: &[&str] = &["model:", "store:", "gtp:", "random", "mcts", "uniform"];
impl PlayerKind {
    fn word(&self) -> &'static str {
        match self {
            PlayerKind::Model(_) => "model",
            PlayerKind::Store { .. } => "store",
            PlayerKind::Gtp(_) => "gtp",
            PlayerKind::Random => "random",
            PlayerKind::Mcts => "mcts",
            PlayerKind::Uniform => "uniform",
        }
    }

    fn keys(&self) -> &'static [&'static str] {
        match self {
            PlayerKind::Model(_) | PlayerKind::Store { .. } | PlayerKind::Uniform => SEARCH_KEYS,
            PlayerKind::Gtp(_) => GTP_KEYS,
            PlayerKind::Random => RANDOM_KEYS,
            PlayerKind::Mcts => MCTS_KEYS,
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
        "mcts" => return Ok(PlayerKind::Mcts),
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
    if text
        .rsplit_once('@')
        .is_some_and(|(store, _)| Path::new(store).join("run.json").exists())
    {
        return parse_store(text);
    }
    let form = text.split_inclusive(':').next().unwrap_or_default();
    Err(SpecError::UnknownKind {
        text: text.chars().take(80).collect(),
        nearest: engine(text).or_else(|| nearest(form, FORMS).map(str::to_owned)),
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
        // An address may contain an @ itself, but then more of the address follows it.
        Some((location, generation)) if !location.is_empty() && !generation.contains('/') => {
            let digits = generation.strip_prefix('g').unwrap_or(generation);
            let number = digits.parse().ok().filter(|_| !digits.starts_with('+'));
            let generation = Some(number.ok_or_else(|| SpecError::BadGeneration(generation.to_owned()))?);
            Ok(PlayerKind::Store {
                location: location.to_owned(),
                generation,
            })
        }
        _ => Ok(whole()),
    }
}

/// Writes the player in a form that parses back to the same player.
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
            PlayerKind::Random | PlayerKind::Mcts | PlayerKind::Uniform => f.write_str(self.kind.word())?,
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
    fn all_forms_round_trip() {
        for text in [
            "random",
            "random,name=dice",
            "mcts",
            "mcts,playouts=300,name=rollouts",
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
    fn a_generation_of_a_store_needs_no_prefix() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = folder.path().display().to_string();
        let unknown = format!("{location}@12").parse::<PlayerSpec>();
        assert!(matches!(unknown, Err(SpecError::UnknownKind { .. })), "no store yet");
        std::fs::write(folder.path().join("run.json"), "{}").expect("writable");
        let player = parse(&format!("{location}@12,visits=64"));
        assert_eq!(player, parse(&format!("store:{location}@g000012,visits=64")));
    }

    #[test]
    fn kind_and_options_are_parsed() {
        let store = parse("store:runs/a@g000007,visits=64");
        assert_eq!(
            store.kind,
            PlayerKind::Store {
                location: "runs/a".to_owned(),
                generation: Some(7)
            }
        );
        assert_eq!(parse("store:runs/a@7,visits=64"), store);
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
    fn existing_paths_are_stores_or_models() {
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
    fn errors_explain_and_suggest_the_nearest_form() {
        assert!(error("radnom").contains("did you mean 'random'?"));
        assert!(error("modle:data/x").contains("did you mean 'model:'?"));
        assert!(error("gpt:gnugo").contains("did you mean 'gtp:'?"));
        assert!(!error("something/else/altogether").contains("did you mean"));
        assert!(error("uniform,vists=5").contains("did you mean 'visits'?"));
        assert!(error("random,visits=5").contains("'visits' is not an option of random players"));
        assert!(
            error("uniform,visits=many").contains("'many' is not valid for option visits: expected a whole number")
        );
        assert!(error("uniform,visits=0").contains("from 1"));
        assert!(error("uniform,noise=maybe").contains("on or off"));
        assert!(error("uniform,method=uct").contains("gumbel or puct"));
        assert!(error("store:x@last").contains("12 or g000012"));
        assert!(error("gnugo").contains("did you mean 'gtp:gnugo --mode gtp'?"));
        assert!(error("pachi -t 5").contains("did you mean 'gtp:pachi -t 5'?"));
        assert!(error("model:").contains("must be followed by"));
        assert!(error("").contains("does not describe a player"));
        assert!(error("gtp:").contains("empty"));
        assert!(error("gtp:\"gnugo").contains("unclosed"));
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
        fn arbitrary_text_never_panics(text in "(gtp:|model:|store:|random|mcts|uniform|)[\\PC,='\"@:]{0,24}") {
            if let Ok(spec) = text.parse::<PlayerSpec>() {
                let _ = spec.to_string();
            }
        }
    }
}
