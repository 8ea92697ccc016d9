//! What a model was trained on, and the conditions of its games that follow from it.

use std::collections::BTreeMap;

use tengen_evaluator::MatchConfig;
use tengen_model::ModelInfo;
use tengen_rules::{Komi, Rules, Size};
use tengen_store::RunInfo;

/// What a model was trained on, according to its description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainedOn {
    name: String,
    rules: Option<String>,
    /// The boards it trained on, each with its fair komi if known; empty if unknown.
    boards: BTreeMap<Size, Option<Komi>>,
}

/// The games requested on the command line; `None` leaves a choice to the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The board.
    pub size: Option<Size>,
    /// Points added to White's score.
    pub komi: Option<Komi>,
    /// The rules.
    pub rules: Option<Rules>,
}

/// The board, komi, and rules of the games to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// The board.
    pub size: Size,
    /// Points added to White's score.
    pub komi: Komi,
    /// The rules.
    pub rules: Rules,
}

impl TrainedOn {
    /// Reads a model's description, and its run's where the description is silent.
    pub fn of(name: &str, info: &ModelInfo, run: Option<&RunInfo>) -> TrainedOn {
        let mut boards: BTreeMap<Size, Option<Komi>> = run
            .into_iter()
            .flat_map(|run| &run.sizes)
            .filter_map(|board| Some((board.parse().ok()?, None)))
            .collect();
        for board in info.fair_komi_half_points.keys() {
            if let Ok(board) = board.parse() {
                boards.insert(board, info.fair_komi(board));
            }
        }
        TrainedOn {
            name: name.to_owned(),
            rules: info.rules.clone().or_else(|| run.map(|run| run.rules.clone())),
            boards,
        }
    }

    /// The games to play: as requested, otherwise the model's own, that is, its largest board with its fair komi under
    /// the rules it was trained for, otherwise 9x9 with komi 7 under Tromp-Taylor rules.
    pub fn conditions(&self, asked: Asked) -> Conditions {
        let usual = MatchConfig::default();
        let own = self.own(asked);
        let size = asked.size.or(own.size).unwrap_or(usual.size);
        Conditions {
            size,
            komi: asked.komi.or(own.komi).unwrap_or(usual.komi),
            rules: asked.rules.or(own.rules).unwrap_or(usual.rules),
        }
    }

    /// The model's own choices for everything not requested.
    fn own(&self, asked: Asked) -> Asked {
        let largest = self.boards.keys().max_by_key(|board| board.area()).copied();
        let fair = asked.size.or(largest).and_then(|size| {
            let bound = 2 * size.area() as i16;
            let fair = self.boards.get(&size).copied().flatten();
            fair.map(|komi| Komi::from_half_points(komi.half_points().clamp(-bound, bound)))
        });
        Asked {
            size: largest.filter(|_| asked.size.is_none()),
            komi: fair.filter(|_| asked.komi.is_none()),
            rules: (self.rules.as_ref())
                .and_then(|rules| rules.parse().ok())
                .filter(|_| asked.rules.is_none()),
        }
    }

    /// A sentence about the conditions that the model chose, as the equivalent options; `None` if it chose none.
    pub fn chosen(&self, asked: Asked) -> Option<String> {
        let own = self.own(asked);
        let options: Vec<_> = [
            own.size.map(|size| format!(" --size {size}")),
            own.komi.map(|komi| format!(" --komi {komi}")),
            own.rules.map(|rules| format!(" --rules {rules}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!options.is_empty()).then(|| format!("playing as the model {} was trained:{}", self.name, options.concat()))
    }

    /// A warning if the model was never trained under these rules.
    pub fn about_rules(&self, rules: Rules) -> Option<String> {
        let trained = self.rules.as_ref().filter(|trained| trained.parse() != Ok(rules))?;
        let name = &self.name;
        Some(format!(
            "the model {name} was trained under {trained} but plays under {rules} here"
        ))
    }

    /// Warnings about everything that the model was not trained on.
    pub fn warnings(&self, size: Size, rules: Rules, komi: Komi) -> Vec<String> {
        let name = &self.name;
        let unseen = !self.boards.is_empty() && !self.boards.contains_key(&size);
        let about_board = unseen.then(|| {
            let boards: Vec<_> = self.boards.keys().map(Size::to_string).collect();
            format!(
                "the model {name} was trained on {} but plays on {size} here",
                boards.join(", ")
            )
        });
        // Training never draws a komi larger than the number of points of the board.
        let beyond = usize::from(komi.half_points().unsigned_abs()) > 2 * size.area();
        let about_komi = beyond.then(|| {
            format!(
                "komi {komi} exceeds the points of {size}: the side it favors cannot lose, and no model was \
                             trained for that"
            )
        });
        [about_board, self.about_rules(rules), about_komi]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_when_play_differs_from_training() {
        let mut info = tengen_testing::random_model(1).info;
        info.rules = Some("aga".to_owned());
        info.fair_komi_half_points = [("5x5".to_owned(), 49), ("7x7".to_owned(), 18)].into();
        let training = TrainedOn::of("m", &info, None);
        let warnings = |size: &str, rules: &str, komi: &str| {
            training.warnings(size.parse().unwrap(), rules.parse().unwrap(), komi.parse().unwrap())
        };
        assert_eq!(warnings("7x7", "aga", "49"), Vec::<String>::new());
        let all = warnings("9x9", "tromp_taylor", "-81.5");
        assert!(all[0].contains("trained on 5x5, 7x7 but plays on 9x9"), "{all:?}");
        assert!(
            all[1].contains("trained under aga but plays under tromp_taylor"),
            "{all:?}"
        );
        assert!(all[2].contains("komi -81.5 exceeds the points of 9x9"), "{all:?}");
        let unknown = TrainedOn::of("m", &tengen_testing::random_model(1).info, None);
        let komi = Komi::from_half_points(15);
        assert!(
            unknown
                .warnings(Size::square(9).unwrap(), Rules::aga(), komi)
                .is_empty()
        );
    }

    #[test]
    fn a_model_plays_as_it_was_trained_unless_asked_otherwise() {
        let mut info = tengen_testing::random_model(1).info;
        info.rules = Some("aga".to_owned());
        info.fair_komi_half_points = [("5x5".to_owned(), 49), ("13x13".to_owned(), 11)].into();
        let text = |training: &TrainedOn, asked| {
            let Conditions { size, komi, rules } = training.conditions(asked);
            format!("{size} {komi} {rules}")
        };
        let training = TrainedOn::of("m", &info, None);
        assert_eq!(text(&training, Asked::default()), "13x13 5.5 aga");
        let five = Asked {
            size: Some(Size::square(5).unwrap()),
            rules: Some(Rules::tromp_taylor()),
            ..Asked::default()
        };
        assert_eq!(text(&training, five), "5x5 24.5 tromp_taylor");
        let seven = Asked {
            size: Some(Size::square(7).unwrap()),
            komi: Some(Komi::from_half_points(18)),
            ..Asked::default()
        };
        assert_eq!(text(&training, seven), "7x7 9 aga");
        assert_eq!(text(&TrainedOn::default(), Asked::default()), "9x9 7 tromp_taylor");
        let run = RunInfo::new("r", 0, "japanese2008", vec!["7x7".to_owned()], serde_json::Value::Null);
        let untrained = tengen_testing::random_model(1).info;
        let training = TrainedOn::of("m", &untrained, Some(&run));
        assert_eq!(text(&training, Asked::default()), "7x7 7 japanese2008");
    }
}
