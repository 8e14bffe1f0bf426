#!/usr/bin/env bash
# Checks that all of core/ builds for WebAssembly, and backend-wgpu with the adapters of a browser: what waits is not there, so nothing in the path of a page does. Rustup's target is taken where it is installed (`rustup target add wasm32-unknown-unknown`);
# elsewhere Debian's compiler builds the standard library itself, from the sources that its archive has.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
packages=()
for manifest in core/*/Cargo.toml; do
  packages+=(-p "$(sed -n 's/^name = "\(.*\)"$/\1/p' "$manifest" | head -n 1)")
done
packages+=(-p girih-wgpu --features girih-wgpu/webgpu)

if rustup target list --installed 2>/dev/null | grep -qx "$target"; then
  cargo check "${packages[@]}" --target "$target" --locked
  exit
fi

# Debian's own `rustc` and `rust-src` are too old; these are what it builds browsers with.
debian=(rustc-web libstd-rust-web-dev rust-web-src)
if ! dpkg-query -W "${debian[@]}" >/dev/null 2>&1; then
  as_root=""
  if [ "$(id -u)" -ne 0 ]; then as_root="sudo"; fi
  $as_root apt-get -qq update
  DEBIAN_FRONTEND=noninteractive $as_root apt-get -qq install -y --no-install-recommends "${debian[@]}" >/dev/null
fi
# Its version is not that of the other steps, so neither are its files. Without a release of its own it takes what is not stable yet.
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/web" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
  cargo check "${packages[@]}" --target "$target" --locked -Zbuild-std=std,panic_abort
