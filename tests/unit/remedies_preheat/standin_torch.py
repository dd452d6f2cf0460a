"""A torch and a Triton of a few lines: what the stages that replay answers look at.

``write(folder)`` puts the packages there. Trials and keys that are really worked out leave a line in
the file ``worked``; everything else is as in the real packages, of which two shapes are known: the
cache around torch's key was moved between 2.11 and 2.13.
"""

from pathlib import Path

OWN_CACHE = """\
def cache(function):
    kept = []
    def wrapper():
        if not kept:
            kept.append(function())
        return kept[0]
    def set_val(value):
        assert len(kept) == 0
        kept.append(value)
    wrapper.set, wrapper.clear = set_val, kept.clear
    return wrapper
"""
MOVED_CACHE = "from torch.utils import prefetchable_cache as cache\n"
NO_SETTER = "from functools import cache\n"

FILES = {
    "torch/__init__.py": "__version__ = '2.11.0'\nfrom torch import version\n",
    "torch/version.py": "git_version = 'abc'\n",
    "torch/lib/libtorch_cpu.so": "library",
    "torch/_inductor/__init__.py": "",
    "torch/_inductor/config.py": "setting = 1\n",
    "torch/_inductor/cpp_builder.py": """\
import os
def get_cpp_compiler():
    return 'cc'
def get_compiler_version_info(compiler):
    return os.environ.get('STANDIN_COMPILER', 'compiler 12')
""",
    "torch/_inductor/cpu_vec_isa.py": """\
class VecISA:
    _macro, _arch_flags = ['CPU_CAPABILITY_X'], '-mx'
    def build_arch_flags(self):
        return self._arch_flags
    def check_build(self, code):
        with open('worked', 'a') as log:
            log.write('trial %s %s\\n' % (type(self).__name__, code))
        return code != 'fails'
class Wide(VecISA):
    _arch_flags = '-mx -mwide'
def valid_vec_isa_list():
    return [isa for isa in (Wide(), VecISA()) if isa.check_build('loads') and isa.check_build('more')
            and not isa.check_build('fails')]
""",
    "torch/utils.py": """\
import functools
def prefetchable_cache(function):
    kept = []
    def wrapper():
        if not kept:
            kept.append(function())
        return kept[0]
    def set_val(value):
        if kept:
            raise RuntimeError('prefetchable_cache value already set')
        kept.append(value)
    wrapper.set, wrapper.clear, wrapper.prefetch = set_val, kept.clear, wrapper
    return wrapper
""",
    "torch/_inductor/codecache.py": """\
import hashlib, os
{cache}
@cache
def torch_key():
    with open('worked', 'a') as log:
        log.write('torch_key\\n')
    root, found = os.path.dirname(os.path.dirname(__file__)), hashlib.sha256()
    for folder in (root, os.path.join(root, '_inductor')):
        for name in sorted(os.listdir(folder)):
            if name.endswith('.py'):
                with open(os.path.join(folder, name), 'rb') as file:
                    found.update(name.encode() + file.read())
    return found.digest()
""",
    "triton/__init__.py": "__version__ = '3.6.0'\n",
    "triton/_C/libtriton.so": "many bytes",
    "triton/runtime/__init__.py": "",
    "triton/runtime/cache.py": """\
import functools, hashlib, os
@functools.lru_cache()
def triton_key():
    with open('worked', 'a') as log:
        log.write('triton_key\\n')
    library = os.path.join(os.path.dirname(os.path.dirname(__file__)), '_C', 'libtriton.so')
    with open(library, 'rb') as file:
        return '3.6.0' + hashlib.sha256(file.read()).hexdigest()
""",
    "triton/compiler/__init__.py": "",
    "triton/compiler/compiler.py": "from triton.runtime.cache import triton_key\n",
}


def write(folder: Path, cache: str = OWN_CACHE) -> None:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("{cache}", cache))
