"""CUDA C++ for the victims: many kernels, compiled by NVRTC through CuPy."""
import cupy


def many(count, work):
    body = "".join(f"x = x * {i}.5f + y * x;\n" for i in range(work))
    return "".join(
        f'extern "C" __global__ void k{i}(float* p) {{ float x = p[threadIdx.x] + {i}.0f, y = x * x; {body} p[threadIdx.x] = x; }}\n'
        for i in range(count)
    )


def cubin(source):
    return _compile(source, "--gpu-architecture=sm_90", "get_cubin")


def ptx(source):
    return _compile(source, "--gpu-architecture=compute_80", "get_ptx")


def _compile(source, architecture, get):
    from cupy.cuda import compiler

    program = compiler._NVRTCProgram(source)
    from cupy_backends.cuda.libs import nvrtc

    nvrtc.compileProgram(program.ptr, [architecture])
    return {"get_cubin": nvrtc.getCUBIN, "get_ptx": nvrtc.getPTX}[get](program.ptr)
