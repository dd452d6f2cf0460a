"""TensorFlow's XLA executables kept on disk."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.setting import Setting, by_causes, cache_files, with_flags

__all__ = ["TensorFlowXlaCache"]

FOLDER = "tensorflow-xla"


class TensorFlowXlaCache(Setting):
    """Keep what XLA compiled for TensorFlow (`jit_compile=True`, auto-clustering).

    TensorFlow compiles again in each process unless `--tf_xla_persistent_cache_directory` in
    `TF_XLA_FLAGS` names a folder. Entries depend on the versions and the device.
    """

    id = "tf.xla_cache"
    title = "TensorFlow's XLA cache"
    kind = "cache"
    causes = frozenset({Cause.COMPILE, Cause.ALGORITHM_SEARCH})
    risks = ("the flag is not documented by TensorFlow",)
    needs = ("tensorflow", "tensorflow-cpu", "tensorflow_cpu")
    packages = ("tensorflow",)

    def change(self, context: Context) -> Change:
        """Add the flags to those that are there."""
        flags = context.environment.get("TF_XLA_FLAGS", "")
        folder = f"--tf_xla_persistent_cache_directory={context.store / FOLDER}"
        return Change(env={"TF_XLA_FLAGS": with_flags(flags, folder)}, fill=True)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Look for entries in the cache."""
        return cache_files(context.store / FOLDER, by_causes(self.causes, context, seen))
