//! Sums up how workers and GPUs spent their time over the whole run.

use std::collections::BTreeMap;

use maud::{Markup, html};

use tengen_metrics::{GpuBucket, Selfplay, WorkerSeconds};

use super::openings::percent;
use crate::numbers::{duration, thousands};

/// The sums over a run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// The batches of GPUs by their number of rows.
    buckets: BTreeMap<u64, GpuBucket>,
    workers: Vec<WorkerSeconds>,
}

impl Usage {
    /// Adds the figures of one event.
    pub(super) fn add(&mut self, event: &Selfplay) {
        for more in &event.gpu_buckets {
            let bucket = self.buckets.entry(more.rows).or_default();
            bucket.rows = more.rows;
            bucket.batches += more.batches;
            bucket.asked += more.asked;
        }
        if self.workers.len() < event.workers.len() {
            self.workers.resize(event.workers.len(), WorkerSeconds::default());
        }
        for (sum, more) in self.workers.iter_mut().zip(&event.workers) {
            sum.descend += more.descend;
            sum.wait += more.wait;
            sum.absorb += more.absorb;
        }
    }

    /// A table of the workers and, if there was a GPU, one of its batches.
    pub(super) fn tables(&self) -> Markup {
        html! {
            @if !self.workers.is_empty() {
                h3 { "Time of each worker" }
                div.card.table tabindex="0" { table {
                    tr {
                        th.left { "worker" } th { "descending" } th { "predictions, or waiting for them" }
                        th { "absorbing" }
                    }
                    @for (number, worker) in self.workers.iter().enumerate() {
                        tr {
                            td.left { (number) }
                            @for seconds in [worker.descend, worker.wait, worker.absorb] { td { (duration(seconds)) } }
                        }
                    }
                } }
            }
            @if !self.buckets.is_empty() {
                h3 { "Batches on the GPU" }
                p.soft { "Batches are padded to few sizes, so that each is recorded once; padding is the share of rows \
                          that fill them up." }
                div.card.table tabindex="0" { table {
                    tr { th { "rows" } th { "batches" } th { "positions" } th { "padding" } }
                    @for bucket in self.buckets.values() { (row(bucket)) }
                } }
            }
        }
    }
}

fn row(bucket: &GpuBucket) -> Markup {
    let computed = (bucket.rows * bucket.batches).max(1);
    html! {
        tr {
            td { (thousands(bucket.rows)) }
            td { (thousands(bucket.batches)) }
            td { (thousands(bucket.asked)) }
            td { (percent(1.0 - bucket.asked as f64 / computed as f64)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_added_up() {
        let bucket = |rows, batches, asked| GpuBucket { rows, batches, asked };
        let worker = |descend| WorkerSeconds {
            descend,
            wait: 60.0,
            absorb: 0.5,
        };
        let event = |buckets: &[GpuBucket], workers: &[WorkerSeconds]| Selfplay {
            gpu_buckets: buckets.to_vec(),
            workers: workers.to_vec(),
            ..Selfplay::default()
        };
        let events = [
            event(&[bucket(64, 10, 600)], &[worker(1.0)]),
            event(
                &[bucket(64, 10, 360), bucket(1024, 1, 1024)],
                &[worker(2.0), worker(3.0)],
            ),
        ];
        let sum = |events: &[Selfplay]| {
            let mut usage = Usage::default();
            events.iter().for_each(|event| usage.add(event));
            usage
        };
        let usage = sum(&events);
        assert_eq!(
            usage.workers.iter().map(|worker| worker.descend).collect::<Vec<_>>(),
            [3.0, 3.0]
        );
        let page = usage.tables().into_string();
        for part in [
            "<td>64</td><td>20</td><td>960</td><td>25%</td>",
            "<td>1,024</td>",
            "2 min 00 s",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        // Without a GPU, there is no table of its batches; without metrics, there is nothing.
        let page = sum(&[event(&[], &[worker(1.0)])]).tables().into_string();
        assert!(!page.contains("GPU"), "{page}");
        assert_eq!(sum(&[]).tables().into_string(), "");
    }
}
