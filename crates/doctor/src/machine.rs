//! Describes the machine and the process, except for libtorch.

use std::fs;

use serde::Serialize;

use tengen_report::counted;

/// The machine and the process.
#[derive(Serialize)]
pub struct Machine {
    /// The CPU's name; `unknown` if the system does not report it.
    cpu: String,
    /// Number of threads that can run at the same time.
    cores: usize,
    /// Memory in bytes; 0 if the system does not report it.
    memory_bytes: u64,
    /// The allocator, which serves libtorch's C++ code, too.
    allocator: Allocator,
    /// Whether this is an optimized build.
    #[serde(rename = "optimised")]
    optimized: bool,
}

/// The provider of `malloc` for shared libraries.
#[derive(Serialize, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Allocator {
    /// The mimalloc inside this program.
    Mimalloc,
    /// The library at this path, such as the system's C library.
    Library(String),
    /// The provider could not be determined.
    Unknown,
}

impl Machine {
    /// Looks at this machine and process.
    pub fn look() -> Machine {
        let cpu = tengen_network::cpu();
        let memory = field("/proc/meminfo", "MemTotal").and_then(|text| text.strip_suffix("kB")?.trim().parse().ok());
        Machine {
            cpu,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory.unwrap_or(0_u64) * 1024,
            allocator: allocator(),
            optimized: !cfg!(debug_assertions),
        }
    }

    /// Advice that follows from the findings.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if !self.optimized {
            advice.push("This is a debug build: use a release build for anything but tests.".to_owned());
        }
        if let Allocator::Library(path) = &self.allocator {
            advice.push(format!(
                "Memory comes from {path} instead of mimalloc, which made inference up to 1.9 times as fast; start \
                 tengen without LD_PRELOAD and linked as its build links it."
            ));
        }
        let cores = self.cores;
        advice.push(format!(
            "For self-play on the CPU, use {}, one per core (workers = 0 does that automatically).",
            counted(cores as u64, "worker")
        ));
        advice
    }

    /// The findings as lines of text.
    pub fn lines(&self) -> Vec<String> {
        vec![
            format!("tengen      {}", env!("CARGO_PKG_VERSION")),
            format!("CPU         {}, {}", self.cpu, counted(self.cores as u64, "core")),
            format!("memory      {:.1} GiB", self.memory_bytes as f64 / f64::from(1 << 30)),
            match &self.allocator {
                Allocator::Mimalloc => "allocator   mimalloc, for libtorch too".to_owned(),
                Allocator::Library(path) => format!("allocator   {path}"),
                Allocator::Unknown => "allocator   unknown".to_owned(),
            },
        ]
    }
}

/// The first value in the `name: value` lines of a system file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name))?
        .1;
    Some(value.trim().to_owned())
}

/// Finds the file whose `malloc` shared libraries resolve to.
fn allocator() -> Allocator {
    let found = malloc_address().and_then(file_at);
    let program = std::env::current_exe().ok();
    match found {
        None => Allocator::Unknown,
        Some(path) if program.is_some_and(|program| program.as_os_str() == path.as_str()) => Allocator::Mimalloc,
        Some(path) => Allocator::Library(path),
    }
}

/// The address at which the dynamic linker finds `malloc`.
#[allow(unsafe_code)]
fn malloc_address() -> Option<usize> {
    let program = libloading::os::unix::Library::this();
    // SAFETY: the symbol is only looked up, never called.
    let symbol = unsafe { program.get::<*const ()>(b"malloc\0") }.ok()?;
    Some(symbol.into_raw() as usize)
}

/// The file mapped at an address of this process.
fn file_at(address: usize) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        let from = usize::from_str_radix(from, 16).ok()?;
        let to = usize::from_str_radix(to, 16).ok()?;
        (from..to)
            .contains(&address)
            .then(|| line.get(line.find('/')?..).map(str::to_owned))
            .flatten()
    })
}

/// The path of the loaded library whose file name starts with `name`.
pub(crate) fn loaded_library(name: &str) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let path_of = |line: &str| line.get(line.find('/')?..).map(str::to_owned);
    maps.lines()
        .filter_map(path_of)
        .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let system = Machine::look();
        assert!(system.cores >= 1 && system.memory_bytes > 1 << 20);
        assert!(system.advice().iter().any(|line| line.contains("workers")));
    }
}
