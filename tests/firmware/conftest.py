from __future__ import annotations

import pytest
from firmware_kernels import HERE, Kernels, compile_kernels

from bench.lab.build import HostBuild, build_host


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    made = tmp_path_factory.mktemp("kernels") / "kernels.so"
    return Kernels(compile_kernels(made, "-O2", "-fPIC", "-shared", HERE / "c_api.cpp"))


@pytest.fixture(scope="session")
def host_build() -> HostBuild:
    return build_host()
