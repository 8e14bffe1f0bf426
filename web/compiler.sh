# shellcheck shell=bash
# What compiles for WebAssembly: sourced by `web/build.sh` and `.ci/web.sh`, from the repository's folder. Sets `web_target`, the folder of what is built, and defines `web_cargo`
# and `web_bindgen`.
#
# Rustup's target is taken where it is installed; elsewhere Debian's compiler builds the standard library itself, from the sources that its archive has.

if rustup target list --installed 2>/dev/null | grep -qx wasm32-unknown-unknown; then
  web_target="${CARGO_TARGET_DIR:-target}"
  web_cargo() { cargo "$@"; }
else
  # Debian's own `rustc` and `rust-src` are too old; these are what it builds browsers with.
  debian=(rustc-web libstd-rust-web-dev rust-web-src lld-22)
  if ! dpkg-query -W "${debian[@]}" >/dev/null 2>&1; then
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then as_root="sudo"; fi
    $as_root apt-get -qq update
    DEBIAN_FRONTEND=noninteractive $as_root apt-get -qq install -y --no-install-recommends "${debian[@]}" >/dev/null
  fi
  # Its version is not that of other builds, so neither are its files. Without a release of its own it takes what is not stable yet.
  web_target="${CARGO_TARGET_DIR:-target}/web"
  web_cargo() {
    CARGO_TARGET_DIR="$web_target" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22 \
      cargo "$@" -Zbuild-std=std,panic_abort
  }
fi

# Writes the glue of a module into a folder: `web_bindgen MODULE FOLDER`. It is written by exactly the version that the module was compiled with.
web_bindgen() {
  local version bindgen=wasm-bindgen tools="${CARGO_TARGET_DIR:-target}/tools"
  version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)
  if [ "$("$bindgen" --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
    bindgen="$tools/bin/wasm-bindgen"
    if [ "$("$bindgen" --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
      # It runs for seconds, so optimising it for minutes does not pay.
      CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install wasm-bindgen-cli --version "$version" --root "$tools"
    fi
  fi
  "$bindgen" --target web --no-typescript --out-dir "$2" --out-name compiler "$1"
}
