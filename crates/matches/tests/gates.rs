//! Gates that are stopped and resumed, also with changed settings or after a start by an early version.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use serde_json::Value;

use tengen_evaluator::{
    AtLimit, Decision, GateConfig, GateReason, GateVerdict, NoModels, Openings, Player, PlayerCost, SprtConfig,
    build_player,
};
use tengen_matches::{GateJob, GateSettings, gate_id, settle};
use tengen_rules::{Komi, Rules, Size};
use tengen_search::SearchConfig;
use tengen_store::{Create, GamesOf, MatchFile, Store, StoreError};

const CANDIDATE: &str = "g000003";
const CHAMPIONS: [&str; 3] = ["g000000", "g000001", "g000002"];
/// Games of a whole gate: against the champion and two older ones.
const GAMES: usize = 24 + 2 * 8;

/// A gate whose test never decides, so that all its games are played.
fn settings() -> GateSettings {
    let gate = GateConfig {
        games: 24,
        visits: 24,
        openings: Openings::random(2),
        sprt: SprtConfig {
            min_pairs: 1000,
            ..SprtConfig::default()
        },
        pairs_per_look: 4,
        at_limit: AtLimit::PromoteIfHalf,
        older_games: 8,
        parallel: 5,
        ..GateConfig::default()
    };
    let (size, komi) = (Size::square(3).unwrap(), Komi::from_half_points(18));
    GateSettings {
        match_config: gate.match_config(size, Rules::tromp_taylor(), komi, 11),
        gate,
        search: SearchConfig::for_play(24),
        device: "cpu".to_owned(),
        dtype: "fp32".to_owned(),
        config_id: "abc".to_owned(),
    }
}

/// A store, the messages about the gate in it, and the number of players created.
struct Place {
    _folder: tempfile::TempDir,
    store: Store,
    said: RefCell<Vec<String>>,
    made: Cell<usize>,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
        Place {
            _folder: folder,
            store,
            said: RefCell::default(),
            made: Cell::new(0),
        }
    }

    /// Continues the gate until `most` games have been shown.
    fn settle(&self, settings: &GateSettings, most: usize) -> Option<GateVerdict> {
        let shown = Cell::new(0);
        let champions = CHAMPIONS.map(str::to_owned);
        let job = GateJob {
            store: &self.store,
            candidate: CANDIDATE,
            champions: &champions,
            settings,
            stop: &|| shown.get() >= most,
            say: &|line| self.said.borrow_mut().push(line.to_owned()),
        };
        let mut players = |id: &str, settings: &GateSettings| -> anyhow::Result<Box<dyn Player>> {
            self.made.set(self.made.get() + 1);
            // Equal players score exactly half the points, which promotes.
            let kind = format!("uniform,visits={}", settings.search.visits);
            Ok(build_player(&format!("{kind},name={id}").parse()?, &mut NoModels)?)
        };
        settle(&job, &mut players, &mut |_, _| shown.set(shown.get() + 1)).unwrap()
    }

    fn file(&self, file: MatchFile) -> Option<String> {
        let bytes = self.store.matches().get(&gate_id(CANDIDATE, "g000002"), file).unwrap();
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// The ids of the published games; none may occur twice.
    fn games(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let id = gate_id(CANDIDATE, "g000002");
        for shard in self.store.games().list_shards(&GamesOf::Match(id)).unwrap() {
            for game in self.store.games().read(&shard).unwrap() {
                assert_eq!(game.config_id, "abc");
                assert!(
                    names.insert(game.game_id.clone()),
                    "{} was published twice",
                    game.game_id
                );
            }
        }
        names
    }
}

/// A verdict without the costs of its games, which depend on the interruptions.
fn without_costs(mut verdict: GateVerdict) -> GateVerdict {
    let older = verdict.older.iter_mut().map(|older| &mut older.result);
    for result in verdict.result.iter_mut().chain(older) {
        [result.a_cost, result.b_cost] = [PlayerCost::default(); 2];
    }
    verdict
}

