//! Number formats, as far as they do not depend on the machine.

use tch::Device;

use tengen_model::PrecisionChoice;
use tengen_network::{DeviceChoice, DeviceError, Precision};

#[test]
fn names_round_trip() {
    for precision in Precision::ALL {
        assert_eq!(precision.to_string().parse(), Ok(precision));
    }
    for wrong in ["auto", "float", ""] {
        assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
    }
}

#[test]
fn fp16_is_refused_on_a_cpu_and_never_trained_in() {
    let fp16 = PrecisionChoice::Fp16;
    let refused = Precision::for_prediction(fp16, DeviceChoice::Cpu);
    assert_eq!(refused, Err(DeviceError::Fp16OnCpu));
    for device in [Device::Cpu, Device::Cuda(0)] {
        assert_ne!(Precision::for_training(fp16, device, 96), Precision::Fp16);
    }
}
