"""Raw samples come back as they were, in little room."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nights import ticks_of

from bench.store.samples import pack_samples, unpack_samples


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_any_samples_come_back(samples):
    assert unpack_samples(pack_samples(samples)).tolist() == samples


@pytest.mark.parametrize("span", [255, 256, 65535, 65536, 2**32 - 1, 2**32])
def test_widths_at_their_ends(span):
    samples = [2**40, 2**40 + span]
    assert unpack_samples(pack_samples(samples)).tolist() == samples


def test_a_hundred_samples_of_a_board_are_small():
    samples = ticks_of(np.random.default_rng(1), 20000, 0.01)[0]
    assert len(pack_samples(samples)) < 2 * len(samples)


def test_negative_ticks_are_refused():
    with pytest.raises(ValueError, match="-1"):
        pack_samples([5, -1])
