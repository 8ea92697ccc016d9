//! The summary of a finished run: strength over cost, the first move, and results against simple players.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use tengen_evaluator::{
    AColor, MatchConfig, MatchContext, MatchEvent, NoModels, Openings, SearchPlayer, build_player_until, run_match,
};
use tengen_metrics::Rating;
use tengen_model::{ModelId, Weights};
use tengen_predictors::SharedNetwork;
use tengen_records::now_ms;
use tengen_report::{FirstMove, Outcome, counted, duration, elo, elo_interval, short_model};
use tengen_rng as rng;
use tengen_rules::{Komi, Position, Scoring, Size};
use tengen_search::{EvaluationCache, Lockstep, Predictor, Search, SearchConfig};
use tengen_store::{sealed_json, unseal};

use crate::opened::Opened;
use crate::training::Training;
use tengen_config::Ledger;

/// The champion's visits per move in every measurement here.
const VISITS: u32 = 64;

/// The players that the champion is measured against.
const OPPONENTS: [&str; 2] = ["random", "mcts,playouts=1000"];

/// The fewest games of a match, unless none are wanted.
const FEWEST_GAMES: usize = 4;

/// Seconds of the run per game of a match, so that the matches stay short relative to a short run.
const RUN_SECONDS_PER_GAME: f64 = 1.5;

/// Games played side by side in each match: they share batches, and some finish early enough to show progress.
const PARALLEL: usize = 32;

/// Everything reported at the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the run's configuration.
    pub name: String,
    /// Id of the champion at the end of the run.
    pub champion: String,
    /// The board that the champion was measured on.
    pub size: String,
    /// Number of self-play games, including unfinished ones.
    pub games: u64,
    /// Number of positions in these games.
    pub positions: u64,
    /// Training steps since the run began.
    pub steps: u64,
    /// Network evaluations, CPU time and wall-clock time.
    pub cost: Ledger,
    /// Strength of the models that played gate matches, oldest first; the first one's Elo is 0.
    pub elo: Vec<Rated>,
    /// The champion's first move on the empty board.
    pub first_move: FirstMove,
    /// The champion's results against simple players.
    pub results: Vec<Outcome>,
}

/// A model's strength and cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rated {
    model: String,
    elo: f64,
    low: Option<f64>,
    high: Option<f64>,
    evaluations: u64,
    cpu_seconds: f64,
}

impl Summary {
    /// Measures the champion, or reads an earlier measurement. `None` if the user stopped it.
    pub fn of(
        run: &Opened,
        training: &Training,
        ledger: &Ledger,
        ratings: Vec<Rating>,
    ) -> anyhow::Result<Option<Summary>> {
        let champion = run.champion()?;
        let path = format!("summaries/{:09}-{}.json", training.steps(), champion);
        if let Some(bytes) = run.store.files().get(&path)? {
            return Ok(Some(
                serde_json::from_slice(&unseal(&path, &bytes)?).with_context(|| format!("cannot read {path}"))?,
            ));
        }
        let played = run.closing_games != Some(0);
        let size = *run.config.sizes()?.first().context("the configuration has no board")?;
        let subject = Subject {
            run,
            id: &champion,
            weights: run.weights(&champion)?,
            size,
        };
        let games = subject.games(run.closing_games, ledger.elapsed_seconds);
        let Some(results) = subject.matches(games)? else {
            return Ok(None);
        };
        let summary = Summary {
            name: run.config.name.clone(),
            champion: champion.to_string(),
            size: size.to_string(),
            games: training.games(),
            positions: training.positions(),
            steps: training.steps(),
            cost: *ledger,
            elo: ratings.into_iter().map(Rated::from).collect(),
            first_move: subject.first_move()?,
            results,
        };
        // A summary without its matches is not stored, so that a later start can still play them.
        if played {
            run.store.files().put_new(&path, sealed_json(&summary))?;
        }
        Ok(Some(summary))
    }

    /// The summary as text for a terminal of 80 columns, several lines long. `store` is where the store is now, a
    /// folder or a URL; the summary itself does not contain it, because stores are copied.
    pub fn in_words(&self, store: &str) -> String {
        let mut lines = vec![
            format!("\nResults of the run {} on the {} board", self.name, self.size),
            String::new(),
            format!(
                "  {}, {}\n  {}, {}",
                counted(self.games, "game"),
                counted(self.positions, "position"),
                counted(self.cost.evaluations, "network evaluation"),
                counted(self.steps, "training step")
            ),
            format!(
                "  in {} ({} of CPU time)",
                duration(self.cost.elapsed_seconds),
                duration(self.cost.cpu_seconds)
            ),
        ];
        if !self.elo.is_empty() {
            lines.extend([
                String::new(),
                "  Elo of the models that played gate matches (the first of them is 0)".to_owned(),
                "  with 95% intervals, and their cost in evaluations and CPU time:".to_owned(),
            ]);
            lines.extend(self.elo.iter().map(Rated::in_words));
        }
        let first = &self.first_move;
        lines.push(String::new());
        lines.push(format!("  Champion: {}", self.champion));
        lines.push(format!(
            "  On the empty board at komi {} it plays {} ({}).\n  Black's value is {:+.2} (-1: loss, +1: win), \
             the margin before komi {:+.1}.",
            first.komi,
            first.mv,
            counted(first.visits.into(), "visit"),
            first.value,
            first.board_margin
        ));
        lines.push(String::new());
        lines.extend(self.results.iter().map(Outcome::in_words));
        if self.results.is_empty() {
            lines.push(format!(
                "  No closing matches were played; to play some:\n    tengen match --a store:{store} --b mcts"
            ));
        }
        lines.extend([
            String::new(),
            format!("  Models   {store}/models"),
            format!("  Games    {store}/games (Parquet)"),
            format!("  Matches  {store}/matches (SGF)"),
            match store.contains("://") {
                true => format!("  Report   tengen report --store {store} --out report.html"),
                false => format!("  Report   {store}/report.html"),
            },
            String::new(),
            format!("  To play against it in any Go program:\n    tengen gtp --model store:{store} --visits 64"),
        ]);
        lines.join("\n")
    }
}

