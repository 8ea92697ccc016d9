//! Transfers a batch of packed bits to a device in one copy, and unpacks it there.

use tch::{Device, Kind, Tensor};

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use crate::catching::LibtorchError;
use crate::fused::FusedError;
use crate::inputs::{Channels, NetworkInputs, sides};
use crate::kernels;
use crate::precision::Precision;
use crate::stream::{copy_into, host_words};

/// A batch on a device, still packed as it was transferred.
#[derive(Debug)]
pub struct PackedInputs {
    /// `[N]`, int64: the following tensors, one after another.
    all: Tensor,
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
    /// Transfers a batch. A copy to a GPU does not block.
    ///
    /// # Panics
    /// As tch does, if libtorch cannot copy it.
    pub fn new(batch: &InputBatch, device: Device) -> PackedInputs {
        let with_sides = !batch.uniform();
        let all = packed(batch, device, with_sides).and_then(|host| match device {
            Device::Cpu => Ok(host),
            _ => {
                let all = Tensor::empty(host.size(), (Kind::Int64, device));
                copy_into(&host, &all).map(|()| all)
            }
        });
        let all = all.unwrap_or_else(|error| panic!("{error}"));
        let (count, globals) = (batch.len() as i64, batch.globals().ncols() as i64);
        let (words, numbers) = (batch.planes().len() as i64, words_of_numbers(batch) as i64);
        let floats = all.narrow(0, words, numbers).view_dtype(Kind::Float);
        let bit_planes = batch.plane_set().bit_planes() as i64;
        PackedInputs {
            words: all.narrow(0, 0, words).view([count, bit_planes, -1, 1]),
            globals: floats.narrow(0, 0, globals * count).view([count, globals]),
            komi: floats.narrow(0, globals * count, count),
            sides: with_sides.then(|| all.narrow(0, words + numbers, 2 * count).view([count, 2])),
            all,
        }
    }

    /// Transfers another batch of the same shape to the same GPU memory. Some boards may be smaller than the canvas
    /// only if that was true of the first batch.
    ///
    /// # Errors
    /// If libtorch cannot copy it.
    pub fn refill(&self, batch: &InputBatch) -> Result<(), LibtorchError> {
        let host = packed(batch, self.all.device(), self.sides.is_some())?;
        Ok(copy_into(&host, &self.all)?)
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

/// How many words the globals and komi of a batch take, with two numbers in a word.
fn words_of_numbers(batch: &InputBatch) -> usize {
    (batch.globals().len() + batch.komi().len()).div_ceil(2)
}

/// The bits of all planes, the globals, komi, and, if asked for, the sides of the boards, one after another. On the
/// host, in pinned memory if they go to a GPU.
fn packed(batch: &InputBatch, to: Device, with_sides: bool) -> Result<Tensor, FusedError> {
    let (planes, globals, komi) = (batch.planes(), batch.globals(), batch.komi());
    let sides = match with_sides {
        true => batch.sizes(),
        false => &[],
    };
    let numbers = words_of_numbers(batch);
    host_words(planes.len() + numbers + 2 * sides.len(), to, |all| {
        let (words, rest) = all.split_at_mut(planes.len());
        let (numbers, places) = rest.split_at_mut(numbers);
        for (to, &from) in words.iter_mut().zip(planes) {
            *to = from.cast_signed();
        }
        let mut halves = globals.iter().chain(komi).map(|number| u64::from(number.to_bits()));
        for to in numbers {
            let mut next = || halves.next().unwrap_or_default();
            *to = (next() | next() << 32).cast_signed();
        }
        for (to, &size) in places.chunks_exact_mut(2).zip(sides) {
            let (height, width) = self::sides(size);
            to.copy_from_slice(&[height, width]);
        }
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

#[cfg(test)]
mod tests {
    use tengen_encoding::{Features, PlaneSet};
    use tengen_rules::{Komi, Move, Position};

    use super::*;

    /// Boards on a canvas with some moves each, so that no two rows are the same.
    fn batch(plane_set: PlaneSet, canvas: &str, boards: &[&str]) -> InputBatch {
        let size = |text: &str| text.parse::<Size>().expect("a board size");
        let mut batch = InputBatch::with_planes(size(canvas), plane_set);
        for (row, board) in boards.iter().enumerate() {
            let mut position = Position::new(size(board));
            for _ in 0..6 + row {
                let last = position.legal_points().iter().last();
                position.play(last.map_or(Move::Pass, Move::Play));
            }
            batch.push(&Features::of(&position, Komi::from_half_points([7, 8, -3][row])));
        }
        batch
    }

    /// The inputs of a batch, as the CPU method gives them.
    fn check(inputs: &NetworkInputs, batch: &InputBatch, precision: Precision) {
        let direct = NetworkInputs::new(batch, Device::Cpu, precision);
        assert_eq!(inputs.planes, direct.planes);
        assert_eq!(inputs.planes.stride(), direct.planes.stride());
        assert_eq!(inputs.planes.kind(), direct.planes.kind());
        assert_eq!((&inputs.globals, &inputs.komi), (&direct.globals, &direct.komi));
        if let Some(direct) = &direct.boards.mask {
            let mask = inputs.boards.mask.as_ref().expect("boards are smaller than the canvas");
            assert_eq!(
                (&mask.points, &mask.flat, &mask.areas),
                (&direct.points, &direct.flat, &direct.areas)
            );
        }
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
                let packed = PackedInputs::new(&batch, Device::Cpu);
                let bits = packed.unpack(&batch, precision, Channels::Exact);
                check(&bits, &batch, precision);
                assert_eq!(bits.boards.mask.is_some(), !batch.uniform());
                let padded = packed.unpack(&batch, precision, Channels::Padded).planes;
                let planes = bits.planes.size()[1];
                assert_eq!(padded.size()[1], 16);
                assert_eq!(padded.narrow(1, 0, planes), bits.planes);
                let zeros = padded.narrow(1, planes, 16 - planes);
                assert_eq!(zeros.abs().max().double_value(&[]), 0.0);
            }
        }
    }

    #[test]
    fn other_batches_fit_into_the_same_memory() {
        crate::limit_threads();
        let [mixed, other, uniform] = [["19x19", "9x7", "5x5"], ["13x13", "19x19", "19x19"], ["19x19"; 3]]
            .map(|boards| batch(PlaneSet::ALL, "19x19", &boards));
        let packed = PackedInputs::new(&mixed, Device::Cpu);
        for next in [&other, &uniform, &mixed] {
            packed.refill(next).expect("a batch of the same shape");
            check(
                &packed.unpack(next, Precision::Fp32, Channels::Exact),
                next,
                Precision::Fp32,
            );
        }
        assert!(
            packed.refill(&batch(PlaneSet::ALL, "19x19", &["19x19"])).is_err(),
            "another shape"
        );
    }
}
