//! Prints problems as SGF: `cargo run -p tengen-tactics --example problems -- KIND COUNT SEED > FILE`, where KIND is
//! `life`, `races`, or `ladders`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use tengen_tactics::{Kind, Problems, problem_sgf};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, count, seed] = &arguments[..] else {
        return usage();
    };
    let (Some(kind), Ok(count), Ok(seed)) = (Kind::parse(kind), count.parse(), seed.parse()) else {
        return usage();
    };
    let mut problems = Problems::new(kind, seed);
    for _ in 0..count {
        if let Some(problem) = problems.next() {
            print!("{}", problem_sgf(&problem));
        }
    }
    eprintln!("{} candidates, {} searched", problems.tried, problems.searched);
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: problems KIND COUNT SEED, where KIND is life, races, or ladders");
    ExitCode::FAILURE
}
