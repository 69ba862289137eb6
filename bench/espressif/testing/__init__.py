"""The exporter's named test cases, for the dialect and for boards alike."""

from __future__ import annotations

from bench.espressif.testing.cases import CASES, MultiplyCase

__all__ = ["CASES", "MultiplyCase"]