#[test]
fn a_stopped_gate_ends_like_an_uninterrupted_one() {
    let whole = Place::new();
    let verdict = whole.settle(&settings(), usize::MAX).unwrap();
    assert_eq!(
        (verdict.decision, verdict.reason),
        (Decision::Promote, GateReason::GameLimit)
    );
    assert_eq!(verdict.older.len(), 2);
    assert_eq!(whole.games().len(), GAMES);
    let evaluations = |verdict: &GateVerdict| verdict.result.as_ref().unwrap().a_cost.evaluations;
    assert!(evaluations(&verdict) > 0 && verdict.older[1].result.a_cost.moves > 0);

    let stopped = Place::new();
    let mut published = 0;
    let mut pauses = 0;
    // Loaded games are shown again if their match is incomplete.
    let verdict_after = [1, 9, 20, 24, 3, 5].into_iter().find_map(|most| {
        let verdict = stopped.settle(&settings(), most);
        if verdict.is_none() {
            assert!(stopped.file(MatchFile::Result).is_none() && stopped.file(MatchFile::Games).is_none());
            let now = stopped.games().len();
            assert!(now >= published && now < GAMES, "{published} games, then {now}");
            published = now;
            pauses += 1;
        }
        verdict
    });
    assert!(
        pauses >= 3 && published > 24,
        "{pauses} pauses, the last after {published} games"
    );
    let verdict_after = verdict_after
        .or_else(|| stopped.settle(&settings(), usize::MAX))
        .unwrap();
    assert_eq!(without_costs(verdict_after), without_costs(verdict.clone()));
    assert_eq!(stopped.games(), whole.games());
    assert_eq!(stopped.file(MatchFile::Games), whole.file(MatchFile::Games));
    assert!(whole.file(MatchFile::Games).unwrap().matches("SZ[3]").count() == GAMES);

    // A recorded verdict is found without creating a player.
    let made = whole.made.get();
    assert_eq!(whole.settle(&settings(), 0).unwrap(), verdict);
    assert_eq!(whole.made.get(), made);
}

#[test]
fn a_gate_killed_before_its_verdict_needs_no_player() {
    let place = Place::new();
    let verdict = place.settle(&settings(), usize::MAX).unwrap();
    let folder = place
        .store
        .local_path()
        .unwrap()
        .join("matches")
        .join(gate_id(CANDIDATE, "g000002"));
    std::fs::remove_file(folder.join("result.json")).unwrap();
    let made = place.made.get();
    assert_eq!(place.settle(&settings(), usize::MAX).unwrap(), verdict, "costs and all");
    assert_eq!(place.made.get(), made);
}

/// Games say everything that a verdict needs, so damage to what is derived from them stops no gate.
#[test]
fn a_damaged_result_or_note_is_named_and_the_games_decide() {
    let place = Place::new();
    let verdict = place.settle(&settings(), usize::MAX).unwrap();
    let id = gate_id(CANDIDATE, "g000002");
    let folder = place.store.local_path().unwrap().join("matches").join(&id);
    let result = std::fs::read(folder.join("result.json")).unwrap();
    std::fs::write(folder.join("result.json"), &result[..result.len() / 2]).unwrap();
    let notes: Vec<_> = std::fs::read_dir(folder.join("notes")).unwrap().collect();
    let note = notes.into_iter().next().unwrap().unwrap().path();
    std::fs::write(&note, "{}").unwrap();
    let made = place.made.get();
    let again = place.settle(&settings(), usize::MAX).unwrap();
    assert_eq!(without_costs(again), without_costs(verdict));
    assert_eq!(place.made.get(), made, "no game is played again");
    let said = place.said.borrow().join("\n");
    assert!(said.contains(&format!("matches/{id}/result.json: expected")), "{said}");
    assert!(said.contains(note.file_name().unwrap().to_str().unwrap()), "{said}");
    assert!(folder.join("result.json.damaged").is_file());
    let rewritten = place.file(MatchFile::Result).unwrap();
    assert!(serde_json::from_str::<GateVerdict>(&rewritten).is_ok());
}

