//! Engine parameters that can be changed during a session.

use super::{Args, Outcome, Session};
use crate::engine::Engine;

impl<E: Engine> Session<E> {
    pub(super) fn random_seed(&self) -> Outcome {
        let seed = self.engine.random_seed().ok_or("unknown command")?;
        Ok(seed.to_string())
    }

    /// Sets the random seed, as in GNU Go. It affects the random player and random games; search is not random.
    pub(super) fn set_random_seed(&mut self, args: &Args<'_>) -> Outcome {
        self.random_seed()?;
        self.engine.set_random_seed(args.number(0, "seed")?);
        Ok(String::new())
    }

    pub(super) fn parameter_names(&self) -> String {
        let names = self.engine.parameters().into_iter().map(|(name, _)| name);
        names.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn parameter(&self, args: &Args<'_>) -> Outcome {
        let name = args.word(0).ok_or("syntax error: the parameter is missing")?;
        let found = self.engine.parameters().into_iter().find(|&(known, _)| known == name);
        found.map(|(_, value)| value).ok_or_else(|| self.no_parameter(name))
    }

    pub(super) fn set_parameter(&mut self, args: &Args<'_>) -> Outcome {
        let name = args.word(0).ok_or("syntax error: the parameter is missing")?;
        let value = args.word(1).ok_or("syntax error: the value is missing")?;
        if !self.engine.parameters().iter().any(|&(known, _)| known == name) {
            return Err(self.no_parameter(name));
        }
        self.engine
            .set_parameter(name, value)
            .map(|()| String::new())
            .map_err(|error| error.to_string())
    }

    fn no_parameter(&self, name: &str) -> String {
        format!(
            "unknown parameter {name}; the parameters are: {}",
            self.parameter_names()
        )
    }
}
