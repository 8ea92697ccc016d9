//! Checks that a device computes the same as the CPU, because a broken driver or library may return wrong results
//! without an error: copies, input planes, and kernels.

use tch::{Device, Kind, Tensor};

use tengen_encoding::{InputBatch, PlaneSet};
use tengen_network::{
    DeviceChoice, NetworkInputs, Precision, SelfTest, catching, kernels_compared, on_device, one_kernel_compared,
    positions, read_back,
};

/// Memory round trips in the first comparison.
const ROUND_TRIPS: usize = 1000;

/// Compares a device with the CPU: copies, input planes, and convolutions in one kernel.
pub(crate) fn device(device: DeviceChoice) -> Vec<SelfTest> {
    let device = match device.resolve() {
        Ok(device) => device,
        Err(error) => return vec![SelfTest::of("device", Err(error.to_string()), 0.0)],
    };
    let attempt = |work: &dyn Fn() -> f64| catching(work).map_err(|error| error.to_string());
    let copies = SelfTest::of(
        format!("{ROUND_TRIPS} copies to the device and back"),
        attempt(&|| round_trips(device)),
        0.0,
    )
    .advising("do not use this GPU: its memory, its driver, or the way to it loses data");
    let unpacked = SelfTest::of(
        "input planes unpacked on the device",
        attempt(&|| planes(&positions(PlaneSet::default(), &["9x9"]), device)),
        0.0,
    );
    let kernels = Precision::ALL.map(|precision| [one_kernel(device, precision), own_kernels(device, precision)]);
    [copies, unpacked]
        .into_iter()
        .chain(kernels.into_iter().flatten())
        .collect()
}

/// Compares convolutions with addition and ReLU in one kernel with step-by-step results, if the device has any.
fn one_kernel(device: Device, precision: Precision) -> SelfTest {
    let name = format!("convolutions with addition and ReLU in one kernel, {precision}");
    let without = "not available, so computed step by step";
    let compared = if_any(name, one_kernel_compared(device, precision.kind()), without);
    compared.or_slow("cuDNN's kernels are not used, and each step is one of its own; another cuDNN may get this right")
}

/// Compares our own kernels with libtorch's operations, if the device has any.
fn own_kernels(device: Device, precision: Precision) -> SelfTest {
    let name = format!("our own kernels for biases, pooling, and planes, {precision}");
    let without = "not available, so computed by libtorch";
    let compared = if_any(name, kernels_compared(device, precision.kind()), without);
    compared.or_slow("libtorch's operations are used instead; please report this with the GPU and its driver")
}

/// A comparison from a difference and its bound. Without a difference, it passes and says what happens instead.
fn if_any(name: String, compared: Option<(f64, f64)>, without: &str) -> SelfTest {
    match compared {
        Some((difference, bound)) => SelfTest::of(name, Ok(difference), bound),
        None => SelfTest {
            found: without.to_owned(),
            ..SelfTest::of(name, Ok(0.0), 0.0)
        },
    }
}

/// The largest difference after copying different numbers to the device and back.
fn round_trips(device: Device) -> f64 {
    let numbers: Vec<f32> = (0..4096).map(|number| (number as f32 * 0.37).sin()).collect();
    let mut largest: f64 = 0.0;
    for trip in 0..ROUND_TRIPS {
        let sent = ndarray::Array1::from_iter(numbers.iter().map(|number| number + trip as f32));
        let back = read_back(&on_device(sent.view(), device));
        let expected = Tensor::from_slice(sent.as_slice().expect("a new array is in C order"));
        largest = SelfTest::worse(largest, (back - expected).abs().max().double_value(&[]));
    }
    largest
}

/// The largest difference between input planes unpacked on the CPU and on the device.
fn planes(inputs: &InputBatch, device: Device) -> f64 {
    let [expected, found] = [Device::Cpu, device].map(|device| {
        let planes = NetworkInputs::new(inputs, device, Precision::Fp32);
        read_back(&planes.planes().to_kind(Kind::Float))
    });
    (expected - found).abs().max().double_value(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes() {
        tengen_network::limit_threads();
        let tests = device(DeviceChoice::Cpu);
        assert!(tests.len() >= 3 && tests.iter().all(|test| test.passed), "{tests:?}");
    }
}
