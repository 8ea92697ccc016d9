//! A network as its file describes it.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{FileError, LoadError};
use crate::inputs::{InputStyle, NUMBERS, PLANES};
use crate::layers::{Activation, Conv, Matrix, Norm, read_bias};
use crate::outputs::Multipliers;
use crate::reader::Reader;

/// The oldest version of the format that is supported: the first with today's inputs.
pub const OLDEST: i64 = 8;

/// The newest version of the format that is supported: the last without transformers.
pub const NEWEST: i64 = 16;

/// The most blocks of a network or of a nested block.
const MOST_BLOCKS: usize = 1000;

/// How deep blocks may be nested.
const MOST_NESTING: usize = 4;

/// A network of KataGo.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The name in the file.
    pub name: String,
    /// The version of the format.
    pub version: i64,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// What the file says about the inputs.
    pub style: InputStyle,
    /// What outputs are multiplied by.
    pub multipliers: Multipliers,
    /// From the inputs to the features of each point.
    pub trunk: Trunk,
    /// From the features to moves.
    pub policy: PolicyHead,
    /// From the features to results, margins, and owners.
    pub value: ValueHead,
}

/// The layers from the inputs to the features of each point.
#[derive(Clone, Debug, PartialEq)]
pub struct Trunk {
    /// Reads the planes.
    pub planes: Conv,
    /// Reads the numbers; added to every point.
    pub numbers: Matrix,
    /// The residual blocks.
    pub blocks: Vec<Block>,
    /// What comes last.
    pub tip: Norm,
}

/// A residual block: what it computes is added to what it reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Two convolutions.
    Ordinary {
        /// Before the first convolution.
        pre: Norm,
        /// The first convolution.
        first: Conv,
        /// Before the last convolution.
        mid: Norm,
        /// The last convolution.
        last: Conv,
    },
    /// Two convolutions; before the last, numbers pooled over the whole board are added.
    Pooling {
        /// Before the first convolutions.
        pre: Norm,
        /// The first convolution.
        first: Conv,
        /// The convolution whose channels are pooled.
        pooled: Conv,
        /// After that.
        pooled_norm: Norm,
        /// From the pooled numbers to what is added to the first convolution.
        to_bias: Matrix,
        /// Before the last convolution.
        mid: Norm,
        /// The last convolution.
        last: Conv,
    },
    /// Blocks of fewer channels.
    Nested {
        /// Before the first convolution.
        pre: Norm,
        /// To fewer channels.
        narrow: Conv,
        /// The blocks.
        blocks: Vec<Block>,
        /// Before the last convolution.
        post: Norm,
        /// To the channels of the trunk.
        widen: Conv,
    },
}

/// The layers from the features to moves. Of several kinds of policies, only the first counts.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyHead {
    /// Channels for each point.
    pub points: Conv,
    /// Channels that are pooled.
    pub pooled: Conv,
    /// After that.
    pub pooled_norm: Norm,
    /// From the pooled numbers to what is added to every point.
    pub to_bias: Matrix,
    /// Before the moves.
    pub norm: Norm,
    /// The moves on the board.
    pub moves: Conv,
    /// From the pooled numbers to the pass, or to the layer before it.
    pub pass: Matrix,
    /// That layer, from version 15 on.
    pub pass_layer: Option<PassLayer>,
}

/// The layer before the pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassLayer {
    /// Added to the numbers before it.
    pub bias: Vec<f32>,
    /// Applied to them.
    pub activation: Activation,
    /// To the pass.
    pub pass: Matrix,
}

/// The layers from the features to results, margins, and owners.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueHead {
    /// Channels for each point, which are pooled.
    pub points: Conv,
    /// After that.
    pub norm: Norm,
    /// From the pooled numbers.
    pub hidden: Matrix,
    /// Added to that.
    pub hidden_bias: Vec<f32>,
    /// Applied to that.
    pub hidden_activation: Activation,
    /// To win, loss, and no result.
    pub result: Matrix,
    /// Added to that.
    pub result_bias: Vec<f32>,
    /// To margins and their uncertainties.
    pub margins: Matrix,
    /// Added to that.
    pub margins_bias: Vec<f32>,
    /// To the owner of each point.
    pub owners: Conv,
}

/// Whether a path looks like a network of KataGo: by its name, or because it is a file compressed with gzip.
pub fn is_network_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let known = [".bin.gz", ".txt.gz", ".bin", ".txt"];
    if name.is_some_and(|name| known.iter().any(|end| name.ends_with(end))) {
        return !path.is_dir();
    }
    let mut start = [0; 2];
    fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start))
        .is_ok()
        && start == [0x1f, 0x8b]
}

impl Network {
    /// Loads a network from a file.
    ///
    /// # Errors
    /// [`LoadError`] if it cannot be read, is something else, or needs what is not supported.
    pub fn load(path: &Path) -> Result<Network, LoadError> {
        let load = || Network::decode(&fs::read(path)?);
        load().map_err(|reason| LoadError {
            path: path.to_owned(),
            reason,
        })
    }

