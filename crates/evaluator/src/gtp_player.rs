//! Any engine that speaks GTP, one process per game played side by side.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tengen_gtp::{Answer as Genmove, CommandLine, Controller, ControllerError, EngineInfo, Timeouts, rules_for_engine};
use tengen_rules::{GameEnd, Rules};

use crate::player::{Answer, Choice, EngineReport, Fault, FaultKind, Player, PlayerCost, PlayerError, Turn};

/// How much of an engine's standard error is kept with a fault, in bytes.
const STDERR_KEPT: usize = 8 * 1024;
/// Longest name of an engine in results and records, in characters.
const NAME_KEPT: usize = 80;

/// Plays through engine processes. Our referee keeps the games; the engines are told every move.
///
/// An engine that lists `set_random_seed` (GNU Go does) is given the game's seed, so that the same match can be played again.
/// One that lists `kata-set-rules` (KataGo and Tengen do) is told the rules.
///
/// **Restarts.** A process plays game after game. One that fails in a game loses that game and is killed. One that is found dead or
/// failing when a game begins is replaced without a loss. An engine that cannot be started, or refuses the board or the komi, ends
/// the match when that happens in a process's first game, since nothing can be played then; later it loses the game it cannot begin,
/// and the next game tries again.
///
/// Dropping the player asks the engines to quit, gives them a second, and ends them in any case.
pub struct GtpPlayer {
    name: String,
    info: EngineInfo,
    command: CommandLine,
    timeouts: Timeouts,
    seats: Vec<Seat>,
    engines: usize,
    moves: u64,
    processes: AtomicU64,
}

/// One engine process and the game it is in.
#[derive(Default)]
struct Seat {
    controller: Option<Controller>,
    game: Option<u64>,
    /// Plies of the game that the engine knows.
    told: usize,
    /// Whether an engine has begun a game here before.
    proven: bool,
    /// The rules that an engine here could not be told.
    rules_not_told: Option<String>,
}

impl GtpPlayer {
    /// Starts one engine to see that it works, and asks for its name. More are started as games need them, `engines` at most.
    ///
    /// # Errors
    /// [`ControllerError`] when it cannot be started or does not speak GTP 2.
    pub fn start(
        command: CommandLine,
        timeouts: Timeouts,
        engines: usize,
        name: Option<String>,
    ) -> Result<GtpPlayer, ControllerError> {
        let controller = Controller::start(&command, timeouts)?;
        let info = controller.info().clone();
        let name = name.unwrap_or_else(|| name_of(&info, &command));
        let seats = vec![Seat {
            controller: Some(controller),
            ..Seat::default()
        }];
        Ok(GtpPlayer {
            name,
            info,
            command,
            timeouts,
            seats,
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
            for controller in self.seats.iter_mut().filter_map(|seat| seat.controller.take()) {
                scope.spawn(|| controller.quit());
            }
        });
    }
}

/// What the engine calls itself, in one short line; the program's file name where it does not say.
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
        let seats = turns.iter().map(|turn| turn.slot + 1).max().unwrap_or(0);
        if self.seats.len() < seats {
            self.seats.resize_with(seats, Seat::default);
        }
        self.moves += turns.len() as u64;
        let mut free: Vec<Option<&mut Seat>> = self.seats.iter_mut().map(Some).collect();
        let desk = &Desk {
            name: &self.name,
            command: &self.command,
            timeouts: self.timeouts,
            processes: &self.processes,
        };
        let jobs = turns.iter().map(|turn| {
            let seat = free[turn.slot].take().expect("one slot has one game at a time");
            (seat, *turn)
        });
        let jobs: Vec<_> = jobs.collect();
        thread::scope(|scope| {
            let workers: Vec<_> = jobs
                .into_iter()
                .map(|(seat, turn)| scope.spawn(move || seat.answer(desk, turn)))
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
            rules_not_told: self.seats.iter().find_map(|seat| seat.rules_not_told.clone()),
        })
    }

    fn stderr(&self, slot: usize) -> String {
        let controller = self.seats.get(slot).and_then(|seat| seat.controller.as_ref());
        controller.map_or_else(String::new, |controller| end_of(controller.stderr()))
    }
}

/// What all seats share.
struct Desk<'a> {
    name: &'a str,
    command: &'a CommandLine,
    timeouts: Timeouts,
    processes: &'a AtomicU64,
}

