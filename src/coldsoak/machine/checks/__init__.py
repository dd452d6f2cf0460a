"""Readiness and set-up: what on this machine would slow a first run or spoil its measurement.

Each check is a class that reads (input and output), judges (a pure function of what was read) and
explains (its docstring, a section of ``docs/doctor.md``). Nothing is changed, no CUDA
context is made and no framework is imported.
"""