    /// Reads a network from the contents of a file.
    ///
    /// # Errors
    /// [`FileError`] if it is something else or needs what is not supported.
    pub fn decode(file: &[u8]) -> Result<Network, FileError> {
        let reader = &mut Reader::new(file)?;
        let name = reader.word()?;
        let version = reader.number("the version of KataGo's format")?;
        if !(OLDEST..=NEWEST).contains(&version) {
            return Err(FileError::Version { found: version });
        }
        expect(reader, "input planes", PLANES)?;
        expect(reader, "input numbers", NUMBERS)?;
        let multipliers = Multipliers::read(reader, version)?;
        let style = read_style(reader, version)?;
        let trunk = Trunk::read(reader, version)?;
        let width = trunk.planes.outputs;
        let policy = PolicyHead::read(reader, version, width)?;
        let value = ValueHead::read(reader, version, width)?;
        let sha256 = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Network {
            name,
            version,
            sha256,
            style,
            multipliers,
            trunk,
            policy,
            value,
        })
    }

    /// The shape in a few words: `12 blocks of 96 channels, version 8`.
    pub fn shape(&self) -> String {
        let (blocks, width) = (self.trunk.blocks.len(), self.trunk.planes.outputs);
        format!("{blocks} blocks of {width} channels, version {}", self.version)
    }
}

fn expect(reader: &mut Reader, what: &str, expected: usize) -> Result<(), FileError> {
    let found: usize = reader.number(what)?;
    match found == expected {
        true => Ok(()),
        false => Err(reader.invalid(format!("{expected} {what}"), found.to_string())),
    }
}

/// Refuses options of the format that have no meaning yet.
fn expect_unused(reader: &mut Reader, count: usize) -> Result<(), FileError> {
    for _ in 0..count {
        let found: i64 = reader.number("an option")?;
        if found != 0 {
            return Err(FileError::Unsupported {
                place: reader.place.clone(),
                found: format!("an unknown option {found}"),
                supported: "networks without it",
            });
        }
    }
    Ok(())
}

/// Reads the options of version 15 and later.
fn read_style(reader: &mut Reader, version: i64) -> Result<InputStyle, FileError> {
    if version < 15 {
        return Ok(InputStyle::default());
    }
    let metadata: i64 = reader.number("the kind of metadata")?;
    if metadata != 0 {
        return Err(FileError::Unsupported {
            place: reader.place.clone(),
            found: "inputs for the players of a game (a human-SL network)".to_owned(),
            supported: "networks without them",
        });
    }
    let alive: i64 = reader.number("an option")?;
    let alive_despite_suicide = match alive {
        0 | 1 => alive == 1,
        _ => return Err(reader.invalid("0 or 1", alive.to_string())),
    };
    expect_unused(reader, 6)?;
    Ok(InputStyle { alive_despite_suicide })
}

impl Trunk {
    fn read(reader: &mut Reader, version: i64) -> Result<Trunk, FileError> {
        reader.place = reader.word()?;
        let count = reader.count("a number of blocks", MOST_BLOCKS)?;
        let width: usize = reader.number("a number of channels")?;
        for _ in 0..4 {
            // The channels of the blocks, which say so themselves.
            let _: i64 = reader.number("a number of channels")?;
        }
        if version >= 15 {
            let norm: i64 = reader.number("the kind of normalization")?;
            if norm != 0 {
                return Err(FileError::Unsupported {
                    place: reader.place.clone(),
                    found: format!("normalization of kind {norm}, as transformers have"),
                    supported: "batch normalizations",
                });
            }
            expect_unused(reader, 5)?;
        }
        let planes = Conv::read(reader, PLANES)?.writing(reader, width)?;
        let numbers = Matrix::read(reader, NUMBERS)?.writing(reader, width)?;
        let blocks = read_blocks(reader, version, (count, width), 0)?;
        let tip = Norm::read(reader, width, version)?;
        Ok(Trunk {
            planes,
            numbers,
            blocks,
            tip,
        })
    }
}

/// Reads so many blocks of so many channels.
fn read_blocks(
    reader: &mut Reader,
    version: i64,
    (count, width): (usize, usize),
    depth: usize,
) -> Result<Vec<Block>, FileError> {
    (0..count).map(|_| Block::read(reader, version, width, depth)).collect()
}

impl Block {
    fn read(reader: &mut Reader, version: i64, width: usize, depth: usize) -> Result<Block, FileError> {
        let kind = reader.word()?;
        let unsupported = |reader: &Reader| FileError::Unsupported {
            place: reader.place.clone(),
            found: format!("a block of the kind {kind}"),
            supported: "ordinary_block, gpool_block, and nested_bottleneck_block",
        };
        match kind.as_str() {
            "ordinary_block" => Block::ordinary(reader, version, width),
            "gpool_block" => Block::pooling(reader, version, width),
            "nested_bottleneck_block" if depth < MOST_NESTING => Block::nested(reader, version, width, depth),
            _ => Err(unsupported(reader)),
        }
    }

