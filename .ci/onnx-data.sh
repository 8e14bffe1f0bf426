# shellcheck shell=bash
# Makes the test data of ONNX's standard by its Python package, and exports GIRIH_ONNX_DATA. To be sourced.
#
# The package comes from PyPI into a virtual environment outside of the repository (GIRIH_TOOLS, or the user's cache), once; so do the data.

girih_onnx_data() {
  local version=1.23.2
  local folder="${GIRIH_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/girih-tools}/onnx-$version"
  if [ ! -d "$folder/data" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "onnx==$version" 'numpy>=2,<3' >&2
    PYTHONWARNINGS=ignore "$folder/bin/python" nn/tests/onnx_data.py "$folder/new"
    mv "$folder/new" "$folder/data"
  fi
  export GIRIH_ONNX_DATA="$folder/data"
}
girih_onnx_data
