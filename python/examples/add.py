"""The devices of this machine, and the sum of two arrays on one of them: `python add.py [--device NAME]`."""

import argparse

import girih
import girih.triton as triton
import girih.triton.language as tl
import numpy as np


@girih.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", help="cpu, cuda, wgpu, ..; the best there is if absent")
    girih.use(options.parse_args().device)

    for found in girih.devices():
        print(f"{found['name']:12} {found['description']}{'' if found['problem'] is None else ': ' + found['problem']}")

    x = np.arange(1_000_000, dtype=np.float32)
    y = np.ones_like(x)
    out = np.empty_like(x)
    add[lambda args: (triton.cdiv(args["n"], args["BLOCK"]),)](x, y, out, x.size, BLOCK=1024)
    assert (out == x + y).all()
    print(f"added {x.size} numbers on {girih.default_device().description}")


if __name__ == "__main__":
    main()