    fn ordinary(reader: &mut Reader, version: i64, width: usize) -> Result<Block, FileError> {
        reader.place = reader.word()?;
        let pre = Norm::read(reader, width, version)?;
        let first = Conv::read(reader, width)?;
        let mid = Norm::read(reader, first.outputs, version)?;
        let last = Conv::read(reader, first.outputs)?.writing(reader, width)?;
        Ok(Block::Ordinary { pre, first, mid, last })
    }

    fn pooling(reader: &mut Reader, version: i64, width: usize) -> Result<Block, FileError> {
        reader.place = reader.word()?;
        let pre = Norm::read(reader, width, version)?;
        let first = Conv::read(reader, width)?;
        let pooled = Conv::read(reader, width)?;
        let pooled_norm = Norm::read(reader, pooled.outputs, version)?;
        let to_bias = Matrix::read(reader, 3 * pooled.outputs)?.writing(reader, first.outputs)?;
        let mid = Norm::read(reader, first.outputs, version)?;
        let last = Conv::read(reader, first.outputs)?.writing(reader, width)?;
        Ok(Block::Pooling {
            pre,
            first,
            pooled,
            pooled_norm,
            to_bias,
            mid,
            last,
        })
    }

    fn nested(reader: &mut Reader, version: i64, width: usize, depth: usize) -> Result<Block, FileError> {
        reader.place = reader.word()?;
        let count = reader.count("a number of blocks", MOST_BLOCKS)?;
        let pre = Norm::read(reader, width, version)?;
        let narrow = Conv::read(reader, width)?;
        let blocks = read_blocks(reader, version, (count, narrow.outputs), depth + 1)?;
        let post = Norm::read(reader, narrow.outputs, version)?;
        let widen = Conv::read(reader, narrow.outputs)?.writing(reader, width)?;
        Ok(Block::Nested {
            pre,
            narrow,
            blocks,
            post,
            widen,
        })
    }
}

impl PolicyHead {
    fn read(reader: &mut Reader, version: i64, width: usize) -> Result<PolicyHead, FileError> {
        reader.place = reader.word()?;
        let kinds = match version {
            16.. => 4,
            12.. => 2,
            _ => 1,
        };
        let points = Conv::read(reader, width)?;
        let pooled = Conv::read(reader, width)?;
        let pooled_norm = Norm::read(reader, pooled.outputs, version)?;
        let to_bias = Matrix::read(reader, 3 * pooled.outputs)?.writing(reader, points.outputs)?;
        let norm = Norm::read(reader, points.outputs, version)?;
        let moves = Conv::read(reader, points.outputs)?.writing(reader, kinds)?;
        let pass = Matrix::read(reader, 3 * pooled.outputs)?;
        let pass_layer = match version {
            15.. => Some(PassLayer::read(reader, version, (pass.outputs, kinds))?),
            _ => None,
        };
        let pass = match pass_layer {
            Some(_) => pass,
            None => pass.writing(reader, kinds)?,
        };
        Ok(PolicyHead {
            points,
            pooled,
            pooled_norm,
            to_bias,
            norm,
            moves,
            pass,
            pass_layer,
        })
    }
}

impl PassLayer {
    fn read(reader: &mut Reader, version: i64, (inputs, kinds): (usize, usize)) -> Result<PassLayer, FileError> {
        Ok(PassLayer {
            bias: read_bias(reader, inputs)?,
            activation: Activation::read(reader, version)?,
            pass: Matrix::read(reader, inputs)?.writing(reader, kinds)?,
        })
    }
}

impl ValueHead {
    fn read(reader: &mut Reader, version: i64, width: usize) -> Result<ValueHead, FileError> {
        reader.place = reader.word()?;
        let kinds = if version >= 9 { 6 } else { 4 };
        let points = Conv::read(reader, width)?;
        let norm = Norm::read(reader, points.outputs, version)?;
        let hidden = Matrix::read(reader, 3 * points.outputs)?;
        let hidden_bias = read_bias(reader, hidden.outputs)?;
        let hidden_activation = Activation::read(reader, version)?;
        let result = Matrix::read(reader, hidden.outputs)?.writing(reader, 3)?;
        let result_bias = read_bias(reader, 3)?;
        let margins = Matrix::read(reader, hidden.outputs)?.writing(reader, kinds)?;
        let margins_bias = read_bias(reader, kinds)?;
        let owners = Conv::read(reader, points.outputs)?.writing(reader, 1)?;
        Ok(ValueHead {
            points,
            norm,
            hidden,
            hidden_bias,
            hidden_activation,
            result,
            result_bias,
            margins,
            margins_bias,
            owners,
        })
    }
}
