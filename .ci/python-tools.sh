# shellcheck shell=bash
# To be sourced: puts maturin, and a Python with NumPy, pytest and Dask, on the path. They come from PyPI into a virtual environment outside of the repository
# (GIRIH_TOOLS, or the user's cache), once.
girih_python="${GIRIH_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/girih-tools}/python"
if [ ! -e "$girih_python/ready-2" ]; then
  python3 -m venv "$girih_python"
  "$girih_python/bin/pip" install --quiet --disable-pip-version-check 'maturin==1.16.0' 'numpy>=2,<3' 'pytest>=8,<10' 'distributed>=2025'
  touch "$girih_python/ready-2"
fi
export PATH="$girih_python/bin:$PATH"
