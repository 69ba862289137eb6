"""Quantize and export a model in one call."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from executorch.exir import EdgeProgramManager
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs
from executorch.exir.schema import Operator
from numpy.typing import NDArray
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer

from bench.errors import BenchError, first_line
from bench.espressif.edge import lower_multiplies, to_delegates, to_portable_edge
from bench.espressif.graph import arguments, is_static, source_line
from bench.espressif.multiply import EDGE_DEQUANTIZE, EDGE_QUANTIZE
from bench.espressif.quantizer import EspNNQuantizer
from bench.espressif.report import ROUTES, Report, Route
from bench.numerics import QParams

_QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default

Inputs = Sequence[torch.Tensor]
Arrays = Sequence[NDArray[np.generic]]


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of an exported program.

    Attributes:
        shape: Its sizes.
        dtype: Its numpy type name, ``"int8"`` if the program takes or gives it quantized.
        qparams: What its int8 values mean, None if it is not quantized.
    """

    shape: tuple[int, ...]
    dtype: str
    qparams: QParams | None


@dataclass(frozen=True)
class ExportResult:
    """An exported program and what is known about it.

    Attributes:
        route: How it was exported.
        pte: The .pte file's bytes; equal for equal models and calibration.
        report: What became of each multiply.
        inputs: The program's inputs, int8 where the graph allows it.
        outputs: The program's outputs, likewise.
        example: The example inputs as the program takes them.
        reference: Runs the lowered program eagerly: multiplies by the integer contract, all else
            by PyTorch's operators. Takes and returns arrays as the program does.
        operators: Operators in the .pte, each with its number of calls.
        delegate_calls: Calls of delegates in the .pte.
        planned_bytes: Memory that the program plans for its tensors.
        changed_buffers: Buffers of the model that the program changes when it runs. ExecuTorch
            starts them at zero, whatever the model has in them.
    """

    route: Route
    pte: bytes
    report: Report
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    example: tuple[NDArray[np.generic], ...]
    reference: Callable[[Arrays], list[NDArray[np.generic]]]
    operators: dict[str, int]
    delegate_calls: int
    planned_bytes: int
    changed_buffers: tuple[str, ...]

    def as_taken(self, inputs: Inputs) -> tuple[NDArray[np.generic], ...]:
        """Return float inputs as the program takes them: quantized where it takes int8.

        Raises:
            BenchError: Their number or shapes are not the program's.
        """
        _check_like("inputs", inputs, [info.shape for info in self.inputs])
        return tuple(
            _quantized(tensor, info) for tensor, info in zip(inputs, self.inputs, strict=True)
        )


def export_model(
    model: torch.nn.Module,
    example_inputs: Inputs,
    calibration: Sequence[Inputs] | None = None,
    route: Route = "delegate",
    strict: bool = False,
    *,
    quantizer: Quantizer | None = None,
) -> ExportResult:
    """Quantize a model, lower its multiplies and make a .pte of it.

    Args:
        model: A float32 model.
        example_inputs: Tensors that it takes; they fix the program's shapes.
        calibration: Inputs to measure ranges with; the example inputs by default.
        route: ``"portable"``, ``"operator-library"`` or ``"delegate"``, as ``to_espnn_edge`` does
            by default.
        strict: Make it an error if a quantized multiply is not lowered.
        quantizer: Annotates the model; an ``EspNNQuantizer`` by default.

    Raises:
        StrictError: ``strict``, and a quantized multiply was not lowered.
        BenchError: The model cannot be exported, or inputs do not fit; one line says why.
    """
    if route not in ROUTES:
        raise BenchError(f"unknown route {route!r}: choose from {', '.join(ROUTES)}")
    program = quantize_model(model, example_inputs, calibration, quantizer=quantizer)
    return export_quantized(program, example_inputs, route, strict)


