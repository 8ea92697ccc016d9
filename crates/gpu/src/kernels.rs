//! Kernels that Tengen brings along, where libtorch would need several, or slow ones.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::os::unix::Library;

use crate::compiler::compile;
use crate::driver::{Gpu, driver};

/// The source of all kernels.
const SOURCE: &str = include_str!("kernels.cu");

/// Threads of a block, and the most packs of a point that [`Kernels::pool`] can have.
const THREADS: u32 = 256;

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// 32 bits.
    Fp32,
    /// 16 bits with the range of fp32; needs compute capability 8.0.
    Bf16,
    /// 16 bits with more digits.
    Fp16,
}

impl Format {
    /// Channels that one thread works on. Numbers of channels must be multiples of this.
    pub fn lanes(self) -> u32 {
        match self {
            Format::Fp32 => 4,
            Format::Bf16 | Format::Fp16 => 8,
        }
    }

    fn number(self) -> u32 {
        match self {
            Format::Fp32 => 0,
            Format::Bf16 => 1,
            Format::Fp16 => 2,
        }
    }
}

/// A stream of a GPU, `cudaStream_t`.
#[derive(Clone, Copy, Debug)]
pub struct Stream(pub *mut c_void);

/// What is added to each channel.
#[derive(Clone, Copy, Debug)]
pub enum Bias {
    /// The address of `[boards, channels]` in fp32.
    OfBoards(*const c_void),
    /// The address of `[channels]` in the kernels' format.
    OfChannels(*const c_void),
}

/// Why there are no kernels, or why one was not launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// A library cannot be used.
    #[error("cannot load a library: {0}")]
    Library(String),
    /// NVRTC refuses the source.
    #[error("NVRTC cannot compile: {0}")]
    Compiler(String),
    /// The driver refuses a call.
    #[error("the driver's {call} failed with error {code}")]
    Driver {
        /// The function.
        call: &'static str,
        /// Its result, a number of cuda.h.
        code: i32,
    },
    /// An argument is out of range.
    #[error("{0}")]
    Argument(&'static str),
}

/// The kernels on one GPU, for one format.
#[derive(Debug)]
pub struct Kernels {
    functions: Functions,
    context: *mut c_void,
    format: Format,
    add_bias: *mut c_void,
    pool: *mut c_void,
    unpack_planes: *mut c_void,
}

// SAFETY: handles of the driver may be used by any thread, and nothing changes them.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

type Call1 = unsafe extern "C" fn(*mut c_void) -> c_int;
type Pop = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type GetDevice = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type LoadData = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
type GetFunction = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

/// Functions of the driver.
#[derive(Clone, Copy, Debug)]
struct Functions {
    push: Call1,
    pop: Pop,
    launch: Launch,
}

/// The kernels that were asked for, by GPU and format; `None` if there are none.
type Known = BTreeMap<(usize, Format), Option<Arc<Kernels>>>;

