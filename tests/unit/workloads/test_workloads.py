"""Sizes, flops, bytes and inputs, against NumPy where NumPy can tell."""

import math
import struct

import numpy as np
import pytest

from coldsoak import workloads
from coldsoak.backends.arrays import ArrayOps, checksum, from_recipe
from coldsoak.backends.contract import SMALL, reference
from coldsoak.errors import UsageError
from coldsoak.workloads.pattern import ITEMSIZE, PERIOD, Tensor, level

ALL = ("matmul", "conv2d", "elementwise", "mlp", "attention")


def test_the_registry_names_the_five_workloads():
    assert workloads.names()[:5] == ALL
    assert all(workloads.get(name).name == name for name in ALL)


def test_an_unknown_workload_is_refused_with_the_names():
    with pytest.raises(UsageError) as caught:
        workloads.get("sort")
    assert "sort" in caught.value.what
    assert "matmul" in caught.value.do


def test_levels_are_balanced_small_integers_with_the_stated_period():
    levels = [level(i) for i in range(PERIOD)]
    assert set(levels) == {-1, 0, 1, 2}
    assert max(levels.count(value) for value in set(levels)) < 1.01 * PERIOD / 4
    assert [level(i + PERIOD) for i in range(50)] == levels[:50]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_encoding_is_what_numpy_reads(dtype):
    tensor = Tensor((95, 101), offset=7, shift=3)
    array = np.frombuffer(tensor.encode(dtype), dtype=dtype).reshape(tensor.shape)
    assert array[2, 5] == level(2 * 101 + 5 + 7) / 8
    assert array[94, 100] == level(95 * 101 - 1 + 7) / 8


def test_bfloat16_is_the_upper_half_of_float32():
    tensor = Tensor((300,), shift=4)
    upper = tensor.encode("bfloat16")
    words = tensor.encode("float32")
    rebuilt = b"".join(b"\0\0" + upper[i : i + 2] for i in range(0, len(upper), 2))
    assert rebuilt == words


@pytest.mark.parametrize("dtype", workloads.DTYPES)
def test_encoding_has_exactly_the_size_of_the_tensor(dtype):
    for size in (1, PERIOD - 1, PERIOD, PERIOD + 1):
        assert len(Tensor((size,)).encode(dtype)) == size * ITEMSIZE[dtype]


@pytest.mark.parametrize("name", ALL)
def test_numpy_and_plain_python_compute_the_same(name):
    workload = workloads.get(name).at(SMALL[name], dtype="float64")
    inputs = [from_recipe(np, tensor, "float64") for tensor in workload.inputs]
    output = workload.product(ArrayOps(np), *inputs)
    assert output.size == workload.output_size
    assert not workloads.agree(reference(workload), checksum(np, output), 1e-12)


def test_matmul_counts_what_the_textbook_counts():
    matmul = workloads.get("matmul").at("1000")
    assert matmul.flops == 10 * 2e9
    assert matmul.bytes_moved == 10 * (1000 * 1000 * 2) * 4


def test_conv2d_flops_are_the_multiply_adds_of_its_im2col_product():
    conv = workloads.get("conv2d").at("size=6,batch=2,channels=3,filters=5,kernel=3", inner=1)
    rows, inside, columns = 2 * 6 * 6, 3 * 3 * 3, 5
    assert conv.flops == 2 * rows * inside * columns
    assert conv.bytes_moved == 4 * (2 * 3 * 36 + 5 * 3 * 9 + 2 * 5 * 36)


def test_mlp_and_attention_count_their_products():
    mlp = workloads.get("mlp").at("width=8,batch=4,layers=2", inner=1)
    assert mlp.flops == 2 * (2 * 4 * 8 * 8 + 2 * 4 * 8)
    assert mlp.bytes_moved == 4 * (4 * 8 + 2 * (64 + 8) + 4 * 8)
    attention = workloads.get("attention").at("length=10,batch=1,heads=2,depth=4", inner=1)
    assert attention.flops == 2 * 100 * (4 * 4 + 4)
    assert attention.bytes_moved == 4 * 4 * (2 * 10 * 4)


def test_half_precision_does_not_overflow_in_the_mlp():
    mlp = workloads.get("mlp").at("width=700,batch=4,layers=4", dtype="float16", inner=1)
    inputs = [from_recipe(np, tensor, "float16") for tensor in mlp.inputs]
    found = checksum(np, mlp.product(ArrayOps(np), *inputs))
    assert 0.01 < found["rms"] < 100


def test_float32_matmul_is_exact():
    matmul = workloads.get("matmul").at("257", inner=1)
    (single,) = (from_recipe(np, tensor, "float32") for tensor in matmul.inputs)
    exact = single.astype(np.int64) @ single.astype(np.int64)
    assert np.array_equal(single @ single, exact)


@pytest.mark.parametrize(
    ("shape", "dims"),
    [("56", {"size": 56}), ("size=56,batch=2", {"size": 56, "batch": 2}), ("7, filters=3", {})],
)
def test_shapes_are_read_as_numbers_and_as_names(shape, dims):
    conv = workloads.get("conv2d").at(shape)
    assert {key: conv.dims[key] for key in dims} == dims
    assert conv.dims["channels"] == 16


@pytest.mark.parametrize("shape", ["", "x", "1.5", "-3", "n=", "0", "5,5", "m=4", "n=4,n=5"])
def test_bad_shapes_say_what_to_write(shape):
    with pytest.raises(UsageError):
        workloads.get("matmul").at(shape)


def test_bad_dtype_and_inner_are_refused():
    with pytest.raises(UsageError, match="int7"):
        workloads.get("matmul").at("5", dtype="int7")
    with pytest.raises(UsageError, match="at least 1"):
        workloads.get("matmul").at("5", inner=0)


def test_labels_name_only_what_differs():
    conv = workloads.get("conv2d")
    assert conv.at("100").label() == "100"
    assert conv.at("50,batch=2").label() == "50,batch=2"


def test_agreement_is_relative_to_the_size_of_the_output():
    base = {"mean": 1.0, "rms": 10.0, "first": 0.0}
    assert not workloads.agree(base, {**base, "first": 0.005}, 1e-3)
    assert workloads.agree(base, {**base, "first": 0.02}, 1e-3) == {"first": (0.0, 0.02)}
    assert "mean" in workloads.agree(base, {**base, "mean": math.nan}, 1e-3)
    assert "mean" in workloads.agree(base, {"rms": 10.0, "first": 0.0}, 1e-3)


def test_reference_reads_the_recipe_itself():
    workload = workloads.get("elementwise").at("1", inner=1)
    x, y = (struct.unpack("<d", t.encode("float64"))[0] for t in workload.inputs)
    expected = max(x * y + x, 0.0)
    assert reference(workload) == {
        "mean": expected,
        "rms": abs(expected),
        "first": expected,
        "edge": expected,
        "last": expected,
    }
