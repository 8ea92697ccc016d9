//! Reference players of constant strength, which put the ratings of different runs on one scale.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tengen_evaluator::PlayerSpec;
use tengen_rules::Size;

use crate::tournament::Entrant;

/// The rating of GNU Go 3.8 at level 10 on the 9x9 Computer Go Server (CGOS).
const GNU_GO_10: f64 = 1946.0;

/// Makes GNU Go play by rules that are as close to Tromp-Taylor as it can.
const GNU_GO_RULES: &str = "--chinese-rules --positional-superko --allow-suicide --never-resign --capture-all-dead \
                            --play-out-aftermath";

/// A player and its given rating, as in `1946=gtp:gnugo --mode gtp`.
#[derive(Clone, Debug)]
pub struct Anchor {
    rating: f64,
    player: PlayerSpec,
}

impl FromStr for Anchor {
    type Err = String;

    fn from_str(text: &str) -> Result<Anchor, String> {
        let (rating, player) = text
            .split_once('=')
            .ok_or_else(|| format!("expected RATING=PLAYER, such as 0=random, found '{text}'"))?;
        let rating: f64 = rating
            .trim()
            .parse()
            .ok()
            .filter(|rating: &f64| rating.abs() <= 10_000.0)
            .ok_or_else(|| format!("expected a rating from -10000 to 10000 before '=', found '{rating}'"))?;
        let player = player.parse().map_err(|error| format!("{error}"))?;
        Ok(Anchor { rating, player })
    }
}

impl Anchor {
    /// The player in a tournament, with its given rating.
    pub fn entrant(&self) -> Entrant {
        Entrant {
            pinned: Some(self.rating),
            ..Entrant::named(&self.player)
        }
    }
}

/// The default anchors: random and, if GNU Go is installed, its levels 1 and 10. Level 10 has its CGOS rating on 9x9;
/// on other boards, for which nobody has published one, and without GNU Go, random has the rating 0.
///
/// # Errors
/// Never in practice: the players' descriptions are constants.
pub fn usual_anchors(size: Size, gnu_go: Option<&Path>) -> anyhow::Result<Vec<Entrant>> {
    let mut anchors = vec![Entrant::named(&"random".parse()?)];
    for level in [1, 10].into_iter().filter(|_| gnu_go.is_some()) {
        let program = gnu_go.unwrap_or(Path::new("gnugo")).display();
        let command = format!("gtp:\"{program} --mode gtp --level {level} {GNU_GO_RULES}\",name=GNU Go level {level}");
        anchors.push(Entrant::named(&command.parse()?));
    }
    match anchors.last_mut() {
        Some(last) if [size.width(), size.height()] == [9, 9] && gnu_go.is_some() => last.pinned = Some(GNU_GO_10),
        _ => anchors[0].pinned = Some(0.0),
    }
    Ok(anchors)
}

/// Where GNU Go is installed. Debian keeps games in a folder that is not on every `PATH`.
pub fn gnu_go() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/games")]);
    folders
        .map(|folder| folder.join("gnugo"))
        .find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_rating_and_a_player() {
        let anchor: Anchor = "1946=gtp:\"gnugo --mode gtp --level=10\",name=ten".parse().unwrap();
        let entrant = anchor.entrant();
        assert_eq!((entrant.pinned, entrant.label.as_str()), (Some(1946.0), "ten"));
        let refuses = |text: &str| text.parse::<Anchor>().unwrap_err();
        assert!(refuses("random").contains("RATING=PLAYER"));
        assert!(refuses("strong=random").contains("-10000 to 10000"));
        assert!(refuses("NaN=random").contains("-10000 to 10000"));
        assert!(refuses("5=unifrom").contains("did you mean 'uniform'?"));
    }

    #[test]
    fn one_player_fixes_the_scale() {
        let labels = |size: &str, gnu_go: Option<&str>| {
            let anchors = usual_anchors(size.parse().unwrap(), gnu_go.map(Path::new)).unwrap();
            let label = |entrant: Entrant| (entrant.label, entrant.pinned);
            anchors.into_iter().map(label).collect::<Vec<_>>()
        };
        let (one, ten) = ("GNU Go level 1".to_owned(), "GNU Go level 10".to_owned());
        let random = || "random".to_owned();
        let nine = labels("9x9", Some("/usr/games/gnugo"));
        assert_eq!(
            nine,
            [(random(), None), (one.clone(), None), (ten.clone(), Some(1946.0))]
        );
        let seven = labels("7x7", Some("/usr/games/gnugo"));
        assert_eq!(seven, [(random(), Some(0.0)), (one, None), (ten, None)]);
        assert_eq!(labels("9x9", None), [(random(), Some(0.0))]);
    }
}
