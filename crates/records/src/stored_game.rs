//! How does a game lie in memory so that any of its positions becomes a training sample at once?

use tengen_rules::{Color, Komi, Move, PointSet, Position, Rules, Setup, Size, Symmetry};

use crate::features::{BIT_PLANES, Features, features_from_planes};
use crate::images::ImageTable;
use crate::record::{GameRecord, OPENING, PlyRecord, RecordError};

/// Weights are kept as multiples of 1/65536, so that sums are exact and draws repeatable.
const WEIGHT_ONE: f32 = 65536.0;

/// One position with its targets, in the frame of one of its mirror images. Values are from the mover's view.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What the network sees.
    pub features: Features,
    /// Policy target as (move index on the sample's board, probability); the number of points is a pass.
    pub policy: Vec<(u16, f32)>,
    /// 1 when there is a policy target, else 0.
    pub policy_weight: f32,
    /// The mover's area minus the opponent's at the end of the game, in points, without komi.
    pub board_margin: i32,
    /// Target for win, tie and loss: the game's result mixed with the search's value. Sums to 1.
    pub value_target: [f32; 3],
    /// Owner of every point at the end in reading order: 1 the mover, -1 the opponent, 0 neither.
    pub ownership: Vec<i8>,
    /// Weight of the sample in the loss. Drawing follows the record's weights already, so this is 1.
    pub weight: f32,
}

/// A finished game, unpacked.
pub(crate) struct StoredGame {
    size: Size,
    rules: Rules,
    setup: Setup,
    komi: Komi,
    moves: Box<[u16]>,
    root_values: Box<[f32]>,
    /// Number of policy entries before the end of each ply.
    policy_ends: Box<[u32]>,
    policy_moves: Box<[u16]>,
    policy_probabilities: Box<[f32]>,
    ownership: Box<[i8]>,
    /// Black's area minus White's, in points.
    board_margin: i32,
    /// Sum of the plies' weights up to and with each ply.
    cumulative: Box<[u64]>,
    /// Bit planes of every position, `[plies, BIT_PLANES, words]`; none when there was no room.
    planes: Option<Box<[u64]>>,
}

