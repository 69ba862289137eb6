"""Where the project's folders are: models/, boards/, firmware/, results/, build/."""

from __future__ import annotations

from pathlib import Path

from bench.errors import BenchError


def project_root() -> Path:
    """Return the checkout the package runs from.

    The bench builds firmware and reads models from its checkout, so it is installed editable.

    Raises:
        BenchError: The package was installed without its checkout.
    """
    root = Path(__file__).resolve().parent.parent
    if not (root / "firmware").is_dir():
        raise BenchError(
            f"no firmware/ beside {root / 'bench'}: install from a checkout with 'pip install -e .'"
        )
    return root
