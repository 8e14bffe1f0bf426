"""Devices and their memory."""

import pickle

import girih
import numpy as np
import pytest


def test_a_name_gives_the_same_device(device):
    assert girih.Device(device.name) == device
    assert pickle.loads(pickle.dumps(device)) == device
    assert device.kind in ("cpu", "cuda", "wgpu", "interpreter")


def test_an_unknown_name_is_refused():
    with pytest.raises(girih.Error, match="`gpu` is not a device"):
        girih.Device("gpu")


def test_bytes_go_to_any_place_and_back(device):
    buffer = device.allocate(11)
    buffer.clear()
    buffer.write(b"ab", 1)
    buffer.write(memoryview(b"z"), 10)
    assert buffer.read() == b"\0ab\0\0\0\0\0\0\0z"
    assert buffer.read(1, 2) == b"ab"
    room = bytearray(3)
    buffer.read_into(room, 8)
    assert room == b"\0\0z"


def test_copies_may_overlap_and_be_at_odd_places(device):
    buffer = device.allocate(8)
    buffer.write(b"abcdefgh")
    buffer.copy_from(buffer, 0, 1, 5)
    assert buffer.read() == b"aabcdegh"
    other = device.allocate(8)
    other.copy_from(buffer)
    other.clear(2, 3)
    assert other.read() == b"aa\0\0\0egh"


def test_a_part_shares_the_memory(device):
    buffer = device.allocate(16)
    part = buffer.slice(4, 8)
    part.write(bytes(range(8)))
    assert buffer.read(4, 8) == bytes(range(8))
    assert part.address == buffer.address + 4 and part.nbytes == 8


def test_what_is_outside_is_refused(device):
    buffer = device.allocate(8)
    for wrong in (lambda: buffer.slice(4, 8), lambda: buffer.read(9, 0), lambda: buffer.write(b"123", 6)):
        with pytest.raises(girih.Error, match="not in a buffer of 8 bytes"):
            wrong()


def test_an_array_with_gaps_is_refused(device):
    with pytest.raises(girih.Error, match="side by side"):
        device.allocate(16).write(np.zeros((4, 4), np.uint8)[:, ::2])


def test_memory_is_counted(device):
    before = device.memory()["live"]
    buffer = device.allocate(1 << 16)
    assert device.memory()["live"] >= before + (1 << 16)
    del buffer
    assert device.memory()["live"] == before


def test_devices_are_listed():
    names = [found["name"] for found in girih.devices()]
    assert "cpu" in names and "interpreter" in names
