"""NVRTC and nvcc as CuPy, Numba and cuda.core call them."""

from . import text, wrap

_ENTRIES = (
    ("cupy.cuda.compiler", None, "compile_using_nvrtc", "compile"),
    ("cupy.cuda.compiler", None, "compile_using_nvcc", "nvcc"),
    ("cupy.cuda.compiler", None, "_compile_module_with_cache", "module"),
    ("cupy.cuda.compiler", None, "compile_with_cache", "module"),
    ("numba.cuda.cudadrv.nvrtc", None, "compile", "compile"),
    ("numba_cuda.numba.cuda.cudadrv.nvrtc", None, "compile", "compile"),
    ("cuda.core.experimental._program", "Program", "compile", "compile"),
    ("cuda.core._program", "Program", "compile", "compile"),
    ("pycuda.compiler", None, "compile", "nvcc"),
)
"""Module, class in it or None, function, name of the span."""

_agent = None


def start(agent):
    """Wait for the modules that call NVRTC; nothing is imported here."""
    global _agent
    _agent = agent
    for name in dict.fromkeys(entry[0] for entry in _ENTRIES):
        agent.on_import(name, _follow)


def _follow(module):
    found = 0
    for name, owner, function, label in _ENTRIES:
        if name != module.__name__:
            continue
        target = getattr(module, owner, None) if owner else module
        found += bool(target and wrap(_agent, "nvrtc", target, function, label, _describe))
    if found:
        _agent.source("nvrtc", "on", module.__name__)
    else:
        _agent.source("nvrtc", "off", "unknown version: no compile in " + module.__name__)


def _describe(args, kwargs, result):
    source = args[0] if args else kwargs.get("source", "")
    if not isinstance(source, str):
        return {}
    return {"bytes": len(source), "source": text(" ".join(source.split()), 80)}
