//! The in-memory layout of a game, from which any of its positions can quickly be turned into a training sample.

use ndarray::Array2;

use tengen_encoding::{BIT_PLANES, Features, HORIZONS, Sample, SoFar, features_from_planes, gain_off_board};
use tengen_records::{GameRecord, OPENING, PlyRecord, RecordError};
use tengen_rules::{Color, ImageTable, Komi, Move, PointSet, Position, Rules, Scoring, Setup, Size, Symmetry};

use crate::lesson::Lesson;

/// Weights are stored as multiples of 1/65536, so that sums are exact and draws reproducible.
const WEIGHT_ONE: f32 = 65536.0;

/// The index entry of a finished game; its positions are in the bytes of its shard, starting at `offset`:
///
/// | part | contents |
/// |---|---|
/// | head | for each of the `trained` positions: the cumulative weight up to and including it (u64) |
/// | | the end of its record, counted from the end of the head (u32) |
/// | | its ply (u32) |
/// | | the owner of every point of the final position (i8): 1 Black, -1 White, 0 neither or not scored |
/// | | only without planes: the move index of every ply (u16) |
/// | records | for each trained position, only with planes: `[BIT_PLANES, words]` (u64) |
/// | | the search value (f32) |
/// | | flags (u8): 1 if White is to move, 2 after a pass, 4 without a value target, 8 with a teacher's owners |
/// | | Black's points off the board, see [`gain_off_board`] (i16) |
/// | | the number of moves in its policy target (u16) |
/// | | the values over the next plies (`[f32; HORIZONS]`) |
/// | | for each move of the policy target: its index (u16) and probability (f32) |
/// | | only with replies: the same pairs for the policy of the next ply |
/// | | only with flag 8: the expected owner of every point (i8), in percent from 100 (Black) to -100 (White) |
///
/// Numbers are little-endian. A sample needs two places, the head and one record, so drawing it touches few pages.
pub(crate) struct StoredGame {
    offset: usize,
    size: Size,
    rules: Rules,
    /// The start of the game; `None` for the empty board with Black to move.
    setup: Option<Box<Setup>>,
    komi: Komi,
    /// Black's score minus White's without komi, in points; `None` if margin and owners are not trained on.
    board_margin: Option<i32>,
    /// The result from Black's view: 1, 0, or -1; 0 also if it is unknown.
    result: i8,
    /// Weight of the result in the value target; `None` means that of the configuration.
    result_share: Option<f32>,
    plies: usize,
    trained: usize,
    total_weight: u64,
    planes: bool,
}

/// What is stored for each position besides its own targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Its bit planes.
    pub(crate) planes: bool,
    /// The policy of the next ply.
    pub(crate) replies: bool,
}

/// Flag of a record: White is to move.
const WHITE_MOVES: u8 = 1;
/// Flag of a record: the previous move was a pass.
const AFTER_PASS: u8 = 2;
/// Flag of a record: there is no value target.
const NO_VALUE: u8 = 4;
/// Flag of a record: the owners that a teacher expects are at its end.
const EXPECTED_OWNERS: u8 = 8;
/// Size of a record without its planes and policies.
const RECORD_HEAD: usize = 4 + 1 + 2 + 2 + 4 * HORIZONS;
/// Size of a (move index, probability) pair in bytes.
const POLICY_ENTRY: usize = 6;
/// Size of the head entry of a trained position in bytes.
const HEAD_ENTRY: usize = 8 + 4 + 4;

