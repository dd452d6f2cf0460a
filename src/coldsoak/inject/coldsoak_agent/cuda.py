"""What the agent and coldsoak itself must know alike of CUDA: its variables, and where CUPTI lies.

The parent imports this module too: it takes the standard library alone, and importing it does
nothing.
"""

import os

TYPE_CHECKING = False  # typing costs milliseconds inside the measured process
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["INJECTIONS", "VARIABLES", "find_cupti"]

VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_CACHE_PATH",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "NVIDIA_TF32_OVERRIDE",
)
"""What the driver reads once, in cuInit."""

INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
"""Variables that load another tool into CUDA programs; CUPTI serves one tool at a time."""

_WHEELS = ("cuda_cupti", "cu1")
"""How the folders below ``nvidia`` begin that have CUPTI: of CUDA 12, and from CUDA 13 on."""
_HOMES = ("CUDA_HOME", "CUDA_PATH")
_TOOLKIT = "/usr/local/cuda"
_NAME = "libcupti.so."


def find_cupti(folders: "Iterable[str]", environment: "Mapping[str, str]") -> "str | None":
    """Return the path of the newest libcupti, or None.

    Args:
        folders: Where the interpreter's packages are: its ``sys.path``.
        environment: Of the program; names the toolkit beside the default place.

    """
    found = []
    for folder in folders:
        base = os.path.join(folder, "nvidia")
        for name in _entries(base):
            if name.startswith(_WHEELS):
                found += _libraries(os.path.join(base, name, "lib"))
    for home in [*map(environment.get, _HOMES), _TOOLKIT]:
        if home:
            found += _libraries(os.path.join(home, "extras", "CUPTI", "lib64"))
    return max(found)[1] if found else None


def _libraries(folder: str) -> "list[tuple[int, str]]":
    """Return (version, path); only a soname's version is one number (a file has 2025.3.1 too)."""
    versions = ((name[len(_NAME) :], name) for name in _entries(folder) if name.startswith(_NAME))
    return [
        (int(version), os.path.join(folder, name))
        for version, name in versions
        if version.isdigit()
    ]


def _entries(folder: str) -> "list[str]":
    try:
        return os.listdir(folder)
    except OSError:
        return []
