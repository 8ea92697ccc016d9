"""Writes the licenses of everything in a release into a folder: every Rust package behind the program, Rust's standard
library, and libtorch.

Usage: licenses.py FOLDER

A package's license files are copied, and those of the sources in other languages that it bundles: libmimalloc-sys, for
one, has its own author's notice at the top, and that of mimalloc's author deep inside. A package that ships none is
listed with the license that its manifest states; one that states none either ends this with an error.
"""

import json
import pathlib
import shutil
import subprocess
import sys

NAMES = ("license", "licence", "copying", "notice", "unlicense", "copyright")
SOURCES = (".rs", ".c", ".h", ".cc", ".cpp", ".go", ".js", ".py", ".sh")  # of files whose names only begin like these
# Bundled sources whose notice stands in the comment at their top alone, by package.
IN_COMMENTS = {
    "aws-lc-sys": ["aws-lc/third_party/jitterentropy/jitterentropy-library/jitterentropy.h"],
    "zstd-sys": ["zstd/lib/dictBuilder/divsufsort.h"],
}


def packages():
    """The packages that are linked into the program, without the project's own, sorted by name and version."""
    command = ["cargo", "tree", "--locked", "--package", "tengen-cli", "--features", "cloud", "--edges", "normal"]
    tree = subprocess.run(command + ["--prefix", "none", "--format", "{p}"], check=True, capture_output=True, text=True)
    linked = {tuple(line.split()[:2]) for line in tree.stdout.splitlines() if line}
    metadata = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--features", "tengen-cli/cloud"],
        check=True, capture_output=True, text=True,
    )
    known = json.loads(metadata.stdout)["packages"]
    chosen = [p for p in known if p["source"] and (p["name"], "v" + p["version"]) in linked]
    missing = {name for name, _ in linked} - {p["name"] for p in known}
    if missing:
        sys.exit(f"licenses: cargo metadata does not know {sorted(missing)}")
    return sorted(chosen, key=lambda p: (p["name"], p["version"]))


def files_in(folder, package):
    """The license files of a package in this folder, at any depth."""
    found = {path for path in folder.rglob("*") if path.is_file() and is_license(path)}
    stated = package.get("license_file")
    if stated and (folder / stated).is_file():
        found.add(folder / stated)
    return sorted(found)


def is_license(path):
    return path.parent.name.lower() == "licenses" or (
        path.name.lower().startswith(NAMES) and path.suffix.lower() not in SOURCES
    )


def comment_at_top(path):
    text = path.read_text()
    if not text.startswith("/*") or "opyright" not in text[:text.index("*/")]:
        sys.exit(f"licenses: {path} does not begin with its license any more")
    return text[:text.index("*/") + 2] + "\n"


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    lines = ["Licenses of everything in this archive", ""]
    lines.append("Tengen itself: MIT OR Apache-2.0 (LICENSE-MIT, LICENSE-APACHE)")
    for package in packages():
        name = f"{package['name']}-{package['version']}"
        folder = pathlib.Path(package["manifest_path"]).parent
        files = files_in(folder, package)
        if not files and not package.get("license"):
            sys.exit(f"licenses: {name} has neither a license file nor a stated license")
        for path in files:
            target = out / name / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for path in IN_COMMENTS.get(package["name"], []):
            target = out / name / (path + ".LICENSE")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(comment_at_top(folder / path))
        where = f"{name}/"
        if not files:
            text = "its text is ../LICENSE-APACHE; " if "Apache-2.0" in package["license"] else ""
            where = f"no file; {text}see {package.get('repository') or 'its package page'}"
        lines.append(f"{name}: {package.get('license') or 'see file'} ({where})")
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    notice = pathlib.Path(sysroot) / "share/doc/rust/COPYRIGHT-library.html"
    if not notice.is_file():
        sys.exit(f"licenses: {notice} is missing; it states the licenses of Rust's standard library")
    (out / "rust-std").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(notice, out / "rust-std" / notice.name)
    lines.append("Rust's standard library: MIT OR Apache-2.0, and those of its parts (rust-std/)")
    root = pathlib.Path(".libtorch")
    for info in sorted(root.glob("*.dist-info")):
        licenses = sorted(path for path in info.rglob("licenses/**/*") if path.is_file())
        if not licenses:
            sys.exit(f"licenses: {info} has no license files")
        for path in licenses:
            target = out / info.stem / path.relative_to(info / "licenses")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        lines.append(f"{info.stem}: libraries in libtorch/ ({info.stem}/)")
    runtime = pathlib.Path("/usr/share/doc/libgcc-s1/copyright")
    if not runtime.is_file():
        sys.exit(f"licenses: {runtime} is missing; it states the license of GCC's libraries, libgomp among them")
    (out / "libgomp").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(runtime, out / "libgomp" / "copyright")
    lines.append("libgomp: GPL 3 with the GCC Runtime Library Exception (libgomp/)")
    (out / "README").write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 2} licenses in {out}")


main()
