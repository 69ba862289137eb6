"""EspTester: ExecuTorch's staged tester harness with the exporter's stages."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from executorch.backends.test.harness import Tester
from executorch.backends.test.harness.stages import (
    Export,
    Quantize,
    Serialize,
    Stage,
    StageType,
    ToEdge,
    ToExecutorch,
)
from executorch.exir import EdgeProgramManager
from numpy.typing import NDArray
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

from bench.errors import BenchError
from bench.espressif.edge import lower_multiplies, report_of, to_espnn_edge
from bench.espressif.multiply import EDGE_QUANTIZE
from bench.espressif.passes import EDGE_MUL_INT8
from bench.espressif.quantizer import EspNNQuantizer
from bench.espressif.report import Report
from bench.espressif.testing import MultiplyCase

RunOnBoard = Callable[
    [bytes, list[NDArray[np.generic]]], tuple[list[NDArray[np.generic]], int | None]
]
"""From a .pte and its inputs to its outputs, and the native kernel's calls, None if not counted."""


class EspExport(Export):  # type: ignore[misc]
    """Exports as ``torch.export.export`` does by default, and as users do.

    The harness's own stage traces by dynamo, which takes several times as long.
    """

    def run(self, artifact: torch.nn.Module, inputs: Any) -> None:
        """Export the model."""
        self.exported_program = torch.export.export(
            artifact, inputs, dynamic_shapes=self.dynamic_shapes, strict=False
        )


class EspRunPasses(Stage):  # type: ignore[misc]
    """Lowers the multiplies of an Edge program to the operator library."""

    def __init__(self) -> None:
        """Create the stage."""
        self._edge: EdgeProgramManager | None = None
        self.report = Report("operator-library")

    def stage_type(self) -> StageType:
        """Return RUN_PASSES."""
        return StageType.RUN_PASSES

    def run(self, artifact: EdgeProgramManager, inputs: Any = None) -> None:
        """Lower the program."""
        self._edge, self.report = lower_multiplies(artifact, "operator-library", strict=False)

    @property
    def artifact(self) -> EdgeProgramManager:
        """The lowered program."""
        return self._edge

    @property
    def graph_module(self) -> torch.fx.GraphModule:
        """Its graph."""
        return self.artifact.exported_program().graph_module


class EspToEdgeTransformAndLower(EspRunPasses):
    """Brings a program to the Edge dialect and lowers it to delegates, in one stage."""

    def stage_type(self) -> StageType:
        """Return TO_EDGE_TRANSFORM_AND_LOWER."""
        return StageType.TO_EDGE_TRANSFORM_AND_LOWER

    def run(
        self, artifact: ExportedProgram, inputs: Any = None, generate_etrecord: bool = False
    ) -> None:
        """Lower the program."""
        self._edge = to_espnn_edge(artifact, generate_etrecord=generate_etrecord)
        self.report = report_of(self._edge)


