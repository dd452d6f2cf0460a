"""What ``run``, ``bench`` and ``report`` share: measure, save where asked, print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from coldsoak.cli.terminal import AGAIN, INTERRUPTED, answering, err, refuse_overwriting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coldsoak.model.result import Arm, Note, Options, Result
    from coldsoak.report.next_step import Reading

__all__ = ["Outputs", "answer", "reread", "show", "write_outputs"]


@dataclass(frozen=True)
class Outputs:
    """Files that the user asked for."""

    json: Path | None = None
    perfetto: Path | None = None
    force: bool = False

    def check(self) -> None:
        """Raise ``UsageError`` for a file that cannot be written, before anything is measured."""
        refuse_overwriting(self.json, self.perfetto, force=self.force)


def answer(
    arms: Sequence[Arm],
    options: Options,
    outputs: Outputs,
    *,
    kind: Literal["run", "bench"],
    command: Sequence[str],
    echo: bool = False,
    ignore_failure: bool = False,
    notes: Sequence[Note] = (),
) -> int:
    """Measure, print the answer and write the files; return the exit status.

    A command that fails in its first launch gets what it had measured until then printed as well.
    """
    from coldsoak.cli.progress import progress_on
    from coldsoak.errors import CommandFailed
    from coldsoak.launch.store import Store
    from coldsoak.pipeline import measure

    outputs.check()
    progress = progress_on(err(), quiet=echo)
    try:
        result = measure(
            arms,
            options,
            kind=kind,
            command=command,
            progress=progress,
            echo=echo,
            ignore_failure=ignore_failure,
            notes=notes,
        )
    except CommandFailed:
        if progress.last is not None:
            _show_what_there_is(progress.last, outputs)
        raise
    write_outputs(result, Store().folder(result.id), outputs)
    show(result)
    return 0 if result.complete else INTERRUPTED


def _show_what_there_is(result: Result, outputs: Outputs) -> None:
    from coldsoak.launch.store import Store

    write_outputs(result, Store().folder(result.id), Outputs(json=outputs.json, force=True))
    if any(launch.executions for launch in result.launches):
        show(result)


def show(result: Result, reading: Reading | None = None) -> None:
    """Print the answer on stdout; where no launch counts, what those that do not have seen."""
    from coldsoak.report.console import render
    from coldsoak.stats.salvage import salvaged

    again = AGAIN if reading is None else ""
    with answering(again) as console:
        render(salvaged(result), console, reading)


def reread(reference: str, *, reattribute: bool) -> tuple[Result, Path]:
    """Return a saved result, judged by this version, and its folder; causes worked out again when asked."""
    from coldsoak import pipeline
    from coldsoak.launch.store import Store, read_result

    file = Store().find(reference)
    result = read_result(file)
    if reattribute:
        return pipeline.reattribute(result, file.parent), file.parent
    return pipeline.judged(result), file.parent


def write_outputs(result: Result, folder: Path, outputs: Outputs) -> None:
    """Write the files that were asked for.

    Raises:
        UsageError: There is no trace for Perfetto, or a file cannot be written.

    """
    outputs.check()
    if outputs.json is not None:
        from coldsoak.launch.store import encode_result, write_atomically

        write_atomically(outputs.json, encode_result(result))
    if outputs.perfetto is not None:
        _write_perfetto(result, folder, outputs.perfetto)


def _write_perfetto(result: Result, folder: Path, file: Path) -> None:
    from coldsoak.errors import UsageError
    from coldsoak.launch.store import write_atomically
    from coldsoak.launch.trace import load_trace
    from coldsoak.report.perfetto import encode

    traced = next((one for one in result.launches if one.trace and one.round > 0), None)
    if traced is None or not (folder / traced.trace).is_file():
        raise UsageError(
            "There is no traced launch to write for Perfetto.",
            do="Leave --no-trace out, and report a stored result by its id.",
        )
    write_atomically(file, encode(load_trace(folder / traced.trace), traced, result))
