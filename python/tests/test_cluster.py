"""Functions and shaders in the workers of a Dask cluster, each a process with its own device. A worker that is killed is replaced, and nothing is lost."""

import os
import signal

import girih
import numpy as np
import pytest

if os.environ.get("GIRIH_REQUIRE_PYTHON"):
    import distributed
else:
    distributed = pytest.importorskip("distributed")

SIZE, FRAMES = (24, 16), 40
# Seconds; only ends what hangs.
PATIENCE = 300
SHADER = """
def shader(x: u24, y: u24, t: f24) -> u24:
  return x * 3 + y * 5 + f24/to_u24(t * 10.0)
"""
SQUARES = """
def squares(depth: u24, n: u24) -> u24:
  switch depth:
    case 0:
      return n * n % 101
    case _:
      return squares(depth-1, n * 2) + squares(depth-1, n * 2 + 1)
"""


def _framed(text, size):
    """A function inside of another one is pickled by its code: workers do not know this file."""

    def frame(number):
        return girih.render(text=text, size=size, time=number / 10)

    return frame


frame = _framed(SHADER, SIZE)


def squares(depth, n):
    return sum(i * i % 101 for i in range(n << depth, n + 1 << depth))


@pytest.fixture
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def _all(futures):
    return [future.result(timeout=PATIENCE) for future in futures]


def test_workers_render_frames_and_sum_a_map(client):
    frames = _all(client.map(frame, range(FRAMES)))
    assert len({bytes(picture) for picture in frames}) == FRAMES
    assert all((picture == frame(number)).all() for number, picture in enumerate(frames))
    program = girih.bend(text=SQUARES, device="cpu")
    total = client.submit(sum, client.map(program.squares, [6] * FRAMES, range(FRAMES)))
    assert total.result(timeout=PATIENCE) == sum(squares(6, n) for n in range(FRAMES))


def test_a_worker_that_is_killed_is_replaced(client):
    before = set(client.run(os.getpid).values())
    futures = client.map(frame, range(FRAMES))
    os.kill(min(before), signal.SIGKILL)
    assert all((picture == frame(number)).all() for number, picture in enumerate(_all(futures)))
    client.wait_for_workers(2, timeout=PATIENCE)
    assert len(set(client.run(os.getpid).values()) - before) == 1
    assert np.array(_all(client.map(frame, [0, 1]))).shape == (2, SIZE[1], SIZE[0], 4)
