//! Processes that train one network together, each with a rank from 0, on one machine or several. They use collectives
//! of libtorch's c10d: Gloo on the CPU, NCCL on GPUs.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::time::Duration;

use tch::{Device, Kind, Tensor};

use crate::fused::{FusedError, Norm, last_error, taken};
use crate::libtorch::text;

unsafe extern "C" {
    fn tengen_group_join(
        host: *const c_char,
        port: u16,
        listen: c_int,
        prefix: *const c_char,
        rank: c_int,
        ranks: c_int,
        meeting_seconds: f64,
        seconds: f64,
    ) -> *mut c_void;
    fn tengen_group_leave(group: *mut c_void);
    fn tengen_group_sum(group: *mut c_void, tensor: *const c_void) -> c_int;
    fn tengen_group_from_first(group: *mut c_void, tensor: *const c_void) -> c_int;
    fn tengen_group_use_nccl(group: *mut c_void, device: i64) -> c_int;
    fn tengen_group_finish(group: *mut c_void, device: i64) -> c_int;
    fn tengen_group_failure(group: *const c_void) -> *const c_char;
    fn tengen_group_muster(group: *mut c_void, seconds: f64, present: *mut u8);
    fn tengen_joined_norm(
        x: *const c_void,
        board: *const c_void,
        scale: *const c_void,
        shift: *const c_void,
        running_mean: *const c_void,
        running_variance: *const c_void,
        rate: f64,
        epsilon: f64,
        group: *mut c_void,
    ) -> *mut c_void;
}

/// How a process joins the others: the rendezvous and its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The host at which the ranks meet.
    pub host: String,
    /// The port there.
    pub port: u16,
    /// Whether another program, such as torchrun, listens there; otherwise, rank 0 does.
    pub hosted: bool,
    /// The name of the rendezvous, which keeps a restart apart from what an earlier start left behind.
    pub name: String,
    /// This process's number, from 0.
    pub rank: usize,
    /// The number of processes.
    pub ranks: usize,
    /// How long to wait for the others to start.
    pub wait: Duration,
    /// The timeout of a collective: how long the other ranks may take to reach it.
    pub patience: Duration,
}

/// The processes that train one network together. All ranks must make the same calls in the same order.
pub struct Group {
    pointer: NonNull<c_void>,
    rank: usize,
    ranks: usize,
}

// SAFETY: the shim's group may be used on any thread. During a backward pass, libtorch's own threads use it while the
// thread that started the pass waits.
unsafe impl Send for Group {}
// SAFETY: as above; c10d locks what its threads share.
unsafe impl Sync for Group {}

impl Group {
    /// Joins the other ranks.
    ///
    /// # Errors
    /// [`GroupError::Join`] if they cannot be reached.
    pub fn join(meeting: &Meeting) -> Result<Group, GroupError> {
        let Meeting { rank, ranks, .. } = *meeting;
        let failed = |why: String| GroupError::Join {
            rank,
            ranks,
            host: meeting.host.clone(),
            port: meeting.port,
            why,
        };
        let (host, name) = (CString::new(meeting.host.as_str()), CString::new(meeting.name.as_str()));
        let (Ok(host), Ok(name)) = (host, name) else {
            return Err(failed("its name contains a zero byte".to_owned()));
        };
        let number = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
        // SAFETY: both texts outlive the call.
        let pointer = unsafe {
            tengen_group_join(
                host.as_ptr(),
                meeting.port,
                c_int::from(rank == 0 && !meeting.hosted),
                name.as_ptr(),
                number(rank),
                number(ranks),
                meeting.wait.as_secs_f64(),
                meeting.patience.as_secs_f64(),
            )
        };
        let pointer = NonNull::new(pointer).ok_or_else(|| failed(in_short(&last_error().message())))?;
        Ok(Group { pointer, rank, ranks })
    }

    /// This process's number, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Sums a tensor of floats over all ranks, in place (all-reduce). With NCCL on a GPU, does not wait.
    ///
    /// # Errors
    /// [`GroupError::Broken`] if another rank is gone.
    pub fn sum(&self, tensor: &Tensor) -> Result<(), GroupError> {
        // SAFETY: the group and the tensor outlive the call, which keeps no reference to them.
        self.checked(unsafe { tengen_group_sum(self.pointer(), tensor.as_ptr().cast()) })
    }

    /// Sums each number over all ranks.
    ///
    /// # Errors
    /// [`GroupError::Broken`] if another rank is gone.
    pub fn sums<const N: usize>(&self, mut values: [f64; N]) -> Result<[f64; N], GroupError> {
        let tensor = Tensor::from_slice(&values);
        self.sum(&tensor)?;
        tensor.copy_data(&mut values, N);
        Ok(values)
    }

    /// Replaces a tensor by rank 0's (broadcast).
    ///
    /// # Errors
    /// [`GroupError::Broken`] if another rank is gone.
    pub fn from_first(&self, tensor: &Tensor) -> Result<(), GroupError> {
        let _no_grad = tch::no_grad_guard();
        // SAFETY: the group and the tensor outlive the call, which keeps no reference to them.
        self.checked(unsafe { tengen_group_from_first(self.pointer(), tensor.as_ptr().cast()) })
    }

