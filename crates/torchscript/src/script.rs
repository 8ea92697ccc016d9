//! How is a computation kept for programs without Tengen? libtorch records it as a module of TorchScript.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tch::Tensor;

use tengen_network::{LibtorchError, catching};

/// A name and a tensor, for the shim.
#[repr(C)]
struct Named {
    name: *const c_char,
    tensor: *const c_void,
}

type Compute = unsafe extern "C" fn(*mut c_void, *const *mut c_void, *mut *mut c_void) -> c_int;

unsafe extern "C" {
    fn tengen_script(
        path: *const c_char,
        text: *const c_char,
        constants: *const Named,
        constant_count: usize,
        inputs: *const Named,
        input_count: usize,
        outputs: *const *const c_char,
        output_count: usize,
        compute: Compute,
        context: *mut c_void,
    ) -> c_int;
    fn tengen_script_error() -> *const c_char;
}

/// What a module of TorchScript consists of.
#[derive(Debug)]
pub(crate) struct Script<'a> {
    /// The buffers by name. Names have no dots.
    pub(crate) constants: &'a [(String, Tensor)],
    /// The inputs by name, with a batch for which everything is computed once.
    pub(crate) inputs: &'a [(&'a str, Tensor)],
    /// The names of the outputs.
    pub(crate) outputs: &'a [String],
    /// A text that the file holds besides, under the name `tengen.json`.
    pub(crate) text: &'a str,
}

/// Computes the outputs of a script from its inputs, in their order.
type Forward<'a> = dyn FnMut(&[Tensor]) -> Vec<Tensor> + 'a;

/// What the shim hands back to [`compute`].
struct Context<'a> {
    forward: &'a mut Forward<'a>,
    inputs: usize,
    outputs: usize,
    failure: Option<LibtorchError>,
}

impl Script<'_> {
    /// Writes the module to a file. Its `forward` does what the given one does with the script's tensors, and returns a
    /// dictionary. Lengths that the given one reads from its inputs become part of the record.
    ///
    /// # Errors
    /// If a name or a path has a NUL, the file cannot be written, or libtorch cannot compute or record the outputs.
    pub(crate) fn write<'a>(&self, path: &Path, forward: &'a mut Forward<'a>) -> Result<(), LibtorchError> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|error| LibtorchError::Failed(error.to_string()));
        let texts = |names: &mut dyn Iterator<Item = &str>| -> Result<Vec<CString>, LibtorchError> {
            names.map(|name| text(name.as_bytes())).collect()
        };
        let constants = texts(&mut self.constants.iter().map(|(name, _)| name.as_str()))?;
        let inputs = texts(&mut self.inputs.iter().map(|(name, _)| *name))?;
        let outputs = texts(&mut self.outputs.iter().map(String::as_str))?;
        let named = |(name, tensor): (&CString, &Tensor)| Named {
            name: name.as_ptr(),
            tensor: tensor.as_ptr().cast(),
        };
        let named_constants: Vec<Named> = constants
            .iter()
            .zip(self.constants.iter().map(|c| &c.1))
            .map(named)
            .collect();
        let named_inputs: Vec<Named> = inputs.iter().zip(self.inputs.iter().map(|i| &i.1)).map(named).collect();
        let output_names: Vec<*const c_char> = outputs.iter().map(|name| name.as_ptr()).collect();
        let (path, text) = (text(path.as_os_str().as_bytes())?, text(self.text.as_bytes())?);
        let mut context = Context {
            forward,
            inputs: inputs.len(),
            outputs: outputs.len(),
            failure: None,
        };
        // SAFETY: all texts and tensors outlive the call, the lengths are those of the lists, and `compute` gets the
        // context that it expects.
        let written = unsafe {
            tengen_script(
                path.as_ptr(),
                text.as_ptr(),
                named_constants.as_ptr(),
                named_constants.len(),
                named_inputs.as_ptr(),
                named_inputs.len(),
                output_names.as_ptr(),
                output_names.len(),
                compute,
                (&raw mut context).cast(),
            )
        };
        match (written, context.failure) {
            (_, Some(failure)) => Err(failure),
            (0, None) => {
                // SAFETY: the text lives in this thread until the next call, and is copied.
                let text = unsafe { CStr::from_ptr(tengen_script_error()) };
                let text = text.to_string_lossy();
                Err(LibtorchError::Failed(
                    text.lines().next().unwrap_or_default().to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Calls the forward function of a [`Context`] with tensors that the shim gives away, and gives it the outputs.
unsafe extern "C" fn compute(context: *mut c_void, inputs: *const *mut c_void, outputs: *mut *mut c_void) -> c_int {
    // SAFETY: the shim passes on the context of `Script::write`, which waits for it, and lists of the lengths that it
    // was given. Each input is a new tensor that nobody else owns.
    let (context, inputs, outputs) = unsafe {
        let context = &mut *context.cast::<Context<'_>>();
        let inputs = std::slice::from_raw_parts(inputs, context.inputs);
        let inputs: Vec<Tensor> = inputs.iter().map(|input| Tensor::from_ptr(input.cast())).collect();
        let outputs = std::slice::from_raw_parts_mut(outputs, context.outputs);
        (context, inputs, outputs)
    };
    match catching(|| (context.forward)(&inputs)) {
        Ok(computed) if computed.len() == outputs.len() => {
            for (place, tensor) in outputs.iter_mut().zip(computed) {
                *place = tensor.as_ptr().cast_mut().cast();
                // The shim owns it now.
                std::mem::forget(tensor);
            }
            1
        }
        Ok(computed) => {
            let counts = format!("{} outputs instead of {}", computed.len(), outputs.len());
            context.failure = Some(LibtorchError::Failed(counts));
            0
        }
        Err(error) => {
            context.failure = Some(error);
            0
        }
    }
}
