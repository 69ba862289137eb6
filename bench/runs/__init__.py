"""Runs cases on a board: streams inputs, starts kernels, fetches and judges outputs."""