impl StoredGame {
    /// Appends the unpacked game to `bytes`; `None` if none of it is trained on.
    ///
    /// # Errors
    /// [`RecordError`] if a move is illegal, which can happen only if the record was not validated before.
    pub(crate) fn unpack(
        lesson: &Lesson<'_>,
        parts: Parts,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<StoredGame>, RecordError> {
        let record = lesson.record.as_ref();
        let cumulative = cumulative_weights(record);
        let total_weight = cumulative.last().map_or(0, |&(_, sum)| sum);
        if total_weight == 0 {
            return Ok(None);
        }
        let game = StoredGame {
            offset: bytes.len(),
            size: record.size,
            rules: record.start()?.rules(),
            setup: (record.setup != Setup::EVEN).then(|| Box::new(record.setup)),
            komi: record.komi,
            board_margin: lesson.board_margin,
            result: lesson.result,
            result_share: lesson.result_share,
            plies: record.plies.len(),
            trained: cumulative.len(),
            total_weight,
            planes: parts.planes,
        };
        let (records, ends) = encode_records(lesson, &cumulative, parts)?;
        cumulative
            .iter()
            .for_each(|(_, sum)| bytes.extend_from_slice(&sum.to_le_bytes()));
        ends.iter().for_each(|end| bytes.extend_from_slice(&end.to_le_bytes()));
        cumulative
            .iter()
            .for_each(|(ply, _)| bytes.extend_from_slice(&ply.to_le_bytes()));
        let owner = |point: usize| record.ownership.get(point).copied().unwrap_or(0) as u8;
        bytes.extend((0..record.size.area()).map(owner));
        if !parts.planes {
            let moves = record.plies.iter().map(|ply| ply.mv.index(record.size) as u16);
            moves.for_each(|index| bytes.extend_from_slice(&index.to_le_bytes()));
        }
        bytes.extend_from_slice(&records);
        Ok(Some(game))
    }

    /// The same game in a buffer that starts `before` bytes earlier.
    pub(crate) fn moved(mut self, before: usize) -> StoredGame {
        self.offset += before;
        self
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Number of plies.
    pub(crate) fn plies(&self) -> usize {
        self.plies
    }

    /// Sum of the weights of all its positions.
    pub(crate) fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// The sample of the position at which the running sum of weights exceeds `offset`; `block` holds the bytes of the
    /// game's shard, and `image` chooses the mirror image from the features.
    pub(crate) fn sample(
        &self,
        block: &[u8],
        offset: u64,
        result_share: f32,
        image: impl Fn(&Features) -> Symmetry,
    ) -> Sample {
        let head = &block[self.offset..];
        let record = self.record(head, self.number_at(head, offset));
        let features = self.features(head, &record);
        let symmetry = image(&features);
        let map = ImageTable::of(self.size).map_of(symmetry).points();
        let sign = match record.mover {
            Color::Black => 1,
            Color::White => -1,
        };
        let (owners, certain) = match record.expected_owners.is_empty() {
            true => (self.ownership(head), 1.0),
            false => (record.expected_owners, 100.0),
        };
        let mut ownership = vec![0.0; self.size.area()];
        for (&owner, &target) in owners.iter().zip(map) {
            ownership[usize::from(target)] = f32::from(owner as i8 * sign as i8) / certain;
        }
        let is_owned = self.board_margin.is_some() || !record.expected_owners.is_empty();
        let most = self.size.area() as i32;
        let board_margin = self
            .board_margin
            .map_or(0, |margin| (margin - record.gain).clamp(-most, most) * sign);
        let policy = record.policy(map);
        Sample {
            features: features.transformed(symmetry),
            policy_weight: if policy.is_empty() { 0.0 } else { 1.0 },
            policy,
            reply: record.reply(map),
            board_margin,
            value_target: self.value_target(record.value, sign, &features, self.result_share.unwrap_or(result_share)),
            short_term: record.short_term,
            ownership: Array2::from_shape_vec((self.size.height(), self.size.width()), ownership)
                .expect("every point has an owner"),
            ownership_weight: if is_owned { 1.0 } else { 0.0 },
            result_weight: if self.board_margin.is_some() { 1.0 } else { 0.0 },
            value_weight: if record.has_value { 1.0 } else { 0.0 },
            weight: 1.0,
        }
    }

    /// The trained position at which the running sum of weights exceeds `offset`.
    fn number_at(&self, head: &[u8], offset: u64) -> usize {
        let (mut low, mut high) = (0, self.trained);
        while low < high {
            let middle = (low + high) / 2;
            match u64::from_le_bytes(bytes_at(head, middle * 8)) <= offset {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn record<'a>(&self, head: &'a [u8], number: usize) -> PositionRecord<'a> {
        let end = |number: usize| u32::from_le_bytes(bytes_at(head, self.trained * 8 + number * 4)) as usize;
        let start = if number == 0 { 0 } else { end(number - 1) };
        let moves = if self.planes { 0 } else { self.plies * 2 };
        let records = self.trained * HEAD_ENTRY + self.size.area() + moves;
        let record = &head[records + start..records + end(number)];
        let (planes, rest) = record.split_at(if self.planes { planes_bytes(self.size) } else { 0 });
        let flags = rest[4];
        let moves = usize::from(u16::from_le_bytes(bytes_at(rest, 7)));
        let short_term = |horizon: usize| f32::from_le_bytes(bytes_at(rest, 9 + 4 * horizon));
        let owners = if flags & EXPECTED_OWNERS == 0 {
            0
        } else {
            self.size.area()
        };
        let (policies, expected_owners) = rest[RECORD_HEAD..].split_at(rest.len() - RECORD_HEAD - owners);
        let (policy, reply) = policies.split_at(moves * POLICY_ENTRY);
        PositionRecord {
            ply: u32::from_le_bytes(bytes_at(head, self.trained * 12 + number * 4)) as usize,
            planes,
            value: f32::from_le_bytes(bytes_at(rest, 0)),
            mover: if flags & WHITE_MOVES == 0 {
                Color::Black
            } else {
                Color::White
            },
            after_pass: flags & AFTER_PASS != 0,
            has_value: flags & NO_VALUE == 0,
            gain: i16::from_le_bytes(bytes_at(rest, 5)).into(),
            short_term: std::array::from_fn(short_term),
            policy,
            reply,
            expected_owners,
        }
    }

    fn ownership<'a>(&self, head: &'a [u8]) -> &'a [u8] {
        &head[self.trained * HEAD_ENTRY..][..self.size.area()]
    }

    fn features(&self, head: &[u8], record: &PositionRecord) -> Features {
        if !self.planes {
            return self.replayed_features(head, record.ply);
        }
        let words = self.size.area().div_ceil(64);
        let planes = std::array::from_fn(|plane| {
            let mut all = [0u64; 6];
            for (word, value) in all[..words].iter_mut().enumerate() {
                *value = u64::from_le_bytes(bytes_at(record.planes, (plane * words + word) * 8));
            }
            PointSet::from_words(all)
        });
        let so_far = SoFar {
            mover: record.mover,
            komi: self.komi,
            after_pass: record.after_pass,
            gain: record.gain,
            territory: self.rules.scoring == Scoring::Territory,
            suicide: self.rules.suicide,
        };
        features_from_planes(self.size, planes, so_far)
    }

    fn replayed_features(&self, head: &[u8], ply: usize) -> Features {
        let moves = &head[self.trained * HEAD_ENTRY + self.size.area()..];
        let setup = self.setup.as_deref().unwrap_or(&Setup::EVEN);
        let start = Position::starting(self.size, self.rules, setup);
        let mut position = start.expect("the same start was valid before");
        for number in 0..ply {
            let index = u16::from_le_bytes(bytes_at(moves, number * 2));
            let mv = Move::from_index(self.size, usize::from(index)).expect("the index came from a move");
            position.play_unchecked(mv);
        }
        Features::of(&position, self.komi)
    }

    fn value_target(&self, value: f32, sign: i32, features: &Features, result_share: f32) -> [f32; 3] {
        let (most, extra) = (2 * self.size.area() as i32, (2.0 * features.komi) as i32);
        let tied = self.result == 0 && self.board_margin.is_some();
        let mut target = search_target(value, most + extra, extra - most, tied);
        for share in &mut target {
            *share *= 1.0 - result_share;
        }
        target[match i32::from(self.result) * sign {
            1 => 0,
            0 => 1,
            _ => 2,
        }] += result_share;
        target
    }
}

/// A trained position as stored in the bytes.
struct PositionRecord<'a> {
    ply: usize,
    planes: &'a [u8],
    value: f32,
    mover: Color,
    after_pass: bool,
    has_value: bool,
    gain: i32,
    short_term: [f32; HORIZONS],
    policy: &'a [u8],
    reply: &'a [u8],
    /// Percent per point, or empty.
    expected_owners: &'a [u8],
}

