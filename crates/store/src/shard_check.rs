//! The checks that a shard must pass before its games are trusted.

use std::collections::BTreeSet;

use bytes::Bytes;

use tengen_model::sha256_hex;
use tengen_records::GameRecord;
use tengen_shard::decode_bytes;

use crate::shard_info::ShardInfo;

/// The games of a shard if every check passes, otherwise what failed.
pub(crate) fn check_shard(shard: &ShardInfo, bytes: Bytes, trusted: bool) -> Result<Vec<GameRecord>, String> {
    check_bytes(shard, &bytes)?;
    let games = decode_bytes(bytes).map_err(|error| error.to_string())?;
    check_counts(shard, &games)?;
    if !trusted {
        check_ids(&games)?;
        for game in &games {
            check_game(shard, game)?;
        }
    }
    Ok(games)
}

/// Checks the size and the hash in the name.
pub(crate) fn check_bytes(shard: &ShardInfo, bytes: &Bytes) -> Result<(), String> {
    if bytes.len() as u64 != shard.bytes {
        return Err(format!("expected {} bytes, found {}", shard.bytes, bytes.len()));
    }
    let hash = sha256_hex(bytes);
    match hash[..16] == shard.name.hash16 {
        true => Ok(()),
        false => Err(format!(
            "expected a SHA-256 that starts with {}, found {hash}",
            shard.name.hash16
        )),
    }
}

fn check_counts(shard: &ShardInfo, games: &[GameRecord]) -> Result<(), String> {
    let positions: u64 = games.iter().map(|game| game.plies.len() as u64).sum();
    let (expected, found) = ((shard.games(), shard.positions()), (games.len() as u64, positions));
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "expected {} games with {} positions according to the name, found {} with {}",
        expected.0, expected.1, found.0, found.1
    ))
}

/// Game ids are unique within a store, so also within a shard.
fn check_ids(games: &[GameRecord]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    match games.iter().find(|game| !ids.insert(game.game_id.as_str())) {
        None => Ok(()),
        Some(again) => Err(format!(
            "game {}: expected each game once, found it twice",
            again.game_id
        )),
    }
}

fn check_game(shard: &ShardInfo, game: &GameRecord) -> Result<(), String> {
    if game.kind != shard.collection.kind() {
        let expected = shard.collection.kind().name();
        return Err(format!(
            "game {}: expected a {expected} game, found a {} game",
            game.game_id,
            game.kind.name()
        ));
    }
    game.validate()
        .map(|_| ())
        .map_err(|error| format!("game {}: {error}", game.game_id))
}
