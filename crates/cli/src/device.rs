//! Which device and number format do networks run with? `--device` and `--dtype`.

use tengen_model::Devices;
#[cfg(feature = "torch")]
use tengen_network::{DeviceChoice, PrecisionChoice, PredictorOptions};

use crate::output;

/// The device and the number format that networks run with.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct DeviceArgs {
    /// Where networks run: cpu, cuda for the first GPU, cuda:1 for the second, or auto for the first GPU if there is
    /// one. A run plays on several GPUs, such as cuda:0,cuda:1, and trains on the first of them
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub(crate) device: Devices,
    /// Number format of networks; auto is bf16 on a GPU and on CPUs with bf16 instructions, otherwise fp32
    #[arg(long, value_enum, default_value_t = Dtype::Auto)]
    pub(crate) dtype: Dtype,
}

/// A number format, by its command-line name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Dtype {
    /// The fastest format on the device
    #[default]
    Auto,
    /// 32-bit floats
    Fp32,
    /// 16-bit floats with the range of 32-bit floats
    Bf16,
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

#[cfg(feature = "torch")]
impl DeviceArgs {
    /// The devices of a run's self-play.
    pub(crate) fn selfplay_devices(self) -> Vec<DeviceChoice> {
        DeviceChoice::all_of(self.device)
    }

    /// Predictor options for the first device and this number format, with one thread.
    pub(crate) fn predictor_options(self) -> PredictorOptions {
        let dtype = match self.dtype {
            Dtype::Auto => PrecisionChoice::Auto,
            Dtype::Fp32 => PrecisionChoice::Fp32,
            Dtype::Bf16 => PrecisionChoice::Bf16,
        };
        let device = DeviceChoice::first_of(self.device);
        PredictorOptions {
            device,
            precision: dtype.for_prediction(device),
            ..PredictorOptions::default()
        }
    }
}

impl DeviceArgs {
    /// Checks the device of a command that computes on one and, if the program has chosen it, says which one it is.
    ///
    /// # Errors
    /// If several devices are named, or the device cannot be used.
    pub(crate) fn announce_one(self) -> anyhow::Result<()> {
        if self.device.gpus().count() > 1 {
            let several = self.device;
            return Err(output::usage(format!(
                "this command computes on one device, not on {several}; only tengen run, selfplay, doctor, and bench \
                 selfplay use several"
            )));
        }
        self.announce()
    }

    /// Checks the first device and, if the program has chosen it, says which one it is.
    ///
    /// # Errors
    /// If the device cannot be used.
    pub(crate) fn announce(self) -> anyhow::Result<()> {
        #[cfg(feature = "torch")]
        {
            let device = DeviceChoice::first_of(self.device).resolve()?;
            if self.device == Devices::Auto {
                let name = if device.is_cuda() { "GPU" } else { "CPU" };
                output::say(format!("computing on the {name}, in {}", self.dtype_name()));
            }
        }
        Ok(())
    }

    /// The name of the number format that networks run in on this machine.
    pub(crate) fn dtype_name(self) -> String {
        #[cfg(feature = "torch")]
        return self.predictor_options().precision.to_string();
        #[cfg(not(feature = "torch"))]
        return self.dtype.to_string();
    }
}