def quantize_model(
    model: torch.nn.Module,
    example_inputs: Inputs,
    calibration: Sequence[Inputs] | None = None,
    *,
    quantizer: Quantizer | None = None,
) -> ExportedProgram:
    """Quantize a model by PT2E and return it in ATen dialect, ready for any route.

    Raises:
        BenchError: As ``export_model``.
    """
    if not isinstance(model, torch.nn.Module):
        raise BenchError(f"the model is a {type(model).__name__}, not a torch.nn.Module")
    example = _checked_example(example_inputs)
    samples = [example] if calibration is None else list(calibration)
    if not samples:
        raise BenchError("no calibration inputs: give at least one, or None for the example")
    shapes = [tuple(tensor.shape) for tensor in example]
    for index, sample in enumerate(samples):
        _check_like(f"calibration inputs {index}", sample, shapes)
        if any(have.dtype != want.dtype for have, want in zip(sample, example, strict=True)):
            raise BenchError(f"calibration inputs {index}: types differ from the example inputs'")

    training = {part: part.training for part in model.modules()}
    try:
        captured = _export(model.eval(), example).module()
    finally:
        for part, mode in training.items():
            part.training = mode
    prepared = prepare_pt2e(captured, quantizer or EspNNQuantizer())
    with torch.no_grad():
        for index, sample in enumerate(samples):
            try:
                prepared(*sample)
            except Exception as error:
                # As in _export: the model may raise anything.
                raise BenchError(
                    f"the model does not run on calibration inputs {index}: {first_line(error)}"
                ) from error
    try:
        converted = convert_pt2e(prepared)
    except (AssertionError, ValueError) as error:
        raise BenchError(
            f"no scales follow from the calibration ({first_line(error)}): look for NaN in its "
            "inputs or in what the model makes of them"
        ) from error
    _check_scales(converted)
    return _export(converted, example)


def export_quantized(
    program: ExportedProgram,
    example_inputs: Inputs,
    route: Route,
    strict: bool = False,
    *,
    portable_edge: EdgeProgramManager | None = None,
) -> ExportResult:
    """Lower a quantized program and make a .pte of it.

    Args:
        program: The program in ATen dialect.
        example_inputs: Tensors that it takes.
        route: How to lower it.
        strict: Make it an error if a quantized multiply is not lowered.
        portable_edge: What ``to_portable_edge`` made of the program, where several routes share it:
            making it takes most of an export's time. It is left as it is.

    Raises:
        BenchError: As ``export_model``.
    """
    fresh = copy.deepcopy(portable_edge) if portable_edge else to_portable_edge(program)
    edge, report = lower_multiplies(fresh, route, strict=strict)
    edge, inputs, outputs = _quantize_io(edge)
    # torch.export's own program does not list what it writes in place.
    changed = edge.exported_program().graph_signature.buffers_to_mutate
    undelegated = edge.exported_program().module()
    if route == "delegate":
        edge = to_delegates(edge)
    try:
        executorch = edge.to_executorch()
    except RuntimeError as error:
        raise BenchError(f"no ExecuTorch program can be made: {first_line(error)}") from error
    pte = bytes(executorch.buffer)
    plan = deserialize_pte_binary(pte).program.execution_plan[0]
    calls = [instruction.instr_args for chain in plan.chains for instruction in chain.instructions]
    operators = Counter(
        operator_name(plan.operators[call.op_index]) for call in calls if hasattr(call, "op_index")
    )
    return ExportResult(
        route=route,
        pte=pte,
        report=report,
        inputs=inputs,
        outputs=outputs,
        example=tuple(
            _quantized(tensor, info) for tensor, info in zip(example_inputs, inputs, strict=True)
        ),
        reference=_reference(undelegated),
        operators=dict(sorted(operators.items())),
        delegate_calls=sum(hasattr(call, "delegate_index") for call in calls),
        planned_bytes=sum(plan.non_const_buffer_sizes),
        changed_buffers=tuple(changed.values()),
    )


def operator_name(operator: Operator) -> str:
    """Return the name of a .pte's operator as the runtime's registry has it."""
    return f"{operator.name}.{operator.overload}" if operator.overload else str(operator.name)


def _check_scales(converted: torch.fx.GraphModule) -> None:
    for node in converted.graph.nodes:
        if node.target == _QUANTIZE and not 0 < node.args[1] < math.inf:
            where = source_line(node.args[0])
            raise BenchError(
                f"calibration gives the scale {node.args[1]!r}"
                + (f" for the value made at {where[0]}:{where[1]}" if where else "")
                + ": its range must be finite in float32, give smaller inputs"
            )


def _checked_example(example_inputs: Inputs) -> tuple[torch.Tensor, ...]:
    if isinstance(example_inputs, torch.Tensor) or not isinstance(example_inputs, Sequence):
        raise BenchError("example inputs must be a tuple of tensors")
    for index, tensor in enumerate(example_inputs):
        if not isinstance(tensor, torch.Tensor):
            raise BenchError(f"example input {index} is a {type(tensor).__name__}, not a tensor")
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            name = str(tensor.dtype).removeprefix("torch.")
            raise BenchError(
                f"example input {index} is {name}: only float32 can be quantized, convert the "
                "model and its inputs with .float()"
            )
    # torch.export makes one input of a tensor that is given twice.
    return tuple(tensor.detach().clone() for tensor in example_inputs)


