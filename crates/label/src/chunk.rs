//! The games of one shard, from reading to publishing, and the positions being labelled.

use std::sync::Arc;

use serde_json::{Map, Value};

use tengen_records::{FULL_SEARCH, GameKind, GameRecord, Origin, PlyRecord, compact_policy};
use tengen_rules::Position;
use tengen_store::sha256_hex;

use crate::error::LabelError;

/// A position to label.
#[derive(Debug)]
pub(crate) struct Task {
    /// Number of the chunk.
    pub(crate) chunk: u64,
    /// Number of the game in its chunk.
    pub(crate) game: usize,
    /// The ply that was played in the position.
    pub(crate) ply: usize,
    /// A hash of the labelled game's id, for random streams.
    pub(crate) key: u64,
    /// The game.
    pub(crate) record: Arc<GameRecord>,
    /// The position before the ply.
    pub(crate) position: Position,
}

/// What a teacher says about a position, from the viewpoint of the side to move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    /// (move index, probability) of moves; the probabilities sum to 1.
    pub(crate) policy: Vec<(u16, f32)>,
    /// P(win) − P(loss) after the best move.
    pub(crate) value: f32,
    /// Expected margin after komi after the best move, in points.
    pub(crate) margin: f32,
    /// Visits below the root.
    pub(crate) visits: u32,
    /// P(win) − P(loss) without search; 0 if unknown.
    pub(crate) network_value: f32,
    /// The owners that the search expects, from Black's viewpoint as in [`PlyRecord::expected_ownership`]; empty if the
    /// teacher does not provide them.
    pub(crate) expected_ownership: Vec<i8>,
}

/// A game with the plies to label and the labels that have arrived.
struct Member {
    id: String,
    record: Arc<GameRecord>,
    plies: Vec<usize>,
    labels: Vec<Option<Label>>,
    /// Whether the teacher refused one of its positions, so that the game is left out.
    refused: bool,
}

/// The games of one shard.
#[derive(Default)]
pub(crate) struct Chunk {
    members: Vec<Member>,
    missing: usize,
}

impl Chunk {
    /// Adds a game whose positions before these plies are to be labelled.
    pub(crate) fn push(&mut self, id: String, record: GameRecord, plies: Vec<usize>) {
        self.missing += plies.len();
        self.members.push(Member {
            id,
            record: Arc::new(record),
            labels: vec![None; plies.len()],
            plies,
            refused: false,
        });
    }

    /// How many labels are still missing.
    pub(crate) fn missing(&self) -> usize {
        self.missing
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The positions to label, game by game.
    pub(crate) fn tasks(&self, chunk: u64) -> Result<Vec<Task>, LabelError> {
        let mut tasks = Vec::with_capacity(self.missing);
        for (game, member) in self.members.iter().enumerate() {
            let key = u64::from_str_radix(&sha256_hex(member.id.as_bytes())[..16], 16).unwrap_or_default();
            let mut wanted = member.plies.iter().copied().peekable();
            let replayed = member.record.replay_with(|position, ply, _| {
                if wanted.next_if_eq(&ply).is_some() {
                    tasks.push(Task {
                        chunk,
                        game,
                        ply,
                        key,
                        record: Arc::clone(&member.record),
                        position: position.clone(),
                    });
                }
            });
            replayed.map_err(|error| member.invalid(error))?;
        }
        Ok(tasks)
    }

    /// Stores a label.
    pub(crate) fn set(&mut self, game: usize, ply: usize, label: Label) {
        let member = &mut self.members[game];
        if !member.refused
            && let Ok(place) = member.plies.binary_search(&ply)
            && member.labels[place].replace(label).is_none()
        {
            self.missing -= 1;
        }
    }

    /// Leaves out a game along with the labels that it has; false if it was left out before.
    pub(crate) fn refuse(&mut self, game: usize) -> bool {
        let member = &mut self.members[game];
        if member.refused {
            return false;
        }
        member.refused = true;
        self.missing -= member.labels.iter().filter(|label| label.is_none()).count();
        true
    }

    /// The labelled games, once no label is missing.
    pub(crate) fn records(&self, teacher: &str) -> Result<Vec<GameRecord>, LabelError> {
        let labelled = self.members.iter().filter(|member| !member.refused);
        labelled.map(|member| member.labelled(teacher)).collect()
    }
}

impl Member {
    /// The game, validated, with its labels in place of what its own players thought.
    fn labelled(&self, teacher: &str) -> Result<GameRecord, LabelError> {
        let mut record = GameRecord::clone(&self.record);
        record.game_id.clone_from(&self.id);
        record.kind = GameKind::Import;
        let teacher = with_game(teacher, &self.record);
        record.origin.get_or_insert_default().teacher = Some(teacher);
        for ply in &mut record.plies {
            let flags = ply.flags & !FULL_SEARCH;
            *ply = PlyRecord {
                flags,
                ..PlyRecord::bare(ply.mv)
            };
        }
        for (&ply, label) in self.plies.iter().zip(&self.labels) {
            if let Some(label) = label {
                write_label(&mut record.plies[ply], label);
            }
        }
        record.validate().map_err(|error| self.invalid(error))?;
        Ok(record)
    }

    fn invalid(&self, error: tengen_records::RecordError) -> LabelError {
        LabelError::Invalid {
            game: self.record.game_id.clone(),
            error,
        }
    }
}

fn write_label(ply: &mut PlyRecord, label: &Label) {
    ply.expected_ownership.clone_from(&label.expected_ownership);
    ply.flags |= FULL_SEARCH;
    ply.root_value = label.value.clamp(-1.0, 1.0);
    ply.root_margin = label.margin;
    ply.root_visits = u16::try_from(label.visits).unwrap_or(u16::MAX);
    ply.network_value = label.network_value.clamp(-1.0, 1.0);
    ply.weight = 1.0;
    ply.policy = compact_policy(&label.policy);
}

/// The id of a labelled game: the same for the same game, teacher, and settings.
pub(crate) fn labelled_id(game_id: &str, teacher: &str) -> String {
    let text = format!("{}\n{game_id}\n{teacher}", game_id.len());
    format!("label-{}", &sha256_hex(text.as_bytes())[..24])
}

/// The text of [`Origin::teacher`]: what identifies the teacher, and which positions it was asked about.
pub(crate) fn teacher_text(identity: &Value, positions: &Value) -> String {
    let mut object = identity.clone();
    object["positions"] = positions.clone();
    object.to_string()
}

/// The text of [`Origin::teacher`] for one game: it also names the game that was labelled or, if that is a labelled
/// copy itself, the first one.
fn with_game(teacher: &str, labelled: &GameRecord) -> String {
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let earlier = labelled.origin.as_ref().and_then(|origin| origin.teacher.as_deref());
    let first = earlier.and_then(|earlier| parse(earlier).remove("game"));
    let mut object = parse(teacher);
    object.insert(
        "game".to_owned(),
        first.unwrap_or_else(|| labelled.game_id.as_str().into()),
    );
    Value::Object(object).to_string()
}

/// Adds to a game where in a store it comes from, unless it has an origin: the path of its shard and its number there,
/// from 1. Imported and labelled games need an origin.
pub fn with_origin(mut record: GameRecord, shard: &str, number: u32) -> GameRecord {
    record.origin.get_or_insert_with(|| {
        Box::new(Origin {
            file: shard.to_owned(),
            game: number,
            ..Origin::default()
        })
    });
    record
}
