//! Batches of encoded positions for the network, as packed bits on one canvas.

use std::sync::Arc;

use ndarray::{Array4, ArrayView1, ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut4, Axis, s};

use tengen_rules::{PointSet, Size};

use crate::features::{BIT_PLANES, Features, GLOBALS};
use crate::plane_set::PlaneSet;
use crate::trail::Trail;

/// A batch of `B` encoded positions on one canvas of `H` rows and `W` columns.
///
/// A board smaller than the canvas occupies its top left corner; all planes are zero outside the board.
#[derive(Clone, Debug, PartialEq)]
pub struct InputBatch {
    canvas: Size,
    plane_set: PlaneSet,
    words_per_plane: usize,
    uniform: bool,
    sizes: Vec<Size>,
    planes: Vec<u64>,
    globals: Vec<f32>,
    komi: Vec<f32>,
    /// One per sample if the plane set asks for them, otherwise none.
    trails: Vec<Option<Arc<Trail>>>,
}

impl InputBatch {
    /// Creates an empty batch without optional planes for boards that fit on `canvas`.
    pub fn new(canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, PlaneSet::default())
    }

    /// Creates an empty batch with these optional planes for boards that fit on `canvas`. Allocates nothing.
    pub fn with_planes(canvas: Size, plane_set: PlaneSet) -> InputBatch {
        InputBatch {
            canvas,
            plane_set,
            words_per_plane: canvas.area().div_ceil(64),
            uniform: true,
            sizes: Vec::new(),
            planes: Vec::new(),
            globals: Vec::new(),
            komi: Vec::new(),
            trails: Vec::new(),
        }
    }

    /// The canvas that all samples share.
    pub fn canvas(&self) -> Size {
        self.canvas
    }

    /// The optional bit planes of every sample.
    pub fn plane_set(&self) -> PlaneSet {
        self.plane_set
    }

    /// Whether another batch has the same canvas and planes.
    pub fn is_like(&self, other: &InputBatch) -> bool {
        self.canvas == other.canvas && self.plane_set == other.plane_set
    }

    /// Removes all samples but keeps the memory.
    pub fn clear(&mut self) {
        self.uniform = true;
        self.sizes.clear();
        self.planes.clear();
        self.globals.clear();
        self.komi.clear();
        self.trails.clear();
    }

    /// Removes all samples, keeps the memory, and switches to another canvas.
    pub fn reset(&mut self, canvas: Size) {
        self.clear();
        self.canvas = canvas;
        self.words_per_plane = canvas.area().div_ceil(64);
    }

    /// Number of samples in the batch, `B`.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether the batch has no samples.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Appends one sample.
    ///
    /// # Panics
    /// If the board does not fit on the canvas.
    pub fn push(&mut self, features: &Features) {
        let size = features.size;
        assert!(
            size.width() <= self.canvas.width() && size.height() <= self.canvas.height(),
            "a {size} board does not fit on a {} canvas",
            self.canvas
        );
        let fits_exactly = size == self.canvas;
        self.uniform &= fits_exactly;
        for plane in &features.planes {
            self.push_plane(plane, size);
        }
        for plane in self.plane_set.optional(features) {
            self.push_plane(&plane, size);
        }
        self.sizes.push(size);
        self.globals.extend_from_slice(&features.globals);
        self.komi.push(features.komi);
        if self.plane_set.trail {
            self.trails.push(features.trail.clone());
        }
    }

    /// Replaces all samples with a range of another batch's, along with its canvas and planes.
    ///
    /// # Panics
    /// If the range exceeds the other batch.
    pub fn copy_rows(&mut self, other: &InputBatch, rows: std::ops::Range<usize>) {
        self.reset(other.canvas);
        self.plane_set = other.plane_set;
        self.append_rows(other, rows);
    }

    /// Replaces all samples with those of another batch whose boards have this size, on a canvas of this size.
    pub fn copy_boards(&mut self, other: &InputBatch, size: Size) {
        self.reset(size);
        self.plane_set = other.plane_set;
        let planes = other.planes();
        for row in other.rows_of(size) {
            for plane in planes.index_axis(Axis(0), row).outer_iter() {
                let words = cut_out(plane.to_slice().expect(C_ORDER), other.canvas, size);
                self.planes.extend_from_slice(&words[..self.words_per_plane]);
            }
            self.sizes.push(size);
            self.globals
                .extend_from_slice(&other.globals[row * GLOBALS..][..GLOBALS]);
            self.komi.push(other.komi[row]);
            self.trails.extend(other.trails.get(row).cloned());
        }
    }

    /// The rows of the samples whose boards have this size, in ascending order.
    pub fn rows_of(&self, size: Size) -> impl Iterator<Item = usize> {
        let sizes = self.sizes.iter().enumerate();
        sizes.filter(move |&(_, &other)| other == size).map(|(row, _)| row)
    }

    /// Appends all samples of another batch.
    ///
    /// # Panics
    /// If the other batch has another canvas or other planes.
    pub fn append(&mut self, other: &InputBatch) {
        assert!(self.is_like(other), "both batches have the same canvas and planes");
        self.append_rows(other, 0..other.len());
    }

    fn append_rows(&mut self, other: &InputBatch, rows: std::ops::Range<usize>) {
        let words = other.words_per_plane * other.plane_set.bit_planes();
        let of = |per_row: usize| rows.start * per_row..rows.end * per_row;
        let sizes = &other.sizes[rows.clone()];
        self.uniform &= sizes.iter().all(|&size| size == self.canvas);
        self.sizes.extend_from_slice(sizes);
        self.planes.extend_from_slice(&other.planes[of(words)]);
        self.globals.extend_from_slice(&other.globals[of(GLOBALS)]);
        self.komi.extend_from_slice(&other.komi[rows.clone()]);
        if self.plane_set.trail {
            self.trails.extend_from_slice(&other.trails[rows]);
        }
    }

    /// Replaces all samples with those of another batch, and repeats its last one until there are at least `count`.
    pub fn pad(&mut self, other: &InputBatch, count: usize) {
        self.copy_rows(other, 0..other.len());
        let Some(&size) = other.sizes.last() else { return };
        let words = other.words_per_plane * other.plane_set.bit_planes();
        let last = other.len() - 1;
        for _ in other.len()..count {
            self.sizes.push(size);
            self.planes.extend_from_slice(&other.planes[last * words..]);
            self.globals.extend_from_slice(&other.globals[last * GLOBALS..]);
            self.komi.push(other.komi[last]);
            self.trails.extend(other.trails.get(last).cloned());
        }
    }

    fn push_plane(&mut self, plane: &PointSet, size: Size) {
        let words = if size == self.canvas {
            *plane
        } else {
            relocated(plane, size, self.canvas)
        };
        self.planes.extend_from_slice(&words.words()[..self.words_per_plane]);
    }

    /// The board size of every sample, `[B]`.
    pub fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    /// The packed planes, `[sample, plane, word]` = `[B, P, ceil(H W / 64)]` with the `P` bit planes of the plane set:
    /// bit `i` of word `w` is canvas point `64 w + i` in row-major order.
    pub fn planes(&self) -> ArrayView3<'_, u64> {
        let shape = (self.len(), self.plane_set.bit_planes(), self.words_per_plane);
        ArrayView3::from_shape(shape, &self.planes).expect("every sample adds the words of every plane")
    }

    /// The global inputs, `[sample, input]` = `[B, GLOBALS]`.
    pub fn globals(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((self.len(), GLOBALS), &self.globals).expect("every sample adds its global inputs")
    }

    /// Points the mover gets in addition to the board result, `[B]`.
    pub fn komi(&self) -> ArrayView1<'_, f32> {
        ArrayView1::from(&self.komi)
    }

    /// The trail of each position, `[B]`, if the plane set [asks for it](PlaneSet::trail), otherwise empty; `None` for
    /// features made without one.
    pub fn trails(&self) -> &[Option<Arc<Trail>>] {
        &self.trails
    }

    /// Whether every board is as large as the canvas, so that no mask is needed.
    pub fn uniform(&self) -> bool {
        self.uniform
    }

    /// The planes as floats of 0 and 1, `[sample, channel, row, column]` = `[B, P + 1, H, W]`; the last channel is the
    /// mask of points on the sample's board.
    pub fn planes_f32(&self) -> Array4<f32> {
        let mut out = Array4::zeros((self.len(), self.channels(), self.canvas.height(), self.canvas.width()));
        self.planes_f32_into(out.view_mut());
        out
    }

    /// [`InputBatch::planes_f32`] into an existing array; every value is overwritten.
    ///
    /// # Panics
    /// If `out` is not `[B, P + 1, H, W]` or not in C order.
    pub fn planes_f32_into(&self, mut out: ArrayViewMut4<'_, f32>) {
        let (height, width) = (self.canvas.height(), self.canvas.width());
        assert_eq!(out.dim(), (self.len(), self.channels(), height, width), "{SHAPE}");
        let mask = self.channels() - 1;
        for ((mut sample, planes), size) in out.outer_iter_mut().zip(self.planes().outer_iter()).zip(&self.sizes) {
            let targets = sample.as_slice_mut().expect(C_ORDER).chunks_exact_mut(height * width);
            let planes = planes.to_slice().expect(C_ORDER).chunks_exact(self.words_per_plane);
            for (target, words) in targets.zip(planes) {
                unpack(words, target);
            }
            let mut mask = sample.index_axis_mut(Axis(0), mask);
            mask.fill(0.0);
            mark_board(mask, *size);
        }
    }

    /// The planes as floats of 0 and 1 with channels last, `[sample, row, column, channel]` = `[B, H, W, P + 1]`;
    /// the last channel is the mask of points on the sample's board.
    pub fn planes_f32_nhwc(&self) -> Array4<f32> {
        let mut out = Array4::zeros((self.len(), self.canvas.height(), self.canvas.width(), self.channels()));
        self.planes_f32_nhwc_into(out.view_mut());
        out
    }

    /// [`InputBatch::planes_f32_nhwc`] into an existing array; every value is overwritten.
    ///
    /// # Panics
    /// If `out` is not `[B, H, W, P + 1]` or not in C order.
    pub fn planes_f32_nhwc_into(&self, out: ArrayViewMut4<'_, f32>) {
        UNPACK_NHWC[self.plane_set.bit_planes() - BIT_PLANES](self, out);
    }

    fn unpack_nhwc<const CHANNELS: usize>(&self, mut out: ArrayViewMut4<'_, f32>) {
        let (height, width) = (self.canvas.height(), self.canvas.width());
        assert_eq!(out.dim(), (self.len(), height, width, CHANNELS), "{SHAPE}");
        for ((mut sample, planes), size) in out.outer_iter_mut().zip(self.planes().outer_iter()).zip(&self.sizes) {
            let (points, _) = sample.as_slice_mut().expect(C_ORDER).as_chunks_mut::<CHANNELS>();
            for (points, column) in points.chunks_mut(64).zip(planes.columns()) {
                // The mask has no packed words. It starts as all 1 if the board fills the canvas, otherwise as all 0.
                let mut words = [if *size == self.canvas { u64::MAX } else { 0 }; CHANNELS];
                words.iter_mut().zip(column).for_each(|(word, &packed)| *word = packed);
                for (bit, values) in points.iter_mut().enumerate() {
                    *values = words.map(|word| f32::from((word >> bit & 1) as u8));
                }
            }
            if *size != self.canvas {
                mark_board(sample.index_axis_mut(Axis(2), CHANNELS - 1), *size);
            }
        }
    }

    /// The bit planes and the mask, `P + 1`.
    fn channels(&self) -> usize {
        self.plane_set.bit_planes() + 1
    }
}

