//! `tengen model`: describes, compares, lists, prunes, and exports models.

mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::json;

use tengen_evaluator::PlayerSpec;
use tengen_exchange::{ModelDiff, ModelSummary, onnx, pytorch_files, shelf};
use tengen_model::{Model, ModelInfo};
use tengen_store::{Create, Store};

use crate::arguments;
use crate::output::{self, counted};
use tengen_matches::{read_model, source_of};

/// Describe, compare, prune, and export models
///
/// MODEL is store:DIR (the champion of a run store), store:DIR@g000012 (the model of that generation), or model:PATH (a
/// model folder or a .safetensors file); store: and model: may be left out.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Describe a model: network, origin, rules, cost
    Info {
        /// The model
        #[arg(value_parser = arguments::player)]
        model: Box<PlayerSpec>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Compare the descriptions and the weights of two models
    Diff {
        /// The first model
        #[arg(value_parser = arguments::player)]
        first: Box<PlayerSpec>,
        /// The second model
        #[arg(value_parser = arguments::player)]
        second: Box<PlayerSpec>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the models of a run store, oldest first; * marks the champion
    List {
        /// The store: a folder or an address; or a folder of models
        store: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Delete old candidates that never became champion
    ///
    /// Without --yes, it only prints what it would delete and how much space that frees. Champions of all times, the
    /// newest models, and models that the gate may still decide on stay, as do games, matches, and checkpoints, so that
    /// a run continues as before, even while it is running. `tengen rate` no longer rates deleted models. If pruning is
    /// killed, running the same command again finishes the work.
    #[command(after_help = "Examples:
  tengen model prune data/runs/nine
  tengen model prune data/runs/nine --keep 20 --yes")]
    Prune {
        /// The store: a folder or an address
        store: String,
        /// Keep the newest N models, whatever became of them
        #[arg(long, value_name = "N", default_value_t = 4)]
        keep: usize,
        /// Delete the models
        #[arg(long)]
        yes: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write a model for other programs
    ///
    /// onnx writes one file (opset 17) with the inputs planes, globals, and komi for any batch and any board up to
    /// 19x19. torchscript writes a file that does the same in torch.jit.load and in libtorch. pytorch writes a folder
    /// with weights.safetensors, model.json, and tengen.py, a short program that loads the network and encodes
    /// positions of `tengen data export`. Existing files are not replaced.
    Export {
        /// The model
        #[arg(value_parser = arguments::player)]
        model: Box<PlayerSpec>,
        /// The format
        #[arg(long, value_enum)]
        format: Format,
        /// The file (onnx, torchscript) or the folder (pytorch) to write
        #[arg(long, value_name = "PATH")]
        out: PathBuf,
    },
}

/// A format for other programs.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One ONNX file
    Onnx,
    /// One TorchScript file
    Torchscript,
    /// A folder for PyTorch
    Pytorch,
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Info { model, json } => {
            let (name, model) = read(&model)?;
            let summary = ModelSummary::of(&name, &model);
            show(&summary, words::about(&summary), json)
        }
        Command::Diff { first, second, json } => {
            let diff = ModelDiff::of(&read(&first)?.1, &read(&second)?.1);
            show(&diff, diff.to_string(), json)
        }
        Command::List { store, json } => list(&store, json),
        Command::Prune { store, keep, yes, json } => prune(&Store::open(&store, Create::Never)?, keep, yes, json),
        Command::Export { model, format, out } => export(&model, format, &out),
    }
}

fn read(spec: &PlayerSpec) -> anyhow::Result<(String, Model)> {
    let source = source_of(&spec.kind).filter(|_| spec.options == Default::default());
    let source = source.ok_or_else(|| output::usage(format!("{spec} is not a model: name a store or a path")))?;
    read_model(&source).map(|(name, model, _)| (name, model))
}

/// Prints something as JSON or as words.
fn show(what: &impl serde::Serialize, words: String, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json(what);
    }
    output::result(words);
    Ok(())
}

/// Deletes old candidates, or prints which ones it would delete.
fn prune(store: &Store, keep: usize, done: bool, as_json: bool) -> anyhow::Result<()> {
    let plan = store.models().plan_prune(keep)?;
    if done {
        store.models().prune(&plan)?;
    }
    let freed: u64 = plan.iter().map(|(_, bytes)| bytes).sum();
    let ids: Vec<String> = plan.iter().map(|(id, _)| id.to_string()).collect();
    if as_json {
        return output::json(&json!({"done": done, "models": ids, "freed_bytes": freed}));
    }
    if ids.is_empty() {
        let newest = counted(keep as u64, "model");
        output::result(format!(
            "nothing to prune: all models are or were champions, or belong to the newest {newest}"
        ));
        return Ok(());
    }
    ids.iter().for_each(|id| output::result(id.clone()));
    let verb = if done { "freed" } else { "would free" };
    let (models, bytes) = (counted(ids.len() as u64, "model"), counted(freed, "byte"));
    output::result(format!("{verb} {models}, {bytes}"));
    if !done {
        output::say("nothing was changed; use --yes to prune");
    }
    Ok(())
}

fn list(location: &str, as_json: bool) -> anyhow::Result<()> {
    let mut champion = None;
    let shelf = shelf(Path::new(location));
    let on_shelf = !shelf.is_empty();
    let mut models = Vec::new();
    let mut take = |name: String, info: anyhow::Result<ModelInfo>| match info {
        Ok(info) => models.push((name, info)),
        Err(error) => output::say(format!("warning: {name} is skipped: {error}")),
    };
    for (name, info) in shelf {
        take(name, info.map_err(Into::into));
    }
    if !on_shelf {
        let store = Store::open(location, Create::Never)?;
        let stored = store.models();
        champion = stored.champion()?.map(|(_, best)| best.model_id.to_string());
        for id in stored.list()? {
            take(id.to_string(), stored.info(&id).map_err(Into::into));
        }
    }
    let mut rows = Vec::new();
    for (id, info) in models {
        let is_champion = Some(&id) == champion.as_ref();
        if !as_json {
            let mark = if is_champion { "*" } else { " " };
            output::result(format!("{mark} {}", words::one_line(&id, &info)));
        }
        rows.push(json!({"id": id, "champion": is_champion, "info": info}));
    }
    match as_json {
        true => output::json(&json!({ "models": rows })),
        false => Ok(()),
    }
}

#[cfg(feature = "torch")]
fn torchscript(name: &str, model: &Model) -> anyhow::Result<Vec<u8>> {
    Ok(tengen_torchscript::torchscript(name, model)?)
}

#[cfg(not(feature = "torch"))]
fn torchscript(_: &str, _: &Model) -> anyhow::Result<Vec<u8>> {
    bail!("this tengen was built without libtorch and cannot write TorchScript; use --format onnx or pytorch")
}

fn export(spec: &PlayerSpec, format: Format, out: &Path) -> anyhow::Result<()> {
    let (name, model) = read(spec)?;
    let files = match format {
        Format::Onnx => vec![(out.to_owned(), onnx(&name, &model)?)],
        Format::Torchscript => vec![(out.to_owned(), torchscript(&name, &model)?)],
        Format::Pytorch => {
            let files = pytorch_files(&model)?.into_iter();
            files.map(|(file, bytes)| (out.join(file), bytes)).collect()
        }
    };
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        bail!("{} exists already; name another place with --out", path.display());
    }
    for (path, bytes) in &files {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        tengen_report::replace(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        output::say(format!("wrote {}", path.display()));
    }
    Ok(())
}