impl PositionRecord<'_> {
    /// The policy target with its points mapped to their images.
    fn policy(&self, map: &[u16]) -> Vec<(u16, f32)> {
        pairs(self.policy, map)
    }

    /// The policy of the next ply with its points mapped to their images; empty if it is not stored.
    fn reply(&self, map: &[u16]) -> Vec<(u16, f32)> {
        pairs(self.reply, map)
    }
}

/// Stored moves and probabilities, with the moves mapped to their images.
fn pairs(bytes: &[u8], map: &[u16]) -> Vec<(u16, f32)> {
    let entry = |entry: &[u8]| {
        let index = u16::from_le_bytes(bytes_at(entry, 0));
        let image = map.get(usize::from(index)).copied().unwrap_or(index);
        (image, f32::from_le_bytes(bytes_at(entry, 2)))
    };
    bytes.chunks_exact(POLICY_ENTRY).map(entry).collect()
}

fn bytes_at<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    bytes[start..start + N].try_into().expect("the slice is N bytes long")
}

/// Size of the bit planes of one position in bytes.
fn planes_bytes(size: Size) -> usize {
    BIT_PLANES * size.area().div_ceil(64) * 8
}

/// The trained plies, each with the cumulative weight up to and including it.
fn cumulative_weights(record: &GameRecord) -> Vec<(u32, u64)> {
    let mut sum = 0;
    let trained = |(ply, data): (usize, &PlyRecord)| {
        let weight = (data.weight.clamp(0.0, WEIGHT_ONE) * WEIGHT_ONE).round() as u64;
        sum += weight;
        (weight > 0).then_some((ply as u32, sum))
    };
    let played = record.plies.iter().enumerate();
    played
        .filter(|(ply, data)| *ply >= usize::from(record.opening_plies) && !data.has(OPENING))
        .filter_map(trained)
        .collect()
}

