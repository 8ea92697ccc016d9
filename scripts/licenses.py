"""Writes the licenses of everything in a release into a folder: every Rust package behind the program, Rust's standard
library, and libtorch.

Usage: licenses.py FOLDER

A package's own license files are copied. A package that ships none is listed with the license that its manifest states;
one that states none either ends this with an error.
"""

import json
import pathlib
import shutil
import subprocess
import sys

NAMES = ("license", "licence", "copying", "notice", "unlicense", "copyright")


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


def files_of(package):
    """The license files of a package."""
    folder = pathlib.Path(package["manifest_path"]).parent
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.lower().startswith(NAMES)]
    for inner in ("LICENSES", "licenses"):
        found += sorted(path for path in folder.glob(f"{inner}/*") if path.is_file())
    stated = package.get("license_file")
    if stated and (folder / stated).is_file() and folder / stated not in found:
        found.append(folder / stated)
    return found


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    lines = ["Licenses of everything in this archive", ""]
    lines.append("Tengen itself: MIT OR Apache-2.0 (LICENSE-MIT, LICENSE-APACHE)")
    for package in packages():
        name = f"{package['name']}-{package['version']}"
        files = files_of(package)
        if not files and not package.get("license"):
            sys.exit(f"licenses: {name} has neither a license file nor a stated license")
        for path in files:
            target = out / name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
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
