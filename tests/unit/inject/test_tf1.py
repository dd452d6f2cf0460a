"""How the imports of TensorFlow are read in a script written for TensorFlow 1."""

import ast

import pytest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import tensorflow as tf", "import tensorflow.compat.v1 as tf"),
        ("import tensorflow", "import tensorflow.compat.v1 as tensorflow"),
        ("import os, tensorflow as tf", "import os, tensorflow.compat.v1 as tf"),
        ("from tensorflow import Session", "from tensorflow.compat.v1 import Session"),
        ("from tensorflow import *", "from tensorflow.compat.v1 import *"),
        ("from tensorflow import keras", "from tensorflow import keras"),
        (
            "from tensorflow import keras, layers as l",
            "from tensorflow.compat.v1 import layers as l\nfrom tensorflow import keras",
        ),
        (
            "from tensorflow.python.client import device_lib",
            "from tensorflow.python.client import device_lib",
        ),
        ("import tensorflow.keras as k", "import tensorflow.keras as k"),
        ("from .tensorflow import x", "from .tensorflow import x"),
        (
            "def f():\n    try:\n        import tensorflow as tf\n    except ImportError:\n        pass",
            "def f():\n    try:\n        import tensorflow.compat.v1 as tf\n    except ImportError:\n        pass",
        ),
        (
            "if x:\n    pass\nelse:\n    with a:\n        import tensorflow as tf",
            "if x:\n    pass\nelse:\n    with a:\n        import tensorflow.compat.v1 as tf",
        ),
    ],
)
def test_redirect(agent_module, before, after):
    tree = ast.parse(before)
    agent_module("tf1").redirect(tree)
    assert ast.unparse(tree) == after
    compile(tree, "x.py", "exec")
