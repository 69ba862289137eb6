"""The delegate: EspNNBackend runs connected multiplies in one call on the device.

The blob, little-endian::

    u32 magic "ESN1", version, inputs, outputs, values, operations
    u32 value of each output
    per operation: u32 a, b, out (values); i32 z1, z2, zo, multiplier, shift

Values 0 to inputs - 1 are the delegate's inputs in order, and every value has the same number of
elements.
"""

from __future__ import annotations

import struct
from typing import Any

from executorch.exir.backend.backend_details import (
    BackendDetails,
    CompileSpec,
    PreprocessResult,
)
from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    generate_partitions_from_list_of_nodes,
)
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import DelegateMappingBuilder
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from bench.errors import BenchError
from bench.espressif.graph import tensor_of
from bench.espressif.passes import EDGE_MUL_INT8, decide_all

MAGIC = 0x314E5345
VERSION = 1
_HEADER = struct.Struct("<6I")
_OPERATION = struct.Struct("<3I5i")


class EspNNBackend(BackendDetails):  # type: ignore[misc]
    """Compiles a partition of ``esp_nn`` operators to the blob of this module's docstring."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Compile a partition.

        Raises:
            BenchError: It holds another operator, or tensors of different sizes.
        """
        values: dict[Node, int] = {}
        operations: list[bytes] = []
        mapping = DelegateMappingBuilder()
        elements: set[int] = set()
        outputs: list[Node] = []
        for node in edge_program.graph.nodes:
            if node.op == "output":
                outputs = list(node.args[0])
                continue
            if node.op != "placeholder":
                if node.target != EDGE_MUL_INT8:
                    raise BenchError(f"EspNNBackend cannot compile {node.target}")
                a, z1, b, z2, zo, multiplier, shift = node.args
                mapping.insert_delegate_mapping_entry(nodes=node, identifier=len(operations))
                operations.append(
                    _OPERATION.pack(
                        values[a], values[b], len(values), z1, z2, zo, multiplier, shift
                    )
                )
            values[node] = len(values)
            tensor = tensor_of(node)
            assert tensor is not None
            elements.add(tensor.numel())
        if len(elements) != 1:
            raise BenchError(f"EspNNBackend takes tensors of one size, not of {sorted(elements)}")
        blob = _HEADER.pack(
            MAGIC,
            VERSION,
            len(values) - len(operations),
            len(outputs),
            len(values),
            len(operations),
        )
        blob += struct.pack(f"<{len(outputs)}I", *(values[node] for node in outputs))
        return PreprocessResult(
            processed_bytes=blob + b"".join(operations),
            debug_handle_map=mapping.get_delegate_mapping(),
        )


class _IsLowered(OperatorSupportBase):  # type: ignore[misc]
    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return bool(node.target == EDGE_MUL_INT8)


class EspNNPartitioner(Partitioner):  # type: ignore[misc]
    """Hands connected ``esp_nn`` operators to EspNNBackend.

    ExecuTorch lets no partitioner change a graph, so the multiplies must have been lowered to the
    operator library before: ``EspPassManager`` does it, and ``to_espnn_edge`` runs both.
    """

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag the operators, connected ones alike.

        Raises:
            BenchError: The program holds multiplies that were not lowered but could be.
        """
        if any(decision.lowering is not None for decision in decide_all(exported_program)):
            raise BenchError(
                "EspNNPartitioner was given a program whose multiplies are not lowered yet: "
                "call to_espnn_edge, or run EspPassManager over the Edge program first"
            )
        tags: dict[str, DelegationSpec] = {}
        # These partitions do not depend on each other in a circle, but may join multiplies that
        # have nothing to do with each other. Taking them apart again cannot make a circle.
        partitions = generate_partitions_from_list_of_nodes(
            exported_program.graph_module, op_support=_IsLowered()
        )
        for partition in partitions:
            for component in _components(list(partition.nodes)):
                tag = f"espnn_{len(tags)}"
                tags[tag] = DelegationSpec(EspNNBackend.__name__, [])
                for node in component:
                    node.meta["delegation_tag"] = tag
        return PartitionResult(exported_program, tags)


def _components(nodes: list[Node]) -> list[list[Node]]:
    """Split nodes into those that take each other's results, directly or over others."""
    left = dict.fromkeys(nodes)
    components = []
    while left:
        component = [next(iter(left))]
        del left[component[0]]
        for node in component:
            neighbours = [n for n in (*node.all_input_nodes, *node.users) if n in left]
            for neighbour in neighbours:
                del left[neighbour]
            component += neighbours
        components.append(component)
    return components
