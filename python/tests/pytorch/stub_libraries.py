"""Makes empty libraries in the place of NVIDIA's, so that the CUDA build of PyTorch, the only one on PyPI for Linux, can be imported without them.

    python stub_libraries.py FOLDER     # then LD_LIBRARY_PATH=FOLDER python ..

Each function of such a library returns an error. Needs `cc` and `readelf`; nothing of NVIDIA or PyTorch is copied.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys

# Which names belong to which library where a symbol has no version.
_FAMILIES = {
    "libcublasLt": "cublasLt",
    "libcublas": "cublas(?!Lt)",
    "libcudart": "cuda[A-Z]|__cuda",
    "libcudnn": "cudnn",
    "libcufft": "cufft",
    "libcufile": "cuFile",
    "libcupti": "cupti",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparseLt": "cusparseLt",
    "libcusparse": "cusparse(?!Lt)",
    "libnccl": "nccl|_Z.*nccl",
    "libnvrtc": "nvrtc",
    "libnvshmem": "nvshmem|_Z.*nvshmem",
}
# Functions that are called while PyTorch is imported, or by its profiler.
_BODIES = {
    "cudaGetDeviceCount": "int {}(int *n) {{ if (n) *n = 0; return 100; }}",
    "cudaGetDevice": "int {}(int *n) {{ if (n) *n = 0; return 100; }}",
    "cudaDriverGetVersion": "int {}(int *n) {{ if (n) *n = 0; return 0; }}",
    "cudaRuntimeGetVersion": "int {}(int *n) {{ if (n) *n = 13000; return 0; }}",
    "cudaGetErrorString": 'const char *{}(int e) {{ return "there is no CUDA"; }}',
    "cudaGetErrorName": 'const char *{}(int e) {{ return "cudaErrorNoDevice"; }}',
    "cudaGetLastError": "int {}(void) {{ return 0; }}",
    "cudaPeekAtLastError": "int {}(void) {{ return 0; }}",
    "cuptiGetResultString": 'int {}(int e, const char **text) {{ *text = "there is no CUDA"; return 0; }}',
    "__cudaRegisterFatBinary": "static void *handle; void *{}(void *p) {{ return &handle; }}",
}


def symbols(libraries):
    """The libraries that are needed, the symbols that are not defined (name: version, kind), and the names that are."""
    needed, wanted, defined = set(), {}, set()
    for library in libraries:
        text = subprocess.run(["readelf", "-dW", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
        needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
        for line in text.splitlines():
            columns = line.split()
            if len(columns) < 8 or not columns[0].endswith(":"):
                continue
            name, _, version = columns[7].partition("@")
            if columns[6] == "UND":
                wanted[name] = (version.lstrip("@"), columns[3])
            else:
                defined.add(name)
    return needed, {name: what for name, what in wanted.items() if name not in defined}


def belongs(name: str, version: str, library: str) -> bool:
    """Whether a symbol is of a library: by its version, or else by its name."""
    if version.startswith("lib"):
        return version == library
    stem = library.split(".")[0].split("_")[0]
    return stem in _FAMILIES and re.match(_FAMILIES[stem], name) is not None


def write(library: str, names: dict, folder: pathlib.Path) -> None:
    """Compiles one library."""
    source, versions = ["int girih_stub;"], {}
    for name, (version, kind) in sorted(names.items()):
        source.append(f"void *{name}[64];" if kind == "OBJECT" else _BODIES.get(name, "int {}(void) {{ return 1; }}").format(name))
        versions.setdefault(version, []).append(name)
    code, script = folder / f"{library}.c", folder / f"{library}.map"
    code.write_text("\n".join(source))
    lines = [f"{version} {{ global: {'; '.join(names)}; }};" for version, names in versions.items() if version]
    script.write_text("\n".join(lines))
    flags = [f"-Wl,--version-script={script}"] if lines else []
    command = ["cc", "-shared", "-fPIC", "-nostdlib", "-w", "-fno-builtin", code, f"-Wl,-soname,{library}", *flags, "-o", folder / library]
    subprocess.run(command, check=True)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # The package is found without being imported, which would fail.
    found = pathlib.Path(importlib.util.find_spec("torch").origin).parent / "lib"
    libraries = sorted(found.glob("*.so*"))
    needed, wanted = symbols(libraries)
    present = {library.name for library in libraries}
    for library in sorted(name for name in needed - present if re.match("lib(cu|nccl|nv)", name)):
        mine = {name: what for name, what in wanted.items() if belongs(name, what[0], library)}
        write(library, mine, folder)


if __name__ == "__main__":
    main()