/// The records of all trained positions and the end of each. With planes or off-board points, this replays the game and
/// so checks every move.
fn encode_records(
    lesson: &Lesson<'_>,
    trained: &[(u32, u64)],
    Parts { planes, replies }: Parts,
) -> Result<(Vec<u8>, Vec<u32>), RecordError> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(trained.len()));
    let record = lesson.record.as_ref();
    let short_terms = short_term_values(lesson);
    let start = record.start()?;
    let gains = start.rules().scoring == Scoring::Territory || gain_off_board(&start) != 0;
    if !planes && !gains {
        for &(ply, _) in trained {
            let ply = ply as usize;
            push_record(&mut bytes, lesson, ply, (0, short_terms[ply], replies));
            ends.push(bytes.len() as u32);
        }
        return Ok((bytes, ends));
    }
    let words = record.size.area().div_ceil(64);
    let mut next = trained.iter().map(|&(ply, _)| ply as usize).peekable();
    record.replay_with(|position, ply, _| {
        if next.next_if_eq(&ply).is_none() {
            return;
        }
        if planes {
            for plane in &Features::of(position, record.komi).planes {
                let words = plane.words()[..words].iter();
                words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            }
        }
        push_record(
            &mut bytes,
            lesson,
            ply,
            (gain_off_board(position), short_terms[ply], replies),
        );
        ends.push(bytes.len() as u32);
    })?;
    Ok((bytes, ends))
}

