#!/usr/bin/env bash
# Runs the tests of `girih.torch` with PyTorch 2.11, on the processor and on the software driver at once. PyTorch comes from PyPI into a virtual environment
# outside of the repository (GIRIH_TOOLS, or the user's cache), once; empty libraries stand in for NVIDIA's. Needs maturin: `. .ci/python-tools.sh`.
# `.ci/torch.sh prepare` only makes the environment.
set -euo pipefail
cd "$(dirname "$0")/.."

torch="${GIRIH_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/girih-tools}/torch-2.11.0"
python="$torch/bin/python"
if [ ! -e "$torch/ready-3" ]; then
  python3 -m venv "$torch"
  pip=("$python" -m pip install --quiet --disable-pip-version-check)
  "${pip[@]}" --no-deps 'torch==2.11.0'
  "${pip[@]}" 'filelock' 'expecttest' 'fsspec' 'jinja2' 'networkx' 'numpy>=2,<3' 'pytest>=8,<10' 'setuptools<82' 'sympy' 'typing_extensions'
  "$python" python/tests/pytorch/stub_libraries.py "$torch/stubs"
  touch "$torch/ready-3"
fi

if [ "${1:-}" = prepare ]; then exit 0; fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
(cd python && maturin build --profile dev --locked --out "$work/wheels")
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --target "$work/packages" "$work"/wheels/*.whl

export PYTHONPATH="$work/packages" LD_LIBRARY_PATH="$torch/stubs" PYTHONDONTWRITEBYTECODE=1 GIRIH_REQUIRE_TORCH=1 OMP_NUM_THREADS=1
tests="$PWD/python/tests/pytorch"
cd "$work"
try() {
  GIRIH_DEVICE="$1" TORCHINDUCTOR_CACHE_DIR="$work/inductor-$2" "$python" -m pytest -q -p no:cacheprovider --import-mode=importlib "$tests"
}
try cpu cpu >"$work/cpu.log" 2>&1 &
cpu=$!
wgpu=0
try wgpu:0 wgpu || wgpu=$?
wait "$cpu" || { cat "$work/cpu.log"; exit 1; }
tail -n 1 "$work/cpu.log"
exit "$wgpu"
