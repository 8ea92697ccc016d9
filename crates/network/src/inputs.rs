//! Turns a batch of packed bits into tensors on a device.

use ndarray::{Array1, Array2, Array4, ArrayView, Axis, Dimension};
use tch::{Device, Kind, Tensor};

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use crate::catching::LibtorchError;
use crate::kernels;
use crate::precision::Precision;
use crate::stream::copy_into;

/// A batch of `B` encoded positions as tensors, on a canvas of `H` rows and `W` columns.
#[derive(Debug)]
pub struct NetworkInputs {
    /// `[B, P + 1, H, W]` in channels-last memory: the `P` bit planes of the batch and the mask of on-board points, all
    /// 0 or 1. After them come the zeros of [`Channels::Padded`].
    pub(crate) planes: Tensor,
    /// `[B, 3]`, fp32: the global inputs.
    pub(crate) globals: Tensor,
    /// `[B]`, fp32: komi in points for the side to move.
    pub(crate) komi: Tensor,
    /// Which points of the canvas are on the boards.
    pub(crate) boards: Boards,
}

/// How many channels a network's first convolution reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// One per plane.
    Exact,
    /// Padded with all-zero channels so that a GPU can multiply 16-bit matrices with its fastest kernels.
    Padded,
}

/// The fastest GPU kernels need a multiple of this many channels.
const CHANNELS_TOGETHER: i64 = 16;

impl Channels {
    /// The channels for prediction on a device.
    pub(crate) fn for_prediction(device: Device, precision: Precision) -> Channels {
        match device.is_cuda() && precision != Precision::Fp32 {
            true => Channels::Padded,
            false => Channels::Exact,
        }
    }

    /// The number of channels added to this many planes.
    pub(crate) fn added_to(self, planes: i64) -> i64 {
        match self {
            Channels::Exact => 0,
            Channels::Padded => (CHANNELS_TOGETHER - planes % CHANNELS_TOGETHER) % CHANNELS_TOGETHER,
        }
    }
}

/// Which points of the canvas are on each sample's board.
#[derive(Debug)]
pub(crate) struct Boards {
    /// The size that all boards of the batch are padded to.
    pub(crate) canvas: Size,
    /// `None` when every board fills the canvas, which is the fast path.
    pub(crate) mask: Option<Mask>,
}

/// Which points are on the board, for batches with boards smaller than the canvas.
#[derive(Debug)]
pub(crate) struct Mask {
    /// `[B, 1, H, W]` in the tower's number format: 1 on the board.
    pub(crate) points: Tensor,
    /// `[B, H W]`, fp32: 1 on the board.
    pub(crate) flat: Tensor,
    /// `[B, 1]`, fp32: area of each board in points.
    pub(crate) areas: Tensor,
}

impl Boards {
    /// Number of points of the canvas.
    pub(crate) fn area(&self) -> i64 {
        self.canvas.area() as i64
    }
}

impl NetworkInputs {
    /// Transfers the bits of a batch to `device` and unpacks them there into floats.
    pub fn new(batch: &InputBatch, device: Device, precision: Precision) -> NetworkInputs {
        match device {
            Device::Cpu => NetworkInputs::on_cpu(batch, precision),
            _ => NetworkInputs::from_bits(batch, device, precision, Channels::Exact),
        }
    }

    /// Komi in points for the side to move, `[B]` in fp32.
    pub fn komi(&self) -> &Tensor {
        &self.komi
    }

    /// Unpacks a batch on the CPU, directly into channels-last memory.
    fn on_cpu(batch: &InputBatch, precision: Precision) -> NetworkInputs {
        let planes = on_device(batch.planes_f32_nhwc().view(), Device::Cpu);
        let planes = planes.permute([0, 3, 1, 2]).to_kind(precision.kind());
        let [globals, komi] = [
            on_device(batch.globals(), Device::Cpu),
            on_device(batch.komi(), Device::Cpu),
        ];
        let areas = (!batch.uniform()).then(|| {
            let areas: Array1<f32> = batch.sizes().iter().map(|size| size.area() as f32).collect();
            on_device(areas.insert_axis(Axis(1)).view(), Device::Cpu)
        });
        NetworkInputs::with_planes(batch, planes, [globals, komi], areas)
    }

    /// Transfers the packed bits and unpacks them on the device.
    pub(crate) fn from_bits(
        batch: &InputBatch,
        device: Device,
        precision: Precision,
        channels: Channels,
    ) -> NetworkInputs {
        PackedInputs::new(batch, device).unpack(batch, precision, channels)
    }

