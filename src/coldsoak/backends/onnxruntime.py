"""ONNX Runtime: the workload as a graph, on the CPU or the CUDA execution provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from coldsoak.backends import cuda
from coldsoak.backends.arrays import checksum, from_recipe
from coldsoak.backends.base import Array, Backend, DeviceInfo, Module, Ops, Runnable
from coldsoak.backends.errors import Unusable

if TYPE_CHECKING:
    from coldsoak.workloads.base import Workload

__all__ = ["Onnxruntime"]

_OPSET = 17
"""Operator set: the newest that ONNX Runtime 1.12 and later all read."""


class _GraphOps(Ops):
    """Values are names; each primitive appends a node."""

    def __init__(self, helper: Module, dtype: int) -> None:
        self.helper = helper
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def _node(self, operator: str, *inputs: str, **attributes: int | str | list[int]) -> str:
        output = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def matmul(self, a: str, b: str) -> str:
        return self._node("MatMul", a, b)

    def conv2d(self, image: str, weights: str) -> str:
        return self._node("Conv", image, weights, auto_pad="SAME_UPPER")

    def add(self, a: str, b: str) -> str:
        return self._node("Add", a, b)

    def multiply(self, a: str, b: str) -> str:
        return self._node("Mul", a, b)

    def scale(self, a: str, factor: float) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.helper.make_tensor(name, self.dtype, [], [factor]))
        return self._node("Mul", a, name)

    def relu(self, a: str) -> str:
        return self._node("Relu", a)

    def softmax(self, a: str) -> str:
        return self._node("Softmax", a, axis=-1)

    def swap(self, a: str) -> str:
        return self._node("Transpose", a, perm=[0, 1, 3, 2])


class Onnxruntime(Backend):
    """The session is built before run 0, as it is in programs that use ONNX Runtime."""

    name: ClassVar[str] = "onnxruntime"
    module: ClassVar[str] = "onnxruntime"
    needs: ClassVar[tuple[str, ...]] = ("onnx",)
    distributions: ClassVar[tuple[str, ...]] = ("onnxruntime", "onnxruntime-gpu", "onnx")
    install: ClassVar[str] = "pip install onnx onnxruntime (or onnxruntime-gpu)"
    compilers: ClassVar[tuple[str, ...]] = ("session",)

    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the CPU, and the CUDA devices when this build has the provider."""
        hosts = () if kind == "gpu" else (DeviceInfo("cpu", "cpu"),)
        if kind == "cpu" or "CUDAExecutionProvider" not in self.lib.get_available_providers():
            return hosts
        cards = [
            DeviceInfo(f"cuda:{i}", "gpu", i, card.name, card.uuid, card.pci, card.memory_bytes)
            for i, card in enumerate(cuda.devices())
        ]
        return (*hosts, *cards)

    def open(self, device: DeviceInfo) -> None:
        """Load the CUDA libraries of Python packages, and allocate one number on the card."""
        import numpy as np

        if device.kind == "gpu" and hasattr(self.lib, "preload_dlls"):
            self.lib.preload_dlls()
        self._on_device(np.zeros(1, np.float32), device)

    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return OrtValues on the device."""
        import numpy as np

        return tuple(
            self._on_device(from_recipe(np, tensor, workload.dtype), device)
            for tensor in workload.inputs
        )

    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Create the session, bind inputs and output to the device."""
        del compiler
        session = self._session(workload, device)
        binding = session.io_binding()
        for i, value in enumerate(inputs):
            binding.bind_ortvalue_input(f"x{i}", value)
        kind = "cuda" if device.kind == "gpu" else "cpu"
        binding.bind_output("out", kind, device.index)

        def product() -> Array:
            session.run_with_iobinding(binding)
            return binding

        return Runnable(
            product=product,
            inner=workload.inner,
            finish=lambda _: binding.synchronize_outputs(),
            checksum=_checksum,
            location=lambda bound: _location(bound, device),
        )

    def _on_device(self, array: Array, device: DeviceInfo) -> Array:
        kind = "cuda" if device.kind == "gpu" else "cpu"
        return self.lib.OrtValue.ortvalue_from_numpy(array, kind, device.index)

    def _session(self, workload: Workload, device: DeviceInfo) -> Array:
        options = self.lib.SessionOptions()
        provider: Any = "CPUExecutionProvider"
        if device.kind == "gpu":
            provider = ("CUDAExecutionProvider", {"device_id": device.index})
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        session = self.lib.InferenceSession(_model(workload), options, providers=[provider])
        used = session.get_providers()[0]
        if device.kind == "gpu" and used != "CUDAExecutionProvider":
            raise Unusable(
                f"onnxruntime fell back from {device.name} to {used}.",
                why="Its CUDA provider could not be loaded; the log above names the library.",
                do="Install the CUDA and cuDNN versions that this onnxruntime-gpu was built for.",
            )
        return session


def _model(workload: Workload) -> bytes:
    """Return the serialised graph of one product."""
    from onnx import TensorProto, helper

    codes = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
    dtype = codes.get(workload.dtype, TensorProto.FLOAT16)
    ops = _GraphOps(helper, dtype)
    inputs = {f"x{i}": tensor for i, tensor in enumerate(workload.inputs)}
    result = workload.product(ops, *inputs)
    ops.nodes.append(helper.make_node("Identity", [result], ["out"]))
    graph = helper.make_graph(
        ops.nodes,
        workload.name,
        [
            helper.make_tensor_value_info(name, dtype, tensor.shape)
            for name, tensor in inputs.items()
        ],
        [helper.make_tensor_value_info("out", dtype, None)],
        ops.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)
    return bytes(model.SerializeToString())


def _checksum(binding: Array) -> dict[str, float]:
    import numpy as np

    return checksum(np, binding.copy_outputs_to_cpu()[0])


def _location(binding: Array, device: DeviceInfo) -> str:
    kind = binding.get_outputs()[0].device_name()
    return f"{kind}:{device.index}" if kind == "cuda" else str(kind)
