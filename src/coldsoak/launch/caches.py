"""The caches that can make a first run fast, and the variables that move them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BYTECODE", "CACHES", "Cache", "redirect"]


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A folder that outlives a process and is chosen by an environment variable."""

    name: str
    variable: str
    holds: str
    only_if_set: bool = False
    """The program has no such cache unless the user sets the variable: then it is left off."""


CACHES: tuple[Cache, ...] = (
    Cache(
        name="cuda",
        variable="CUDA_CACHE_PATH",
        holds="machine code that the driver compiled from PTX",
    ),
    Cache(
        name="triton", variable="TRITON_CACHE_DIR", holds="compiled Triton kernels and launchers"
    ),
    Cache(
        name="triton-home",
        variable="TRITON_HOME",
        holds="Triton's own folder, with the cache when TRITON_CACHE_DIR is not read",
        only_if_set=True,
    ),
    Cache(
        name="inductor",
        variable="TORCHINDUCTOR_CACHE_DIR",
        holds="code, FX graphs and autotuning results of torch.compile",
    ),
    Cache(
        name="torch-kernels",
        variable="PYTORCH_KERNEL_CACHE_PATH",
        holds="special functions that PyTorch compiled with NVRTC",
    ),
    Cache(
        name="torch-extensions",
        variable="TORCH_EXTENSIONS_DIR",
        holds="C++ and CUDA extensions built at import",
    ),
    Cache(
        name="jax",
        variable="JAX_COMPILATION_CACHE_DIR",
        holds="executables that XLA compiled for JAX",
        only_if_set=True,
    ),
    Cache(name="numba", variable="NUMBA_CACHE_DIR", holds="functions compiled with cache=True"),
    Cache(name="cupy", variable="CUPY_CACHE_DIR", holds="kernels that CuPy compiled with NVRTC"),
    Cache(
        name="tensorflow-jit",
        variable="TF_JIT_CACHE_DIR",
        holds="GPU kernels that TensorFlow generated",
        only_if_set=True,
    ),
    Cache(
        name="tensorrt-engines",
        variable="ORT_TENSORRT_CACHE_PATH",
        holds="engines and timings of ONNX Runtime's TensorRT provider",
        only_if_set=True,
    ),
    Cache(
        name="vllm", variable="VLLM_CACHE_ROOT", holds="compiled graphs of vLLM", only_if_set=True
    ),
    Cache(name="matplotlib", variable="MPLCONFIGDIR", holds="matplotlib's font list and settings"),
)
"""Every known cache that a variable moves; autotuning caches behind XLA flags are left alone."""

BYTECODE = Cache(
    name="bytecode",
    variable="PYTHONPYCACHEPREFIX",
    holds="bytecode of imported modules (__pycache__)",
)


def redirect(
    folder: Path, environment: Mapping[str, str], *, bytecode: bool = False
) -> dict[str, str]:
    """Make an empty folder for each cache and return the variables that lead there.

    Args:
        folder: An empty folder of the launch's own.
        environment: What the command would get; says which optional caches are in use.
        bytecode: Give it an empty bytecode cache as well.

    """
    chosen = [c for c in CACHES if not c.only_if_set or environment.get(c.variable)]
    if bytecode:
        chosen.append(BYTECODE)
    for cache in chosen:
        (folder / cache.name).mkdir(parents=True, exist_ok=True)
    changes = {cache.variable: str(folder / cache.name) for cache in chosen}
    return changes | _xla_flags(folder, environment) | _matplotlib_settings(environment)


_XLA_FLAG = re.compile(r"(--tf_xla_persistent_cache_directory=)\S+")


def _xla_flags(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """TensorFlow's XLA cache is a flag inside a variable; moved only if the user has it on."""
    flags = environment.get("TF_XLA_FLAGS", "")
    if not _XLA_FLAG.search(flags):
        return {}
    own = folder / "tensorflow-xla"
    own.mkdir(parents=True, exist_ok=True)
    return {"TF_XLA_FLAGS": _XLA_FLAG.sub(lambda match: match[1] + str(own), flags)}


def _matplotlib_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """MPLCONFIGDIR also holds the user's settings, which must stay in force."""
    if environment.get("MATPLOTLIBRC"):
        return {}
    config = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~"), ".config")
    folder = environment.get("MPLCONFIGDIR") or Path(config, "matplotlib")
    settings = Path(folder, "matplotlibrc")
    return {"MATPLOTLIBRC": str(settings)} if settings.is_file() else {}
