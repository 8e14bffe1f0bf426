#!/bin/sh
# Fetches NVIDIA's assembler and disassembler, which need no GPU, as wheels from PyPI into a cache folder, and prints the assignments that tell
# the tests where they are: `eval "$(.ci/cuda-tools.sh)"`. Running it again changes nothing.
set -eu

folder="${XDG_CACHE_HOME:-$HOME/.cache}/girih-ci/cuda-13.0"
bin="$folder/nvidia/cu13/bin"
if [ ! -x "$bin/ptxas" ] || [ ! -x "$bin/nvdisasm" ]; then
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$wheels" \
    nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.2.51 >&2
  mkdir -p "$folder"
  for wheel in "$wheels"/*.whl; do
    python3 -m zipfile -e "$wheel" "$folder"
  done
  chmod +x "$bin/ptxas" "$bin/nvdisasm"
fi
"$bin/ptxas" --version >&2
echo "export GIRIH_PTXAS='$bin/ptxas' GIRIH_NVDISASM='$bin/nvdisasm' GIRIH_REQUIRE_PTXAS=1"