impl Rated {
    fn in_words(&self) -> String {
        format!(
            "    {}  {:>6} ({}), {}, {}",
            short_model(&self.model),
            elo(self.elo),
            elo_interval(self.low, self.high),
            counted(self.evaluations, "evaluation"),
            duration(self.cpu_seconds)
        )
    }
}

impl From<Rating> for Rated {
    fn from(rating: Rating) -> Rated {
        let Rating {
            model_id,
            elo,
            low,
            high,
            evaluations,
            cpu_seconds,
            anchored: _,
        } = rating;
        Rated {
            model: model_id,
            elo,
            low: Some(low).filter(|low| low.is_finite()),
            high: Some(high).filter(|high| high.is_finite()),
            evaluations,
            cpu_seconds,
        }
    }
}

/// Games of each match: few enough that a match takes seconds on a board of this size, and fewer after a short run.
/// Boards larger than 9x9 get none.
fn affordable_games(size: Size, run_seconds: f64) -> usize {
    let most = match size.area() {
        0..=25 => 100,
        26..=49 => 40,
        50..=81 => 10,
        _ => return 0,
    };
    // An even number, so that both colors are played equally often.
    let by_time = 2 * (run_seconds / RUN_SECONDS_PER_GAME / 2.0) as usize;
    by_time.clamp(FEWEST_GAMES, most)
}

struct Subject<'a> {
    run: &'a Opened,
    id: &'a ModelId,
    weights: Weights,
    size: Size,
}

