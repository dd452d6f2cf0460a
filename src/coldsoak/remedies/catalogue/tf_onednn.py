"""TensorFlow without oneDNN."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["NoOneDnn"]


class NoOneDnn(Setting):
    """Let TensorFlow compute with Eigen instead of oneDNN on the processor.

    oneDNN generates machine code for each new shape. A small graph that runs once or twice does not
    get that time back. TensorFlow itself warns that results differ in the last digits, and larger
    graphs are slower without oneDNN.
    """

    id = "tf.onednn"
    title = "oneDNN off"
    causes = frozenset({Cause.COMPILE, Cause.PLAN_BUILD, Cause.LIBRARY_HANDLE})
    numerics = "may change"
    risks = ("later runs may be slower", "results differ in the last digits")
    needs = ("tensorflow", "tensorflow-cpu", "tensorflow_cpu")
    packages = ("tensorflow",)
    variables = (("TF_ENABLE_ONEDNN_OPTS", "0"),)
