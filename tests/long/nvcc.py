#!/usr/bin/env python3
"""nvcc.py ARGUMENT...: makes a cubin of a .cu file as nvcc does, from what PyPI has of CUDA 12: libnvrtc in place
of nvcc's own front end, and ptxas. PyPI has no nvcc of CUDA 12. toolkits.sh puts this file into bin/ of a folder,
beside ptxas; libnvrtc.so.12 lies in lib64/, the headers in include/.

It differs from nvcc: libnvrtc addresses shared memory with 64 bits, nvcc with 32. A kernel has some more integer
instructions, and its registers may be other.

It knows the options that the Makefile and deps.sh use; another one is an error."""
import ctypes
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PTXAS = os.path.join(TOP, "bin", "ptxas")
# Headers of the host, which libnvrtc has built in or takes from libcu++; nvcc includes <math.h> before all else.
HEADERS = {
    "nvcc.h": "#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n"
              "__device__ inline void *__builtin_alloca(size_t) { return nullptr; }\n",  # it has none
    "stdint.h": "#pragma once\n#include <cuda/std/cstdint>\n",
    "type_traits": "#pragma once\n#include <cuda/std/type_traits>\nnamespace std { using namespace cuda::std; }\n",
    "math.h": "", "stdbool.h": "", "stddef.h": "", "assert.h": "",
}
WITH_VALUE = ("-o", "-gencode", "-arch", "-Xptxas", "-MF", "-MT", "-ccbin", "-x")
UNUSED = ("-cubin", "-MD", "-MP", "-O3", "-w")


def parse(words):
    """(options of libnvrtc, options of ptxas, source, architecture, output)"""
    nvrtc, ptxas, source, arch, out = [], [], None, None, None
    words = iter(words)
    for word in words:
        value = next(words) if word in WITH_VALUE else None
        if word == "-o":
            out = value
        elif word == "-Xptxas":
            ptxas += value.split(",")
        elif word.startswith("--ptxas-options="):
            ptxas += word.split("=", 1)[1].split(",")
        elif word in ("-gencode", "-arch") or word.startswith("-arch="):
            arch = (value or word).rsplit("sm_", 1)[1]
        elif word == "-std=c++17":
            nvrtc.append("-std=c++20")  # gcc, and so nvcc, knows {.name = value} in 17, too
        elif word.startswith(("-I", "-D")):
            nvrtc.append(word)
        elif not word.startswith("-"):
            source = word
        elif word not in WITH_VALUE + UNUSED:
            sys.exit("nvcc.py: unknown option " + word)
    return nvrtc, ptxas, source, arch, out


def strings(texts):
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


def taken(lib, what, program):
    """The text that libnvrtc has of a program: its log, or its PTX."""
    size = ctypes.c_size_t()
    getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, text)
    return text.value


def ptx_of(source, arch, options):
    lib = ctypes.CDLL(os.path.join(TOP, "lib64", "libnvrtc.so.12"))
    with open(source, "rb") as file:
        text = file.read()
    program = ctypes.c_void_p()
    if lib.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), len(HEADERS), strings(HEADERS.values()),
                              strings(HEADERS)):
        sys.exit("nvcc.py: libnvrtc makes no program of " + source)
    options = options + ["-I" + os.path.join(TOP, "include"), "-I" + os.path.dirname(source), "--pre-include=nvcc.h",
                         "--gpu-architecture=compute_" + arch, "-default-device"]
    if lib.nvrtcCompileProgram(program, len(options), strings(options)):
        sys.stderr.buffer.write(taken(lib, "ProgramLog", program))
        sys.exit(1)
    return taken(lib, "PTX", program)


def main():
    if "--version" in sys.argv:
        sys.exit(subprocess.run([PTXAS, "--version"], check=False).returncode)
    nvrtc, ptxas, source, arch, out = parse(sys.argv[1:])
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        file.write(ptx_of(source, arch, nvrtc))
        file.flush()
        sys.exit(subprocess.run([PTXAS, "-arch=sm_" + arch, *ptxas, file.name, "-o", out], check=False).returncode)


main()
