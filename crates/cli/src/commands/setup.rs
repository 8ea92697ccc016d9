//! `tengen setup`: chooses the libtorch that the unpacked program uses.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::output;

/// The version of libtorch that this program was built for.
const VERSION: &str = env!("TENGEN_TORCH");

/// The link beside the program; libraries in its folder come before the program's own.
const LINK: &str = "torch";

/// The folder of the libraries that came with the program.
const BUNDLED: &str = "libtorch";

/// The folder into which `setup cuda` downloads.
const DOWNLOADED: &str = ".libtorch";

/// Choose the libtorch that this program uses: its own for CPUs, one for GPUs, or an installed PyTorch
///
/// The program of a release comes with libtorch for CPUs and uses it. `tengen setup cuda` downloads the one for NVIDIA
/// GPUs with pip (4.5 GB, into the program's own folder; Python is not needed afterwards), and `tengen setup
/// torch=PATH` uses the libraries of a PyTorch that is installed anyway, CUDA or not. `tengen setup cpu` goes back.
/// Without an argument, the command says which libraries are in use.
///
/// A program that you built yourself uses the libtorch that it was built with, which `scripts/setup-libtorch.sh`
/// chooses.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen setup
  tengen setup cuda
  tengen setup torch=$(python3 -c 'import torch; print(torch.__path__[0])')")]
pub(crate) struct Args {
    /// `cpu`, `cuda`, or `torch=PATH`, the folder of PyTorch's package
    #[arg(value_name = "KIND", value_parser = kind)]
    kind: Option<Kind>,
}

/// Where to take libtorch from.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The libraries that came with the program.
    Cpu,
    /// Libraries for NVIDIA GPUs, downloaded if necessary.
    Cuda,
    /// A folder with `lib/libtorch_cpu.so`.
    Folder(PathBuf),
}

/// Parses a kind from the command line.
fn kind(text: &str) -> Result<Kind, String> {
    match text.split_once('=') {
        None if text == "cpu" => Ok(Kind::Cpu),
        None if text == "cuda" => Ok(Kind::Cuda),
        Some(("torch", path)) if !path.is_empty() => Ok(Kind::Folder(PathBuf::from(path))),
        _ => Err("expected cpu, cuda, or torch=PATH".to_owned()),
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let Some(kind) = args.kind else {
        return say_what_is_used(&std::env::current_exe()?);
    };
    let program = std::env::current_exe().context("cannot find the program's own file")?;
    let home = program.parent().context("the program's own file is in no folder")?;
    ensure!(
        home.join(BUNDLED).join("torch/lib/libtorch_cpu.so").exists(),
        "{} was not unpacked from a release: there is no {BUNDLED} folder beside it. A program that you built uses \
         the libtorch of its build; run scripts/setup-libtorch.sh [cuda] in the checkout, or set LIBTORCH, and build \
         again.",
        program.display()
    );
    let link = home.join(LINK);
    match kind {
        Kind::Cpu => remove(&link)?,
        Kind::Cuda => point(&link, &download(home)?, &program)?,
        Kind::Folder(folder) => point(&link, &checked(&folder)?, &program)?,
    }
    say_what_is_used(&program)
}

/// Downloads libtorch for NVIDIA GPUs unless it is already there. Returns its folder.
fn download(home: &Path) -> anyhow::Result<PathBuf> {
    let script = home.join("scripts/setup-libtorch.sh");
    ensure!(
        script.exists(),
        "{} is missing; unpack the release again, or install PyTorch {VERSION} and use `tengen setup torch=PATH`",
        script.display()
    );
    let status = Command::new("sh")
        .arg(&script)
        .arg("cuda")
        .env_remove("LIBTORCH")
        .stdin(Stdio::null())
        .status()
        .context("cannot run sh")?;
    ensure!(
        status.success(),
        "libtorch for NVIDIA GPUs was not installed (see the message above)"
    );
    checked(&home.join(DOWNLOADED).join("torch"))
}

/// The absolute path of a libtorch folder, if the program can use it.
fn checked(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot use {} as libtorch", folder.display()))?;
    ensure!(
        folder.join("lib/libtorch_cpu.so").exists(),
        "{} holds no lib/libtorch_cpu.so; give the folder of the torch package, such as \
         .../site-packages/torch",
        folder.display()
    );
    let Some(found) = version_of(&folder) else {
        bail!(
            "{} does not say which version it is: it has neither build-version nor version.py",
            folder.display()
        );
    };
    ensure!(
        found == VERSION,
        "{} is libtorch {found}; this program needs {VERSION}: pip install torch=={VERSION}",
        folder.display()
    );
    Ok(folder)
}

/// The version of the libtorch in a folder, without the part after its `+`.
fn version_of(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("build-version")).ok().or_else(|| {
        let script = fs::read_to_string(folder.join("version.py")).ok()?;
        let line = script.lines().find(|line| line.starts_with("__version__"))?;
        Some(line.split(['\'', '"']).nth(1)?.to_owned())
    })?;
    Some(text.trim().split('+').next()?.to_owned())
}

