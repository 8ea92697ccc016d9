//! Devices and number formats, as far as they do not depend on the machine.

use tch::Device;

use tengen_model::PrecisionChoice;
use tengen_network::{DeviceChoice, DeviceError, LibtorchInfo, Precision, cpu, in_words};

#[test]
fn names_of_devices_round_trip() {
    let gpus = [0, 1, 12].map(DeviceChoice::Cuda);
    for choice in [DeviceChoice::Cpu, DeviceChoice::Auto].into_iter().chain(gpus) {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
    assert_eq!("cuda:0".parse(), Ok(DeviceChoice::Cuda(0)));
    for wrong in ["gpu", "cuda:", "cuda:-1", "cuda:x"] {
        assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
    }
}

#[test]
fn auto_always_finds_a_device_and_libtorch_info_agrees_with_cuda() {
    assert!(DeviceChoice::Auto.resolve().is_ok());
    let info = LibtorchInfo::collect();
    assert_eq!(info.version, "2.11.0");
    assert_eq!(info.cuda_available, DeviceChoice::Cuda(0).resolve().is_ok());
    assert_eq!(info.cuda_available, info.cuda_problem.is_none());
}

#[test]
fn the_cpu_is_named_with_the_format() {
    for precision in [Precision::Fp32, Precision::Bf16] {
        let words = in_words(&[DeviceChoice::Cpu], precision);
        assert_eq!(words, format!("cpu {} · {precision}", cpu()));
    }
}

#[test]
fn names_of_formats_round_trip() {
    for precision in Precision::ALL {
        assert_eq!(precision.to_string().parse(), Ok(precision));
    }
    for wrong in ["auto", "float", ""] {
        assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
    }
}

#[test]
fn fp16_is_refused_on_a_cpu_and_never_chosen_for_training() {
    let refused = Precision::for_prediction(PrecisionChoice::Fp16, DeviceChoice::Cpu);
    assert_eq!(refused, Err(DeviceError::Fp16OnCpu));
    for device in [Device::Cpu, Device::Cuda(0)] {
        assert_ne!(
            Precision::for_training(PrecisionChoice::Auto, device, 96),
            Precision::Fp16
        );
    }
}
