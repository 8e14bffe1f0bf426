#!/usr/bin/env bash
# Builds the playground: `web/build.sh [FOLDER]` writes a folder of static files, `target/playground` if none is named; and the npm package into
# the folder `npm` beside it.
#
# Needs Node with npm, and a compiler for WebAssembly: rustup's target where it is installed (`rustup target add wasm32-unknown-unknown`), else Debian's `rustc-web`, as
# `.ci/web.sh` does. `wasm-bindgen` is taken from the path if it has the version of Cargo.lock, and installed below `target` if not.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-target/playground}"
target=wasm32-unknown-unknown

# shellcheck disable=SC1091
. web/compiler.sh
web_cargo build -p girih-web --target "$target" --profile web --locked
module="$web_target/$target/web/girih_web.wasm"

npm ci --prefix web --no-audit --no-fund --loglevel=error
packed="$(dirname "$folder")/npm"
rm -rf "$folder" "$packed"
mkdir -p "$folder"
web_bindgen "$module" "$folder"
node web/bundle.mjs "$folder" "$packed"

size() { gzip -9 -c "$1" | wc -c; }
printf 'playground: %s, %s bytes of WebAssembly, %s compressed\n' "$folder" "$(wc -c <"$folder/compiler_bg.wasm")" "$(size "$folder/compiler_bg.wasm")"