/// [`InputBatch::unpack_nhwc`] by the number of optional planes. A channel count known at compile time makes it fast.
const UNPACK_NHWC: [fn(&InputBatch, ArrayViewMut4<'_, f32>); 5] = [
    InputBatch::unpack_nhwc::<{ BIT_PLANES + 1 }>,
    InputBatch::unpack_nhwc::<{ BIT_PLANES + 2 }>,
    InputBatch::unpack_nhwc::<{ BIT_PLANES + 3 }>,
    InputBatch::unpack_nhwc::<{ BIT_PLANES + 4 }>,
    InputBatch::unpack_nhwc::<{ BIT_PLANES + 5 }>,
];
const _: () = assert!(PlaneSet::ALL.bit_planes() - BIT_PLANES < UNPACK_NHWC.len());

const SHAPE: &str = "the array has the shape of the unpacked batch";
const C_ORDER: &str = "the array is in C order";

/// Sets the points `[H, W]` of a canvas to 1 on a board in its top left corner.
fn mark_board(mut mask: ArrayViewMut2<'_, f32>, board: Size) {
    mask.slice_mut(s![..board.height(), ..board.width()]).fill(1.0);
}

/// The canvas index of point `index` on a `size` board in the top left corner of the canvas.
pub fn canvas_index(size: Size, canvas: Size, index: usize) -> usize {
    (index / size.width()) * canvas.width() + index % size.width()
}

fn relocated(plane: &PointSet, size: Size, canvas: Size) -> PointSet {
    let mut words = [0u64; 6];
    for point in plane.iter() {
        let index = canvas_index(size, canvas, point.index());
        words[index >> 6] |= 1 << (index & 63);
    }
    PointSet::from_words(words)
}

/// The inverse of [`relocated`] for the words of one plane.
fn cut_out(plane: &[u64], canvas: Size, size: Size) -> [u64; 6] {
    let mut words = [0; 6];
    for row in 0..size.height() {
        let bits = read_bits(plane, row * canvas.width(), size.width());
        write_bits(&mut words, row * size.width(), bits);
    }
    words
}

/// `count` bits from `first` on, fewer than 64.
fn read_bits(words: &[u64], first: usize, count: usize) -> u64 {
    let (word, shift) = (first >> 6, first & 63);
    let mut bits = words[word] >> shift;
    if shift + count > 64 {
        bits |= words[word + 1] << (64 - shift);
    }
    bits & ((1 << count) - 1)
}

/// Sets the bits from `first` on that are set in `bits`.
fn write_bits(words: &mut [u64], first: usize, bits: u64) {
    let (word, shift) = (first >> 6, first & 63);
    words[word] |= bits << shift;
    if shift > 0 && bits >> (64 - shift) != 0 {
        words[word + 1] |= bits >> (64 - shift);
    }
}

/// Writes one float of 0 or 1 per bit.
fn unpack(words: &[u64], target: &mut [f32]) {
    for (&word, values) in words.iter().zip(target.chunks_mut(64)) {
        for (bit, value) in values.iter_mut().enumerate() {
            *value = (word >> bit & 1) as f32;
        }
    }
}