    /// `areas` is `[B, 1]`, fp32: the area of each board in points if some are smaller than the canvas.
    fn with_planes(
        batch: &InputBatch,
        planes: Tensor,
        [globals, komi]: [Tensor; 2],
        areas: Option<Tensor>,
    ) -> NetworkInputs {
        let mask = areas.map(|areas| {
            let points = planes.narrow(1, batch.plane_set().bit_planes() as i64, 1).contiguous();
            let flat = points.flatten(1, 3).to_kind(Kind::Float);
            Mask { points, flat, areas }
        });
        NetworkInputs {
            planes,
            globals,
            komi,
            boards: Boards {
                canvas: batch.canvas(),
                mask,
            },
        }
    }
}

/// A batch on a device, still packed as it was transferred.
#[derive(Debug)]
pub struct PackedInputs {
    /// `[B, P, W, 1]`, int64: the bits of each plane.
    words: Tensor,
    /// `[B, 3]`, fp32.
    globals: Tensor,
    /// `[B]`, fp32.
    komi: Tensor,
    /// `[B, 2]`, int64: height and width of each board if some are smaller than the canvas.
    sides: Option<Tensor>,
}

impl PackedInputs {
    /// Transfers a batch.
    pub fn new(batch: &InputBatch, device: Device) -> PackedInputs {
        PackedInputs {
            words: on_device(words(batch).view(), device),
            globals: on_device(batch.globals(), device),
            komi: on_device(batch.komi(), device),
            sides: (!batch.uniform()).then(|| on_device(all_sides(batch).view(), device)),
        }
    }

    /// Transfers another batch of the same shape to the same GPU memory. Some boards may be smaller than the canvas
    /// only if that was true of the first batch.
    ///
    /// # Errors
    /// If libtorch cannot copy it.
    pub fn refill(&self, batch: &InputBatch) -> Result<(), LibtorchError> {
        if let Some(sides) = &self.sides {
            transfer(all_sides(batch).view(), sides)?;
        }
        transfer(words(batch).view(), &self.words)?;
        transfer(batch.globals(), &self.globals)?;
        transfer(batch.komi(), &self.komi)
    }

    /// Unpacks the inputs on the device; transfers nothing more.
    pub fn unpack(&self, batch: &InputBatch, precision: Precision, channels: Channels) -> NetworkInputs {
        let (height, width) = sides(batch.canvas());
        let (samples, area, device) = (batch.len() as i64, height * width, self.words.device());
        let bit_planes = batch.plane_set().bit_planes() as i64;
        let numbers = [&self.globals, &self.komi].map(Tensor::shallow_clone);
        let areas = self.sides.as_ref().map(|sides| column(sides, 0) * column(sides, 1));
        let areas = areas.map(|areas| areas.to_kind(Kind::Float));
        let added = channels.added_to(bit_planes + 1);
        if let Some(planes) = kernels::unpack(
            &self.words,
            self.sides.as_ref(),
            batch.canvas(),
            precision.kind(),
            added,
        ) {
            return NetworkInputs::with_planes(batch, planes, numbers, areas);
        }
        let shifts = Tensor::arange(64, (Kind::Int64, device));
        let bits = self.words.bitwise_right_shift(&shifts).bitwise_and(1);
        let bits = bits.flatten(2, 3).narrow(2, 0, area).to_kind(precision.kind());
        let mask = match &self.sides {
            Some(sides) => board_mask(sides, batch.canvas()),
            None => Tensor::ones([samples, area], (Kind::Float, device)),
        };
        let mask = mask.to_kind(precision.kind()).unsqueeze(1);
        let mut parts = vec![bits, mask];
        if added > 0 {
            parts.push(Tensor::zeros([samples, added, area], (precision.kind(), device)));
        }
        let channels_last = Tensor::cat(&parts, 1).transpose(1, 2).contiguous();
        let planes = channels_last
            .view([samples, height, width, bit_planes + 1 + added])
            .permute([0, 3, 1, 2]);
        NetworkInputs::with_planes(batch, planes, numbers, areas)
    }
}

/// The bits of a batch's planes, `[B, P, W, 1]`.
fn words(batch: &InputBatch) -> Array4<i64> {
    batch.planes().mapv(u64::cast_signed).insert_axis(Axis(3))
}

/// Height and width of each board, `[B, 2]`.
fn all_sides(batch: &InputBatch) -> Array2<i64> {
    let sizes = batch.sizes();
    Array2::from_shape_fn((sizes.len(), 2), |(sample, side)| {
        let (height, width) = sides(sizes[sample]);
        if side == 0 { height } else { width }
    })
}