impl Subject<'_> {
    /// Games of each match: as many as asked for, otherwise as many as are affordable for the size of the board and the
    /// length of the run.
    fn games(&self, asked: Option<usize>, run_seconds: f64) -> usize {
        asked.unwrap_or_else(|| affordable_games(self.size, run_seconds))
    }

    /// Half a point less than the board's area on 5x5 under area scoring, where Black can own the whole board;
    /// otherwise the champion's fair komi.
    fn komi(&self) -> anyhow::Result<Komi> {
        let by_area = self.run.config.rules.scoring != Scoring::Territory;
        if by_area && self.size == Size::square(5)? {
            return Ok("24.5".parse()?);
        }
        let info = self.run.store.models().info(self.id)?;
        Ok(info.fair_komi(self.size).unwrap_or(Komi::from_half_points(0)))
    }

    fn predictor(&self) -> anyhow::Result<Box<dyn Predictor>> {
        let network = SharedNetwork::new(&self.id.to_string(), &self.weights, self.run.options)?;
        Ok(network.predictor()?)
    }

    fn first_move(&self) -> anyhow::Result<FirstMove> {
        let komi = self.komi()?;
        let position = Position::with_rules(self.size, self.run.config.rules).between_machines();
        let search = Search::new(SearchConfig::for_play(VISITS), &position, komi, rng::stream(0, &[]));
        let mut searches = [search];
        Lockstep::new().run(
            &mut searches,
            &mut self.predictor()?,
            &mut EvaluationCache::new(1 << 22),
        )?;
        let result = searches[0].result();
        Ok(FirstMove {
            komi: komi.to_string(),
            visits: VISITS,
            mv: result.best.format(self.size),
            value: result.value,
            board_margin: result.margin + komi.points(),
        })
    }

    /// Plays the matches in parallel on the machine's cores.
    fn matches(&self, games: usize) -> anyhow::Result<Option<Vec<Outcome>>> {
        if games == 0 {
            return Ok(Some(Vec::new()));
        }
        let mut jobs = Vec::new();
        for opponent in OPPONENTS {
            jobs.push((opponent, AColor::Black, self.komi()?));
            jobs.push((opponent, AColor::Alternate, Komi::from_half_points(0)));
        }
        let (done, all) = (Mutex::new(0), (jobs.len() * games) as u64);
        self.run.watch.closing_games(0, all);
        let count = || {
            // Stays locked during the call, so that the watch sees the numbers in order.
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            self.run.watch.closing_games(*done, all);
        };
        let play =
            |(opponent, color, komi): (&'static str, AColor, Komi)| self.meet(opponent, color, komi, games, &count);
        let mut outcomes = Vec::new();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for batch in jobs.chunks(cores) {
            let results: Vec<anyhow::Result<Option<Outcome>>> = std::thread::scope(|scope| {
                let threads: Vec<_> = batch.iter().map(|&job| scope.spawn(move || play(job))).collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err(anyhow::anyhow!("a match panicked; see the message above")))
                };
                threads.into_iter().map(join).collect()
            });
            for result in results {
                match result? {
                    Some(outcome) => outcomes.push(outcome),
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(outcomes))
    }

    /// Plays one match; `count` is called after every game.
    fn meet(
        &self,
        opponent: &str,
        color: AColor,
        komi: Komi,
        games: usize,
        count: &(dyn Fn() + Sync),
    ) -> anyhow::Result<Option<Outcome>> {
        let predictor = self.predictor()?;
        let mut champion = SearchPlayer::new(self.id.to_string(), predictor, SearchConfig::for_play(VISITS))
            .with_stop(Arc::clone(&self.run.stop));
        let mut other = build_player_until(&opponent.parse()?, &mut NoModels, &self.run.stop)?;
        let config = MatchConfig {
            size: self.size,
            rules: self.run.config.rules,
            komi,
            games,
            openings: Openings::default(),
            a_color: color,
            parallel: games.min(PARALLEL),
            ..MatchConfig::default()
        };
        let context = MatchContext {
            match_id: "summary".to_owned(),
            config_id: self.run.config_id.clone(),
            start_time_ms: now_ms() as i64,
        };
        let mut observe = |event: &MatchEvent<'_>| {
            if let MatchEvent::GameFinished { .. } = event {
                count();
            }
            if self.run.stop.load(Ordering::SeqCst) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let result = run_match(&config, &mut champion, &mut *other, &context, &mut observe)?;
        Ok((!result.stopped).then(|| Outcome {
            opponent: opponent.to_owned(),
            color: if color == AColor::Black { "black" } else { "alternate" }.to_owned(),
            komi: komi.to_string(),
            games: games as u64,
            wins: result.a_total.wins,
            ties: result.a_total.ties,
            losses: result.a_total.losses,
            full_board_wins: result.a_full_board_wins as u64,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_and_large_boards_get_few_closing_games() {
        let games = |side, seconds| affordable_games(Size::square(side).unwrap(), seconds);
        assert_eq!(
            [games(5, 1.2), games(5, 16.0), games(5, 150.0), games(5, 9e9)],
            [4, 10, 100, 100]
        );
        assert_eq!(
            [games(7, 150.0), games(9, 150.0), games(9, 0.0), games(13, 150.0)],
            [40, 10, 4, 0]
        );
    }

    #[test]
    fn summaries_of_earlier_versions_still_open() {
        let old = r#"{
            "name": "5x5", "store": "/home/somebody/demo", "champion": "g000011-5d3878319a6a", "size": "5x5",
            "games": 2, "positions": 60, "steps": 3,
            "cost": {"evaluations": 7, "cpu_seconds": 1.5, "gpu_seconds": 0.0, "elapsed_seconds": 2.5},
            "elo": [], "first_move": {"komi": "24.5", "visits": 64, "move": "C3", "value": 0.9, "board_margin": 25.0},
            "results": []
        }"#;
        let summary: Summary = serde_json::from_str(old).unwrap();
        let words = summary.in_words("data/runs/here");
        assert!(
            !words.contains("somebody") && words.contains("gtp --model store:data/runs/here"),
            "{words}"
        );
        assert!(!serde_json::to_string(&summary).unwrap().contains("somebody"));
    }

    #[test]
    fn the_summary_fits_into_80_columns() {
        let long = r#"{
            "name": "19x19-gpu", "champion": "g000123-5d3878319a6a", "size": "19x19",
            "games": 12345678, "positions": 1234567890, "steps": 12345678,
            "cost": {"evaluations": 123456789012, "cpu_seconds": 1e7, "gpu_seconds": 1e7, "elapsed_seconds": 1e7},
            "elo": [{
                "model": "g000123-5d3878319a6a", "elo": 2896.4, "low": -2319.2, "high": -2319.2,
                "evaluations": 12345678901, "cpu_seconds": 3e6
            }],
            "first_move": {"komi": "-24.5", "visits": 1234, "move": "pass", "value": -0.9, "board_margin": -325.5},
            "results": [{
                "opponent": "mcts,playouts=1000", "color": "alternate", "komi": "-24.5", "games": 1000, "wins": 1000,
                "ties": 1000, "losses": 1000, "full_board_wins": 1000
            }]
        }"#;
        let mut summary: Summary = serde_json::from_str(long).unwrap();
        let widest = |summary: &Summary, store: &str| {
            let words = summary.in_words(store);
            words.lines().map(|line| line.chars().count()).max().unwrap()
        };
        assert!(widest(&summary, "data/runs/demo") <= 80);
        summary.results.clear();
        assert!(widest(&summary, "s3://bucket/runs/demo") <= 80);
    }
}
