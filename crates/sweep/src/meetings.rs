//! Which models of a sweep are rated, and which of them play each other.

use tengen_matches::Entrant;
use tengen_store::Store;

use crate::plan::{Design, Plan};

/// Where a rated model stands in the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of its run.
    pub run: usize,
    /// Its number among the rated models of its run; equal numbers mean about equal shares of the budget.
    pub level: usize,
    /// Whether it is the last model of its run.
    pub last: bool,
}

/// The models that are rated, run by run, oldest first.
pub struct Field {
    /// The models as players.
    pub entrants: Vec<Entrant>,
    /// The place of each.
    pub places: Vec<Place>,
}

impl Field {
    /// The models of all runs of a plan; `stores` has the order of its runs.
    ///
    /// # Errors
    /// If a store cannot be read or has no models.
    pub fn of(plan: &Plan, stores: &[Store]) -> anyhow::Result<Field> {
        let mut field = Field {
            entrants: Vec::new(),
            places: Vec::new(),
        };
        for (run, (planned, store)) in plan.runs.iter().zip(stores).enumerate() {
            let models = store.models().list()?;
            anyhow::ensure!(!models.is_empty(), "the run {} has no models", planned.name);
            // The first model is untrained.
            let trained = models.get(1..).filter(|trained| !trained.is_empty()).unwrap_or(&models);
            let chosen = spread(trained, plan.rating.models);
            let count = chosen.len();
            for (level, model) in chosen.into_iter().enumerate() {
                let prefix = format!("{}/", planned.name);
                let entrant = Entrant::of_model(store, model, plan.rating.visits, &prefix)?;
                field.entrants.push(entrant);
                field.places.push(Place {
                    run,
                    level,
                    last: level + 1 == count,
                });
            }
        }
        Ok(field)
    }
}

/// `count` evenly spaced items that include the last one; all items if there are fewer.
fn spread<T>(items: &[T], count: usize) -> Vec<&T> {
    let count = count.min(items.len());
    (1..=count).map(|part| &items[part * items.len() / count - 1]).collect()
}

/// The pairs of models that play each other, by index. Every model plays the next one of its run.
///
/// Between arms, the last model of each run plays the last models of all other arms, or, if there is only one arm, of
/// its other seeds, and every model plays the one at the same level of the next arm with the same seed. In a sweep of
/// factors, the last models of runs that are 1, 2, 4, 8, … places apart play each other: few matches that still link
/// every run closely with all others.
pub fn meetings(places: &[Place], design: &Design) -> Vec<[usize; 2]> {
    let meet = |a: Place, b: Place| match design {
        Design::Arms(arms) => arms_meet(a, b, arms.len()),
        Design::Factors(_) => a.last && b.last && a.run.abs_diff(b.run).is_power_of_two(),
    };
    let mut pairs = Vec::new();
    for later in 0..places.len() {
        for earlier in 0..later {
            let (a, b) = (places[earlier], places[later]);
            let along = a.run == b.run && a.level.abs_diff(b.level) == 1;
            if along || (a.run != b.run && meet(a, b)) {
                pairs.push([later, earlier]);
            }
        }
    }
    pairs
}

/// Whether models of two different runs meet in a sweep with this number of arms.
fn arms_meet(a: Place, b: Place, arms: usize) -> bool {
    let (arm_a, arm_b) = (a.run % arms, b.run % arms);
    let across = a.last && b.last && (arm_a != arm_b || arms == 1);
    let neighbors = a.run / arms == b.run / arms && arm_a.abs_diff(arm_b) == 1;
    across || (neighbors && a.level == b.level && !(a.last && b.last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorial::Factorial;
    use crate::plan::Change;

    fn changes(count: usize) -> Vec<Change> {
        let change = |index| Change {
            name: format!("change {index}"),
            set: Default::default(),
        };
        (0..count).map(change).collect()
    }

    #[test]
    fn the_models_are_spread_over_the_run() {
        let items: Vec<usize> = (1..=10).collect();
        let chosen = |count| spread(&items, count).into_iter().copied().collect::<Vec<_>>();
        assert_eq!(chosen(1), [10]);
        assert_eq!(chosen(3), [3, 6, 10]);
        assert_eq!(chosen(99), items);
    }

    #[test]
    fn all_runs_are_linked_and_last_models_meet_other_arms() {
        // Two arms, two seeds, three models each: runs 0 and 2 are the first arm's.
        let place = |run, level| Place {
            run,
            level,
            last: level == 2,
        };
        let places: Vec<Place> = (0..4)
            .flat_map(|run| (0..3).map(move |level| place(run, level)))
            .collect();
        let pairs = meetings(&places, &Design::Arms(changes(2)));
        let index = |run: usize, level: usize| run * 3 + level;
        let met = |a: usize, b: usize| pairs.contains(&[a.max(b), a.min(b)]);
        for (one, other) in [(0, 1), (0, 3), (2, 1), (2, 3)] {
            assert!(met(index(one, 2), index(other, 2)), "{one} {other}");
        }
        assert!(!met(index(0, 2), index(2, 2)), "seeds of one arm do not meet");
        assert!(met(index(0, 0), index(0, 1)) && met(index(0, 0), index(1, 0)));
        assert!(!met(index(0, 0), index(3, 0)), "other seeds meet only at the end");
        assert_eq!(pairs.len(), 4 + 4 * 2 + 2 * 2);
        // The same runs as four seeds of one arm: their last models meet, so that all have a place on one scale.
        assert_eq!(meetings(&places, &Design::Arms(changes(1))).len(), 4 * 3 / 2 + 4 * 2);
    }

    #[test]
    fn runs_of_a_factorial_sweep_are_linked_by_few_matches() {
        let place = |run, level| Place {
            run,
            level,
            last: level == 1,
        };
        let places: Vec<Place> = (0..16).flat_map(|run| [place(run, 0), place(run, 1)]).collect();
        let design = Design::Factors(Factorial { factors: changes(5) });
        let pairs = meetings(&places, &design);
        // Two models of each run meet; 15, 14, 12, and 8 pairs of runs are 1, 2, 4, and 8 places apart.
        assert_eq!(pairs.len(), 16 + 15 + 14 + 12 + 8);
        assert!(pairs.contains(&[1, 0]) && pairs.contains(&[17, 1]) && !pairs.contains(&[7, 1]));
        assert!(!pairs.contains(&[2, 0]), "only last models meet those of other runs");
    }
}