/// A column of `[B, 2]` as `[B, 1]`.
fn column(sides: &Tensor, number: i64) -> Tensor {
    sides.narrow(1, number, 1)
}

/// `[B, H W]`, fp32: 1 on each sample's board, whose height and width are in `[B, 2]`. Computed on the device to keep
/// the transfer small.
fn board_mask(all_sides: &Tensor, canvas: Size) -> Tensor {
    let (height, width) = sides(canvas);
    let inside = |number, canvas_side| {
        Tensor::arange(canvas_side, (Kind::Int64, all_sides.device())).lt_tensor(&column(all_sides, number))
    };
    let (rows, columns) = (inside(0, height).unsqueeze(2), inside(1, width).unsqueeze(1));
    rows.logical_and(&columns).flatten(1, 2).to_kind(Kind::Float)
}

/// Copies an array in C order to a device. Copies to a GPU go through pinned memory and do not block.
///
/// # Panics
/// If the array is not in C order.
pub fn on_device<T: tch::kind::Element, D: Dimension>(values: ArrayView<'_, T, D>, device: Device) -> Tensor {
    let tensor = Tensor::try_from(values).expect("the array is in C order");
    match device {
        Device::Cpu => tensor,
        _ => tensor
            .internal_pin_memory(device)
            .to_device_(device, T::KIND, true, false),
    }
}

/// Copies an array in C order into a GPU tensor of the same shape, through pinned memory and without blocking.
///
/// # Errors
/// If libtorch cannot copy it.
///
/// # Panics
/// If the array is not in C order.
pub fn transfer<T: tch::kind::Element, D: Dimension>(
    values: ArrayView<'_, T, D>,
    to: &Tensor,
) -> Result<(), LibtorchError> {
    let tensor = Tensor::try_from(values).expect("the array is in C order");
    Ok(copy_into(&tensor.internal_pin_memory(to.device()), to)?)
}

/// The height and width of a board, in this order.
pub(crate) fn sides(size: Size) -> (i64, i64) {
    (size.height() as i64, size.width() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_encoding::{Features, PlaneSet};
    use tengen_rules::{Komi, Move, Position};

    fn batch(plane_set: PlaneSet, canvas: &str, boards: &[&str]) -> InputBatch {
        let size = |text: &str| text.parse::<Size>().expect("a board size");
        let mut batch = InputBatch::with_planes(size(canvas), plane_set);
        for board in boards {
            let mut position = Position::new(size(board));
            for _ in 0..6 {
                let first = position.legal_points().iter().last();
                position.play(first.map_or(Move::Pass, Move::Play));
            }
            batch.push(&Features::of(&position, Komi::from_half_points(7)));
        }
        batch
    }

    /// The GPU method, run here on the CPU, gives the same tensors as the CPU method.
    #[test]
    fn both_unpacking_methods_agree() {
        crate::limit_threads();
        for (plane_set, canvas, boards) in [
            (PlaneSet::default(), "5x5", ["5x5", "5x5"]),
            (PlaneSet::default(), "19x19", ["19x19", "9x9"]),
            (PlaneSet::default(), "9x7", ["3x7", "9x2"]),
            (PlaneSet::ALL, "9x7", ["3x7", "9x2"]),
        ] {
            let batch = batch(plane_set, canvas, &boards);
            for precision in [Precision::Fp32, Precision::Bf16] {
                let direct = NetworkInputs::on_cpu(&batch, precision);
                let bits = NetworkInputs::from_bits(&batch, Device::Cpu, precision, Channels::Exact);
                assert_eq!(direct.planes, bits.planes);
                let padded = NetworkInputs::from_bits(&batch, Device::Cpu, precision, Channels::Padded);
                let planes = direct.planes.size()[1];
                assert_eq!(padded.planes.size()[1], 16);
                assert_eq!(padded.planes.narrow(1, 0, planes), direct.planes);
                assert_eq!(
                    padded
                        .planes
                        .narrow(1, planes, 16 - planes)
                        .abs()
                        .max()
                        .double_value(&[]),
                    0.0
                );
                assert_eq!(direct.planes.stride(), bits.planes.stride());
                assert_eq!(direct.planes.kind(), bits.planes.kind());
                assert_eq!(direct.boards.mask.is_some(), bits.boards.mask.is_some());
                if let (Some(a), Some(b)) = (&direct.boards.mask, &bits.boards.mask) {
                    assert_eq!((&a.points, &a.flat, &a.areas), (&b.points, &b.flat, &b.areas));
                }
            }
        }
    }
}