impl StoredGame {
    /// Unpacks a finished game; `None` when it has no score or nothing in it is trained on.
    ///
    /// # Errors
    /// [`RecordError`] when a turn is illegal: only when the record was not validated before.
    pub(crate) fn unpack(record: &GameRecord, with_planes: bool) -> Result<Option<StoredGame>, RecordError> {
        let cumulative = cumulative_weights(record);
        if !record.is_finished() || cumulative.last().is_none_or(|&total| total == 0) {
            return Ok(None);
        }
        let start = record.start()?;
        let planes = if with_planes { Some(encode_all(record)?) } else { None };
        let mut policy_ends = Vec::with_capacity(record.plies.len());
        let mut entries = 0u32;
        for ply in &record.plies {
            entries += ply.policy.len() as u32;
            policy_ends.push(entries);
        }
        let policy = || record.plies.iter().flat_map(|ply| ply.policy.iter());
        let ownership: Box<[i8]> = record.ownership.clone().into();
        Ok(Some(StoredGame {
            size: record.size,
            rules: start.rules(),
            setup: record.setup,
            komi: record.komi,
            moves: record
                .plies
                .iter()
                .map(|ply| ply.mv.index(record.size) as u16)
                .collect(),
            root_values: record.plies.iter().map(|ply| ply.root_value).collect(),
            policy_ends: policy_ends.into(),
            policy_moves: policy().map(|entry| entry.0).collect(),
            policy_probabilities: policy().map(|entry| entry.1).collect(),
            board_margin: ownership.iter().map(|&owner| i32::from(owner)).sum(),
            ownership,
            cumulative,
            planes,
        }))
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Number of plies.
    pub(crate) fn plies(&self) -> usize {
        self.moves.len()
    }

    /// Sum of the weights of all its positions.
    pub(crate) fn total_weight(&self) -> u64 {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// The ply at which the running sum of weights passes `offset`.
    pub(crate) fn ply_at(&self, offset: u64) -> usize {
        self.cumulative.partition_point(|&sum| sum <= offset)
    }

    /// Bytes its bit planes take.
    pub(crate) fn planes_bytes(&self) -> usize {
        self.planes.as_ref().map_or(0, |words| words.len() * 8)
    }

    /// Bytes of memory the game's lists take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let per_ply = self.moves.len() * (2 + 4 + 4 + 8);
        let planes = self.planes_bytes();
        per_ply + self.policy_moves.len() * 6 + self.ownership.len() + planes + size_of::<StoredGame>()
    }

    /// The sample of a ply; `image` chooses the mirror image from the features.
    pub(crate) fn sample(&self, ply: usize, result_share: f32, image: impl Fn(&Features) -> Symmetry) -> Sample {
        let features = match &self.planes {
            Some(words) => self.cached_features(words, ply),
            None => self.replayed_features(ply),
        };
        let symmetry = image(&features);
        let map = ImageTable::of(self.size).map_of(symmetry);
        let mover = self.setup.mover(ply);
        let sign = match mover {
            Color::Black => 1,
            Color::White => -1,
        };
        let mut ownership = vec![0i8; self.ownership.len()];
        for (&owner, &target) in self.ownership.iter().zip(map) {
            ownership[usize::from(target)] = owner * sign as i8;
        }
        let board_margin = self.board_margin * sign;
        let policy = self.policy(ply, map);
        Sample {
            features: features.transformed(symmetry),
            policy_weight: if policy.is_empty() { 0.0 } else { 1.0 },
            policy,
            board_margin,
            value_target: self.value_target(ply, board_margin, mover, result_share),
            ownership,
            weight: 1.0,
        }
    }

    fn policy(&self, ply: usize, map: &[u16]) -> Vec<(u16, f32)> {
        let start = if ply == 0 {
            0
        } else {
            self.policy_ends[ply - 1] as usize
        };
        let range = start..self.policy_ends[ply] as usize;
        let moves = &self.policy_moves[range.clone()];
        let image = |&index: &u16| map.get(usize::from(index)).copied().unwrap_or(index);
        moves
            .iter()
            .map(image)
            .zip(self.policy_probabilities[range].iter().copied())
            .collect()
    }

    fn value_target(&self, ply: usize, board_margin: i32, mover: Color, result_share: f32) -> [f32; 3] {
        let mover_komi = match mover {
            Color::Black => -i32::from(self.komi.half_points()),
            Color::White => i32::from(self.komi.half_points()),
        };
        let most = 2 * self.size.area() as i32;
        let mut target = search_target(self.root_values[ply], most + mover_komi, mover_komi - most);
        for share in &mut target {
            *share *= 1.0 - result_share;
        }
        target[match (2 * board_margin + mover_komi).signum() {
            1 => 0,
            0 => 1,
            _ => 2,
        }] += result_share;
        target
    }

    fn cached_features(&self, words: &[u64], ply: usize) -> Features {
        let per_plane = self.size.area().div_ceil(64);
        let first = ply * BIT_PLANES * per_plane;
        let planes = std::array::from_fn(|plane| {
            let start = first + plane * per_plane;
            let mut all = [0u64; 6];
            all[..per_plane].copy_from_slice(&words[start..start + per_plane]);
            PointSet::from_words(all)
        });
        let mover = self.setup.mover(ply);
        let after_pass = ply > 0 && usize::from(self.moves[ply - 1]) == self.size.area();
        features_from_planes(self.size, planes, mover, self.komi, after_pass)
    }

    fn replayed_features(&self, ply: usize) -> Features {
        let mut position =
            Position::starting(self.size, self.rules, &self.setup).expect("the game was started like this before");
        for &index in &self.moves[..ply] {
            let mv = Move::from_index(self.size, usize::from(index)).expect("the index came from a move");
            position.play_unchecked(mv);
        }
        Features::of(&position, self.komi)
    }
}

/// Bytes the bit planes of a game take in the cache.
pub(crate) fn planes_bytes(record: &GameRecord) -> usize {
    record.plies.len() * BIT_PLANES * record.size.area().div_ceil(64) * 8
}

fn cumulative_weights(record: &GameRecord) -> Box<[u64]> {
    let mut sum = 0;
    let weight = |(ply, data): (usize, &PlyRecord)| {
        if ply >= usize::from(record.opening_plies) && !data.has(OPENING) {
            sum += (data.weight.clamp(0.0, WEIGHT_ONE) * WEIGHT_ONE).round() as u64;
        }
        sum
    };
    record.plies.iter().enumerate().map(weight).collect()
}

/// The bit planes of every position, and a check of every turn on the way.
fn encode_all(record: &GameRecord) -> Result<Box<[u64]>, RecordError> {
    let words = record.size.area().div_ceil(64);
    let mut planes = Vec::with_capacity(record.plies.len() * BIT_PLANES * words);
    record.replay_with(|position, _, _| {
        for plane in &Features::of(position, record.komi).planes {
            planes.extend_from_slice(&plane.words()[..words]);
        }
    })?;
    Ok(planes.into())
}

/// A search's value, P(win) - P(loss), as chances of win, tie and loss, given the mover's best and worst margin after komi
/// in half points. What the komi makes impossible gets nothing, and the value then tells the tie too; else ties count as
/// impossible.
fn search_target(value: f32, best: i32, worst: i32) -> [f32; 3] {
    match (best.signum(), worst.signum()) {
        (1, -1) => [(1.0 + value) / 2.0, 0.0, (1.0 - value) / 2.0],
        (1, 0) => [value.max(0.0), 1.0 - value.max(0.0), 0.0],
        (0, -1) => [0.0, 1.0 + value.min(0.0), -value.min(0.0)],
        (1, _) => [1.0, 0.0, 0.0],
        (_, -1) => [0.0, 0.0, 1.0],
        _ => [0.0, 1.0, 0.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_results_get_nothing() {
        assert_eq!(search_target(0.5, 30, -70), [0.75, 0.0, 0.25]);
        assert_eq!(search_target(-0.25, 0, -100), [0.0, 0.75, 0.25]);
        assert_eq!(search_target(0.25, 100, 0), [0.25, 0.75, 0.0]);
        assert_eq!(search_target(0.1, -1, -101), [0.0, 0.0, 1.0]);
        assert_eq!(search_target(0.1, 101, 1), [1.0, 0.0, 0.0]);
    }
}
