//! Failures of libtorch as errors.

use std::panic;

use tch::{Device, Kind, Tensor};

use tengen_network::{LibtorchError, catching};

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
    assert!(error.to_string().contains("smaller training.batch"));
}

#[test]
fn other_panics_stay_panics() {
    let caught = panic::catch_unwind(|| catching(|| panic!("a mistake")));
    let payload = caught.expect_err("it panics");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"a mistake"));
}
