"""Writes what libtorch's CUDA part needs beyond the null GPU: the libraries that it is linked to, all empty, and their
functions, which end the program when one of them is called after all.

    stubs.py FOLDER CODE OBJECT...

FOLDER holds libtorch_cuda.so and libc10_cuda.so and gets the empty libraries. The functions that no OBJECT defines are
written to the C file CODE.
"""

import os
import re
import subprocess
import sys

# These are part of CUDA. All other functions come from libtorch itself and from the system.
OF_CUDA = re.compile(r"(__cuda|cu|nccl|nvshmem)\w+$")
OF_THE_SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gomp)\.so|ld-linux")
# The CPU part of libtorch loads these, too.
OF_THE_CPU_PART = {"libc10.so", "libtorch_cpu.so", "libcudart.so.13"}

CODE = """#include <stdio.h>
#include <stdlib.h>

static int refuse(const char *name) {
    fprintf(stderr, "null GPU: %s was called, but is not part of it\\n", name);
    abort();
}
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(kind, path):
    options = ["-D"] if ".so" in path else []
    names = (line.split()[-1].split("@")[0] for line in output("nm", *options, kind, path).splitlines() if line)
    return {name for name in names if OF_CUDA.match(name)}


def main(folder, code, *objects):
    parts = [os.path.join(folder, name) for name in ("libtorch_cuda.so", "libc10_cuda.so")]
    defined = set().union(*(symbols("--defined-only", path) for path in (*parts, *objects)))
    missing = set().union(*(symbols("--undefined-only", path) for path in parts)) - defined
    with open(code, "w", encoding="utf-8") as file:
        file.write(CODE)
        file.writelines(f'int {name}() {{ return refuse("{name}"); }}\n' for name in sorted(missing))

    needed = set(re.findall(r"NEEDED.*\[(.*)\]", "".join(output("readelf", "-d", path) for path in parts)))
    for name in sorted(needed - OF_THE_CPU_PART):
        path = os.path.join(folder, name)
        if not OF_THE_SYSTEM.match(name) and not os.path.exists(path):
            empty = ["-shared", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", path]
            subprocess.run([os.environ.get("CC", "cc"), *empty], check=True)


main(*sys.argv[1:])
