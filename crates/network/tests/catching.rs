//! Failures of libtorch as errors.

use std::panic;

use tch::{Device, Kind, Tensor};

use tengen_network::{LibtorchError, PredictorError, catching};
use tengen_search::PredictError;

#[test]
fn errors_of_libtorch_are_values() {
    let a = Tensor::zeros([2, 3], (Kind::Float, Device::Cpu));
    let error = catching(|| a.matmul(&a)).expect_err("the shapes do not fit");
    let text = error.to_string();
    assert!(
        text.starts_with("libtorch failed: mat1 and mat2 shapes cannot be multiplied"),
        "{text}"
    );
    assert!(!text.contains("frame") && !text.contains('\n'), "{text}");
    assert_eq!(catching(|| a.size()), Ok(vec![2, 3]));
}

#[test]
fn too_little_memory_says_what_to_do() {
    let message = "CUDA out of memory. Tried to allocate 20.00 MiB.\nException raised from malloc";
    let error = catching::<()>(|| {
        let failed = tch::TchError::Torch(message.to_owned());
        panic!("called `Result::unwrap()` on an `Err` value: {failed:?}")
    });
    let error = error.expect_err("it fails");
    assert_eq!(
        error,
        LibtorchError::OutOfMemory("CUDA out of memory. Tried to allocate 20.00 MiB".to_owned())
    );
    let reason = "CUDA out of memory. Tried to allocate 20.00 MiB";
    assert_eq!(error.to_string(), format!("out of GPU memory ({reason})"));
    let weights = PredictorError::from(error.clone()).to_string();
    assert_eq!(weights, format!("out of GPU memory ({reason}): use a smaller network"));
    // A server predicts a smaller batch after this error, but not after others.
    assert_eq!(PredictError::from(error), PredictError::OutOfMemory(reason.to_owned()));
    let other = catching(|| Tensor::zeros([2, 3], (Kind::Float, Device::Cpu)).reshape([5])).expect_err("it fails");
    assert!(matches!(PredictError::from(other), PredictError::Failed(words) if words.starts_with("libtorch failed")));
}

#[test]
fn other_panics_stay_panics() {
    let caught = panic::catch_unwind(|| catching(|| panic!("a mistake")));
    let payload = caught.expect_err("it panics");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"a mistake"));
}
