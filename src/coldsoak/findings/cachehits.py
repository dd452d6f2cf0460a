"""Look-ups in the frameworks' compile caches, from what a traced launch did."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldsoak.findings.view import View
    from coldsoak.model.facts import Facts

__all__ = ["Lookups", "jax_cache_on", "lookups"]


@dataclass(frozen=True, kw_only=True)
class Lookups:
    """One cache in the last traced launch of an arm."""

    cache: str
    name: str
    hits: int
    misses: int
    writes: int
    compile_s: float
    """Seconds of compiling in it, median over the traced launches."""
    earlier: bool
    """An earlier launch of the same arm could have filled the cache."""


@dataclass(frozen=True)
class _Known:
    cache: str
    name: str
    hits: Callable[[Facts], int]
    misses: Callable[[Facts], int]
    writes: Callable[[Facts], int]
    compiling: tuple[str, ...]


def _count(facts: Facts, source: str, *names: str) -> int:
    return sum(e.count for e in facts.events if e.source == source and e.name in names)


def _jax_misses(facts: Facts) -> int:
    asked = _count(facts, "jax", "cache_read")
    return max(asked - _count(facts, "jax", "cache_hits"), 0)


def _torch_hits(facts: Facts) -> int:
    return _count(facts, "torch", "fx_graph_cache_hit", "fxgraph_cache_hit", "autograd_cache_hit")


def _torch_misses(facts: Facts) -> int:
    return _count(
        facts, "torch", "fx_graph_cache_miss", "fxgraph_cache_miss", "autograd_cache_miss"
    )


def _triton(facts: Facts, *, hit: bool) -> int:
    events = (e for e in facts.events if e.source == "triton" and e.name == "compile")
    texts = [text for event in events for text in event.details if "hit=" in text]
    return sum((f"hit={hit}") in text for text in texts)


_KNOWN = (
    _Known(
        "jax",
        "JAX's compilation cache",
        lambda facts: _count(facts, "jax", "cache_hits"),
        _jax_misses,
        lambda facts: _count(facts, "jax", "cache_misses"),
        ("backend_compile",),
    ),
    _Known(
        "torch",
        "The cache of torch.compile",
        _torch_hits,
        _torch_misses,
        _torch_misses,
        ("backend_compile",),
    ),
    _Known(
        "triton",
        "Triton's cache",
        lambda facts: _triton(facts, hit=True),
        lambda facts: _triton(facts, hit=False),
        lambda facts: _triton(facts, hit=False),
        ("compile",),
    ),
)


def jax_cache_on(view: View, arm: str) -> bool:
    """Tell whether JAX had a cache folder: it also asks, and misses, without one.

    The variable or the program names it, or an executable was read or written. (JAX reports
    ``cache_misses`` when it writes.)
    """
    if view.env(arm).get("JAX_COMPILATION_CACHE_DIR"):
        return True
    if any("compilation_cache_dir" in one.text for one in view.files):
        return True
    return any(_count(facts, "jax", "cache_hits", "cache_misses") for facts in view.facts(arm))


def lookups(view: View, arm: str) -> list[Lookups]:
    """Return the caches that were asked in the traced launches of ``arm``."""
    facts = view.facts(arm)
    if not facts:
        return []
    counted = [launch.index for launch in view.launches(arm, "traced") if launch.facts]
    earlier = any(
        launch.arm == arm and launch.index < counted[-1] for launch in view.result.launches
    )
    found = []
    for known in _KNOWN:
        last = facts[-1]
        hits, misses = known.hits(last), known.misses(last)
        if not hits + misses or (known.cache == "jax" and not jax_cache_on(view, arm)):
            continue
        times = [
            sum(e.ns for e in one.events if e.source == known.cache and e.name in known.compiling)
            for one in facts
        ]
        found.append(
            Lookups(
                cache=known.cache,
                name=known.name,
                hits=hits,
                misses=misses,
                writes=known.writes(last),
                compile_s=median(times) / 1e9,
                earlier=earlier,
            )
        )
    return found
