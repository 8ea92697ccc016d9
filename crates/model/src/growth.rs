//! A larger network that starts by computing what a smaller one has learned (after Net2Net, Chen, Goodfellow and
//! Shlens, 2016).
//!
//! The old channels keep their weights and do not see the new ones yet: those weights start at zero. The new channels
//! see everything and start at random, so that the zero weights have a gradient. A new block starts with a second
//! normalization scaled by zero, which makes it the identity. New input planes are like new channels.

use tengen_encoding::PlaneSet;

use crate::config::NetworkConfig;
use crate::layout::POOLED;
use crate::parameters::Parameter;
use crate::weights::{Weights, WeightsError};

/// Why a network cannot grow into another one.
#[derive(Debug, thiserror::Error)]
pub enum GrowthError {
    /// The other network is not larger in blocks, channels, and inputs, or differs otherwise.
    #[error(
        "{from} cannot grow into {into}: expected at least as many blocks, channels, and inputs, and more of one, with \
         the same kinds of blocks, pooling, and heads; with attention, the same number of channels"
    )]
    NotLarger {
        /// The smaller network.
        from: String,
        /// The network to grow into.
        into: String,
    },
    /// The larger network is invalid.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl NetworkConfig {
    /// Whether a network of this shape can grow into `larger`.
    pub fn can_grow_into(&self, larger: &NetworkConfig) -> bool {
        let same = NetworkConfig {
            blocks: self.blocks,
            channels: self.channels,
            pass_alive_inputs: self.pass_alive_inputs,
            ladder_inputs: self.ladder_inputs,
            ..larger.clone()
        };
        let wider = self.channels < larger.channels;
        // More heads would change what the old ones attend to.
        let attention_stays = !wider || (0..self.blocks).all(|block| !self.attends(block));
        &same == self
            && self != larger
            && self.blocks <= larger.blocks
            && self.channels <= larger.channels
            && self.pass_alive_inputs <= larger.pass_alive_inputs
            && self.ladder_inputs <= larger.ladder_inputs
            && attention_stays
    }
}

impl Weights {
    /// Weights of a larger network with the same outputs. The same seed gives the same weights.
    ///
    /// # Errors
    /// [`GrowthError::NotLarger`] unless [`NetworkConfig::can_grow_into`] holds.
    pub fn grown(&self, larger: &NetworkConfig, seed: u64) -> Result<Weights, GrowthError> {
        let random = Weights::random(larger, seed)?;
        let is_new = |parameter: &Parameter| self.get(&parameter.name).is_none();
        let start = random
            .parameters()
            .iter()
            .zip(random.values())
            .map(
                |(parameter, values)| match is_new(parameter) && parameter.name.ends_with("norm2.scale") {
                    true => vec![0.0; values.len()],
                    false => values.clone(),
                },
            );
        self.placed_in(&Weights::from_values(larger, start.collect())?)
    }

    /// These numbers, one for each weight of a network, in the place of those of a larger network, with zeros where old
    /// outputs would see new inputs. The other numbers stay those of `larger`.
    ///
    /// # Errors
    /// [`GrowthError::NotLarger`] unless [`NetworkConfig::can_grow_into`] holds.
    pub fn placed_in(&self, larger: &Weights) -> Result<Weights, GrowthError> {
        if !self.config().can_grow_into(larger.config()) {
            return Err(GrowthError::NotLarger {
                from: self.config().name(),
                into: larger.config().name(),
            });
        }
        let planes = places_of_planes(self.config().plane_set(), larger.config().plane_set());
        let placed = larger.parameters().iter().zip(larger.values()).map(|(new, values)| {
            let mut values = values.clone();
            let mut old = self.parameters().iter().zip(self.values());
            if let Some((old, old_values)) = old.find(|(old, _)| old.name == new.name) {
                match new.name.as_str() {
                    INPUT_CONV => place(old, old_values, new, &mut values, &planes),
                    _ => place(old, old_values, new, &mut values, &places_of_channels(old, new)),
                }
            }
            values
        });
        Ok(Weights::from_values(larger.config(), placed.collect())?)
    }
}

/// The convolution that sees the input planes.
const INPUT_CONV: &str = "input.conv.weight";

/// For each input plane of a network, and the mask after them, its place among those of a larger one.
fn places_of_planes(old: PlaneSet, new: PlaneSet) -> Vec<usize> {
    let mut places = old.places_in(new);
    places.push(new.bit_planes());
    places
}

/// For each input of a tensor, its place in a larger one. The inputs of a layer after pooling are the pooled numbers of
/// all channels, one kind after the other.
fn places_of_channels(old: &Parameter, new: &Parameter) -> Vec<usize> {
    let kinds = if new.name.ends_with("pool.weight") { POOLED } else { 1 };
    let (old_channels, new_channels) = (inputs(old) / kinds, inputs(new) / kinds);
    (0..kinds)
        .flat_map(|kind| (0..old_channels).map(move |channel| kind * new_channels + channel))
        .collect()
}

/// Number of inputs of each output of a tensor.
fn inputs(parameter: &Parameter) -> usize {
    parameter.shape.get(1).copied().unwrap_or(1)
}

/// Copies a tensor into a larger one, each input to its place. Old outputs do not see new inputs; new outputs keep
/// their random weights.
fn place(old: &Parameter, old_values: &[f32], new: &Parameter, values: &mut [f32], places: &[usize]) {
    let kernel: usize = new.shape.iter().skip(2).product();
    let (old_inputs, new_inputs) = (inputs(old), inputs(new));
    for output in 0..old.shape[0] {
        let row = &mut values[output * new_inputs * kernel..][..new_inputs * kernel];
        row.fill(0.0);
        let old_row = &old_values[output * old_inputs * kernel..][..old_inputs * kernel];
        for (from, &to) in old_row.chunks_exact(kernel).zip(places) {
            row[to * kernel..][..kernel].copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_larger_networks_of_the_same_kind_are_grown_into() {
        let small = NetworkConfig::new(2, 8);
        let can = |larger: NetworkConfig| small.can_grow_into(&larger);
        assert!(can(NetworkConfig::new(3, 8)) && can(NetworkConfig::new(2, 9)) && can(NetworkConfig::new(5, 64)));
        assert!(!can(small.clone()) && !can(NetworkConfig::new(1, 64)) && !can(NetworkConfig::new(9, 4)));
        let other_heads = NetworkConfig {
            head_channels: 25,
            ..NetworkConfig::new(3, 8)
        };
        assert!(!can(other_heads));
        let seeing = |pass_alive_inputs, ladder_inputs| NetworkConfig {
            pass_alive_inputs,
            ladder_inputs,
            ..small.clone()
        };
        assert!(can(seeing(true, false)) && can(seeing(false, true)) && can(seeing(true, true)));
        assert!(seeing(false, true).can_grow_into(&seeing(true, true)));
        assert!(
            !seeing(true, false).can_grow_into(&seeing(false, true)),
            "no inputs are lost"
        );
        let attention = |blocks, channels| NetworkConfig {
            attention_every: 2,
            ..NetworkConfig::new(blocks, channels)
        };
        assert!(attention(2, 16).can_grow_into(&attention(5, 16)));
        assert!(!attention(2, 16).can_grow_into(&attention(2, 32)));
        assert!(!small.can_grow_into(&attention(3, 8)));
        let error = Weights::random(&small, 1)
            .expect("a good config")
            .grown(&NetworkConfig::new(1, 8), 1)
            .err()
            .map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("b2c8 cannot grow into b1c8")));
    }
}
