from __future__ import annotations

from coldsoak.launch.onednn import Primitive, parse

LINES = """\
onednn_verbose,v1,info,oneDNN v3.12.0 (commit abc)
onednn_verbose,v1,primitive,info,template:timestamp,operation,engine,primitive,implementation,exec_time
step 1 of 2
onednn_verbose,v1,1796044734172.25,primitive,create:cache_miss,cpu,matmul,brg:avx512,undef,src:bf16,attr,,64x64:64x64,0.41
onednn_verbose,primitive,create:cache_hit,cpu,matmul,brg:avx512,undef,src,attr,,8x8:8x8,0.01
dnnl_verbose,create:cache_miss,cpu,convolution,jit:avx2,fwd,src,attr,,mb1,1.5
onednn_verbose,v1,1796044734173.0,primitive,exec,cpu,matmul,brg:avx512,undef,src:bf16,attr,,64x64,0.2
onednn_verbose,v1,1796044734173.0,primitive,create:cache_miss,cpu,matmul,brg,undef,src,attr,,64x64,cut
"""


def test_creations_of_all_versions_are_read():
    assert list(parse(LINES.splitlines())) == [
        Primitive(
            "create:cache_miss", "matmul", "brg:avx512", 1796044734172.25, 0.41, "64x64:64x64"
        ),
        Primitive("create:cache_hit", "matmul", "brg:avx512", 0.0, 0.01, "8x8:8x8"),
        Primitive("create:cache_miss", "convolution", "jit:avx2", 0.0, 1.5, "mb1"),
    ]