impl Seat {
    fn answer(&mut self, desk: &Desk<'_>, turn: Turn<'_>) -> Result<Answer, PlayerError> {
        if self.game != Some(turn.game) {
            match self.sit_down(desk, &turn) {
                Ok(()) => self.proven = true,
                Err(error) if self.proven => return Ok(Answer::Fault(fault(&error, FaultKind::RefusedGame))),
                Err(error) => return Err(desk.cannot_begin(error)),
            }
        }
        let Some(controller) = self.controller.as_mut() else {
            // Cannot happen in a game that goes on: a failed engine has lost its game.
            return Err(PlayerError::Engine(ControllerError::Gone));
        };
        let answer = match follow(controller, &turn, &mut self.told) {
            Ok(Genmove::Resign) => Answer::Resign,
            Ok(Genmove::Move(mv)) => {
                self.told += 1;
                Answer::Play(Choice { mv, thought: None })
            }
            Err(fault) => Answer::Fault(fault),
        };
        if !controller.is_alive() {
            self.controller = None;
        }
        Ok(answer)
    }

    /// Begins a new game, with a new process where the last one has failed or fails now.
    fn sit_down(&mut self, desk: &Desk<'_>, turn: &Turn<'_>) -> Result<(), ControllerError> {
        let old = self
            .controller
            .take()
            .and_then(|mut controller| begin(&mut controller, turn).ok().map(|told| (controller, told)));
        let (controller, told_rules) = match old {
            Some(begun) => begun,
            None => {
                desk.processes.fetch_add(1, Ordering::Relaxed);
                let mut fresh = Controller::start(desk.command, desk.timeouts)?;
                let told = begin(&mut fresh, turn)?;
                (fresh, told)
            }
        };
        self.controller = Some(controller);
        self.game = Some(turn.game);
        self.told = 0;
        if !told_rules {
            self.rules_not_told = Some(turn.position.rules().to_string());
        }
        Ok(())
    }
}

impl Desk<'_> {
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

/// Sets a new game up; whether the engine knows its rules.
fn begin(controller: &mut Controller, turn: &Turn<'_>) -> Result<bool, ControllerError> {
    controller.new_game(turn.position.size(), turn.komi)?;
    let knows_rules = tell_rules(controller, turn.position.rules())?;
    if controller.knows("set_random_seed") {
        // GNU Go takes a number of 32 bits with sign.
        controller.ask(&format!("set_random_seed {}", turn.seed >> 33))?;
    }
    Ok(knows_rules)
}

/// Tells the rules to an engine that can be told; false where it does not know them then. Engines that cannot be told are
/// trusted to play Tromp-Taylor; other ways to end a game make no difference between machines.
fn tell_rules(controller: &mut Controller, rules: Rules) -> Result<bool, ControllerError> {
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

/// Tells the engine the moves it does not know yet and asks for its own.
fn follow(controller: &mut Controller, turn: &Turn<'_>, told: &mut usize) -> Result<Genmove, Fault> {
    let size = turn.position.size();
    for (ply, &mv) in turn.position.moves().iter().enumerate().skip(*told) {
        let color = turn.position.start().mover(ply);
        controller
            .play(size, color, mv)
            .map_err(|error| with_stderr(fault(&error, FaultKind::RefusedMove), controller))?;
        *told = ply + 1;
    }
    let answer = controller.genmove(size, turn.color());
    answer.map_err(|error| with_stderr(fault(&error, FaultKind::RefusedToMove), controller))
}

fn fault(error: &ControllerError, refused: FaultKind) -> Fault {
    let (kind, stderr) = match error {
        ControllerError::Refused { .. } => (refused, ""),
        ControllerError::TimedOut { stderr, .. } | ControllerError::OutOfTime { stderr, .. } => {
            (FaultKind::Timeout, stderr.as_str())
        }
        ControllerError::Nonsense { stderr, .. } => (FaultKind::Nonsense, stderr.as_str()),
        ControllerError::Exited { stderr, .. } => (FaultKind::Exit, stderr.as_str()),
        ControllerError::NotFound { .. } | ControllerError::NotStarted { .. } | ControllerError::Gone => {
            (FaultKind::Exit, "")
        }
    };
    Fault {
        kind,
        reason: error.to_string(),
        stderr: end_of(stderr.to_owned()),
    }
}

/// A failure of a process that may still be asked: what it has written by now is more than what it had when it failed.
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
