//! Which models of a sweep are rated, and which of them play each other.

use tengen_matches::Entrant;
use tengen_store::Store;

use crate::plan::Plan;

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

/// The pairs of models that play each other, by index. The last model of each run plays the last models of all other
/// arms, or, if there is only one arm, of its other seeds. Every model plays the next one of its run, and the model at
/// the same level of the next arm with the same seed. `arms` is the number of arms; runs are in the order of a
/// [`Plan`].
pub fn meetings(places: &[Place], arms: usize) -> Vec<[usize; 2]> {
    let mut pairs = Vec::new();
    for later in 0..places.len() {
        for earlier in 0..later {
            let (a, b) = (places[earlier], places[later]);
            let (arm_a, arm_b) = (a.run % arms, b.run % arms);
            let across = a.last && b.last && a.run != b.run && (arm_a != arm_b || arms == 1);
            let along = a.run == b.run && a.level.abs_diff(b.level) == 1;
            let neighbors = a.run / arms == b.run / arms && arm_a.abs_diff(arm_b) == 1;
            if across || along || (neighbors && a.level == b.level && !(a.last && b.last)) {
                pairs.push([later, earlier]);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let pairs = meetings(&places, 2);
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
        assert_eq!(meetings(&places, 1).len(), 4 * 3 / 2 + 4 * 2);
    }
}
