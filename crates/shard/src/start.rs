//! How the start of a game is encoded in a shard; see the columns `setup`, `handicap` and `handicap_kind` of the
//! schema.

use tengen_rules::{Color, Handicap, Point, PointSet, Setup, Size};

/// The stones of a setup as items of the column `setup`.
pub(crate) fn setup_stones(size: Size, setup: &Setup) -> impl Iterator<Item = i16> + use<> {
    let [black, white] = setup.stones;
    let code = move |point: Point| {
        if black.contains(point) {
            Some(2 * point.index() as i16)
        } else {
            white.contains(point).then(|| 2 * point.index() as i16 + 1)
        }
    };
    size.points().filter_map(code)
}

/// Parses black and white stones from the items of the column `setup`.
pub(crate) fn read_setup_stones(size: Size, items: &[i16]) -> Result<[PointSet; 2], String> {
    if let Some(pair) = items.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!(
            "setup must be ascending, but {} comes before {}",
            pair[0], pair[1]
        ));
    }
    let mut stones = [PointSet::new(); 2];
    for &item in items {
        let point = usize::try_from(item / 2).ok().filter(|_| item >= 0);
        let point = point.and_then(|index| Point::from_index(size, index)).ok_or_else(|| {
            let most = 2 * size.area() - 1;
            format!("a setup stone must be 0 to {most}, but is {item}")
        })?;
        let color = if item % 2 == 0 { Color::Black } else { Color::White };
        stones[color.index()].insert(point);
    }
    Ok(stones)
}

/// The number of stones and the kind of a handicap.
pub(crate) fn handicap_of(setup: &Setup) -> (u16, Option<&'static str>) {
    match setup.handicap {
        Handicap::Even => (0, None),
        Handicap::Consecutive(stones) => (stones, Some("consecutive")),
        Handicap::WhitePasses(stones) => (stones, Some("white_passes")),
        Handicap::Fixed(stones) => (stones, Some("fixed")),
    }
}

/// The handicap with a number of stones and a kind.
pub(crate) fn read_handicap(stones: u16, kind: Option<&str>) -> Result<Handicap, String> {
    match (kind, stones) {
        (None, 0) => Ok(Handicap::Even),
        (Some("consecutive"), _) => Ok(Handicap::Consecutive(stones)),
        (Some("white_passes"), _) => Ok(Handicap::WhitePasses(stones)),
        (Some("fixed"), _) => Ok(Handicap::Fixed(stones)),
        (None, _) => Err(format!("a handicap of {stones} stones needs a handicap_kind")),
        (Some(other), _) => Err(format!(
            "handicap_kind must be consecutive, white_passes or fixed, but is {other:?}"
        )),
    }
}
