"""What all tests share: the devices of this machine that they run on, which `GIRIH_TEST_DEVICES` names."""

import os

import girih
import pytest

DEVICES = os.environ.get("GIRIH_TEST_DEVICES", "cpu").split(",")


@pytest.fixture(params=DEVICES)
def device(request):
    return girih.Device(request.param)
