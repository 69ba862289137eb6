"""Models by name or path: files with ``build()``, ``example_inputs()`` and ``calibration()``.

Listing them imports neither torch nor any model.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError, first_line
from bench.paths import project_root

if TYPE_CHECKING:
    import torch

_FUNCTIONS = ("build", "example_inputs", "calibration")


@dataclass(frozen=True)
class Model:
    """A model and its inputs, checked.

    Attributes:
        name: The file's name without ``.py``.
        path: The file.
        module: The float32 model, in evaluation mode.
        example_inputs: Inputs that fix the program's shapes.
        calibration: Inputs to measure ranges with.
        expect: How many multiplies the operator-library route lowers (``"lowered"``) and keeps
            (``"portable"``), None if the file does not say.
    """

    name: str
    path: Path
    module: torch.nn.Module
    example_inputs: tuple[torch.Tensor, ...]
    calibration: list[tuple[torch.Tensor, ...]]
    expect: dict[str, int] | None


def list_models() -> list[str]:
    """Return the names of the models in the project's models/ folder, sorted."""
    return sorted(path.stem for path in _folder().glob("*.py") if not path.stem.startswith("_"))


def load_model(name_or_path: str | Path) -> Model:
    """Load a model by its name in models/, or by the path of a file.

    Raises:
        BenchError: There is no such model, its file fails, or what it gives does not fit together.
    """
    path = find_model(str(name_or_path))
    file = _import(path)
    for function in _FUNCTIONS:
        if not callable(getattr(file, function, None)):
            raise BenchError(f"{path}: has no function {function}(); see models/README.md")

    import torch

    module = _call(path, file.build)
    if not isinstance(module, torch.nn.Module):
        raise BenchError(f"{path}: build() returned a {_type(module)}, not a torch.nn.Module")
    example = _tensors(path, "example_inputs()", _call(path, file.example_inputs))
    samples = _call(path, file.calibration)
    if not isinstance(samples, list) or not samples:
        raise BenchError(f"{path}: calibration() must return a list of at least one tuple")
    calibration = [
        _tensors(path, f"calibration()[{index}]", sample) for index, sample in enumerate(samples)
    ]
    for index, sample in enumerate(calibration):
        _check_alike(path, f"calibration()[{index}]", sample, example)
    module.eval()
    try:
        with torch.no_grad():
            outputs = module(*example)
    except (Exception, SystemExit) as error:
        raise BenchError(
            f"{path}: the model does not run on its example inputs: {first_line(error)}"
        ) from error
    _check_outputs(path, outputs)
    return Model(path.stem, path, module, example, calibration, _expectation(path, file))


def _folder() -> Path:
    return project_root() / "models"


def find_model(name_or_path: str) -> Path:
    """Return the file of a model by its name in models/ or its path, without importing it.

    Raises:
        BenchError: There is no such model; names those there are.
    """
    if name_or_path.endswith(".py") or "/" in name_or_path:
        path = Path(name_or_path)
        if not path.is_file():
            raise BenchError(f"no model file {path}")
        return path.resolve()
    path = _folder() / f"{name_or_path}.py"
    if name_or_path not in list_models():
        raise BenchError(
            f"no model {name_or_path!r}: choose from {', '.join(list_models()) or 'none'}, "
            "or give the path of a file"
        )
    return path


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bench_model_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BenchError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BenchError(f"{path}: {first_line(error)}") from error
    return module


def _call(path: Path, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise BenchError(f"{path}: {function.__name__}() failed: {first_line(error)}") from error


def _tensors(path: Path, what: str, value: Any) -> tuple[torch.Tensor, ...]:
    import torch

    if not isinstance(value, tuple) or not all(isinstance(x, torch.Tensor) for x in value):
        raise BenchError(f"{path}: {what} must be a tuple of tensors, not a {_type(value)}")
    for tensor in value:
        if tensor.numel() == 0:
            raise BenchError(f"{path}: {what} has an empty tensor of shape {list(tensor.shape)}")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BenchError(f"{path}: {what} has values that are not finite")
    if not value:
        raise BenchError(f"{path}: {what} is empty: a program needs at least one input")
    return value


def _check_outputs(path: Path, outputs: Any) -> None:
    import torch

    given = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    wrong = next((_type(o) for o in given if not isinstance(o, torch.Tensor)), None)
    if wrong is not None or not given:
        raise BenchError(
            f"{path}: the model must return a tensor or a tuple of tensors, not "
            f"{wrong or 'nothing'}"
        )


def _check_alike(
    path: Path, what: str, sample: tuple[torch.Tensor, ...], example: tuple[torch.Tensor, ...]
) -> None:
    have = [(list(t.shape), str(t.dtype)) for t in sample]
    want = [(list(t.shape), str(t.dtype)) for t in example]
    if have != want:
        raise BenchError(f"{path}: {what} is {have}, but example_inputs() is {want}")


def _expectation(path: Path, file: ModuleType) -> dict[str, int] | None:
    expect = getattr(file, "EXPECT", None)
    if expect is None:
        return None
    if not isinstance(expect, dict) or set(expect) != {"lowered", "portable"}:
        raise BenchError(f'{path}: EXPECT must be {{"lowered": N, "portable": M}}, not {expect!r}')
    return {key: int(count) for key, count in expect.items()}


def _type(value: Any) -> str:
    return type(value).__name__
