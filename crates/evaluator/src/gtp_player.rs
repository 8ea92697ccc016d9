//! A player for any engine that speaks GTP, with one process per parallel game.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tengen_gtp::{Answer as Genmove, CommandLine, Controller, ControllerError, EngineInfo, Timeouts, rules_for_engine};
use tengen_rules::{GameEnd, Rules};

use crate::player::{Answer, Choice, EngineReport, Fault, FaultKind, Player, PlayerCost, PlayerError, Turn};

/// How much of an engine's standard error a fault keeps, in bytes.
const STDERR_KEPT: usize = 8 * 1024;
/// Maximum length of an engine's name in results and records, in characters.
const NAME_KEPT: usize = 80;

/// Plays through engine processes. Our own referee keeps track of the games and sends every move to the engines.
///
/// An engine that lists `set_random_seed` (such as GNU Go) gets the game's seed, so that the same match can be played
/// again. An engine that lists `kata-set-rules` (such as KataGo and Tengen) gets the rules.
///
/// **Restarts.** A process plays one game after another. If it fails during a game, it loses that game and is killed.
/// If it is dead or fails when a game begins, it is replaced without a loss. If an engine cannot be started, or refuses
/// the board or the komi, before any process in its slot has begun a game, the match ends, because nothing can be
/// played. After that, the engine loses a game that it cannot begin, and the next game tries again.
///
/// Dropping the player asks the engines to quit, waits a second, and then kills any that are left.
pub struct GtpPlayer {
    name: String,
    info: EngineInfo,
    command: CommandLine,
    timeouts: Timeouts,
    stop: Arc<AtomicBool>,
    slots: Vec<Slot>,
    engines: usize,
    moves: u64,
    processes: AtomicU64,
}

/// One engine process and the game it is in.
#[derive(Default)]
struct Slot {
    controller: Option<Controller>,
    game: Option<u64>,
    /// Number of the game's plies that the engine knows.
    known_plies: usize,
    /// Whether an engine has begun a game in this slot before.
    proven: bool,
    /// Rules that an engine in this slot may not know.
    unknown_rules: Option<String>,
}

impl GtpPlayer {
    /// Starts one engine to check that it works and to ask for its name. More are started as games need them, up to
    /// `engines`. Once `stop` is set, engines that do not answer within a second or so are killed, and
    /// [`Player::choose`] returns [`PlayerError::Stopped`].
    ///
    /// # Errors
    /// [`ControllerError`] when it cannot be started or does not speak GTP 2.
    pub fn start(
        command: CommandLine,
        timeouts: Timeouts,
        engines: usize,
        name: Option<String>,
        stop: Arc<AtomicBool>,
    ) -> Result<GtpPlayer, ControllerError> {
        let controller = Controller::start_until(&command, timeouts, Arc::clone(&stop))?;
        let info = controller.info().clone();
        let name = name.unwrap_or_else(|| name_of(&info, &command));
        let slots = vec![Slot {
            controller: Some(controller),
            ..Slot::default()
        }];
        Ok(GtpPlayer {
            name,
            info,
            command,
            timeouts,
            stop,
            slots,
            engines: engines.max(1),
            moves: 0,
            processes: AtomicU64::new(1),
        })
    }
}

impl Drop for GtpPlayer {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        thread::scope(|scope| {
            for controller in self.slots.iter_mut().filter_map(|slot| slot.controller.take()) {
                scope.spawn(|| controller.quit());
            }
        });
    }
}

/// The engine's name and version in one short line, or the program's file name if it reports neither.
fn name_of(info: &EngineInfo, command: &CommandLine) -> String {
    let said = format!("{} {}", info.name, info.version);
    let shown = said.replace(char::is_control, " ");
    let words: Vec<&str> = shown.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(NAME_KEPT).collect();
    match name.is_empty() {
        true => command.program.rsplit('/').next().unwrap_or_default().to_owned(),
        false => name,
    }
}

