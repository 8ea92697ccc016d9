//! The board, komi, and rules of the games that rate a run.

use serde_json::Value;

use tengen_matches::{Asked, Conditions};
use tengen_rules::{Komi, Rules, Size};
use tengen_store::{MatchFile, Store};

use crate::arguments;
use crate::output::usage;

/// The komi of 9x9 games on CGOS, the server that GNU Go's rating comes from.
const CGOS_KOMI: Komi = Komi::from_half_points(14);

/// The board, komi, and rules as asked. By default, the board and the rules are the run's; komi is that of its last
/// ratings on this board, or else that of CGOS on 9x9, or else fair.
pub(super) fn conditions(store: &Store, asked: Asked) -> anyhow::Result<Conditions> {
    let run = store.run_info()?;
    let size = match (asked.size, run.as_ref().and_then(|run| run.sizes.first())) {
        (Some(size), _) => size,
        (None, Some(size)) => size.parse()?,
        (None, None) => return Err(usage("the store does not name a board; use --size")),
    };
    let rules = match (asked.rules, &run) {
        (Some(rules), _) => rules,
        (None, Some(run)) => arguments::rules(&run.rules).map_err(usage)?,
        (None, None) => Rules::tromp_taylor(),
    };
    let komi = match asked.komi {
        Some(komi) => Some(komi),
        None => match last_komi(store, size)? {
            Some(komi) => Some(komi),
            None if is_9x9(size) => Some(CGOS_KOMI),
            None => fair_komi(store, size)?,
        },
    };
    let komi = komi.ok_or_else(|| usage(format!("no model in the store has a fair komi for {size}; use --komi")))?;
    Ok(Conditions { size, komi, rules })
}

/// The komi of the newest rating match on this board.
fn last_komi(store: &Store, size: Size) -> anyhow::Result<Option<Komi>> {
    let mut newest: Option<(i64, Komi)> = None;
    for id in store
        .matches()
        .list()?
        .into_iter()
        .filter(|id| id.starts_with("rating-"))
    {
        let Some(bytes) = store.matches().get(&id, MatchFile::Spec)? else {
            continue;
        };
        let spec: Value = serde_json::from_slice(&bytes)?;
        let time = spec["start_time_ms"].as_i64().unwrap_or(0);
        let komi = spec["match"]["komi"].as_str().and_then(|komi| komi.parse().ok());
        if let (true, Some(komi)) = (spec["match"]["size"] == size.to_string(), komi)
            && newest.is_none_or(|(before, _)| before < time)
        {
            newest = Some((time, komi));
        }
    }
    Ok(newest.map(|(_, komi)| komi))
}

/// Fair komi according to the champion, bounded by the board's area.
fn fair_komi(store: &Store, size: Size) -> anyhow::Result<Option<Komi>> {
    let Some((_, champion)) = store.models().champion()? else {
        return Ok(None);
    };
    let info = store.models().info(&champion.model_id)?;
    let bound = 2 * size.area() as i16;
    let bounded = |komi: Komi| Komi::from_half_points(komi.half_points().clamp(-bound, bound));
    Ok(info.fair_komi(size).map(bounded))
}

/// Whether this is the board of GNU Go's known rating.
fn is_9x9(size: Size) -> bool {
    size.width() == 9 && size.height() == 9
}
