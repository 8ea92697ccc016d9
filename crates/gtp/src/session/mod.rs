//! The engine side: replying to lines of input.

mod files;
mod parameters;
mod search;
mod setup;
mod status;
mod time;

use std::borrow::Cow;

use tengen_rules::{Color, Komi, Move, Rules, Size};

use crate::analysis::{AnalysisStyle, AnalyzeRequest, parse_color};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::game::Game;
use crate::line::Request;
use crate::rules::rules_json;

/// A session with one controller.
///
/// Pass every line of input to [`handle`](Session::handle) and write the text of each reply. The reply to an empty line
/// or a comment is empty. Any input is answered, and none causes a panic.
///
/// After a reply with [`Next::Analyze`], call [`ponder`](Session::ponder) repeatedly and write the line from
/// [`report`](Session::report) once per interval, until the next line of input arrives; `handle` then ends the report.
pub struct Session<E: Engine> {
    engine: E,
    game: Game,
    clock: Clock,
    analyzing: Option<(AnalyzeRequest, Color)>,
    /// The number of turns after which the engine may search during the opponent's turn.
    pondering_after: Option<usize>,
    /// The player who resigned by `genmove`, unless the game has continued.
    resigned: Option<Color>,
    /// Seconds spent in `genmove` and similar commands.
    seconds_used: f64,
    /// The size, rules and komi last sent to the engine.
    conditions: Option<(Size, Rules, Komi)>,
    quit: bool,
}

/// The answer to one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Reply {
    /// The text to write, including newlines; may be empty.
    pub text: String,
    /// What to do after writing the text.
    pub next: Next,
}

/// What to do after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read the next line of input.
    Read,
    /// Report the analysis at about this interval until the next line arrives.
    Analyze {
        /// Hundredths of a second between two reports.
        interval_cs: u32,
    },
    /// Call [`Session::ponder_opponents_turn`] until the next line arrives or it has nothing more to do.
    Ponder,
    /// Stop, because the controller has sent `quit`.
    Quit,
}

/// The text of a reply, or the message of a failure.
type Outcome = Result<String, String>;

const COMMANDS: &[&str] = &[
    "boardsize",
    "clear_board",
    "final_score",
    "final_status_list",
    "clear_cache",
    "cputime",
    "fixed_handicap",
    "genmove",
    "get_komi",
    "gg-undo",
    "gomill-cpu_time",
    "kata-get-param",
    "kata-get-rules",
    "kata-list-params",
    "kata-list_time_settings",
    "kata-set-param",
    "kata-set-rule",
    "kata-set-rules",
    "kata-time_settings",
    "kgs-genmove_cleanup",
    "kgs-time_settings",
    "known_command",
    "komi",
    "list_commands",
    "loadsgf",
    "name",
    "place_free_handicap",
    "play",
    "printsgf",
    "protocol_version",
    "query_boardsize",
    "quit",
    "rectangular_boardsize",
    "reg_genmove",
    "set_free_handicap",
    "set_position",
    "showboard",
    "stop",
    "tengen-warnings",
    "time_left",
    "time_settings",
    "undo",
    "version",
];

/// Commands listed only if the engine has a seed.
const SEED_COMMANDS: &[&str] = &["get_random_seed", "set_random_seed"];

/// Commands listed only if the engine can analyze.
const ANALYSIS_COMMANDS: &[&str] = &[
    "kata-analyze",
    "kata-genmove_analyze",
    "kata-raw-nn",
    "lz-analyze",
    "lz-genmove_analyze",
    "analyze",
    "genmove_analyze",
];

impl<E: Engine> Session<E> {
    /// Starts a session on an empty board under Tromp-Taylor rules; see [`Session::under`] for other rules.
    pub fn new(mut engine: E, size: Size, komi: Komi) -> Session<E> {
        engine.new_game(size);
        Session {
            engine,
            game: Game::new(size, komi),
            clock: Clock::default(),
            analyzing: None,
            pondering_after: None,
            resigned: None,
            seconds_used: 0.0,
            conditions: None,
            quit: false,
        }
    }