/// Points the link at a folder. If the program does not start with its libraries, restores the link.
fn point(link: &Path, folder: &Path, program: &Path) -> anyhow::Result<()> {
    let before = fs::read_link(link).ok();
    replace(link, folder)?;
    let started = Command::new(program)
        .arg("--version")
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null())
        .output();
    let problem = match started {
        Ok(started) if started.status.success() => return Ok(()),
        Ok(started) => String::from_utf8_lossy(&started.stderr).trim().to_owned(),
        Err(error) => format!("cannot start {}: {error}", program.display()),
    };
    match before {
        Some(before) => replace(link, &before)?,
        None => remove(link)?,
    }
    bail!(
        "the program does not start with the libraries in {}, so nothing was changed: {problem}",
        folder.display()
    )
}

/// Creates or replaces a link in one step.
fn replace(link: &Path, folder: &Path) -> anyhow::Result<()> {
    let next = link.with_extension(format!("next-{}", std::process::id()));
    symlink(folder, &next)
        .and_then(|()| fs::rename(&next, link))
        .with_context(|| format!("cannot write {}", link.display()))
}

/// Removes the link if there is one.
fn remove(link: &Path) -> anyhow::Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", link.display()))
        }
        _ => Ok(()),
    }
}

/// Prints which libraries the program starts with.
fn say_what_is_used(program: &Path) -> anyhow::Result<()> {
    let used = Command::new(program)
        .args(["doctor", "--seconds", "0.1", "--json"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let report: serde_json::Value = serde_json::from_slice(&used.stdout).with_context(|| {
        format!(
            "`tengen doctor` does not work: {}",
            String::from_utf8_lossy(&used.stderr).trim()
        )
    })?;
    let path = report["torch"]["path"].as_str().unwrap_or("unknown");
    let problem = report["torch"]["cuda_problem"].as_str();
    output::result(format!("libtorch {VERSION} from {path}"));
    output::result(match problem {
        Some(problem) => format!("No GPU is used: {problem}."),
        None => "A GPU can be used: --device cuda.".to_owned(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read() {
        assert_eq!(kind("cpu"), Ok(Kind::Cpu));
        assert_eq!(kind("cuda"), Ok(Kind::Cuda));
        assert_eq!(kind("torch=/opt/torch"), Ok(Kind::Folder("/opt/torch".into())));
        for wrong in ["", "gpu", "torch", "torch=", "path=/opt/torch"] {
            assert!(kind(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_versions_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |part: &str| {
            let error = format!("{:#}", checked(folder.path()).unwrap_err());
            assert!(error.contains(part), "{error}");
        };
        refused("holds no lib/libtorch_cpu.so");
        fs::create_dir(folder.path().join("lib")).unwrap();
        fs::write(folder.path().join("lib/libtorch_cpu.so"), "").unwrap();
        refused("neither build-version nor version.py");
        fs::write(folder.path().join("version.py"), "__version__ = '1.0.0+cu130'\n").unwrap();
        refused("is libtorch 1.0.0; this program needs");
        fs::write(
            folder.path().join("version.py"),
            format!("__version__ = '{VERSION}+cu130'\n"),
        )
        .unwrap();
        assert_eq!(checked(folder.path()).unwrap(), folder.path().canonicalize().unwrap());
    }

    #[test]
    fn libraries_with_which_the_program_does_not_start_are_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let (link, before) = (home.path().join(LINK), home.path().join("before"));
        let error = point(&link, home.path(), Path::new("/bin/false")).unwrap_err();
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        assert!(fs::read_link(&link).is_err());
        point(&link, &before, Path::new("/bin/true")).unwrap();
        point(&link, home.path(), Path::new("/bin/false")).unwrap_err();
        assert_eq!(fs::read_link(&link).unwrap(), before);
        remove(&link).unwrap();
        remove(&link).unwrap();
    }
}
