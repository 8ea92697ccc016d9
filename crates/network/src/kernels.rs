//! Our own GPU kernels, on tensors. They compute the same as libtorch's operations with fewer passes over memory.
//!
//! Each function returns `None` where there is no kernel: on the CPU, with gradients, for unsuitable shapes, and on a
//! GPU where the results were found to differ. libtorch's operations are used there.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{Device, Kind, Tensor};

use tengen_gpu::{Bias, Format, Kernels};
use tengen_rules::Size;

use crate::catching::catching;
use crate::inputs::{Boards, sides};
use crate::layers::After;
use crate::pool::pooled_by_libtorch;
use crate::stream::{self, read_back};

/// The largest difference from libtorch's operations, as a share of the largest value, at which kernels are used: more
/// than rounding and less than any mistake.
const MOST_DIFFERENCE: f64 = 0.02;

/// x + bias, then a ReLU if `after` asks for one; x, `[B, C, H, W]`, is overwritten. The bias is `[B, C]` in fp32, or
/// `[C]` in the format of x.
pub(crate) fn add_bias(x: &Tensor, bias: &Tensor, after: After) -> Option<Tensor> {
    let kernels = usable(x.device(), x.kind()).filter(|_| x.is_inference())?;
    add(&kernels, x, bias, after).map(|()| x.shallow_clone())
}

/// Whether a kernel would add a bias.
pub(crate) fn adds_bias(x: &Tensor) -> bool {
    x.is_inference() && usable(x.device(), x.kind()).is_some()
}

fn add(kernels: &Kernels, x: &Tensor, bias: &Tensor, after: After) -> Option<()> {
    let shape = shape(x)?;
    let expected = match bias.dim() {
        1 => (bias.kind() == x.kind()).then_some(Bias::OfChannels(address(bias).cast_const()))?,
        _ => (bias.kind() == Kind::Float).then_some(Bias::OfBoards(address(bias).cast_const()))?,
    };
    if !bias.is_contiguous() || bias.device() != x.device() || bias.size().last() != x.size().get(1) {
        return None;
    }
    // SAFETY: both tensors have these shapes and formats, and libtorch keeps their memory for this stream.
    let done = unsafe {
        kernels.add_bias(
            stream::current(x.device())?,
            address(x),
            expected,
            shape,
            after == After::Relu,
        )
    };
    done.ok()
}

/// The result of [`crate::pool::pool`].
pub(crate) fn pool(x: &Tensor, boards: &Boards) -> Option<Tensor> {
    pool_with(&*usable(x.device(), x.kind()).filter(|_| x.is_inference())?, x, boards)
}

fn pool_with(kernels: &Kernels, x: &Tensor, boards: &Boards) -> Option<Tensor> {
    let shape = shape(x)?;
    let out = Tensor::empty([x.size()[0], 3 * x.size()[1]], (Kind::Float, x.device()));
    let areas = match &boards.mask {
        Some(mask) => address(&mask.areas).cast_const(),
        None => ptr::null(),
    };
    // SAFETY: as in `add`.
    let done = unsafe { kernels.pool(stream::current(x.device())?, address(x), address(&out), areas, shape) };
    done.ok().map(|()| out)
}

/// `[B, P + 1 + added, H, W]` in channels-last memory from the bits of `P` planes, `[B, P, W, 1]`, and from the height
/// and width of each board, `[B, 2]`, if some are smaller than the canvas.
pub(crate) fn unpack(words: &Tensor, boards: Option<&Tensor>, canvas: Size, kind: Kind, added: i64) -> Option<Tensor> {
    unpack_with(&*usable(words.device(), kind)?, words, boards, canvas, kind, added)
}

fn unpack_with(
    kernels: &Kernels,
    words: &Tensor,
    boards: Option<&Tensor>,
    canvas: Size,
    kind: Kind,
    added: i64,
) -> Option<Tensor> {
    let (height, width) = sides(canvas);
    let size = words.size();
    let channels = size[1] + 1 + added;
    let out = Tensor::empty([size[0], height, width, channels], (kind, words.device()));
    let of_boards = boards.map_or(ptr::null(), |boards| address(boards).cast_const());
    let number = |side: i64| u32::try_from(side).ok();
    let bits = [number(size[0])?, number(size[1])?, number(size[2])?];
    let (canvas, stream) = ([number(height)?, number(width)?], stream::current(words.device())?);
    // SAFETY: as in `add`.
    let done = unsafe {
        kernels.unpack_planes(
            stream,
            address(words),
            of_boards,
            address(&out),
            bits,
            canvas,
            number(channels)?,
        )
    };
    done.ok().map(|()| out.permute([0, 3, 1, 2]))
}

/// Boards, points, and channels of activations in channels-last memory.
fn shape(x: &Tensor) -> Option<[u32; 3]> {
    let [boards, channels, height, width] = x.size()[..] else {
        return None;
    };
    let number = |side: i64| u32::try_from(side).ok();
    let shape = [number(boards)?, number(height * width)?, number(channels)?];
    x.permute([0, 2, 3, 1]).is_contiguous().then_some(shape)
}

fn address(tensor: &Tensor) -> *mut c_void {
    tensor.data_ptr()
}