#[test]
fn a_gate_goes_on_without_an_older_champion_that_is_damaged() {
    let place = Place::new();
    let champions = CHAMPIONS.map(str::to_owned);
    let job = GateJob {
        store: &place.store,
        candidate: CANDIDATE,
        champions: &champions,
        settings: &settings(),
        stop: &|| false,
        say: &|line| place.said.borrow_mut().push(line.to_owned()),
    };
    let mut players = |id: &str, settings: &GateSettings| -> anyhow::Result<Box<dyn Player>> {
        let damage = StoreError::Damaged {
            path: "models/g000001/weights.safetensors".to_owned(),
            expected: "one hash".to_owned(),
            found: "another".to_owned(),
        };
        match id {
            "g000001" => Err(damage.into()),
            _ => {
                let player = format!("uniform,visits={},name={id}", settings.search.visits);
                Ok(build_player(&player.parse()?, &mut NoModels)?)
            }
        }
    };
    let verdict = settle(&job, &mut players, &mut |_, _| {}).unwrap().unwrap();
    let met: Vec<&str> = verdict.older.iter().map(|older| older.champion.as_str()).collect();
    assert_eq!((met.as_slice(), verdict.promotes()), (["g000000"].as_slice(), true));
    let said = place.said.borrow().join("\n");
    assert!(
        said.contains("without the older champion g000001: models/g000001/weights"),
        "{said}"
    );
}

#[test]
fn a_gate_continues_with_its_original_settings() {
    let whole = Place::new();
    let verdict = whole.settle(&settings(), usize::MAX).unwrap();
    let place = Place::new();
    assert!(place.settle(&settings(), 7).is_none());
    assert_eq!(place.said.borrow().len(), 1, "{:?}", place.said);
    let mut changed = settings();
    (changed.gate.visits, changed.search.visits) = (1, 1);
    changed.gate.older_champions = 0;
    changed.match_config.games = 4;
    changed.match_config.seed = 5;
    changed.config_id = "other".to_owned();
    let after = place.settle(&changed, usize::MAX).unwrap();
    assert_eq!(without_costs(after), without_costs(verdict));
    assert_eq!(place.file(MatchFile::Games), whole.file(MatchFile::Games));
    assert_eq!(place.games().len(), GAMES);
    let said = place.said.borrow().join("\n");
    assert!(
        said.contains("its gate.visits is 24, not 1") && said.contains("its match.games is 24, not 4"),
        "{said}"
    );
}

#[test]
fn an_unfinished_gate_of_an_early_version_continues() {
    let whole = Place::new();
    let verdict = whole.settle(&settings(), usize::MAX).unwrap();
    for most in [0, 13, 30] {
        let place = Place::new();
        assert!(place.settle(&settings(), most).is_none());
        let path = format!("matches/{}/spec.json", gate_id(CANDIDATE, "g000002"));
        let path = place.store.local_path().unwrap().join(path);
        let mut spec: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let early: Value = serde_json::from_str(include_str!("data/gate-spec.json")).unwrap();
        let known = early.as_object().unwrap();
        spec.as_object_mut().unwrap().retain(|key, _| known.contains_key(key));
        assert_eq!(
            spec.as_object().unwrap().len(),
            known.len(),
            "the spec still has all keys of early versions"
        );
        std::fs::write(&path, spec.to_string()).unwrap();
        let mut changed = settings();
        (changed.gate.visits, changed.search.visits) = (1, 1);
        let after = place.settle(&changed, usize::MAX).unwrap();
        assert_eq!(without_costs(after), without_costs(verdict.clone()));
        assert_eq!(place.file(MatchFile::Games), whole.file(MatchFile::Games));
        assert_eq!(place.games(), whole.games());
        assert!(
            place
                .said
                .borrow()
                .iter()
                .any(|line| line.contains("its gate.visits is 24, not 1")),
            "{:?}",
            place.said
        );
    }
}

#[test]
fn a_gate_that_always_promotes_plays_no_games() {
    let place = Place::new();
    let mut settings = settings();
    settings.gate.always_promote = true;
    let verdict = place.settle(&settings, 0).unwrap();
    assert_eq!((verdict.promotes(), verdict.reason), (true, GateReason::AlwaysPromote));
    assert!(place.file(MatchFile::Result).is_some() && place.file(MatchFile::Games).is_none());
    assert_eq!(place.made.get(), 0);
}

#[test]
fn invalid_settings_leave_nothing_in_the_store() {
    let place = Place::new();
    let mut settings = settings();
    settings.gate.games = 1;
    let champions = ["g000000".to_owned()];
    let job = GateJob {
        store: &place.store,
        candidate: CANDIDATE,
        champions: &champions,
        settings: &settings,
        stop: &|| false,
        say: &|_| {},
    };
    let refusal = settle(&job, &mut |_, _| anyhow::bail!("no player"), &mut |_, _| {}).unwrap_err();
    assert!(refusal.to_string().contains("gate.games"), "{refusal}");
    assert!(place.store.matches().list().unwrap().is_empty());
}
