"""The C compiler builds a file; without: the result of an earlier build is found."""
# cause: child_process
import os
import subprocess
import tempfile
import time

with tempfile.TemporaryDirectory() as folder:
    source, built = os.path.join(folder, "a.c"), os.path.join(folder, "a.so")
    with open(source, "w") as file:
        for i in range(3000):
            file.write(f"double f{i}(double x) {{ return x * {i}.5 + {i}; }}\n")
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", built, source]
    if os.environ.get("VICTIM_WITHOUT"):
        subprocess.run(command, check=True)
    start = time.perf_counter()
    if not os.path.exists(built):
        subprocess.run(command, check=True)
    total = sum(i * i for i in range(100_000))
    print(f"{time.perf_counter() - start:.6f}")
