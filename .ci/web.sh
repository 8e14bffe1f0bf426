#!/usr/bin/env bash
# Checks that all of core/ builds for WebAssembly, and backend-wgpu with the adapters of a browser: what waits is not there, so nothing in the path of a page does.
# What compiles is chosen by `web/compiler.sh`. The playground, in which a worker may wait, is built by `web/build.sh`.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
packages=()
for manifest in core/*/Cargo.toml; do
  packages+=(-p "$(sed -n 's/^name = "\(.*\)"$/\1/p' "$manifest" | head -n 1)")
done
packages+=(-p girih-wgpu --features girih-wgpu/webgpu)

# shellcheck disable=SC1091
. web/compiler.sh
web_cargo check "${packages[@]}" --target "$target" --locked
