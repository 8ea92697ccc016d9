//! Turns a batch of packed bits into tensors on a device.

use ndarray::{Array1, ArrayView, Axis, Dimension};
use tch::{Device, Kind, Tensor};

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use crate::catching::LibtorchError;
use crate::packed::PackedInputs;
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

    /// `[B, P + 1, H, W]`: the bit planes and the mask of on-board points, all 0 or 1.
    pub fn planes(&self) -> &Tensor {
        &self.planes
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
    pub(crate) fn with_planes(
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
