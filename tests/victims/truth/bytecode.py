"""Two hundred modules are imported without bytecode; without: the bytecode is there."""
# cause: import_bytecode_compile
import os
import sys
import tempfile
import time

folder = os.path.join(tempfile.gettempdir(), f"coldsoak-victim-bytecode-{os.getuid()}")
package = os.path.join(folder, "site-packages", "manymodules")
if not os.path.isdir(package):
    os.makedirs(package)
    body = "".join(f"def f{i}(x, y=({i}, 'a'), *z, **k):\n    return [x + {i} for _ in range(y[0]) if x]\n" for i in range(60))
    for i in range(200):
        with open(os.path.join(package, f"m{i}.py"), "w") as file:
            file.write(body)
    with open(os.path.join(package, "__init__.py"), "w") as file:
        file.writelines(f"from . import m{i}\n" for i in range(200))
sys.path.insert(0, os.path.dirname(package))
if os.environ.get("VICTIM_WITHOUT"):
    import compileall

    sys.dont_write_bytecode = False
    compileall.compile_dir(package, quiet=1)
else:
    import shutil

    shutil.rmtree(os.path.join(package, "__pycache__"), ignore_errors=True)
    sys.dont_write_bytecode = True
start = time.perf_counter()
import manymodules  # noqa: E402

print(f"{time.perf_counter() - start:.6f}")
