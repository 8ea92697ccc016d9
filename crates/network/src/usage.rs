//! Measures how busy each GPU is, and with what, by CUDA events, which are exact even when the CPU lags.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tch::Device;

use crate::fused::FusedError;
use crate::stream::{Moment, Work};

/// The GPUs that this process has used, by number.
static METERS: Mutex<BTreeMap<usize, Meter>> = Mutex::new(BTreeMap::new());

/// After this many seconds, times are measured from a later event: CUDA reports them with seven digits.
const REBASE_SECONDS: f64 = 8.0;

/// What a GPU has done so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuUsage {
    /// Prediction batches, by the number of rows they were padded to.
    pub buckets: BTreeMap<usize, Bucket>,
    /// Seconds from the start to the end of each prediction batch, summed; batches on two streams overlap.
    pub prediction_seconds: f64,
    /// Seconds from the start to the end of each training step, summed, including waits while predictions run first.
    pub training_seconds: f64,
    /// Seconds during which at least one batch or step was running.
    pub busy_seconds: f64,
}

/// Prediction batches padded to the same number of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Number of batches.
    pub batches: u64,
    /// Rows requested in all of them, without padding.
    pub rows: u64,
}

impl GpuUsage {
    /// What was done since `before`.
    #[must_use]
    pub fn since(&self, before: &GpuUsage) -> GpuUsage {
        let more = |(&rows, bucket): (&usize, &Bucket)| {
            let earlier = before.buckets.get(&rows).copied().unwrap_or_default();
            let more = Bucket {
                batches: bucket.batches - earlier.batches,
                rows: bucket.rows - earlier.rows,
            };
            (more.batches > 0).then_some((rows, more))
        };
        GpuUsage {
            buckets: self.buckets.iter().filter_map(more).collect(),
            prediction_seconds: self.prediction_seconds - before.prediction_seconds,
            training_seconds: self.training_seconds - before.training_seconds,
            busy_seconds: self.busy_seconds - before.busy_seconds,
        }
    }
}

/// What this process's GPUs have done so far, by GPU number.
pub fn gpu_usage() -> Vec<(usize, GpuUsage)> {
    meters()
        .iter()
        .map(|(&gpu, meter)| (gpu, meter.usage.clone()))
        .collect()
}

fn meters() -> MutexGuard<'static, BTreeMap<usize, Meter>> {
    METERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work of one thread on a GPU, from start to end on its stream. On the CPU, nothing is measured.
#[derive(Debug)]
pub struct Span(Option<Begun>);

#[derive(Debug)]
struct Begun {
    gpu: usize,
    work: Work,
    base: Arc<Base>,
    begin: Moment,
    end: Option<Moment>,
}

/// A completed event, at a known time since this process first used the GPU.
#[derive(Debug)]
struct Base {
    moment: Moment,
    seconds: f64,
}

impl Span {
    /// Starts measuring the work that the calling thread queues from now on. If CUDA events fail, the work goes
    /// unmeasured.
    pub fn begin(device: Device, work: Work) -> Span {
        let Device::Cuda(gpu) = device else { return Span(None) };
        let begun = || -> Result<Begun, FusedError> {
            Ok(Begun {
                gpu,
                work,
                base: base(gpu)?,
                begin: Moment::now(gpu)?,
                end: None,
            })
        };
        Span(begun().ok())
    }

    /// Marks the end of the measured work.
    pub fn end(&mut self) {
        if let Some(begun) = &mut self.0 {
            begun.end = Moment::now(begun.gpu).ok();
        }
    }

    /// Counts a completed prediction batch with this many rows, padded to `bucket`.
    pub(crate) fn count_batch(self, rows: usize, bucket: usize) {
        self.count(|usage| {
            let counted = usage.buckets.entry(bucket).or_default();
            counted.batches += 1;
            counted.rows += rows as u64;
        });
    }

    /// Counts a completed training step.
    pub fn count_step(self) {
        self.count(|_| ());
    }

    fn count(self, also: impl FnOnce(&mut GpuUsage)) {
        let Some(Begun {
            gpu,
            work,
            base,
            begin,
            end: Some(end),
        }) = self.0
        else {
            return;
        };
        let times = end.seconds_since(&base.moment).zip(end.seconds_since(&begin));
        let Some((since_base, took)) = times else { return };
        let end_seconds = base.seconds + since_base;
        let mut meters = meters();
        let Some(meter) = meters.get_mut(&gpu) else { return };
        meter.add(work, end_seconds - took, end_seconds);
        also(&mut meter.usage);
        if end_seconds - meter.base.seconds > REBASE_SECONDS {
            meter.base = Arc::new(Base {
                moment: end,
                seconds: end_seconds,
            });
        }
    }
}

