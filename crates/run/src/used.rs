//! How the workers and the GPUs of this process have spent their time.

use std::time::Instant;

use tengen_metrics::{GpuBucket, Selfplay, WorkerSeconds};
use tengen_network::{Bucket, GpuUsage, gpu_usage};
use tengen_selfplay::WorkerTimes;

/// The time of all workers and the usage of every GPU, up to some moment or between two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    workers: Vec<WorkerTimes>,
    gpus: Vec<(usize, GpuUsage)>,
}

impl Used {
    /// The usage up to now, given the workers' times.
    pub(crate) fn now(workers: &[WorkerTimes]) -> Used {
        Used {
            workers: workers.to_vec(),
            gpus: gpu_usage(),
        }
    }

    /// The usage since `before`.
    pub(crate) fn since(&self, before: &Used) -> Used {
        let worker =
            |(number, now): (usize, &WorkerTimes)| now.since(&before.workers.get(number).copied().unwrap_or_default());
        let gpu = |(number, now): &(usize, GpuUsage)| {
            let earlier = before.gpus.iter().find(|(earlier, _)| earlier == number);
            (
                *number,
                earlier.map_or_else(|| now.clone(), |(_, earlier)| now.since(earlier)),
            )
        };
        Used {
            workers: self.workers.iter().enumerate().map(worker).collect(),
            gpus: self.gpus.iter().map(gpu).collect(),
        }
    }

    /// The batches of all GPUs.
    fn buckets(&self) -> Vec<GpuBucket> {
        let mut all: Vec<GpuBucket> = Vec::new();
        let each = self.gpus.iter().flat_map(|(_, usage)| &usage.buckets);
        for (&rows, &Bucket { batches, rows: asked }) in each {
            match all.iter_mut().find(|bucket| bucket.rows == rows as u64) {
                Some(bucket) => {
                    bucket.batches += batches;
                    bucket.asked += asked;
                }
                None => all.push(GpuBucket {
                    rows: rows as u64,
                    batches,
                    asked,
                }),
            }
        }
        all.sort_by_key(|bucket| bucket.rows);
        all
    }

    /// A figure of the GPUs in seconds, as a mean over them and a share of `seconds`; NaN without a GPU.
    fn share(&self, seconds: f64, figure: impl Fn(&GpuUsage) -> f64) -> f64 {
        self.gpus.iter().map(|(_, usage)| figure(usage)).sum::<f64>() / self.gpus.len() as f64 / seconds
    }

    /// The event with these figures added, for a time of this many seconds.
    pub(crate) fn over(&self, event: Selfplay, seconds: f64) -> Selfplay {
        let buckets = self.buckets();
        let worker = |times: &WorkerTimes| WorkerSeconds {
            descend: times.descend,
            wait: times.predict,
            absorb: times.absorb,
        };
        Selfplay {
            gpu_busy_share: self.share(seconds, |usage| usage.busy_seconds),
            gpu_prediction_share: self.share(seconds, |usage| usage.prediction_seconds),
            gpu_training_share: self.share(seconds, |usage| usage.training_seconds),
            gpu_padding_share: padding(&buckets),
            gpu_buckets: buckets,
            workers: self.workers.iter().map(worker).collect(),
            ..event
        }
    }

    /// One line for the screen, for a time of this many seconds; `None` without a GPU.
    pub(crate) fn in_words(&self, seconds: f64) -> Option<String> {
        if self.gpus.is_empty() {
            return None;
        }
        let buckets = self.buckets();
        let batches: u64 = buckets.iter().map(|bucket| bucket.batches).sum();
        let asked: u64 = buckets.iter().map(|bucket| bucket.asked).sum();
        let percent = |share: f64| if share.is_finite() { share * 100.0 } else { 0.0 };
        let waits: f64 = self.workers.iter().map(|times| times.predict).sum();
        Some(format!(
            "{:.0}% busy, {:.0} positions per batch, {:.0}% padding; workers wait for it {:.0}% of their time",
            percent(self.share(seconds, |usage| usage.busy_seconds)),
            asked as f64 / batches.max(1) as f64,
            percent(padding(&buckets)),
            percent(waits / seconds / self.workers.len() as f64),
        ))
    }
}

/// Measures how busy the GPUs of this process are between calls.
#[derive(Debug)]
pub struct GpuMeter {
    before: Used,
    looked: Instant,
}

impl Default for GpuMeter {
    fn default() -> GpuMeter {
        GpuMeter {
            before: Used::now(&[]),
            looked: Instant::now(),
        }
    }
}

impl GpuMeter {
    /// The share of the time since the last call, or since the meter was created, in which a GPU was busy: the mean
    /// over all GPUs in use. `None` if there are none.
    pub fn busy(&mut self) -> Option<f64> {
        let used = Used::now(&[]);
        let seconds = self.looked.elapsed().as_secs_f64();
        let share = used.since(&self.before).share(seconds, |usage| usage.busy_seconds);
        *self = GpuMeter {
            before: used,
            looked: Instant::now(),
        };
        share.is_finite().then_some(share)
    }
}

/// The share of the computed rows that are padding; NaN without batches.
fn padding(buckets: &[GpuBucket]) -> f64 {
    let computed: u64 = buckets.iter().map(|bucket| bucket.rows * bucket.batches).sum();
    let asked: u64 = buckets.iter().map(|bucket| bucket.asked).sum();
    1.0 - asked as f64 / computed as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn used(waited: f64, batches: u64, busy_seconds: f64) -> Used {
        let times = WorkerTimes {
            descend: 1.0,
            predict: waited,
            absorb: 0.5,
        };
        let usage = GpuUsage {
            buckets: BTreeMap::from([(
                64,
                Bucket {
                    batches,
                    rows: 48 * batches,
                },
            )]),
            busy_seconds,
            training_seconds: 0.1 * busy_seconds,
            prediction_seconds: busy_seconds,
        };
        Used {
            workers: vec![times; 2],
            gpus: vec![(0, usage.clone()), (1, usage)],
        }
    }

    #[test]
    fn shares_are_means_over_gpus_and_batches_are_sums() {
        let since = used(6.0, 30, 9.0).since(&used(5.0, 10, 1.0));
        let event = since.over(Selfplay::default(), 10.0);
        assert_eq!((event.gpu_busy_share, event.gpu_padding_share), (0.8, 0.25));
        assert!((event.gpu_training_share - 0.08).abs() < 1e-9);
        let bucket = GpuBucket {
            rows: 64,
            batches: 40,
            asked: 48 * 40,
        };
        assert_eq!(event.gpu_buckets, [bucket]);
        assert_eq!(event.workers.len(), 2);
        assert_eq!((event.workers[1].wait, event.workers[1].descend), (1.0, 0.0));
        let words = since.in_words(10.0).expect("there are GPUs");
        assert_eq!(
            words,
            "80% busy, 48 positions per batch, 25% padding; workers wait for it 10% of their time"
        );
    }

    #[test]
    fn without_a_gpu_the_workers_are_still_measured() {
        let cpu = Used {
            gpus: Vec::new(),
            ..used(5.0, 0, 0.0)
        };
        let event = cpu.over(Selfplay::default(), 10.0);
        assert!(event.gpu_busy_share.is_nan() && event.gpu_buckets.is_empty());
        assert_eq!((cpu.in_words(10.0), event.workers.len()), (None, 2));
    }
}