/// Appends the parts of a position's record other than the planes.
fn push_record(
    bytes: &mut Vec<u8>,
    lesson: &Lesson<'_>,
    ply: usize,
    (gain, short_term, replies): (i32, [f32; HORIZONS], bool),
) {
    let record = lesson.record.as_ref();
    let data = &record.plies[ply];
    let after_pass = ply > 0 && record.plies[ply - 1].mv == Move::Pass;
    let color = match record.mover(ply) {
        Color::Black => 0,
        Color::White => WHITE_MOVES,
    };
    bytes.extend_from_slice(&data.root_value.to_le_bytes());
    let after_pass = if after_pass { AFTER_PASS } else { 0 };
    let no_value = if lesson.has_value(ply) { 0 } else { NO_VALUE };
    let owners = lesson.expected_ownership(ply);
    let expected = if owners.is_empty() { 0 } else { EXPECTED_OWNERS };
    bytes.push(color | after_pass | no_value | expected);
    bytes.extend_from_slice(&(gain as i16).to_le_bytes());
    bytes.extend_from_slice(&(data.policy.len() as u16).to_le_bytes());
    short_term
        .iter()
        .for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
    // Handicap stones that one player places in a row have no reply in between.
    let is_reply = replies && record.mover(ply + 1) != record.mover(ply);
    let next = record.plies.get(ply + 1).filter(|_| is_reply);
    let reply = next.map_or(&[][..], |next| &next.policy);
    for (index, probability) in data.policy.iter().chain(reply) {
        bytes.extend_from_slice(&index.to_le_bytes());
        bytes.extend_from_slice(&probability.to_le_bytes());
    }
    bytes.extend(owners.iter().map(|&owner| owner as u8));
}

/// Horizons of the short-term values in plies per point of the board, as in KataGo.
const PLIES_PER_POINT: [f32; HORIZONS] = [0.016, 0.056, 0.176];

/// For each ply, the values over the next plies from the mover's view; see [`Sample::short_term`].
fn short_term_values(lesson: &Lesson<'_>) -> Vec<[f32; HORIZONS]> {
    let record = lesson.record.as_ref();
    let share_now = PLIES_PER_POINT.map(|plies| 1.0 / (1.0 + plies * record.size.area() as f32));
    // From Black's view, because the mover changes from ply to ply except after handicap stones.
    let mut ahead = [lesson.value_at_the_end(); HORIZONS];
    let mut values = vec![ahead; record.plies.len()];
    for (ply, data) in record.plies.iter().enumerate().rev() {
        let sign = match record.mover(ply) {
            Color::Black => 1.0,
            Color::White => -1.0,
        };
        if lesson.is_followed(ply) {
            for (ahead, now) in ahead.iter_mut().zip(share_now) {
                *ahead += now * (sign * data.root_value - *ahead);
            }
        }
        values[ply] = ahead.map(|value| sign * value);
    }
    values
}

/// Converts a search value, P(win) - P(loss), to probabilities of win, tie and loss, given the mover's best and worst
/// margin after komi in half points, and whether the game was tied. Results that the komi rules out get 0; if that
/// leaves a tie and one other result, the value determines both. If all three remain, a search does not say how much of
/// an even value is a tie, so the game decides: all of it or nothing.
fn search_target(value: f32, best: i32, worst: i32, tied: bool) -> [f32; 3] {
    match (best.signum(), worst.signum()) {
        (1, -1) if tied => [value.max(0.0), 1.0 - value.abs(), -value.min(0.0)],
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
    fn impossible_results_get_zero() {
        assert_eq!(search_target(0.5, 30, -70, false), [0.75, 0.0, 0.25]);
        assert_eq!(search_target(-0.25, 0, -100, false), [0.0, 0.75, 0.25]);
        assert_eq!(search_target(0.25, 100, 0, false), [0.25, 0.75, 0.0]);
        assert_eq!(search_target(0.1, -1, -101, false), [0.0, 0.0, 1.0]);
        assert_eq!(search_target(0.1, 101, 1, false), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_tied_game_keeps_the_tie_of_an_even_search() {
        assert_eq!(search_target(0.0, 30, -70, true), [0.0, 1.0, 0.0]);
        assert_eq!(search_target(0.25, 30, -70, true), [0.25, 0.75, 0.0]);
        assert_eq!(search_target(-0.25, 30, -70, true), [0.0, 0.75, 0.25]);
    }
}