/// The kernels for a device and a number format, if they compute the same as libtorch's operations.
fn usable(device: Device, kind: Kind) -> Option<Arc<Kernels>> {
    type Known = Vec<(Device, Kind, Option<Arc<Kernels>>)>;
    static KNOWN: Mutex<Known> = Mutex::new(Vec::new());
    if !device.is_cuda() {
        return None;
    }
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| (known.0, known.1) == (device, kind)) {
        return known.2.clone();
    }
    let right = compared(device, kind).filter(|(found, bound)| found <= bound);
    let kernels = right.and_then(|_| on(device, kind));
    all.push((device, kind, kernels.clone()));
    kernels
}

/// Compiles and checks the kernels for a device and a number format, which must happen before any capture.
pub(crate) fn prepare(device: Device, kind: Kind) {
    usable(device, kind);
}

fn on(device: Device, kind: Kind) -> Option<Arc<Kernels>> {
    let Device::Cuda(gpu) = device else { return None };
    let format = match kind {
        Kind::Float => Format::Fp32,
        Kind::BFloat16 => Format::Bf16,
        Kind::Half => Format::Fp16,
        _ => return None,
    };
    Kernels::on(gpu, format)
}

/// The largest difference between any kernel and libtorch's operations, as a share of the largest value, and the bound
/// up to which they are used; the difference is infinite if one fails. `None` where there are no kernels.
pub fn compared(device: Device, kind: Kind) -> Option<(f64, f64)> {
    let kernels = on(device, kind)?;
    let compare = || differences(&kernels, device, kind).unwrap_or(f64::INFINITY);
    Some((catching(compare).unwrap_or(f64::INFINITY), MOST_DIFFERENCE))
}

fn differences(kernels: &Kernels, device: Device, kind: Kind) -> Option<f64> {
    let _no_grad = tch::no_grad_guard();
    let canvas = Size::new(5, 7).ok()?;
    let numbers = |seed: f64, shape: &[i64]| {
        let count = shape.iter().product::<i64>();
        (Tensor::arange(count, (Kind::Float, device)) * seed).sin().view(shape)
    };
    let mut largest: f64 = 0.0;
    let mut compare = |found: &Tensor, expected: &Tensor| {
        let (found, expected) = (found.to_kind(Kind::Float), expected.to_kind(Kind::Float));
        let scale = expected.abs().max().clamp_min(1e-6);
        let share = read_back(&((found - expected).abs().max() / scale)).double_value(&[]);
        largest = if share.is_finite() {
            largest.max(share)
        } else {
            f64::INFINITY
        };
    };
    for channels in [16i64, 48, 96, 264] {
        let x = |seed| {
            let last = numbers(seed, &[3, 7, 5, channels]).to_kind(kind);
            last.permute([0, 3, 1, 2])
        };
        for (after, bias) in [
            (After::Nothing, numbers(0.71, &[3, channels])),
            (After::Relu, numbers(0.53, &[channels]).to_kind(kind)),
        ] {
            let (found, expected) = (x(0.37), x(0.37));
            add(kernels, &found, &bias, after)?;
            let of_points = match bias.dim() {
                1 => bias.view([1, -1, 1, 1]),
                _ => bias.unsqueeze(2).unsqueeze(3).to_kind(kind),
            };
            let expected = expected + of_points;
            compare(
                &found,
                &if after == After::Relu {
                    expected.relu()
                } else {
                    expected
                },
            );
        }
        let full = Boards { canvas, mask: None };
        let activations = x(0.91).relu();
        compare(
            &pool_with(kernels, &activations, &full)?,
            &pooled_by_libtorch(&activations, &full),
        );
    }
    let lanes = if kind == Kind::Float { 4 } else { 8 };
    let planes = 2 * lanes - 3;
    let words = Tensor::arange(3 * planes, (Kind::Int64, device)) * 0x0001_2345_6789_abcd_i64;
    let words = words.view([3, planes, 1, 1]);
    let shifts = Tensor::arange(35, (Kind::Int64, device));
    let bits = words
        .bitwise_right_shift(&shifts)
        .bitwise_and(1)
        .flatten(2, 3)
        .narrow(2, 0, 35);
    let point = Tensor::arange(35, (Kind::Int64, device));
    let (row, column) = (point.divide_scalar_mode(5, "floor"), point.remainder(5));
    let some = Tensor::from_slice(&[7i64, 5, 4, 3, 6, 5])
        .view([3, 2])
        .to_device(device);
    let inside =
        row.unsqueeze(0).lt_tensor(&some.narrow(1, 0, 1)) * column.unsqueeze(0).lt_tensor(&some.narrow(1, 1, 1));
    for boards in [None, Some(&some)] {
        let mask = match boards {
            Some(_) => inside.to_kind(Kind::Float),
            None => Tensor::ones([3, 35], (Kind::Float, device)),
        };
        let zeros = Tensor::zeros([3, 2, 35], (Kind::Float, device));
        let expected = Tensor::cat(&[bits.to_kind(Kind::Float), mask.unsqueeze(1), zeros], 1).view([3, -1, 7, 5]);
        compare(&unpack_with(kernels, &words, boards, canvas, kind, 2)?, &expected);
    }
    Some(largest)
}
