//! Any engine that speaks GTP, one process per game played side by side.

use std::thread;

use tengen_gtp::{Answer as Genmove, CommandLine, Controller, ControllerError, Timeouts};

use crate::player::{Answer, Choice, Fault, FaultKind, Player, PlayerCost, PlayerError, Turn};

/// Plays through engine processes. Our referee keeps the games; the engines are told every move.
///
/// An engine that lists `set_random_seed` (GNU Go does) is given the game's seed, so that the same match can be played again.
pub struct GtpPlayer {
    name: String,
    command: CommandLine,
    timeouts: Timeouts,
    seats: Vec<Seat>,
    engines: usize,
    moves: u64,
}

/// One engine process and the game it is in.
#[derive(Default)]
struct Seat {
    controller: Option<Controller>,
    game: Option<u64>,
    /// Plies of the game that the engine knows.
    told: usize,
}

impl GtpPlayer {
    /// Starts one engine to see that it works, and asks for its name. More are started as games need them, `engines` at most.
    ///
    /// # Errors
    /// [`PlayerError::Engine`] when it cannot be started or does not speak GTP 2.
    pub fn start(
        command: CommandLine,
        timeouts: Timeouts,
        engines: usize,
        name: Option<String>,
    ) -> Result<GtpPlayer, PlayerError> {
        let controller = Controller::start(&command, timeouts)?;
        let info = controller.info();
        let name = name.unwrap_or_else(|| format!("{} {}", info.name, info.version).trim().replace('\n', " "));
        let seats = vec![Seat {
            controller: Some(controller),
            ..Seat::default()
        }];
        Ok(GtpPlayer {
            name,
            command,
            timeouts,
            seats,
            engines: engines.max(1),
            moves: 0,
        })
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
}

/// What all seats share.
struct Desk<'a> {
    name: &'a str,
    command: &'a CommandLine,
    timeouts: Timeouts,
}

impl Seat {
    fn answer(&mut self, desk: &Desk<'_>, turn: Turn<'_>) -> Result<Answer, PlayerError> {
        if self.game != Some(turn.game) {
            self.sit_down(desk, &turn)?;
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
    fn sit_down(&mut self, desk: &Desk<'_>, turn: &Turn<'_>) -> Result<(), PlayerError> {
        let old = self
            .controller
            .take()
            .and_then(|mut controller| begin(&mut controller, turn).ok().map(|()| controller));
        let controller = match old {
            Some(controller) => controller,
            None => {
                let mut fresh = Controller::start(desk.command, desk.timeouts)?;
                begin(&mut fresh, turn).map_err(|error| desk.cannot_begin(error))?;
                fresh
            }
        };
        self.controller = Some(controller);
        self.game = Some(turn.game);
        self.told = 0;
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

fn begin(controller: &mut Controller, turn: &Turn<'_>) -> Result<(), ControllerError> {
    controller.new_game(turn.position.size(), turn.komi)?;
    if controller.knows("set_random_seed") {
        // GNU Go takes a number of 32 bits with sign.
        controller.ask(&format!("set_random_seed {}", turn.seed >> 33))?;
    }
    Ok(())
}

/// Tells the engine the moves it does not know yet and asks for its own.
fn follow(controller: &mut Controller, turn: &Turn<'_>, told: &mut usize) -> Result<Genmove, Fault> {
    let size = turn.position.size();
    for (ply, &mv) in turn.position.moves().iter().enumerate().skip(*told) {
        let color = turn.position.start().mover(ply);
        if let Err(error) = controller.play(size, color, mv) {
            return Err(fault(&error, FaultKind::RefusedMove, controller));
        }
        *told = ply + 1;
    }
    let answer = controller.genmove(size, turn.color());
    answer.map_err(|error| fault(&error, FaultKind::RefusedToMove, controller))
}

fn fault(error: &ControllerError, refused: FaultKind, controller: &Controller) -> Fault {
    let kind = match error {
        ControllerError::Refused { .. } => refused,
        ControllerError::TimedOut { .. } => FaultKind::Timeout,
        ControllerError::Nonsense { .. } => FaultKind::Nonsense,
        _ => FaultKind::Exit,
    };
    Fault {
        kind,
        reason: error.to_string(),
        stderr: controller.stderr(),
    }
}