impl Player for GtpPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn max_parallel(&self) -> usize {
        self.engines
    }

    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
        let slots = turns.iter().map(|turn| turn.slot + 1).max().unwrap_or(0);
        if self.slots.len() < slots {
            self.slots.resize_with(slots, Slot::default);
        }
        self.moves += turns.len() as u64;
        let mut free: Vec<Option<&mut Slot>> = self.slots.iter_mut().map(Some).collect();
        let shared = &Shared {
            name: &self.name,
            command: &self.command,
            timeouts: self.timeouts,
            stop: &self.stop,
            processes: &self.processes,
        };
        let jobs = turns.iter().map(|turn| {
            let slot = free[turn.slot].take().expect("one slot has one game at a time");
            (slot, *turn)
        });
        let jobs: Vec<_> = jobs.collect();
        thread::scope(|scope| {
            let workers: Vec<_> = jobs
                .into_iter()
                .map(|(slot, turn)| scope.spawn(move || slot.answer(shared, turn)))
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no thread of an engine panics"))
                .collect()
        })
    }

    fn cost(&self) -> PlayerCost {
        PlayerCost {
            moves: self.moves,
            ..PlayerCost::default()
        }
    }

    fn engine(&self) -> Option<EngineReport> {
        Some(EngineReport {
            command: self.command.to_string(),
            name: self.info.name.clone(),
            version: self.info.version.clone(),
            processes: self.processes.load(Ordering::Relaxed),
            rules_not_told: self.slots.iter().find_map(|slot| slot.unknown_rules.clone()),
        })
    }

    fn stderr(&self, slot: usize) -> String {
        let controller = self.slots.get(slot).and_then(|slot| slot.controller.as_ref());
        controller.map_or_else(String::new, |controller| end_of(controller.stderr()))
    }
}

/// The state shared by all slots.
struct Shared<'a> {
    name: &'a str,
    command: &'a CommandLine,
    timeouts: Timeouts,
    stop: &'a Arc<AtomicBool>,
    processes: &'a AtomicU64,
}

impl Slot {
    fn answer(&mut self, shared: &Shared<'_>, turn: Turn<'_>) -> Result<Answer, PlayerError> {
        if self.game != Some(turn.game) {
            match self.begin_game(shared, &turn) {
                Ok(()) => self.proven = true,
                Err(ControllerError::Stopped { .. }) => return Err(PlayerError::Stopped),
                Err(error) if self.proven => return Ok(Answer::Fault(fault(&error, FaultKind::RefusedGame))),
                Err(error) => return Err(shared.cannot_begin(error)),
            }
        }
        let Some(controller) = self.controller.as_mut() else {
            // Cannot happen during a game: an engine that fails loses its game.
            return Err(PlayerError::Engine(ControllerError::Gone));
        };
        let answer = match follow(controller, &turn, &mut self.known_plies) {
            Ok(Genmove::Resign) => Answer::Resign,
            Ok(Genmove::Move(mv)) => {
                self.known_plies += 1;
                Answer::Play(Choice { mv, search: None })
            }
            Err(Failure::Stopped) => return Err(PlayerError::Stopped),
            Err(Failure::Fault(fault)) => Answer::Fault(fault),
        };
        if !controller.is_alive() {
            self.controller = None;
        }
        Ok(answer)
    }

    /// Begins a new game, with a new process if the old one has failed or fails now.
    fn begin_game(&mut self, shared: &Shared<'_>, turn: &Turn<'_>) -> Result<(), ControllerError> {
        let old = self.controller.take().map(|mut controller| {
            let knows = begin(&mut controller, turn);
            (controller, knows)
        });
        let (controller, knows_rules) = match old {
            Some((controller, Ok(knows))) => (controller, knows),
            Some((_, Err(stopped @ ControllerError::Stopped { .. }))) => return Err(stopped),
            Some((_, Err(_))) | None => {
                shared.processes.fetch_add(1, Ordering::Relaxed);
                let stop = Arc::clone(shared.stop);
                let mut fresh = Controller::start_until(shared.command, shared.timeouts, stop)?;
                let knows = begin(&mut fresh, turn)?;
                (fresh, knows)
            }
        };
        self.controller = Some(controller);
        self.game = Some(turn.game);
        self.known_plies = 0;
        if !knows_rules {
            self.unknown_rules = Some(turn.position.rules().to_string());
        }
        Ok(())
    }
}