impl Kernels {
    /// The kernels on this GPU, which libtorch uses; compiled when they are first asked for, in a fraction of a second.
    /// `None` if they cannot be: then libtorch's operations have to do.
    pub fn on(gpu: usize, format: Format) -> Option<Arc<Kernels>> {
        static KNOWN: Mutex<Known> = Mutex::new(Known::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry((gpu, format))
            .or_insert_with(|| Kernels::compile(gpu, format).ok().map(Arc::new))
            .clone()
    }

    /// Compiles the kernels for this GPU, and loads them.
    ///
    /// # Errors
    /// If the GPU is too old, or NVRTC or the driver fails.
    pub fn compile(gpu: usize, format: Format) -> Result<Kernels, KernelError> {
        let library = driver().ok_or_else(|| KernelError::Library("no driver of a GPU was found".to_owned()))?;
        let described = Gpu::look(gpu).ok_or(KernelError::Argument("the driver does not describe this GPU"))?;
        if format == Format::Bf16 && !described.computes_bf16() {
            return Err(KernelError::Argument("this GPU has no instructions for bf16"));
        }
        let macros = [format!("FORMAT={}", format.number())];
        let code = compile(SOURCE, described.capability, &macros)?;
        let functions = Functions::of(library)?;
        let (mut device, mut context, mut module) = (0, ptr::null_mut(), ptr::null_mut());
        let number = c_int::try_from(gpu).map_err(|_| KernelError::Argument("there is no such GPU"))?;
        // SAFETY: the signatures are those of cuda.h, and every pointer is to memory that outlives the call. The
        // context is libtorch's own, which stays until the program ends, as does the module.
        unsafe {
            let get_device = symbol::<GetDevice>(library, b"cuDeviceGet\0")?;
            let retain = symbol::<Retain>(library, b"cuDevicePrimaryCtxRetain\0")?;
            let load = symbol::<LoadData>(library, b"cuModuleLoadData\0")?;
            let get = symbol::<GetFunction>(library, b"cuModuleGetFunction\0")?;
            done("cuDeviceGet", get_device(&mut device, number))?;
            done("cuDevicePrimaryCtxRetain", retain(&mut context, device))?;
            functions.within(context, || {
                done("cuModuleLoadData", load(&mut module, code.as_ptr().cast()))?;
                let function = |name: &[u8]| {
                    let mut function = ptr::null_mut();
                    let got = get(&mut function, module, name.as_ptr().cast());
                    done("cuModuleGetFunction", got).map(|()| function)
                };
                Ok(Kernels {
                    functions,
                    context,
                    format,
                    add_bias: function(b"add_bias\0")?,
                    pool: function(b"pool\0")?,
                    unpack_planes: function(b"unpack_planes\0")?,
                })
            })
        }
    }

    /// Adds a bias to the channels of x, `[boards, points, channels]`, in place, and then applies a ReLU, if wanted.
    ///
    /// # Errors
    /// If `channels` is no multiple of [`Format::lanes`], or the driver fails.
    ///
    /// # Safety
    /// `x` and `bias` are addresses of the GPU's memory, of these shapes, aligned to 16 bytes. They stay valid until
    /// the stream has come so far.
    pub unsafe fn add_bias(
        &self,
        stream: Stream,
        x: *mut c_void,
        bias: Bias,
        [boards, points, channels]: [u32; 3],
        relu: bool,
    ) -> Result<(), KernelError> {
        let packs = self.packs(channels)?;
        let count = product([boards, points, packs])?;
        let (of_boards, of_channels) = match bias {
            Bias::OfBoards(address) => (address, ptr::null()),
            Bias::OfChannels(address) => (ptr::null(), address),
        };
        let relu = c_int::from(relu);
        let arguments = [
            argument(&x),
            argument(&of_boards),
            argument(&of_channels),
            argument(&points),
            argument(&packs),
            argument(&count),
            argument(&relu),
        ];
        self.launch(self.add_bias, [count.div_ceil(THREADS), THREADS, 0], stream, arguments)
    }

    /// Pools x, `[boards, points, channels]`, over each board. `out` is `[boards, 3 channels]` in fp32: the mean of
    /// each channel, the mean times (√area − 14) / 10, and the maximum. `areas` is the address of `[boards]` in fp32;
    /// if it is null, every board has as many points as the canvas.
    ///
    /// # Errors
    /// If `channels` is no multiple of [`Format::lanes`] or too large, or the driver fails.
    ///
    /// # Safety
    /// As [`Kernels::add_bias`].
    pub unsafe fn pool(
        &self,
        stream: Stream,
        x: *const c_void,
        out: *mut c_void,
        areas: *const c_void,
        [boards, points, channels]: [u32; 3],
    ) -> Result<(), KernelError> {
        let packs = self.packs(channels)?;
        if packs > THREADS {
            return Err(KernelError::Argument("there are too many channels"));
        }
        product([boards, points, packs])?;
        let rows = THREADS / packs;
        let shared = 2 * rows * channels * size_of::<f32>() as u32;
        let area = points as f32;
        let arguments = [
            argument(&x),
            argument(&out),
            argument(&areas),
            argument(&area),
            argument(&points),
            argument(&packs),
        ];
        self.launch(self.pool, [boards, rows * packs, shared], stream, arguments)
    }

    /// Unpacks the bits of planes: `words` is `[boards, planes, words]`, and `out` `[boards, height width, channels]`,
    /// with a channel for each plane, one that tells the points of the board, and zeros. `sides` is the address of
    /// `[boards, 2]`, 64-bit integers: height and width of each board; if it is null, every board fills the canvas.
    ///
    /// # Errors
    /// If `channels` is no multiple of [`Format::lanes`], or the driver fails.
    ///
    /// # Safety
    /// As [`Kernels::add_bias`].
    #[expect(clippy::too_many_arguments, reason = "those of the kernel")]
    pub unsafe fn unpack_planes(
        &self,
        stream: Stream,
        words: *const c_void,
        sides: *const c_void,
        out: *mut c_void,
        [boards, planes, words_of_plane]: [u32; 3],
        [height, width]: [u32; 2],
        channels: u32,
    ) -> Result<(), KernelError> {
        let packs = self.packs(channels)?;
        let area = height * width;
        let count = product([boards, area, packs])?;
        let arguments = [
            argument(&words),
            argument(&sides),
            argument(&out),
            argument(&planes),
            argument(&words_of_plane),
            argument(&width),
            argument(&area),
            argument(&packs),
            argument(&count),
        ];
        let shape = [count.div_ceil(THREADS), THREADS, 0];
        self.launch(self.unpack_planes, shape, stream, arguments)
    }

    fn packs(&self, channels: u32) -> Result<u32, KernelError> {
        let lanes = self.format.lanes();
        match channels.is_multiple_of(lanes) && channels > 0 {
            true => Ok(channels / lanes),
            false => Err(KernelError::Argument("channels do not fill 16 bytes")),
        }
    }

    /// `shape`: blocks, threads of a block, and bytes of its shared memory.
    fn launch<const N: usize>(
        &self,
        function: *mut c_void,
        [blocks, threads, shared]: [u32; 3],
        stream: Stream,
        mut arguments: [*mut c_void; N],
    ) -> Result<(), KernelError> {
        self.functions.within(self.context, || {
            // SAFETY: the function belongs to this context, and the arguments are those of the kernel, which the driver
            // copies before it returns.
            let launched = unsafe {
                (self.functions.launch)(
                    function,
                    blocks,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    shared,
                    stream.0,
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
            done("cuLaunchKernel", launched)
        })
    }
}

impl Functions {
    fn of(library: &Library) -> Result<Functions, KernelError> {
        Ok(Functions {
            push: symbol(library, b"cuCtxPushCurrent_v2\0")?,
            pop: symbol(library, b"cuCtxPopCurrent_v2\0")?,
            launch: symbol(library, b"cuLaunchKernel\0")?,
        })
    }

    /// Works in a context of the driver, as the calling thread's own one may be that of another GPU.
    fn within<T>(&self, context: *mut c_void, work: impl FnOnce() -> Result<T, KernelError>) -> Result<T, KernelError> {
        let mut popped = ptr::null_mut();
        // SAFETY: the context lives until the program ends.
        done("cuCtxPushCurrent", unsafe { (self.push)(context) })?;
        let result = work();
        // SAFETY: the pointer is to a variable that outlives the call.
        done("cuCtxPopCurrent", unsafe { (self.pop)(&mut popped) })?;
        result
    }
}

/// A function of the driver, which must have the type `T`.
fn symbol<T: Copy>(library: &Library, name: &[u8]) -> Result<T, KernelError> {
    // SAFETY: the types of this file are those of cuda.h, and the driver stays loaded.
    let found = unsafe { library.get::<T>(name) };
    found
        .map(|symbol| *symbol)
        .map_err(|error| KernelError::Library(error.to_string()))
}

fn argument<T>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

/// The number of threads that a kernel needs, which it counts with 32 bits.
fn product(sides: [u32; 3]) -> Result<u32, KernelError> {
    let product = sides.iter().map(|&side| u64::from(side)).product::<u64>();
    match product {
        0 => Err(KernelError::Argument("the batch is empty")),
        // With room for the threads of the last block.
        _ => u32::try_from(product + u64::from(THREADS))
            .map(|_| product as u32)
            .map_err(|_| KernelError::Argument("the batch is too large")),
    }
}

fn done(call: &'static str, code: c_int) -> Result<(), KernelError> {
    match code {
        0 => Ok(()),
        code => Err(KernelError::Driver { call, code }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_there_are_no_kernels() {
        let error = Kernels::compile(63, Format::Fp32).expect_err("no machine has so many GPUs");
        assert!(!error.to_string().is_empty());
        assert!(Kernels::on(63, Format::Bf16).is_none());
    }

    #[test]
    fn batches_are_counted_with_32_bits() {
        assert_eq!(product([2048, 81, 12]), Ok(1_990_656));
        assert!(product([0, 81, 12]).is_err() && product([1 << 16, 1 << 10, 1 << 6]).is_err());
        assert!(product([u32::MAX, 1, 1]).is_err());
    }
}
