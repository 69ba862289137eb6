"""What a test needs of the machine that pip cannot bring."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """Skip the test and say why; in CI, where everything was installed, fail it."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)
