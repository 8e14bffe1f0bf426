# shellcheck shell=bash
# Fetches the test data of ONNX's standard, and exports GIRIH_ONNX_DATA. To be sourced after `. .ci/python-tools.sh`.
#
# They are in a Python wheel, the last one that has those of all operators. They come into a folder outside of the repository (GIRIH_TOOLS, or the user's cache), once.

girih_onnx_data() {
  local version=1.16.2
  local folder="${GIRIH_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/girih-tools}/onnx-$version"
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    # Nothing of the wheel is run, so any Python's will do.
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 --implementation cp --abi cp311 \
      --platform manylinux2014_x86_64 --dest "$folder.new" "onnx==$version" >&2
    python3 -m zipfile -e "$folder.new"/*.whl "$folder.new"
    rm "$folder.new"/*.whl
    mv "$folder.new" "$folder"
  fi
  export GIRIH_ONNX_DATA="$folder/onnx/backend/test/data"
}
girih_onnx_data
