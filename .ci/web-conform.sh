#!/usr/bin/env bash
# The conformance suite's table of operations on the device of a page: the compiler is built with the suite inside, and Chromium runs it on WebGPU's software adapter.
# Needs what `web/build.sh` needs, and Chromium (`CHROMIUM`).
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
folder="${CARGO_TARGET_DIR:-target}/playground-conform"

# shellcheck disable=SC1091
. web/compiler.sh
web_cargo build -p girih-web --features conform --target "$target" --profile web --locked
mkdir -p "$folder"
web_bindgen "$web_target/$target/web/girih_web.wasm" "$folder"
npm ci --prefix web --no-audit --no-fund --loglevel=error
node web/tests/conform.mjs "$folder"
