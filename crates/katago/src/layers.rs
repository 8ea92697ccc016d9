//! The layers that networks are made of, as their files store them.

use crate::error::FileError;
use crate::reader::Reader;

/// The most channels of a layer; the largest networks have about 1,000.
const MOST_CHANNELS: usize = 1 << 14;

/// The longest side of a filter.
const MOST_FILTER: usize = 19;

/// A convolution without bias, which keeps the size of the board.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// Rows of the filter, an odd number.
    pub height: usize,
    /// Columns of the filter, an odd number.
    pub width: usize,
    /// Distance between rows, and columns, that the filter looks at.
    pub dilation: [usize; 2],
    /// Channels that it reads.
    pub inputs: usize,
    /// Channels that it writes.
    pub outputs: usize,
    /// The filter, `[row, column, input, output]`.
    pub weights: Vec<f32>,
}

/// A linear layer without bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Numbers that it reads.
    pub inputs: usize,
    /// Numbers that it writes.
    pub outputs: usize,
    /// The weights, `[input, output]`.
    pub weights: Vec<f32>,
}

/// A scale and a shift for each channel, then an activation.
#[derive(Clone, Debug, PartialEq)]
pub struct Norm {
    /// What each channel is multiplied by.
    pub scale: Vec<f32>,
    /// What is then added.
    pub bias: Vec<f32>,
    /// What is applied then.
    pub activation: Activation,
}

/// A function applied to every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// x tanh(ln(1 + eˣ))
    Mish,
    /// x / (1 + e⁻ˣ)
    Silu,
}

impl Conv {
    /// Reads a convolution with this many inputs.
    pub(crate) fn read(reader: &mut Reader, inputs: usize) -> Result<Conv, FileError> {
        reader.place = reader.word()?;
        let height = odd(reader)?;
        let width = odd(reader)?;
        expect_width(reader, inputs)?;
        let outputs = reader.count("a number of channels", MOST_CHANNELS)?;
        let dilation = [
            reader.count("a dilation", MOST_FILTER)?,
            reader.count("a dilation", MOST_FILTER)?,
        ];
        let weights = reader.floats(height * width * inputs * outputs)?;
        Ok(Conv {
            height,
            width,
            dilation,
            inputs,
            outputs,
            weights,
        })
    }

    /// Checks the number of channels that it writes.
    pub(crate) fn writing(self, reader: &Reader, outputs: usize) -> Result<Conv, FileError> {
        match self.outputs == outputs {
            true => Ok(self),
            false => Err(reader.invalid(format!("{outputs} channels written"), self.outputs.to_string())),
        }
    }
}

fn odd(reader: &mut Reader) -> Result<usize, FileError> {
    let side = reader.count("the side of a filter", MOST_FILTER)?;
    match side % 2 {
        1 => Ok(side),
        _ => Err(reader.invalid("a filter with odd sides", side.to_string())),
    }
}

fn expect_width(reader: &mut Reader, expected: usize) -> Result<(), FileError> {
    let found = reader.count("a number of channels", MOST_CHANNELS)?;
    match found == expected {
        true => Ok(()),
        false => Err(reader.invalid(
            format!("{expected} channels, as the layer before writes"),
            found.to_string(),
        )),
    }
}

impl Matrix {
    /// Reads a linear layer with this many inputs.
    pub(crate) fn read(reader: &mut Reader, inputs: usize) -> Result<Matrix, FileError> {
        reader.place = reader.word()?;
        expect_width(reader, inputs)?;
        let outputs = reader.count("a number of channels", MOST_CHANNELS)?;
        let weights = reader.floats(inputs * outputs)?;
        Ok(Matrix {
            inputs,
            outputs,
            weights,
        })
    }

    /// Checks how many numbers it writes.
    pub(crate) fn writing(self, reader: &Reader, outputs: usize) -> Result<Matrix, FileError> {
        match self.outputs == outputs {
            true => Ok(self),
            false => Err(reader.invalid(format!("{outputs} channels written"), self.outputs.to_string())),
        }
    }
}

/// Reads what is added to the numbers of a linear layer.
pub(crate) fn read_bias(reader: &mut Reader, channels: usize) -> Result<Vec<f32>, FileError> {
    reader.place = reader.word()?;
    expect_width(reader, channels)?;
    reader.floats(channels)
}

impl Norm {
    /// Reads a batch normalization of this many channels and the activation after it, and makes a scale and a shift of
    /// mean, variance, and the trained values.
    pub(crate) fn read(reader: &mut Reader, channels: usize, version: i64) -> Result<Norm, FileError> {
        reader.place = reader.word()?;
        expect_width(reader, channels)?;
        let epsilon: f32 = reader.number("a small number")?;
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(reader.invalid("a positive epsilon", epsilon.to_string()));
        }
        let has_scale = flag(reader)?;
        let has_bias = flag(reader)?;
        let mean = reader.floats(channels)?;
        let variance = reader.floats(channels)?;
        let trained = |reader: &mut Reader, is: bool, otherwise: f32| match is {
            true => reader.floats(channels),
            false => Ok(vec![otherwise; channels]),
        };
        let gamma = trained(reader, has_scale, 1.0)?;
        let beta = trained(reader, has_bias, 0.0)?;
        let scale: Vec<f32> = gamma
            .iter()
            .zip(&variance)
            .map(|(g, v)| g / (v + epsilon).sqrt())
            .collect();
        if let Some(wrong) = scale.iter().find(|value| !value.is_finite()) {
            return Err(reader.invalid("variances that are not negative", format!("a scale of {wrong}")));
        }
        let shifts = beta.iter().zip(&scale).zip(&mean);
        let bias = shifts.map(|((b, s), m)| b - s * m).collect();
        let activation = Activation::read(reader, version)?;
        Ok(Norm {
            scale,
            bias,
            activation,
        })
    }
}

fn flag(reader: &mut Reader) -> Result<bool, FileError> {
    match reader.number::<u8>("0 or 1")? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(reader.invalid("0 or 1", other.to_string())),
    }
}

impl Activation {
    /// The first version whose files say which activation a layer has.
    const NAMED_SINCE: i64 = 11;

    pub(crate) fn read(reader: &mut Reader, version: i64) -> Result<Activation, FileError> {
        reader.place = reader.word()?;
        if version < Self::NAMED_SINCE {
            return Ok(Activation::Relu);
        }
        let name = reader.word()?;
        match name.as_str() {
            "ACTIVATION_IDENTITY" => Ok(Activation::Identity),
            "ACTIVATION_RELU" => Ok(Activation::Relu),
            "ACTIVATION_MISH" => Ok(Activation::Mish),
            "ACTIVATION_SILU" => Ok(Activation::Silu),
            _ => Err(FileError::Unsupported {
                place: reader.place.clone(),
                found: format!("the activation {name}"),
                supported: "identity, relu, mish, and silu",
            }),
        }
    }
}
