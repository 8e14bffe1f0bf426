"""The stand-in for the module `triton`, as libraries find it that look for Triton."""

import girih.torch  # noqa: F401
import pytest
from girih.torch import triton_names

if not triton_names.is_stand_in():
    pytest.skip("Triton itself is installed", allow_module_level=True)


def test_kernels_of_other_libraries_say_what_to_import():
    import triton
    import triton.language as tl

    @triton.jit
    def plain(x, BLOCK: tl.constexpr):
        pass

    @triton.jit(do_not_specialize=["x"])
    def with_options(x, BLOCK: tl.constexpr):
        pass

    for kernel, name in ((plain, "plain"), (with_options, "with_options")):
        for launch in (lambda: kernel[(1,)](1, BLOCK=2), lambda: kernel(1, BLOCK=2)):
            with pytest.raises(RuntimeError, match=f"`{name}` of Triton cannot be run: .*import `girih.triton`"):
                launch()
    with pytest.raises(RuntimeError, match="`arange` of Triton cannot be run"):
        tl.arange(0, 4)
    assert triton.is_stand_in