    /// The same session under other rules.
    pub fn under(mut self, rules: Rules) -> Session<E> {
        self.game = Game::with_rules(self.game.size(), rules, self.game.komi());
        self
    }

    /// Sends the board size, rules and komi to the engine if they have changed. Every line of input does this too.
    pub fn tell_conditions(&mut self) {
        let now = (self.game.size(), self.game.rules(), self.game.komi());
        if self.conditions.replace(now) != Some(now) {
            self.engine.set_conditions(now.0, now.1, now.2);
        }
    }

    /// The game on the board.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// The engine behind the session.
    pub fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Answers one line, given as text with or without its line ending.
    pub fn handle(&mut self, line: &str) -> Reply {
        let mut text = String::new();
        let next = self.handle_to(line, &mut |part| text.push_str(part));
        Reply { text, next }
    }

    /// Answers one line piece by piece: `out` receives each piece of text immediately, so that the reports of a
    /// `…-genmove_analyze` command are sent during the search.
    pub fn handle_to(&mut self, line: &str, out: &mut dyn FnMut(&str)) -> Next {
        if self.analyzing.take().is_some() {
            out("\n");
        }
        let Some(request) = Request::parse(line) else {
            return self.next();
        };
        let id = request.id.clone().unwrap_or_default();
        self.tell_conditions();
        if self.is_watched_genmove(&request.name) {
            self.watched_genmove(&request, &id, out);
            return self.next();
        }
        let answer = self.answer(&request);
        self.tell_conditions();
        match (answer, &self.analyzing) {
            (Ok(_), Some(_)) => out(&format!("={id}\n")),
            (Ok(text), None) => out(&format!("={id} {}\n\n", body(&text))),
            (Err(message), _) => out(&format!("?{id} {}\n\n", body(&message))),
        }
        self.next()
    }

    /// Answers one line of raw bytes, where invalid UTF-8 is replaced.
    pub fn handle_bytes(&mut self, line: &[u8]) -> Reply {
        self.handle(&String::from_utf8_lossy(line))
    }

    fn next(&self) -> Next {
        match (&self.analyzing, self.quit) {
            (_, true) => Next::Quit,
            (Some((request, _)), _) => Next::Analyze {
                interval_cs: request.interval_cs,
            },
            _ if self.may_ponder() => Next::Ponder,
            _ => Next::Read,
        }
    }

    fn answer(&mut self, request: &Request) -> Outcome {
        let args = Args {
            args: &request.args,
            size: self.game.size(),
        };
        match request.name.as_str() {
            "protocol_version" => Ok("2".to_owned()),
            "name" => Ok(self.engine.name()),
            "version" => Ok(self.engine.version()),
            "known_command" => Ok(request.args.first().is_some_and(|name| self.knows(name)).to_string()),
            "list_commands" => Ok(self.commands().join("\n")),
            "quit" => {
                self.quit = true;
                Ok(String::new())
            }
            "boardsize" => self.boardsize(&args),
            "rectangular_boardsize" => self.rectangular_boardsize(&args),
            "query_boardsize" => Ok(self.query_boardsize()),
            "clear_board" => self.clear_board(),
            "komi" => self.komi(&args),
            "get_komi" => Ok(self.game.komi().to_string()),
            "fixed_handicap" => self.fixed_handicap(&args),
            "place_free_handicap" => self.place_free_handicap(&args),
            "set_free_handicap" => self.set_free_handicap(&args),
            "loadsgf" => self.load_sgf(&args),
            "printsgf" => self.print_sgf(&args),
            "set_position" => self.set_position(&args),
            "kata-get-rules" => Ok(rules_json(self.game.rules())),
            "kata-set-rules" => self.set_rules(&request.rest()),
            "kata-set-rule" => self.set_rule(&args),
            "kata-list-params" => Ok(self.parameter_names()),
            "kata-get-param" => self.parameter(&args),
            "kata-set-param" => self.set_parameter(&args),
            "clear_cache" => {
                self.engine.clear_cache();
                Ok(String::new())
            }
            "stop" => {
                self.pondering_after = None;
                Ok(String::new())
            }
            "tengen-warnings" => Ok(self.engine.warnings().join("\n")),
            "cputime" | "gomill-cpu_time" => Ok(format!("{:.3}", self.seconds_used)),
            "kata-list_time_settings" => Ok("none absolute canadian byoyomi fischer".to_owned()),
            "get_random_seed" => self.random_seed(),
            "set_random_seed" => self.set_random_seed(&args),
            "play" => self.play(&args),
            "undo" => self.undo(),
            "gg-undo" => self.undo_many(&args),
            "kgs-time_settings" | "kata-time_settings" => self.named_time_settings(&args),
            "kgs-genmove_cleanup" => self.genmove_cleanup(&args),
            "time_settings" => self.time_settings(&args),
            "time_left" => self.time_left(&args),
            "genmove" => self.genmove(&args),
            "reg_genmove" => self.reg_genmove(&args),
            "final_score" => self.final_score(),
            "final_status_list" => self.final_status_list(&args),
            "showboard" => Ok(self.showboard()),
            "kata-raw-nn" if self.engine.can_analyze() => self.raw_network(&args),
            name if self.engine.can_analyze() && ANALYSIS_COMMANDS.contains(&name) => self.analysis(name, &args),
            "" => Err("missing command".to_owned()),
            _ => Err("unknown command".to_owned()),
        }
    }

