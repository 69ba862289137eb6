"""``rfc2217://`` URLs are opened with the bench's fast client."""

from bench.lab.rfc2217 import Serial

__all__ = ["Serial"]
