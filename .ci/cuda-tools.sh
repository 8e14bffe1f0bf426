#!/usr/bin/env bash
# Finds or fetches NVIDIA's assembler and disassembler, which need no card, and exports GIRIH_PTXAS and GIRIH_NVDISASM. To be sourced.
#
# They come as Python wheels into a folder outside of the repository (GIRIH_TOOLS, or the user's cache), once.

girih_cuda_tools() {
  local nvcc=13.0.88 nvdisasm=13.2.51
  local tools="${GIRIH_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/girih/tools}"
  local folder="$tools/cuda-$nvcc-$nvdisasm"
  local bin="$folder/nvidia/cu13/bin"
  if [ ! -x "$bin/ptxas" ] || [ ! -x "$bin/nvdisasm" ]; then
    python3 -m pip --version >/dev/null 2>&1 || {
      local as_root=""
      if [ "$(id -u)" -ne 0 ]; then as_root="sudo"; fi
      $as_root apt-get -qq update
      DEBIAN_FRONTEND=noninteractive $as_root apt-get -qq install -y --no-install-recommends python3-pip >/dev/null
    }
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder.new" \
      "nvidia-cuda-nvcc==$nvcc" "nvidia-cuda-nvdisasm==$nvdisasm" >&2
    for wheel in "$folder.new"/*.whl; do
      python3 -m zipfile -e "$wheel" "$folder.new"
      rm "$wheel"
    done
    chmod +x "$folder.new/nvidia/cu13/bin/ptxas" "$folder.new/nvidia/cu13/bin/nvdisasm"
    rm -rf "$folder"
    mv "$folder.new" "$folder"
  fi
  export GIRIH_PTXAS="$bin/ptxas" GIRIH_NVDISASM="$bin/nvdisasm"
}
girih_cuda_tools