    fn analysis(&mut self, name: &str, args: &Args<'_>) -> Outcome {
        let request = AnalyzeRequest::parse(style_of(name), args.args, self.game.size())?;
        let color = request.color.unwrap_or(self.game.position().to_move());
        self.analyzing = Some((request, color));
        Ok(String::new())
    }

    fn is_watched_genmove(&self, name: &str) -> bool {
        self.engine.can_analyze() && ANALYSIS_COMMANDS.contains(&name) && name.contains("genmove")
    }

    fn commands(&self) -> Vec<&'static str> {
        let groups = [
            (true, COMMANDS),
            (self.engine.random_seed().is_some(), SEED_COMMANDS),
            (self.engine.can_analyze(), ANALYSIS_COMMANDS),
        ];
        let listed = groups.into_iter().filter(|&(can, _)| can);
        listed.flat_map(|(_, commands)| commands).copied().collect()
    }

    fn knows(&self, name: &str) -> bool {
        self.commands().contains(&name)
    }
}

fn style_of(command: &str) -> AnalysisStyle {
    match command.starts_with("kata") {
        true => AnalysisStyle::Kata,
        false => AnalysisStyle::Lz,
    }
}

/// Removes empty lines from a reply, since an empty line would end it (GTP 2, 2.6).
fn body(text: &str) -> Cow<'_, str> {
    let text = text.trim_end();
    if !text.contains("\n\n") && !text.starts_with('\n') && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    Cow::Owned(lines.join("\n"))
}

/// The arguments of a command; invalid ones give the error messages of GTP 2.
struct Args<'a> {
    args: &'a [String],
    size: Size,
}

impl<'a> Args<'a> {
    fn word(&self, index: usize) -> Option<&'a str> {
        self.args.get(index).map(String::as_str)
    }

    fn number<T: std::str::FromStr>(&self, index: usize, what: &str) -> Result<T, String> {
        let word = self
            .word(index)
            .ok_or_else(|| format!("syntax error: {what} is missing"))?;
        word.parse().map_err(|_| format!("{what} not a number"))
    }

    fn color(&self, index: usize) -> Result<Color, String> {
        self.word(index)
            .and_then(parse_color)
            .ok_or_else(|| "invalid color or coordinate".to_owned())
    }

    fn mv(&self, index: usize) -> Result<Move, String> {
        let word = self
            .word(index)
            .ok_or_else(|| "invalid color or coordinate".to_owned())?;
        Move::parse(self.size, word).map_err(|_| "invalid color or coordinate".to_owned())
    }
}