class EspSerialize(Serialize):  # type: ignore[misc]
    """Makes the .pte, and runs it on a board."""

    def __init__(self, run_on_board: RunOnBoard | None) -> None:
        """Take what runs a .pte; None for the virtual board."""
        super().__init__()
        self._run_on_board = run_on_board
        self.native_calls: int | None = None

    def run_artifact(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Run the .pte on the board; keeps how often the native kernel ran.

        Raises:
            BenchError: The virtual board cannot be built or started.
        """
        arrays = [tensor.detach().numpy() for tensor in tree_leaves(inputs)]
        with contextlib.ExitStack() as started:
            run = self._run_on_board
            if run is None:
                # The tester drives boards, of which the exporter itself knows nothing.
                from bench.runs.on_board import started_board

                run = started.enter_context(started_board())
            outputs, self.native_calls = run(self.artifact, arrays)
        return [torch.from_numpy(np.array(output)) for output in outputs]


class EspTester(Tester):  # type: ignore[misc]
    """Tests a model through the operator-library route, in the dialect and on a board."""

    def __init__(
        self,
        module: torch.nn.Module,
        example_inputs: tuple[torch.Tensor, ...],
        *,
        quantized: bool = False,
        calibration: Sequence[tuple[torch.Tensor, ...]] | None = None,
        dynamic_shapes: Any = None,
        run_on_board: RunOnBoard | None = None,
    ) -> None:
        """Create a tester.

        Args:
            module: The model.
            example_inputs: Inputs it is exported with and compared on.
            quantized: The module holds its quantizers already.
            calibration: Inputs to measure ranges with; the example inputs by default.
            dynamic_shapes: As ``torch.export.export`` takes them.
            run_on_board: Runs a .pte; by default on the virtual board, which is started for it.
                For another one see ``bench.runs.on_board.started_board``.
        """
        super().__init__(
            module,
            example_inputs,
            {
                StageType.QUANTIZE: lambda: Quantize(
                    EspNNQuantizer(), calibration_samples=calibration
                ),
                StageType.EXPORT: EspExport,
                StageType.TO_EDGE: ToEdge,
                StageType.RUN_PASSES: EspRunPasses,
                StageType.TO_EDGE_TRANSFORM_AND_LOWER: EspToEdgeTransformAndLower,
                StageType.TO_EXECUTORCH: ToExecutorch,
                StageType.SERIALIZE: lambda: EspSerialize(run_on_board),
            },
            dynamic_shapes,
        )
        self._quantized = quantized

    @classmethod
    def of_case(cls, case: MultiplyCase, run_on_board: RunOnBoard | None = None) -> EspTester:
        """Return a tester for a named case."""
        return cls(
            case.module(),
            case.inputs,
            quantized=True,
            dynamic_shapes=case.dynamic_shapes,
            run_on_board=run_on_board,
        )

    @property
    def report(self) -> Report:
        """What became of each multiply.

        Raises:
            BenchError: The passes did not run yet.
        """
        passes = self.stages[StageType.RUN_PASSES]
        if passes is None:
            raise BenchError("no lowering report yet: call test_dialect() or run_passes() first")
        report: Report = passes.report
        return report

    def test_dialect(
        self,
        operators_before: Mapping[Any, int],
        operators_after: Mapping[Any, int],
        qtol: int = 1,
    ) -> EspTester:
        """Check the lowered Edge program.

        Args:
            operators_before: Edge operators and how many of them there are before the passes.
                Operators are targets of nodes, or names as ``check_count`` takes them.
            operators_after: The same, after the passes.
            qtol: Largest difference from the quantized model's outputs allowed, in output steps.

        Raises:
            AssertionError: The counts or the outputs are not as expected.
        """
        if not self._quantized:
            self.quantize()
        self.export()
        self.to_edge()
        self._check_operators(operators_before)
        self.run_passes()
        self._check_operators(operators_after)
        return self._compare_with_quantized(qtol)

    def test_implementation(self, qtol: int = 1) -> EspTester:
        """Check the .pte on the board.

        Its outputs must be within ``qtol`` output steps of the quantized model's, and the native
        kernel must have run once for each lowered multiply. If the program quantizes nothing in
        float32, the outputs must also equal the lowered Edge program's exactly.
        (The runtime's quantizer divides by the scale as PyTorch's does not: ties may fall
        otherwise.) May follow ``test_dialect`` on the same tester.

        Raises:
            AssertionError: Something is not so.
            BenchError: The board cannot be started.
        """
        if self.stages[StageType.RUN_PASSES] is None:
            self.test_dialect({}, {}, qtol)
        lowered = self.stages[StageType.RUN_PASSES]
        # Before to_executorch: that puts the runtime's kernels into this very graph.
        expected = tree_leaves(lowered.run_artifact(self.example_inputs))
        targets = [node.target for node in lowered.graph_module.graph.nodes]
        self.to_executorch()
        self.serialize()
        board = self.stages[StageType.SERIALIZE]
        got = board.run_artifact(self.example_inputs)
        native = targets.count(EDGE_MUL_INT8)
        if board.native_calls not in (None, native):
            raise AssertionError(
                f"the native kernel ran {board.native_calls} times, the program calls it {native} "
                "times"
            )
        if EDGE_QUANTIZE not in targets:
            torch.testing.assert_close(
                got, expected, rtol=0, atol=0, msg=lambda text: f"board against dialect: {text}"
            )
        return self._compare_with_quantized(qtol)

    def _check_operators(self, counts: Mapping[Any, int]) -> None:
        self.check_node_count({op: n for op, n in counts.items() if not isinstance(op, str)})
        # Not by the harness's check_count: its error is no AssertionError and gives no count.
        code = self.stages[self.cur].graph_module.code
        for name, count in counts.items():
            if isinstance(name, str) and code.count(name) != count:
                raise AssertionError(f"Expected {count} {name} but found {code.count(name)}.")

    def _compare_with_quantized(self, qtol: int) -> EspTester:
        # A step of the output is at least 1/255 of a value: rtol only lets float32 round.
        self.run_method_and_compare_outputs(
            inputs=self.example_inputs, qtol=qtol, atol=0, rtol=1e-6
        )
        return self

    @staticmethod
    def _calculate_reference_output(program: ExportedProgram, inputs: Any) -> tuple[Any, Any]:
        # The harness patches the program it is given and leaves it so.
        result: tuple[Any, Any] = Tester._calculate_reference_output(copy.deepcopy(program), inputs)
        return result
