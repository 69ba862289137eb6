"""One call from a float model to a .pte, and the models of the project."""

from __future__ import annotations

import math
import subprocess
import sys
import zlib

import numpy as np
import pytest
import torch
from torch.nn import functional

from bench.errors import BenchError
from bench.espressif import Reason, export_model, export_quantized, quantize_model
from bench.espressif.models import list_models, load_model
from bench.espressif.report import StrictError
from bench.espressif.testing.cases import dequantize, quantize
from bench.numerics import QParams, multiply_int8
from bench.numerics.qparams import MulParams

ROUTES = ("portable", "operator-library", "delegate")
X = torch.linspace(-2, 3, 24).reshape(4, 6)
Y = torch.linspace(1, -1, 24).reshape(4, 6)
IMAGE = X.reshape(1, 2, 4, 3)
CHANNELS_LAST = IMAGE.to(memory_format=torch.channels_last)


class Product(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y


def module(function) -> torch.nn.Module:
    class Model(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Model()


def channels_last_square(x: torch.Tensor) -> torch.Tensor:
    return (x * x).to(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", list_models())
def test_models_lower_as_they_say_and_run_alike_by_every_route(name: str, run_pte) -> None:
    model = load_model(name)
    assert model.expect is not None
    program = quantize_model(model.module, model.example_inputs, model.calibration)
    portable, library, delegate = (
        export_quantized(program, model.example_inputs, route) for route in ROUTES
    )
    for exported in (library, delegate):
        assert len(exported.report.lowered) == model.expect["lowered"]
        assert len(exported.report.portable) == model.expect["portable"]
    assert library.operators["esp_nn::quantized_mul_int8.out"] == model.expect["lowered"]
    assert "esp_nn::quantized_mul_int8.out" not in portable.operators | delegate.operators
    assert portable.delegate_calls == library.delegate_calls == 0 < delegate.delegate_calls
    assert {info.dtype for info in (*library.inputs, *library.outputs)} == {"int8"}

    for sample in model.calibration[:3]:
        arrays = library.as_taken(sample)
        eager, ran, delegated = (
            library.reference(arrays),
            run_pte(library.pte, list(arrays)),
            run_pte(delegate.pte, list(arrays)),
        )
        for want, have, through_delegate in zip(eager, ran, delegated, strict=True):
            np.testing.assert_array_equal(have, through_delegate)
            # Float32 operators beside the multiplies may round a tie the other way.
            assert int(np.abs(have.astype(int) - want).max()) <= (
                0 if set(library.operators) == {"esp_nn::quantized_mul_int8.out"} else 1
            )


def test_se_net_reports_its_broadcast() -> None:
    model = load_model("se_net")
    report = export_model(model.module, model.example_inputs, model.calibration).report
    (left,) = report.portable
    assert left.reason == Reason.BROADCAST
    assert left.shapes == ((1, 8, 8, 8), (1, 8, 1, 1))
    assert left.file == str(model.path)


def test_fresh_process_needs_nothing_else_and_makes_the_same_program() -> None:
    code = """
import torch, zlib
from bench.espressif import EspNNQuantizer, export_model, to_espnn_edge
from bench.espressif.models import load_model
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e, convert_pt2e

model = load_model("glu")
prepared = prepare_pt2e(
    torch.export.export(model.module, model.example_inputs).module(), EspNNQuantizer()
)
prepared(*model.example_inputs)
program = torch.export.export(convert_pt2e(prepared), model.example_inputs)
for use in (True, False):
    assert len(to_espnn_edge(program, use_operator_library=use).to_executorch().buffer) > 500
print("crc", zlib.crc32(export_model(model.module, model.example_inputs, model.calibration).pte))
"""
    model = load_model("glu")
    exported = export_model(model.module, model.example_inputs, model.calibration)
    fresh = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert f"crc {zlib.crc32(exported.pte)}" in fresh.stdout


def test_delegate_is_the_default_route() -> None:
    exported = export_model(Product(), (X, Y))
    assert (exported.route, exported.delegate_calls) == ("delegate", 1)


def test_program_takes_and_gives_int8() -> None:
    exported = export_model(Product(), (X, Y))
    q1, q2 = (info.qparams for info in exported.inputs)
    assert [info.dtype for info in exported.inputs] == ["int8", "int8"]
    # The example spans [-2, 3] and [-1, 1]: over 255 steps, zero exactly representable.
    assert q1 is not None and q1.scale == pytest.approx(5 / 255) and q1.zero_point == -26
    assert q2 is not None and q2.scale == pytest.approx(2 / 255)
    (output,) = exported.outputs
    assert output.dtype == "int8" and output.shape == (4, 6)
    taken = exported.as_taken((X, Y))
    np.testing.assert_array_equal(taken[0], np.rint(X.numpy() / q1.scale).astype(int) - 26)
    assert isinstance(output.qparams, QParams)
    (result,) = exported.reference(taken)
    want = multiply_int8(*taken, MulParams.from_qparams(q1, q2, output.qparams))
    np.testing.assert_array_equal(result, want)
    np.testing.assert_array_equal(exported.example[0], taken[0])


def test_inputs_and_outputs_that_are_not_quantized_stay_float() -> None:
    exported = export_model(module(lambda x, y: (x * x, torch.exp(y))), (X, Y))
    assert [info.dtype for info in exported.inputs] == ["int8", "float32"]
    assert [info.dtype for info in exported.outputs] == ["int8", "float32"]
    assert exported.inputs[1].qparams is None


def test_one_tensor_given_twice_is_two_inputs() -> None:
    model = module(lambda x, y: x * y + x)
    exported = export_model(model, (X, X), [(X, X), (X, Y)], route="operator-library")
    qparams = exported.outputs[0].qparams
    assert qparams is not None
    for y in (X, Y):
        (result,) = exported.reference(exported.as_taken((X, y)))
        value = (result.astype(float) - qparams.zero_point) * qparams.scale
        assert float(np.abs(value - (X * y + X).numpy()).max()) < 4 * qparams.scale


def test_independent_parameters_for_both_inputs_and_the_output() -> None:
    (multiply,) = export_model(Product(), (X, 100 * Y)).report.multiplies
    first, second = multiply.inputs
    assert first is not None and second is not None and multiply.output is not None
    assert len({first.scale, second.scale, multiply.output.scale}) == 3


@pytest.mark.parametrize("activation, lowered", [
    (functional.hardswish, 1),
    (functional.silu, 1),
    (lambda x: functional.glu(x, dim=-1), 1),
    (lambda x: functional.glu(x, dim=0), 1),
    (lambda x: functional.silu(x + 1, inplace=True), 1),
    (lambda x: functional.hardswish(x + 1, inplace=True), 1),
    (torch.relu, 0),
])  # fmt: skip
def test_gated_activations_become_multiplies(activation, lowered: int) -> None:
    model = module(activation)
    exported = export_model(model, (X,), strict=True)
    assert len(exported.report.lowered) == lowered
    (result,) = exported.reference(exported.example)
    qparams = exported.outputs[0].qparams
    assert qparams is not None
    got = (result.astype(float) - qparams.zero_point) * qparams.scale
    assert float(np.abs(got - activation(X).numpy()).max()) < 4 * qparams.scale


def test_every_spelling_of_a_multiply_is_quantized() -> None:
    def model(x, y):
        product = torch.multiply(x, y) * torch.mul(x, x)
        product = torch.true_divide(product, 3).multiply(0.5)
        return product.mul_(y).div_(torch.tensor(4.0)).divide(2)

    report = export_model(module(model), (X, Y), strict=True).report
    assert len(report.lowered) == len(report.multiplies) == 8


def test_division_by_an_activation_is_not_quantized() -> None:
    exported = export_model(module(lambda x, y: x / y), (X, Y), strict=True)
    assert exported.operators == {"aten::div.out": 1}
    assert exported.report.multiplies == []


def test_weights_and_scalars_stay_float() -> None:
    linear = torch.nn.Linear(6, 6)
    scale = torch.tensor(0.5)
    program = quantize_model(module(lambda x: linear(x) * scale), (X,))
    constants = {**program.state_dict, **program.constants}
    assert {tensor.dtype for tensor in constants.values()} == {torch.float32}
    assert sorted(tensor.dim() for tensor in constants.values()) == [0, 1, 2]


def test_tensor_constants_are_quantized_with_parameters_of_their_own() -> None:
    window = torch.linspace(0, 10, 24).reshape(4, 6)
    (multiply,) = export_model(module(lambda x: x * window), (X,), strict=True).report.multiplies
    assert multiply.constant == "tensor" and multiply.inputs[1] is not None
    assert multiply.inputs[1].scale == pytest.approx(10 / 255)


def test_in_place_multiply_of_an_input() -> None:
    model = module(lambda x, y: x.clone().mul_(y))
    exported = export_model(model, (X, Y), route="operator-library", strict=True)
    assert exported.operators["esp_nn::quantized_mul_int8.out"] == 1


def test_reference_is_eager_to_the_end(run_pte) -> None:
    # Every other result is a tie. The runtime's quantizer rounds some of them otherwise than
    # PyTorch's, and to_executorch puts the runtime's into the Edge program's graph.
    def model(x):
        return quantize(torch.relu(dequantize(x, 0.015, 0)), 0.03, 0)

    x = torch.arange(-128, 128, dtype=torch.int8)
    program = torch.export.export(module(model), (x,))
    exported = export_quantized(program, (x,), "portable")
    (result,) = exported.reference(exported.example)
    np.testing.assert_array_equal(result, program.module()(x).numpy())
    assert (result != run_pte(exported.pte, [x.numpy()])[0]).any()


def test_what_a_program_writes_to_its_buffers_is_no_output(run_pte) -> None:
    class Last(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("last", torch.zeros(4, 6))

        def forward(self, x, y):
            before = self.last + x
            self.last.copy_(x * y)
            return before

    for route in ROUTES:
        exported = export_model(Last(), (X, Y), route=route)
        assert [(info.shape, info.dtype) for info in exported.outputs] == [((4, 6), "int8")]
        (got,) = run_pte(exported.pte, list(exported.example))
        scale, zero_point = (
            exported.outputs[0].qparams.scale,
            exported.outputs[0].qparams.zero_point,
        )
        error = (got.astype(float) - zero_point) * scale - X.numpy()
        assert np.abs(error).max() <= scale


def test_strict() -> None:
    broadcast = module(lambda x, y: x * y[:1])
    with pytest.raises(StrictError, match="broadcast"):
        export_model(broadcast, (X, Y), strict=True)
    assert len(export_model(broadcast, (X, Y)).report.portable) == 1
    with pytest.raises(StrictError, match="portable-route"):
        export_model(Product(), (X, Y), route="portable", strict=True)


def test_the_callers_model_keeps_its_training_mode() -> None:
    frozen = torch.nn.Dropout()
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), frozen)
    frozen.eval()
    export_model(model, (X,))
    assert (model.training, model[0].training, frozen.training) == (True, True, False)
    with pytest.raises(BenchError):
        export_model(model, (X[:, :3].contiguous(),))
    assert model.training


def test_reference_of_outputs_in_containers(run_pte) -> None:
    exported = export_model(module(lambda x, y: {"a": x * y, "b": (y * y, [x * x])}), (X, Y))
    want = run_pte(exported.pte, list(exported.example))
    assert len(want) == len(exported.outputs) == 3
    for have, expected in zip(exported.reference(exported.example), want, strict=True):
        np.testing.assert_array_equal(have, expected)


def test_no_multiply_at_all() -> None:
    exported = export_model(module(torch.relu), (X,), strict=True)
    assert str(exported.report) == "delegate: no multiply in this program, nothing to lower"


@pytest.mark.parametrize("call, message", [
    (lambda: export_model(Product(), (X, Y), route="fast"), "unknown route 'fast': choose from"),
    (lambda: export_model(Product, (X, Y)), "the model is a type, not a torch.nn.Module"),
    (lambda: export_model(Product(), (X, Y), [(X, Y.int())]), "calibration inputs 0: types differ"),
    (lambda: export_model(Product(), X), "must be a tuple of tensors"),
    (lambda: export_model(Product(), (X, 3.0)), "input 1 is a float, not a tensor"),
    (lambda: export_model(Product(), (X, Y.double())), "input 1 is float64: only float32"),
    (lambda: export_model(Product(), (X,)), "cannot export the model: TypeError: missing a"),
    (lambda: export_model(Product(), (X, Y), []), "no calibration inputs"),
    (lambda: export_model(Product(), (X, Y), [(X,)]), "calibration inputs 0: 1 tensors where"),
    (
        lambda: export_model(Product(), (X, Y), [(X, Y), (X[:2], Y)]),
        r"calibration inputs 1: tensor 0 has the shape \[2, 6\], not \[4, 6\]",
    ),
    (lambda: export_model(Product(), (X, Y), [X]), "must be a tuple of tensors"),
    (
        lambda: export_model(module(lambda x: x if x.sum() > 0 else -x), (X,)),
        "torch.export cannot export the model: ",
    ),
    (lambda: export_model(module(lambda x: x * x.double()), (X,)).as_taken((Y, Y)), "2 tensors"),
    (lambda: export_model(module(lambda x: (x * x, 3)), (X,)), "output 1 is 3, not a tensor"),
    (
        lambda: export_model(module(lambda x: x[x > 0] * 2), (X,)),
        r"output 0 has the shape \[u\d+\], which depends on values of the inputs",
    ),
    (
        lambda: export_model(module(lambda x: torch.nonzero(x).float() * 2), (X,)),
        "not valid in the Edge dialect: |which depends on values",
    ),
    (
        lambda: export_model(module(lambda x: torch.nonzero(x).float().sum() * x), (X,)),
        "not valid in the Edge dialect: ",
    ),
    (
        lambda: export_model(torch.nn.Linear(6, 6).double(), (X,)),
        "the model does not run on calibration inputs 0: ",
    ),
    (
        lambda: export_model(Product(), (X.to_sparse(), Y.to_sparse())),
        "the model does not run on calibration inputs 0: ",
    ),
    (lambda: export_model(Product(), (X * math.nan, Y)), "look for NaN in its inputs"),
    (
        lambda: export_model(Product(), (X * 1e30, Y * 1e30)),
        r"gives the scale inf for the value made at .*test_export_model.py:\d+: its range must be",
    ),
    (
        lambda: export_model(Product(), (CHANNELS_LAST, CHANNELS_LAST)),
        r"input 0 has the strides \(24, 1, 6, 2\): inputs and outputs must be contiguous",
    ),
    (
        lambda: export_model(module(channels_last_square), (IMAGE,)),
        r"output 0 has the strides .*: inputs and outputs must be contiguous",
    ),
])  # fmt: skip
def test_what_cannot_be_exported_says_so_in_one_line(call, message: str) -> None:
    with pytest.raises(BenchError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_unknown_operators_are_refused_in_one_line() -> None:
    library = torch.library.Library("espnn_test", "DEF")
    library.define("unheard_of(Tensor x) -> Tensor")
    library.impl("unheard_of", lambda x: x + 1, "CompositeExplicitAutograd")
    torch.library.register_fake("espnn_test::unheard_of", torch.empty_like, lib=library)
    with pytest.raises(BenchError, match=r"espnn_test.*unheard_of") as error:
        export_model(module(lambda x: torch.ops.espnn_test.unheard_of(x) * x), (X,))
    assert "\n" not in str(error.value)


def test_double_precision_inside_a_model_stays_portable_and_says_why() -> None:
    exported = export_model(module(lambda x: x.double() * 3.0), (X,))
    assert [m.reason for m in exported.report.multiplies] == [Reason.NOT_QUANTIZED]
