//! Where do networks run, and in which number format? What a user asks for, whether or not this machine has it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The CPU or GPUs, by their names: `cpu`, `cuda`, `cuda:0,cuda:1`, or `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Devices {
    /// The CPU.
    #[default]
    Cpu,
    /// The first GPU if it can be used, otherwise the CPU.
    Auto,
    /// GPUs by their numbers, a bit for each.
    Gpus(u64),
}

impl Devices {
    /// The numbers of the named GPUs, in ascending order.
    pub fn gpus(self) -> impl Iterator<Item = usize> {
        let bits = match self {
            Devices::Gpus(bits) => bits,
            _ => 0,
        };
        (0..64).filter(move |number| bits >> number & 1 == 1)
    }
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Devices, String> {
        let number = |name: &str| match name.strip_prefix("cuda")? {
            "" => Some(0),
            number => number
                .strip_prefix(':')?
                .parse()
                .ok()
                .filter(|&number: &u32| number < 64),
        };
        match text {
            "cpu" => return Ok(Devices::Cpu),
            "auto" => return Ok(Devices::Auto),
            _ => (),
        }
        let mut bits = 0;
        for name in text.split(',') {
            let Some(number) = number(name) else {
                return Err("expected cpu, auto, cuda, or GPUs such as cuda:0,cuda:1".to_owned());
            };
            if bits >> number & 1 == 1 {
                return Err(format!("GPU {number} is named twice"));
            }
            bits |= 1 << number;
        }
        Ok(Devices::Gpus(bits))
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Devices::Cpu => f.write_str("cpu"),
            Devices::Auto => f.write_str("auto"),
            Devices::Gpus(1) => f.write_str("cuda"),
            Devices::Gpus(_) => {
                let names: Vec<String> = self.gpus().map(|number| format!("cuda:{number}")).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl TryFrom<String> for Devices {
    type Error = String;

    fn try_from(text: String) -> Result<Devices, String> {
        text.parse()
    }
}

impl From<Devices> for String {
    fn from(devices: Devices) -> String {
        devices.to_string()
    }
}

/// Which number format the user requests for networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionChoice {
    /// The fastest one on the device.
    #[default]
    Auto,
    /// Always 32-bit floats.
    Fp32,
    /// Always bf16, which is slow on a CPU without instructions for it.
    Bf16,
    /// Always fp16, on a GPU and for play alone: without a scale for the loss, small gradients would become zero in
    /// training.
    Fp16,
}

impl PrecisionChoice {
    const ALL: [PrecisionChoice; 4] = [
        PrecisionChoice::Auto,
        PrecisionChoice::Fp32,
        PrecisionChoice::Bf16,
        PrecisionChoice::Fp16,
    ];
}

impl FromStr for PrecisionChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PrecisionChoice, String> {
        let mut all = PrecisionChoice::ALL.into_iter();
        all.find(|choice| choice.to_string() == text)
            .ok_or_else(|| "expected auto, fp32, bf16, or fp16".to_owned())
    }
}

impl fmt::Display for PrecisionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PrecisionChoice::Auto => "auto",
            PrecisionChoice::Fp32 => "fp32",
            PrecisionChoice::Bf16 => "bf16",
            PrecisionChoice::Fp16 => "fp16",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_round_trip() {
        for name in ["cpu", "auto", "cuda", "cuda:1", "cuda:0,cuda:1", "cuda:3,cuda:63"] {
            assert_eq!(name.parse::<Devices>().unwrap().to_string(), name);
        }
        assert_eq!("cuda:0".parse(), Ok(Devices::Gpus(1)));
        assert_eq!("cuda:2,cuda".parse(), Ok(Devices::Gpus(0b101)));
        for wrong in [
            "",
            "gpu",
            "cuda:64",
            "cuda:-1",
            "cuda1",
            "cpu,cuda",
            "cuda,",
            "cuda,cuda:0",
        ] {
            assert!(wrong.parse::<Devices>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_number_formats_round_trip() {
        for choice in PrecisionChoice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("bf16".parse(), Ok(PrecisionChoice::Bf16));
        assert!("half".parse::<PrecisionChoice>().is_err());
    }
}
