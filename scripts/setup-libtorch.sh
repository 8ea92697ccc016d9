#!/bin/sh
# Installs libtorch 2.11.0 under .libtorch/ from PyPI's torch wheel. pip downloads it; Python is not needed afterwards.
#
#   scripts/setup-libtorch.sh          CPU libraries, 0.5 GB on disk, about 15 s
#   scripts/setup-libtorch.sh cuda     CUDA libraries, about 4.5 GB; the same tengen binary then uses the GPU
#
# Running it again with the same kind returns at once. If LIBTORCH is set, that libtorch is checked and used instead.
set -eu
cd "$(dirname "$0")/.."
V=2.11.0
D=.libtorch

fail() {
  echo "setup-libtorch: $1" >&2
  exit 1
}

if [ -n "${LIBTORCH:-}" ]; then
  [ -e "$LIBTORCH/lib/libtorch_cpu.so" ] ||
    fail "LIBTORCH is $LIBTORCH, but $LIBTORCH/lib/libtorch_cpu.so does not exist; point LIBTORCH at a libtorch $V \
folder or unset it."
  if [ -e "$LIBTORCH/build-version" ]; then
    found=$(cut -d+ -f1 <"$LIBTORCH/build-version")
    [ "$found" = "$V" ] ||
      fail "LIBTORCH is version $found, but version $V is needed; point LIBTORCH at libtorch $V or unset it."
  else
    # The torch folder of a wheel has its version in version.py.
    [ ! -e "$LIBTORCH/version.py" ] || grep -q "'$V" "$LIBTORCH/version.py" ||
      fail "LIBTORCH has $(grep -m1 __version__ "$LIBTORCH/version.py"), but version $V is needed; point LIBTORCH at \
libtorch $V or unset it."
  fi
  exit 0
fi

K=${1:-}
case $K in
"") # No kind given: keep what is installed, or install the CPU libraries.
  [ -e $D/.stamp ] && K=$(cut -d' ' -f2 <$D/.stamp) || K=cpu
  ;;
cpu | cuda) ;;
*) fail "unknown kind '$K': expected cpu or cuda." ;;
esac
[ "$(cat $D/.stamp 2>/dev/null)" = "$V $K" ] && exit 0

# Beside the program of a release there is nothing to build.
if [ -e Cargo.toml ] && ! { command -v cc && command -v c++; } >/dev/null 2>&1; then
  fail "no C++ compiler found (cc and c++); install one, e.g. 'apt-get install g++'."
fi
[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
  fail "the wheel is for Linux on x86-64; on $(uname -s) $(uname -m), set LIBTORCH to a libtorch $V folder."
command -v python3 >/dev/null 2>&1 ||
  fail "python3 not found; it is needed once to download libtorch with pip: 'apt-get install python3 python3-pip'."
python3 -m pip --version >/dev/null 2>&1 ||
  fail "python3 has no pip, which is needed once to download libtorch: 'apt-get install python3-pip' or \
'python3 -m ensurepip'."

echo "setup-libtorch: downloading libtorch $V ($K) into $D" >&2
# Assembled in a temporary folder and then renamed, so that an interrupted call leaves nothing incomplete.
P=$D.partial
rm -rf $P
pip_install() {
  python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-compile \
    --only-binary=:all: --target $P "$@" ||
    fail "pip could not download the wheels (see its message above); check the network or pip's index settings and try \
again, or set LIBTORCH to a libtorch $V folder."
}
PLATFORM="--no-deps --implementation cp --python-version 3.12
  --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64
  --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64"
RUNTIME="nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 nvidia-cuda-crt==13.0.88"
case $K in
cpu)
  # shellcheck disable=SC2086
  pip_install $PLATFORM torch==$V $RUNTIME
  (
    cd $P
    find torch -mindepth 1 -maxdepth 1 ! -name lib ! -name include -exec rm -rf {} +
    find torch/lib -mindepth 1 -maxdepth 1 ! -name libc10.so ! -name libtorch_cpu.so ! -name libgomp.so.1 \
      -exec rm -rf {} +
    find nvidia/cu13/lib -mindepth 1 ! -name libcudart.so.13 ! -name libcupti.so.13 -exec rm -rf {} +
    rm -rf functorch torchgen bin
    # The real libtorch.so only pulls in libtorch_cpu and libtorch_cuda.
    echo | ${CC:-cc} -shared -x c - -o torch/lib/libtorch.so -Wl,-soname,libtorch.so
  )
  ;;
cuda) pip_install torch==$V nvidia-cuda-crt==13.0.88 ;;
esac
echo $V >$P/torch/build-version # lets the build check the version
echo "$V $K" >$P/.stamp
before=$(cat $D/.stamp 2>/dev/null || true)
rm -rf $D
mv $P $D
# A build against the CUDA libraries keeps referring to them, but the CPU layout does not have them.
case $before in
*cuda)
  if [ "$K" != cuda ] && command -v cargo >/dev/null 2>&1; then
    cargo clean -q -p torch-sys && cargo clean -q --release -p torch-sys || true
  fi
  ;;
esac
echo "setup-libtorch: done" >&2