impl Shared<'_> {
    fn cannot_begin(&self, error: ControllerError) -> PlayerError {
        match error {
            ControllerError::Refused { .. } => PlayerError::Unsupported {
                player: self.name.to_owned(),
                reason: error.to_string(),
            },
            error => PlayerError::Engine(error),
        }
    }
}

/// Sets up a new game. Returns whether the engine knows its rules.
fn begin(controller: &mut Controller, turn: &Turn<'_>) -> Result<bool, ControllerError> {
    controller.new_game(turn.position.size(), turn.komi)?;
    let knows_rules = set_rules(controller, turn.position.rules())?;
    if controller.knows("set_random_seed") {
        // GNU Go accepts a signed 32-bit number.
        controller.ask(&format!("set_random_seed {}", turn.seed >> 33))?;
    }
    Ok(knows_rules)
}

/// Sends the rules to an engine that has a command for them. Returns whether the engine knows the rules. Engines
/// without the command are assumed to play Tromp-Taylor; how a game ends makes no difference between machines.
fn set_rules(controller: &mut Controller, rules: Rules) -> Result<bool, ControllerError> {
    if !controller.knows("kata-set-rules") {
        let end = GameEnd::TwoPasses;
        return Ok(Rules { end, ..rules } == Rules::tromp_taylor());
    }
    match controller.ask(&format!("kata-set-rules {}", rules_for_engine(rules))) {
        Ok(_) => Ok(true),
        Err(ControllerError::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sends the engine the moves it does not know yet and asks for its own.
fn follow(controller: &mut Controller, turn: &Turn<'_>, known_plies: &mut usize) -> Result<Genmove, Failure> {
    let size = turn.position.size();
    for (ply, &mv) in turn.position.moves().iter().enumerate().skip(*known_plies) {
        let color = turn.position.start().mover(ply);
        controller
            .play(size, color, mv)
            .map_err(|error| failure(&error, FaultKind::RefusedMove, controller))?;
        *known_plies = ply + 1;
    }
    let answer = controller.genmove(size, turn.color());
    answer.map_err(|error| failure(&error, FaultKind::RefusedToMove, controller))
}

/// Why an engine has not answered a turn.
enum Failure {
    /// It was asked to stop.
    Stopped,
    /// It failed, which loses the game.
    Fault(Fault),
}

fn failure(error: &ControllerError, refused: FaultKind, controller: &Controller) -> Failure {
    match error {
        ControllerError::Stopped { .. } => Failure::Stopped,
        error => Failure::Fault(with_stderr(fault(error, refused), controller)),
    }
}

fn fault(error: &ControllerError, refused: FaultKind) -> Fault {
    let (kind, stderr) = match error {
        ControllerError::Refused { .. } => (refused, ""),
        ControllerError::TimedOut { stderr, .. } | ControllerError::OutOfTime { stderr, .. } => {
            (FaultKind::Timeout, stderr.as_str())
        }
        ControllerError::Nonsense { stderr, .. } => (FaultKind::Nonsense, stderr.as_str()),
        ControllerError::Exited { stderr, .. } => (FaultKind::Exit, stderr.as_str()),
        ControllerError::NotFound { .. }
        | ControllerError::NotStarted { .. }
        | ControllerError::Stopped { .. }
        | ControllerError::Gone => (FaultKind::Exit, ""),
    };
    Fault {
        kind,
        reason: error.to_string(),
        stderr: end_of(stderr.to_owned()),
    }
}

/// Updates a fault with everything the process has written to standard error by now, which may be more than when it
/// failed.
fn with_stderr(fault: Fault, controller: &Controller) -> Fault {
    Fault {
        stderr: end_of(controller.stderr()),
        ..fault
    }
}

fn end_of(text: String) -> String {
    let mut start = text.len().saturating_sub(STDERR_KEPT);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}
