"""A recipe as plain commands, for people who will not use coldsoak in production."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from coldsoak.model.recipe import Recipe

__all__ = ["FORMS", "Form", "export"]

Form = Literal["shell", "docker", "kubernetes"]
FORMS: tuple[Form, ...] = get_args(Form)


def export(recipe: Recipe, form: Form) -> str:
    """Return the variables of a recipe for a shell, a Dockerfile or a Kubernetes manifest.

    What only coldsoak can do (stages beside the imports) is named in a comment.
    """
    env, unset = _variables(recipe)
    lines = [f"# {line}" for line in _comments(recipe)]
    lines += {"shell": _shell, "docker": _docker, "kubernetes": _kubernetes}[form](env, unset)
    return "\n".join(lines) + "\n"


def _variables(recipe: Recipe) -> tuple[dict[str, str], list[str]]:
    env: dict[str, str] = {}
    unset: list[str] = []
    for ingredient in recipe.ingredients:
        env |= ingredient.env
        unset += [name for name in ingredient.unset if name not in unset]
    return env, unset


def _comments(recipe: Recipe) -> list[str]:
    names = ", ".join(one.remedy for one in recipe.ingredients) or "nothing"
    lines = [f"{names}: {recipe.before_s:.2f} s without, {recipe.after_s:.2f} s with"]
    lines += [
        f"{one.remedy}: fill {path} once, by running the command, and ship it"
        for one in recipe.ingredients
        if one.kind == "cache"
        for path in one.env.values()
        if path.startswith("/")
    ]
    stages = _stages(recipe)
    if stages:
        lines.append(f"only with coldsoak (exec or preheat): {', '.join(stages)}")
    return lines


def _stages(recipe: Recipe) -> list[str]:
    preheat = recipe.preheat
    stages = {
        "CUDA context on a thread": preheat.context,
        "cuBLAS on a thread": preheat.blas,
        "read-ahead of recorded pages": bool(preheat.readahead),
        "no garbage collection during imports": bool(preheat.gc),
        "models as ONNX Runtime optimised them": "ort" in preheat.memos,
        "replayed answers": bool(preheat.memos.keys() - {"ort"}),
    }
    return [name for name, on in stages.items() if on]


def _shell(env: dict[str, str], unset: list[str]) -> list[str]:
    return [f"unset {name}" for name in unset] + [
        f"export {name}={shlex.quote(value)}" for name, value in env.items()
    ]


def _docker(env: dict[str, str], unset: list[str]) -> list[str]:
    lines = [
        f"# remove ENV {name} from this file and from the images below it; an empty value does it too"
        for name in unset
    ]
    lines += [f'ENV {name}=""' for name in unset]
    return lines + [f"ENV {name}={_quoted_for_docker(value)}" for name, value in env.items()]


def _quoted_for_docker(value: str) -> str:
    """Quote a value; Docker would put variables in place of their names."""
    return json.dumps(value, ensure_ascii=False).replace("$", "\\$")


def _kubernetes(env: dict[str, str], unset: list[str]) -> list[str]:
    pairs = {**dict.fromkeys(unset, ""), **env}
    if not pairs:
        return []
    lines = ["env:"]
    for name, value in pairs.items():
        literal = json.dumps(value, ensure_ascii=False).replace("$(", "$$(")
        lines += [f"  - name: {name}", f"    value: {literal}"]
    return lines
