//! Which games are learned from? Those of the stores that a configuration names, read, checked, and unpacked.

use anyhow::{Context, bail};
use serde::Serialize;

use tengen_rng::fold;
use tengen_run::{RunConfig, Watch};
use tengen_samples::{Census, GamesFrom, Mixture, SampleSource, Teaching, Window, WindowConfig};
use tengen_store::{Create, ShardInfo, Store, sha256_hex};

/// From this number of positions on, reading them takes long enough to show progress.
const MANY_POSITIONS: u64 = 1_000_000;

/// How much of a store is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// As much as the configuration states.
    Stated,
    /// The newest games, as far back as a run's window reaches.
    Window(WindowConfig),
}

/// The games that a network learns from, and those that it is judged by.
pub struct Material {
    /// The games, ready to be drawn from.
    pub mixture: Mixture,
    /// What each part of the mixture holds, in order.
    pub sources: Vec<Source>,
    /// Names the games: it changes when a store has other games.
    pub id: String,
}

/// The games of one origin.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// Their store.
    pub store: String,
    /// What they are called.
    pub kind: &'static str,
    /// Their share of the samples, 0 to 1.
    pub share: f64,
    /// What became of each game.
    pub games: Census,
    /// Positions of the games to train on.
    pub positions: u64,
    /// Games that are never trained on.
    pub held_out_games: u64,
    /// Positions of those games.
    pub held_out_positions: u64,
}

impl Material {
    /// Reads the games of `[[train.from]]`.
    ///
    /// # Errors
    /// If the configuration names none, a store cannot be read, or one of them has no games to learn from; the message
    /// says what it has instead.
    pub fn gather(config: &RunConfig, watch: &dyn Watch) -> anyhow::Result<Material> {
        if config.train.from.is_empty() {
            bail!(
                "the configuration names no games to train on: add\n\n[[train.from]]\nstore = \"DIR\"\n\n\
                 configs/all-keys.toml explains the keys"
            );
        }
        Material::of(config, &config.train.from, Reach::Stated, watch)
    }

    /// Reads these games.
    pub(crate) fn of(
        config: &RunConfig,
        from: &[GamesFrom],
        reach: Reach,
        watch: &dyn Watch,
    ) -> anyhow::Result<Material> {
        let (mut parts, mut sources, mut paths) = (Vec::new(), Vec::new(), String::new());
        for (number, games) in from.iter().enumerate() {
            let read = read(config, games, reach, watch);
            let (source, shards) = read.with_context(|| format!("train.from[{number}]"))?;
            shards.iter().for_each(|shard| paths += &format!("{}\n", shard.path));
            paths += &toml::to_string(games)?;
            sources.push(Source {
                store: games.store.clone(),
                kind: games.of.in_words(),
                share: 0.0,
                games: source.census(),
                positions: source.positions(),
                held_out_games: source.held_out_games() as u64,
                held_out_positions: source.held_out_positions(),
            });
            parts.push((source, games.share));
        }
        let mixture = Mixture::new(parts);
        for (source, share) in sources.iter_mut().zip(mixture.shares()) {
            source.share = share;
        }
        Ok(Material {
            mixture,
            sources,
            id: sha256_hex(paths.as_bytes())[..12].to_owned(),
        })
    }

    /// The seed of a random choice in this training.
    pub(crate) fn seed(config: &RunConfig, step: u64) -> u64 {
        fold(config.seed, &[step])
    }
}

/// Reads the games of one origin.
fn read(
    config: &RunConfig,
    games: &GamesFrom,
    reach: Reach,
    watch: &dyn Watch,
) -> anyhow::Result<(SampleSource, Vec<ShardInfo>)> {
    let store = Store::open(&games.store, Create::Never)?;
    let listing = store.games().list(&games.of.listed())?;
    let ours = |shards: Vec<ShardInfo>| -> Vec<ShardInfo> {
        shards.into_iter().filter(|shard| games.of.includes(shard)).collect()
    };
    let (shards, mut damaged) = (ours(listing.shards), ours(listing.damaged));
    if shards.is_empty() {
        return Err(no_games(&store, games)?);
    }
    let window = match reach {
        Reach::Stated => WindowConfig {
            base_positions: if games.newest == 0 { u64::MAX } else { games.newest },
            fraction: 0.0,
        },
        Reach::Window(window) => window,
    };
    let window = Window::select(&shards, window);
    let mut source = SampleSource::new(config.samples.clone())
        .holding_out(config.loop_config.held_out)
        .with_replies(config.network.reply_head)
        .teaching(Teaching {
            policy: games.policy,
            value: games.value,
            ownership: games.ownership,
            sizes: config.sizes()?,
            rules: config.rules,
        });
    let mut done = 0;
    let load = source.load_window(&store, &window, |shard, _| {
        done += shard.positions();
        if window.positions >= MANY_POSITIONS {
            watch.reading(done, window.positions);
        }
    })?;
    for (path, reason) in &load.quarantined {
        watch.say(&format!("{path} is damaged and was quarantined: {reason}"));
    }
    damaged.extend(
        window
            .shards
            .iter()
            .filter(|shard| load.quarantined.iter().any(|(path, _)| *path == shard.path))
            .cloned(),
    );
    window.check_damage(&damaged)?;
    if load.left_out > 0 {
        watch.say(&format!(
            "the oldest {} positions of {} do not fit: increase samples.max_positions or samples.cache_bytes",
            load.left_out, games.store
        ));
    }
    check(config, games, &source)?;
    Ok((source, window.shards))
}

/// Says that a store has no games of a kind, and which it has.
fn no_games(store: &Store, games: &GamesFrom) -> anyhow::Result<anyhow::Error> {
    use tengen_samples::OfGames::{All, Imported, Matches, Selfplay};
    let all = store.games().list(&All.listed())?.shards;
    let count = |kind: tengen_samples::OfGames| {
        let shards = all.iter().filter(|shard| kind.includes(shard));
        shards.map(ShardInfo::games).sum::<u64>()
    };
    let others: Vec<String> = [(Imported, "imported"), (Selfplay, "selfplay"), (Matches, "matches")]
        .into_iter()
        .filter(|(kind, _)| count(*kind) > 0)
        .map(|(kind, name)| format!("{} {} (of = \"{name}\")", count(kind), kind.in_words()))
        .collect();
    let found = match others.is_empty() {
        true => "no games at all; `tengen data import` adds games from SGF files".to_owned(),
        false => others.join(" and "),
    };
    Ok(anyhow::anyhow!(
        "expected {} in {}, found {found}",
        games.of.in_words(),
        store.location()
    ))
}

/// Refuses games of which nothing can be learned.
fn check(config: &RunConfig, games: &GamesFrom, source: &SampleSource) -> anyhow::Result<()> {
    let census = source.census();
    if census.taught() == 0 {
        let boards: Vec<String> = config.sizes()?.iter().map(ToString::to_string).collect();
        let mut why = Vec::new();
        if census.other_board > 0 {
            why.push(format!("{} are not on {}", census.other_board, boards.join(", ")));
        }
        if census.other_rules > 0 {
            why.push(format!("{} are not under {}", census.other_rules, config.rules));
        }
        if census.empty > 0 {
            why.push(format!("{} have no ply to learn from", census.empty));
        }
        bail!(
            "there is nothing to learn from the {} in {}: {}; set selfplay.boards, rules, or policy to fit them",
            games.of.in_words(),
            games.store,
            why.join(", ")
        );
    }
    if source.positions() == 0 {
        bail!(
            "all {} games to learn from in {} are held out: lower loop.held_out or add games",
            census.taught(),
            games.store
        );
    }
    Ok(())
}