    /// Rank 0's bytes, whose number may differ from this rank's.
    ///
    /// # Errors
    /// [`GroupError::Broken`] if another rank is gone.
    pub fn bytes_from_first(&self, bytes: &[u8]) -> Result<Vec<u8>, GroupError> {
        let length = Tensor::from_slice(&[bytes.len() as i64]);
        self.from_first(&length)?;
        let length = length.int64_value(&[0]);
        let tensor = match self.rank {
            0 => Tensor::from_slice(bytes),
            _ => Tensor::zeros([length], (Kind::Uint8, Device::Cpu)),
        };
        if length > 0 {
            self.from_first(&tensor)?;
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        tensor.copy_data(&mut bytes, tensor.numel());
        Ok(bytes)
    }

    /// From now on, sums GPU tensors with NCCL, if all ranks can; does nothing on the CPU.
    ///
    /// # Errors
    /// Why NCCL cannot be used. Sums then go through the CPU, so this error is not fatal.
    pub fn use_device(&self, device: Device) -> Result<(), String> {
        let Device::Cuda(index) = device else { return Ok(()) };
        // SAFETY: the group outlives the call.
        match unsafe { tengen_group_use_nccl(self.pointer(), index as i64) } {
            0 => Err(in_short(&last_error().message())),
            _ => Ok(()),
        }
    }

    /// Waits for this thread's GPU work.
    ///
    /// # Errors
    /// [`GroupError::Broken`] if another rank is gone, which leaves sums unfinished.
    pub fn finish(&self, device: Device) -> Result<(), GroupError> {
        let Device::Cuda(index) = device else { return Ok(()) };
        // SAFETY: the group outlives the call.
        self.checked(unsafe { tengen_group_finish(self.pointer(), index as i64) })
    }

    /// Why the connection to the other ranks broke, if it did.
    pub fn failure(&self) -> Option<GroupError> {
        // SAFETY: the text belongs to the group, which outlives this copy.
        let why = text(unsafe { tengen_group_failure(self.pointer.as_ptr()) });
        (!why.is_empty()).then_some(GroupError::Broken(why))
    }

    /// Closes the connections and returns the ranks that do not report back within this time: those that are gone. The
    /// group cannot be used afterwards.
    pub fn missing(&self, within: Duration) -> Vec<usize> {
        let mut present = vec![0u8; self.ranks];
        // SAFETY: `present` has a byte for each rank and outlives the call.
        unsafe { tengen_group_muster(self.pointer(), within.as_secs_f64(), present.as_mut_ptr()) };
        (0..self.ranks).filter(|&rank| present[rank] == 0).collect()
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer.as_ptr()
    }

    fn checked(&self, done: c_int) -> Result<(), GroupError> {
        match done {
            0 => Err(GroupError::Broken(in_short(&last_error().message()))),
            _ => Ok(()),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: created by `join` and freed once.
        unsafe { tengen_group_leave(self.pointer()) }
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.ranks)
    }
}

/// The first line of a c10d message, without the source location that it may start with.
fn in_short(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .map_or(line, |(_, rest)| rest);
    line.trim_end_matches('.').to_owned()
}

/// Normalizes `x`, `[B, C, H, W]`, with the combined batch statistics of all ranks, over all points or those of
/// `board`, `[B, 1, H, W]`. The running statistics move toward them by `rate`. Works on every device, with gradients.
pub(crate) fn joined_norm(
    norm: &Norm,
    x: &Tensor,
    board: Option<&Tensor>,
    (rate, epsilon): (f64, f64),
    group: &Group,
) -> Result<Tensor, FusedError> {
    let pointer = |tensor: &Tensor| tensor.as_ptr().cast::<c_void>();
    // SAFETY: all tensors outlive the call, and the statistics, which it changes, are not read meanwhile. libtorch
    // counts the references that the gradient keeps, and the network keeps the group.
    taken(unsafe {
        tengen_joined_norm(
            pointer(x),
            board.map_or(std::ptr::null(), pointer),
            pointer(&norm.scale),
            pointer(&norm.shift),
            pointer(&norm.mean),
            pointer(&norm.variance),
            rate,
            epsilon,
            group.pointer(),
        )
    })
}

/// Why processes cannot train together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The ranks could not connect.
    #[error(
        "rank {rank} cannot meet the other ranks at {host}:{port} ({why}): check that all {ranks} ranks are started, \
         and that MASTER_ADDR and MASTER_PORT name a host that all of them reach and a free port there"
    )]
    Join {
        /// This process's number.
        rank: usize,
        /// The number of processes.
        ranks: usize,
        /// The host of the rendezvous.
        host: String,
        /// The port there.
        port: u16,
        /// The reason that c10d gives.
        why: String,
    },
    /// A rank is gone or does not answer.
    #[error("the connection to the other ranks broke: {0}")]
    Broken(String),
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::layers::After;

    /// An unused port on this machine.
    fn free_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    }

    fn meeting(rank: usize, ranks: usize, port: u16) -> Meeting {
        Meeting {
            host: "127.0.0.1".to_owned(),
            port,
            hosted: false,
            name: "test".to_owned(),
            rank,
            ranks,
            wait: Duration::from_secs(20),
            patience: Duration::from_secs(20),
        }
    }

    /// What each rank returns, each on its own thread.
    fn on_ranks<T: Send>(ranks: usize, work: impl Fn(Group) -> T + Sync) -> Vec<T> {
        let port = free_port();
        let rank = |rank| {
            crate::limit_threads();
            work(Group::join(&meeting(rank, ranks, port)).expect("the ranks meet"))
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..ranks).map(|number| scope.spawn(move || rank(number))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        })
    }

    #[test]
    fn ranks_add_up_and_take_over() {
        let results = on_ranks(3, |group| {
            let number = group.rank() as f64;
            let sums = group.sums([1.0, number, 0.5]).expect("a sum");
            let bytes = vec![group.rank() as u8; 3 - group.rank()];
            (sums, group.bytes_from_first(&bytes).expect("bytes"), group.failure())
        });
        for result in results {
            assert_eq!(result, ([3.0, 3.0, 1.5], vec![0; 3], None));
        }
    }

    #[test]
    fn the_ranks_that_are_gone_are_found() {
        let results = on_ranks(3, |group| {
            group.sums([1.0]).expect("a sum");
            if group.rank() == 1 {
                return Vec::new();
            }
            let error = group.sums([1.0]).expect_err("rank 1 has left");
            assert!(!error.to_string().contains('\n'), "{error}");
            assert_eq!(group.failure(), Some(error));
            group.missing(Duration::from_secs(2))
        });
        assert_eq!(results, [vec![1], vec![], vec![1]]);
    }

    #[test]
    fn nobody_comes() {
        let alone = Meeting {
            wait: Duration::from_millis(500),
            ..meeting(0, 2, free_port())
        };
        let error = Group::join(&alone).expect_err("rank 1 is missing").to_string();
        assert!(
            error.starts_with("rank 0 cannot meet the other ranks at 127.0.0.1:"),
            "{error}"
        );
        assert!(
            error.contains("check that all 2 ranks are started") && !error.contains('\n'),
            "{error}"
        );
    }

    /// Both ways to normalize can be mixed, and give the whole batch's outputs, gradients, and running statistics.
    #[test]
    fn batches_of_several_ranks_are_normalized_as_one() {
        let values = |seed: f64| (Tensor::arange(8, (Kind::Float, Device::Cpu)) * seed).cos();
        let norm = || Norm {
            scale: values(0.9).set_requires_grad(true),
            shift: values(1.7).set_requires_grad(true),
            mean: values(2.3),
            variance: values(0.4) + 2.0,
        };
        let whole = || {
            let flat = (Tensor::arange(6 * 25 * 8, (Kind::Float, Device::Cpu)) * 0.37).sin();
            flat.view([6, 5, 5, 8]).permute([0, 3, 1, 2])
        };
        let settings = (0.1, 1e-5);
        let numbers = |norm: &Norm, out: &Tensor, x: &Tensor| {
            let loss = (out * (x.detach() * 3.1).sin() * values(1.3).view([1, 8, 1, 1])).sum(Kind::Float);
            let mut all = Tensor::run_backward(&[loss], &[x, &norm.scale, &norm.shift], false, false);
            all.extend([out.detach(), norm.mean.copy(), norm.variance.copy()]);
            all
        };
        let expected = {
            let (norm, x) = (norm(), whole().set_requires_grad(true));
            let out = norm
                .of_batch(&x, None, None, After::Nothing, settings, None)
                .expect("libtorch");
            numbers(&norm, &out, &x)
        };
        for fused in [[true, true], [true, false], [false, false]] {
            let parts = on_ranks(2, |group| {
                let (norm, rank) = (norm(), group.rank());
                let (start, length) = [(0, 2), (2, 4)][rank];
                let x = whole().narrow(0, start, length).detach().set_requires_grad(true);
                let out = match fused[rank] {
                    true => norm.of_batch(&x, None, None, After::Nothing, settings, Some(&group)),
                    false => joined_norm(&norm, &x, None, settings, &group),
                };
                numbers(&norm, &out.expect("libtorch"), &x)
            });
            for (number, expected) in expected.iter().enumerate() {
                let [a, b] = [&parts[0][number], &parts[1][number]];
                let found = match number {
                    0 | 3 => Tensor::cat(&[a, b], 0),
                    1 | 2 => a + b,
                    _ => a.shallow_clone(),
                };
                let difference = (found - expected).abs().max() / expected.abs().max();
                let difference = difference.double_value(&[]);
                assert!(difference < 1e-5, "{fused:?}, tensor {number}: {difference}");
            }
        }
    }
}
