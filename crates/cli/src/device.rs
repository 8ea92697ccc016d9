//! `--device` and `--dtype`: the device and the number format that networks run with.

#[cfg(feature = "torch")]
use std::sync::Once;

use tengen_model::{Devices, PrecisionChoice};
#[cfg(feature = "torch")]
use tengen_network::{DeviceChoice, Precision, PredictorOptions, in_words};

use crate::output;

/// The device and the number format that networks run with.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct DeviceArgs {
    /// Where networks run: cpu, cuda for the first GPU, cuda:1 for the second, or auto for the first GPU if there is
    /// one. A run can play on several GPUs, such as cuda:0,cuda:1, and trains on the first of them [default: cpu; for a
    /// run, its inference.device]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<Devices>,
    /// Number format of networks: fp32, bf16, fp16 on GPUs, or auto for the fastest: bf16 on GPUs and CPUs with AMX,
    /// fp16 on older GPUs, otherwise fp32. In fp32, GPUs with TF32 round the inputs of convolutions to it, except those
    /// of KataGo's networks [default: auto; for a run, its inference.dtype]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) dtype: Option<PrecisionChoice>,
}

impl DeviceArgs {
    /// The same device, with fp32 unless the user names a format, so that KataGo's networks compute what KataGo does.
    /// In fp32, no convolution of the process then rounds to TF32.
    pub(crate) fn exact(self) -> DeviceArgs {
        let named = self.dtype.filter(|&dtype| dtype != PrecisionChoice::Auto);
        let dtype = named.unwrap_or(PrecisionChoice::Fp32);
        #[cfg(feature = "torch")]
        if dtype == PrecisionChoice::Fp32 {
            tengen_network::forbid_tf32();
        }
        let dtype = Some(dtype);
        DeviceArgs { dtype, ..self }
    }

    /// The devices that the user names, or the CPU.
    pub(crate) fn devices(self) -> Devices {
        self.device.unwrap_or_default()
    }
}

/// Checks that there are enough threads to give each of several devices at least one.
///
/// # Errors
/// If there are fewer threads than devices.
#[cfg(feature = "torch")]
pub(crate) fn check_each_has_a_thread(threads: usize, devices: usize) -> anyhow::Result<()> {
    if threads < devices {
        return Err(output::usage(format!(
            "there are {devices} devices, but only {}: name fewer devices, or use --threads {devices}",
            output::counted(threads as u64, "thread")
        )));
    }
    Ok(())
}

#[cfg(feature = "torch")]
impl DeviceArgs {
    /// Predictor options for the first device and this number format, with one thread.
    ///
    /// # Errors
    /// If the device cannot be used, or cannot compute in this format.
    pub(crate) fn predictor_options(self) -> anyhow::Result<PredictorOptions> {
        let device = DeviceChoice::first_of(self.devices());
        Ok(PredictorOptions {
            device,
            precision: Precision::for_prediction(self.dtype.unwrap_or_default(), device)?,
            ..PredictorOptions::default()
        })
    }

    /// Says what networks run on, once per process.
    ///
    /// # Errors
    /// As [`DeviceArgs::predictor_options`].
    pub(crate) fn announce(self) -> anyhow::Result<()> {
        static SAID: Once = Once::new();
        let words = self.in_words()?;
        SAID.call_once(|| output::say(format!("device {words}")));
        Ok(())
    }

    /// What networks run on, in words: `cuda:0 NVIDIA H100 · bf16`.
    ///
    /// # Errors
    /// As [`DeviceArgs::predictor_options`].
    pub(crate) fn in_words(self) -> anyhow::Result<String> {
        let devices = DeviceChoice::all_of(self.devices());
        Ok(in_words(&devices, self.predictor_options()?.precision))
    }
}

impl DeviceArgs {
    /// Checks, for a command that computes on one device, that no more are named.
    ///
    /// # Errors
    /// If several devices are named.
    pub(crate) fn check_one(self) -> anyhow::Result<()> {
        let several = self.devices();
        if several.gpus().count() > 1 {
            return Err(output::usage(format!(
                "this command computes on one device, not on {several}; only tengen run, selfplay, doctor, data \
                 label, and bench selfplay use several"
            )));
        }
        Ok(())
    }

    /// Checks the device of a command that computes on one.
    ///
    /// # Errors
    /// If several devices are named, the device cannot be used, or it cannot compute in this format.
    pub(crate) fn check(self) -> anyhow::Result<()> {
        self.check_one()?;
        #[cfg(feature = "torch")]
        if self.device.is_some() || self.dtype.is_some() {
            self.predictor_options()?;
        }
        Ok(())
    }

    /// The name of the number format that networks run in on this machine.
    ///
    /// # Errors
    /// As [`DeviceArgs::check`].
    pub(crate) fn dtype_name(self) -> anyhow::Result<String> {
        #[cfg(feature = "torch")]
        return Ok(self.predictor_options()?.precision.to_string());
        #[cfg(not(feature = "torch"))]
        return Ok(self.dtype.unwrap_or_default().to_string());
    }
}
