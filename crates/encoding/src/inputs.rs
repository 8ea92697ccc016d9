//! Batches of encoded positions for the network, as packed bits on one canvas.

use tengen_rules::{PointSet, Size};

use crate::features::{Features, PlaneSet};

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
}

impl InputBatch {
    /// Creates an empty batch with the base planes for boards that fit on `canvas`.
    pub fn new(canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, PlaneSet::Base)
    }

    /// Creates an empty batch with the given planes for boards that fit on `canvas`.
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
        }
    }

    /// The canvas that all samples share.
    pub fn canvas(&self) -> Size {
        self.canvas
    }

    /// The bit planes of every sample.
    pub fn plane_set(&self) -> PlaneSet {
        self.plane_set
    }

    /// Removes all samples but keeps the memory.
    pub fn clear(&mut self) {
        self.uniform = true;
        self.sizes.clear();
        self.planes.clear();
        self.globals.clear();
        self.komi.clear();
    }

    /// Removes all samples, keeps the memory, and switches to another canvas.
    pub fn reset(&mut self, canvas: Size) {
        self.clear();
        self.canvas = canvas;
        self.words_per_plane = canvas.area().div_ceil(64);
    }

    /// Number of samples, `B`.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether the batch holds no sample.
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
        self.push_planes(&features.planes, size);
        if self.plane_set == PlaneSet::PassAlive {
            self.push_planes(&features.pass_alive(), size);
        }
        self.sizes.push(size);
        self.globals.extend_from_slice(&features.globals);
        self.komi.push(features.komi);
    }

    fn push_planes(&mut self, planes: &[PointSet], size: Size) {
        for plane in planes {
            let words = if size == self.canvas {
                *plane
            } else {
                relocated(plane, size, self.canvas)
            };
            self.planes.extend_from_slice(&words.words()[..self.words_per_plane]);
        }
    }

    /// The board size of every sample, `[B]`.
    pub fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    /// The packed planes, `[B, P, words_per_plane]` with the `P` bit planes of the plane set: bit `i` of word `w` is
    /// canvas point `64 w + i` in row-major order.
    pub fn planes(&self) -> &[u64] {
        &self.planes
    }

    /// Number of words in one plane of one sample.
    pub fn words_per_plane(&self) -> usize {
        self.words_per_plane
    }

    /// The global inputs, `[B, GLOBALS]`.
    pub fn globals(&self) -> &[f32] {
        &self.globals
    }

    /// Points the mover gets in addition to the board result, `[B]`.
    pub fn komi(&self) -> &[f32] {
        &self.komi
    }

    /// Whether every board is as large as the canvas, so that no mask is needed.
    pub fn uniform(&self) -> bool {
        self.uniform
    }

    /// Writes the planes as floats of 0 and 1, `[B, P + 1, H, W]`; the last channel is the mask of points on the
    /// sample's board.
    pub fn planes_f32(&self, out: &mut Vec<f32>) {
        let area = self.canvas.area();
        let bit_planes = self.plane_set.bit_planes();
        let per_sample = (bit_planes + 1) * area;
        out.clear();
        out.resize(self.len() * per_sample, 0.0);
        for (number, sample) in out.chunks_exact_mut(per_sample).enumerate() {
            let (planes, mask) = sample.split_at_mut(bit_planes * area);
            for (plane, target) in planes.chunks_exact_mut(area).enumerate() {
                unpack(self.plane(number, plane), target);
            }
            self.fill_mask(number, mask, 1);
        }
    }

    /// Writes the planes as floats of 0 and 1 with channels last, `[B, H, W, P + 1]`; the last channel is the mask of
    /// points on the sample's board.
    pub fn planes_f32_nhwc(&self, out: &mut Vec<f32>) {
        match self.plane_set {
            PlaneSet::Base => self.unpack_nhwc::<{ PlaneSet::Base.bit_planes() + 1 }>(out),
            PlaneSet::PassAlive => self.unpack_nhwc::<{ PlaneSet::PassAlive.bit_planes() + 1 }>(out),
        }
    }

    fn unpack_nhwc<const CHANNELS: usize>(&self, out: &mut Vec<f32>) {
        let per_sample = CHANNELS * self.canvas.area();
        out.clear();
        out.resize(self.len() * per_sample, 0.0);
        for (number, sample) in out.chunks_exact_mut(per_sample).enumerate() {
            for (point, target) in sample.chunks_exact_mut(CHANNELS).enumerate() {
                for (plane, value) in target[..CHANNELS - 1].iter_mut().enumerate() {
                    let word = self.plane(number, plane)[point >> 6];
                    *value = (word >> (point & 63) & 1) as f32;
                }
            }
            self.fill_mask(number, &mut sample[CHANNELS - 1..], CHANNELS);
        }
    }

    fn plane(&self, sample: usize, plane: usize) -> &[u64] {
        let start = (sample * self.plane_set.bit_planes() + plane) * self.words_per_plane;
        &self.planes[start..start + self.words_per_plane]
    }

    /// Sets every `stride`-th value of `target` to 1 where the sample's board has a point.
    fn fill_mask(&self, sample: usize, target: &mut [f32], stride: usize) {
        let size = self.sizes[sample];
        for row in 0..size.height() {
            for column in 0..size.width() {
                target[(row * self.canvas.width() + column) * stride] = 1.0;
            }
        }
    }
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

/// Writes one float of 0 or 1 per bit.
fn unpack(words: &[u64], target: &mut [f32]) {
    for (&word, values) in words.iter().zip(target.chunks_mut(64)) {
        for (bit, value) in values.iter_mut().enumerate() {
            *value = (word >> bit & 1) as f32;
        }
    }
}
