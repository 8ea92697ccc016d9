//! Plays the matches of a tournament with a progress bar.

use indicatif::ProgressBar;

use tengen_evaluator::{MatchConfig, PlayerSpec};
use tengen_matches::{Entrant, Pairing, Tournament};
use tengen_store::Store;

use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::output::{self, say};
use crate::players::Loader;

/// The players and settings of all matches.
pub(crate) struct Matches<'a> {
    pub(crate) config: &'a MatchConfig,
    pub(crate) entrants: &'a [Entrant],
    /// The store that keeps the games, if any.
    pub(crate) store: Option<&'a Store>,
    pub(crate) device: DeviceArgs,
    pub(crate) interrupt: &'a Interrupt,
}

impl Matches<'_> {
    /// Calls `play` with a function that plays the match of two players, given by index, and shows its progress as one
    /// of `matches` matches. That function returns `None` if the user stops the matches.
    pub(crate) fn with_progress<T>(
        &self,
        matches: usize,
        play: impl FnOnce(&mut dyn FnMut([usize; 2]) -> anyhow::Result<Option<Pairing>>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let loader = Loader::new(&self.device, self.config.rules)?;
        let flag = self.interrupt.flag();
        let player = |spec: &PlayerSpec| loader.player_until(spec, &flag);
        let dtype = self.device.dtype_name()?;
        let tournament = Tournament {
            config: self.config,
            entrants: self.entrants,
            store: self.store,
            player: &player,
            device: [&self.device.devices().to_string(), &dtype],
            stop: &|| self.interrupt.requested(),
            say: &|line| say(line),
        };
        let bar = output::bar(
            (matches * self.config.games) as u64,
            "[{bar:16}] {human_pos}/{human_len} games, {eta} left, {wide_msg}",
        );
        bar.set_message("no result yet");
        let mut number = 0;
        let done = play(&mut |players| {
            number += 1;
            match self.interrupt.requested() {
                true => Ok(None),
                false => self.meet(&tournament, players, [number, matches], &bar),
            }
        });
        bar.finish_and_clear();
        done
    }

    fn meet(
        &self,
        tournament: &Tournament<'_>,
        players: [usize; 2],
        [number, matches]: [usize; 2],
        bar: &ProgressBar,
    ) -> anyhow::Result<Option<Pairing>> {
        let [a, b] = players.map(|player| &self.entrants[player].label);
        bar.set_message(format!("{a} against {b}"));
        bar.set_position(((number - 1) * self.config.games) as u64);
        let mut shown = 0;
        let pairing = tournament.meet(players, &mut || {
            shown += 1;
            bar.inc(1);
        })?;
        if let (Some(pairing), false, true) = (&pairing, output::interactive(), shown > 0) {
            let estimate = &pairing.result.estimate;
            say(format!(
                "{number} of {matches}: {a} against {b} {} : {}, Elo {}",
                pairing.result.a_points,
                pairing.result.b_points,
                output::elo_estimate(estimate.elo, estimate.elo_low, estimate.elo_high)
            ));
        }
        Ok(pairing)
    }
}