/// The event that a GPU's times are currently measured from. The first call waits for it.
fn base(gpu: usize) -> Result<Arc<Base>, FusedError> {
    if let Some(meter) = meters().get(&gpu) {
        return Ok(meter.base.clone());
    }
    let moment = Moment::now(gpu)?;
    moment.wait()?;
    let base = Arc::new(Base { moment, seconds: 0.0 });
    let mut meters = meters();
    let meter = meters.entry(gpu).or_insert_with(|| Meter {
        base,
        usage: GpuUsage::default(),
        covered: Covered::default(),
    });
    Ok(meter.base.clone())
}

/// Frees the events of all GPUs, at the end of a process.
pub fn forget() {
    let meters = std::mem::take(&mut *meters());
    drop(meters);
}

#[derive(Debug)]
struct Meter {
    base: Arc<Base>,
    usage: GpuUsage,
    covered: Covered,
}

impl Meter {
    fn add(&mut self, work: Work, begin: f64, end: f64) {
        match work {
            Work::Prediction => self.usage.prediction_seconds += end - begin,
            Work::Training => self.usage.training_seconds += end - begin,
        }
        self.usage.busy_seconds += self.covered.add(begin, end);
    }
}

/// The times when a GPU was busy: disjoint intervals with gaps between them, earliest first. Old ones are dropped,
/// along with the gaps between them.
#[derive(Debug, Default)]
struct Covered(Vec<(f64, f64)>);

impl Covered {
    /// The maximum number of intervals. Only long spans are counted after spans that end later.
    const MOST: usize = 512;

    /// Adds an interval and returns how much of it was not covered before.
    fn add(&mut self, begin: f64, end: f64) -> f64 {
        let first = self.0.partition_point(|&(_, before)| before < begin);
        let after = self.0.partition_point(|&(next, _)| next <= end);
        let merged = self.0.get(first..after).unwrap_or_default();
        let known: f64 = merged.iter().map(|(begin, end)| end - begin).sum();
        let low = merged.first().map_or(begin, |merged| merged.0.min(begin));
        let high = merged.last().map_or(end, |merged| merged.1.max(end));
        self.0.splice(first..after.max(first), [(low, high)]);
        if self.0.len() > Covered::MOST {
            // From now on, the gap between the two earliest counts as covered, but not as busy.
            let (begin, _) = self.0.remove(0);
            if let Some(next) = self.0.first_mut() {
                next.0 = begin;
            }
        }
        high - low - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with unions computed on a fine grid.
    #[test]
    fn times_that_overlap_count_once() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..50 {
            let (mut covered, mut grid) = (Covered::default(), vec![false; 1000]);
            let mut total = 0.0;
            for _ in 0..60 {
                let begin = random(900);
                let end = begin + 1 + random(90);
                total += covered.add(begin as f64, end as f64);
                grid[begin as usize..end as usize].fill(true);
                let expected = grid.iter().filter(|&&busy| busy).count() as f64;
                assert!((total - expected).abs() < 1e-6, "{total} {expected}");
                assert!(covered.0.windows(2).all(|pair| pair[0].1 < pair[1].0), "{covered:?}");
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_was_forgotten_never_counts_again() {
        let mut covered = Covered::default();
        let count = 5 * Covered::MOST;
        let total: f64 = (0..count)
            .map(|at| covered.add(2.0 * at as f64, 2.0 * at as f64 + 1.0))
            .sum();
        assert_eq!((total, covered.0.len()), (count as f64, Covered::MOST));
        assert_eq!(covered.add(1.0, 2.0), 0.0);
    }

    #[test]
    fn later_batches_are_told_from_earlier_ones() {
        let usage = |batches, rows, busy_seconds| GpuUsage {
            buckets: BTreeMap::from([(64, Bucket { batches, rows }), (256, Bucket { batches: 3, rows: 700 })]),
            busy_seconds,
            ..GpuUsage::default()
        };
        let since = usage(7, 400, 3.0).since(&usage(5, 300, 1.0));
        assert_eq!(since.buckets, BTreeMap::from([(64, Bucket { batches: 2, rows: 100 })]));
        assert_eq!(since.busy_seconds, 2.0);
    }

    #[test]
    fn the_cpu_is_not_measured() {
        let mut span = Span::begin(Device::Cpu, Work::Prediction);
        span.end();
        span.count_batch(5, 16);
        assert!(gpu_usage().is_empty());
    }
}