def _check_like(what: str, inputs: Inputs, shapes: Sequence[tuple[int, ...]]) -> None:
    if isinstance(inputs, torch.Tensor) or not isinstance(inputs, Sequence):
        raise BenchError(f"{what} must be a tuple of tensors")
    got = [tuple(tensor.shape) for tensor in inputs if isinstance(tensor, torch.Tensor)]
    if len(got) != len(inputs):
        raise BenchError(f"{what} must be tensors")
    if len(got) != len(shapes):
        raise BenchError(f"{what}: {len(got)} tensors where the model takes {len(shapes)}")
    for index, (have, want) in enumerate(zip(got, shapes, strict=True)):
        if have != want:
            raise BenchError(f"{what}: tensor {index} has the shape {list(have)}, not {list(want)}")


def _export(model: torch.nn.Module, example: tuple[torch.Tensor, ...]) -> ExportedProgram:
    try:
        return torch.export.export(model, example)
    except Exception as error:
        # torch.export raises whatever the model raises, so nothing narrower catches it.
        raise BenchError(f"torch.export cannot export the model: {first_line(error)}") from error


def _quantize_io(
    edge: EdgeProgramManager,
) -> tuple[EdgeProgramManager, tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Let the program take and give int8 wherever it begins by quantizing, ends by dequantizing."""
    program = edge.exported_program()
    names = program.graph_signature.user_inputs
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    takes = [_taken_qparams(placeholders[name]) for name in names]
    results = _outputs(program)
    gives = [_qparams(node) if node.target == EDGE_DEQUANTIZE else None for node in results]
    input_indices = [index for index, qparams in enumerate(takes) if qparams is not None]
    # What the program writes to its buffers stands in front of what it returns.
    written = len(program.graph.output_node().args[0]) - len(results)
    output_indices = [written + index for index, q in enumerate(gives) if q is not None]
    edge = edge.transform(
        [
            QuantizeInputs(None, input_indices, exported_program=program),
            QuantizeOutputs(None, output_indices, exported_program=program),
        ]
    )
    program = edge.exported_program()
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    inputs = [placeholders[name] for name in program.graph_signature.user_inputs]
    outputs = _outputs(program)
    return (
        edge,
        tuple(_info("input", i, node, takes[i]) for i, node in enumerate(inputs)),
        tuple(_info("output", i, node, gives[i]) for i, node in enumerate(outputs)),
    )


def _outputs(program: ExportedProgram) -> list[Node]:
    """Return what the program returns, without what it writes to its buffers."""
    results = list(program.graph.output_node().args[0])
    results = results[len(results) - len(program.graph_signature.user_outputs) :]
    for index, result in enumerate(results):
        if not isinstance(result, Node):
            raise BenchError(f"output {index} is {result!r}, not a tensor: return tensors only")
    return results


def _taken_qparams(placeholder: Node) -> QParams | None:
    """Return the parameters of the one quantizer that takes an input, None if there is none."""
    if len(placeholder.users) != 1:
        return None
    (user,) = placeholder.users
    return _qparams(user) if user.target == EDGE_QUANTIZE else None


def _qparams(node: Node) -> QParams | None:
    """Return a quantizer's or dequantizer's parameters if they are int8 over the full range."""
    args = arguments(node)
    if (args["dtype"], args["quant_min"], args["quant_max"]) != (torch.int8, -128, 127):
        return None
    return QParams(float(args["scale"]), int(args["zero_point"]))


def _info(what: str, index: int, node: Node, qparams: QParams | None) -> TensorInfo:
    value = node.meta["val"]
    if not is_static(value):
        raise BenchError(
            f"{what} {index} has the shape {list(value.shape)}, which depends on values of the "
            "inputs: return tensors of fixed shape"
        )
    if not value.is_contiguous():
        raise BenchError(
            f"{what} {index} has the strides {value.stride()}: inputs and outputs must be "
            "contiguous, call .contiguous() on it"
        )
    return TensorInfo(tuple(value.shape), str(value.dtype).removeprefix("torch."), qparams)


def _quantized(tensor: torch.Tensor, info: TensorInfo) -> NDArray[np.generic]:
    if info.qparams is not None:
        tensor = torch.ops.quantized_decomposed.quantize_per_tensor(
            tensor, info.qparams.scale, info.qparams.zero_point, -128, 127, torch.int8
        )
    array: NDArray[np.generic] = tensor.detach().contiguous().numpy()
    return array


def _reference(module: torch.nn.Module) -> Callable[[Arrays], list[NDArray[np.generic]]]:
    def run(inputs: Arrays) -> list[NDArray[np.generic]]:
        with torch.no_grad():
            outputs = module(*(torch.from_numpy(np.array(array)) for array in inputs))
        return [tensor.numpy() for tensor in tree_leaves(outputs)]

    return run
