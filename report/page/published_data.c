/* What others have published. Each figure has its source; second-hand ones are left out. */
#include "report/page/published.h"

static const struct published_source sources[] = {
    {"RRZE", "gpu-benches", "RRZE-HPC", 2025, "https://github.com/RRZE-HPC/gpu-benches",
     "commit 1038c5d. Latency: one thread chases pointers at random through lines of 128 bytes of "
     "managed memory; the time of the whole chase by events. Rates and kernels by events."},
    {"tu102", "tu102", "connollydavid", 2026, "https://github.com/connollydavid/tu102",
     "commit 789ff42. Quadro RTX 6000 at a locked 1455 MHz; slope between N and 2N steps by "
     "clock64, machine code checked; the chase is sequential at 136 bytes."},
    {"Hopper", "NVIDIA-Hopper-Benchmark", "HPMLL (Luo et al.)", 2025,
     "https://github.com/HPMLL/NVIDIA-Hopper-Benchmark",
     "commit ded6f57, the authors' logs. Random chase; A100 PCIe at 1395 MHz, H800 PCIe at 1755, "
     "RTX 4090 at 2235."},
    {"sync", "A Study of Single and Multi-device Synchronization Methods in Nvidia GPUs",
     "Zhang et al.", 2020, "https://github.com/neozhang307/SyncMicrobenchmark",
     "IPDPS 2020. Kernels of known length, fused or not; host clock."},
    {"arabel1a", "gpu-micro-bench", "arabel1a", 2026,
     "https://github.com/arabel1a/gpu-micro-bench",
     "commit 1bd88ec, results/memtest/results.md. Chase by index, not unrolled: loop and address "
     "are in the number."},
    {"MegaQwen", "MegaQwen", "Infatoshi", 0, "https://github.com/Infatoshi/MegaQwen",
     "commit 0bc1fde, experiments/RESULTS.md. 225 empty kernels or barriers, 82 blocks of 256 "
     "threads."},
    {"gb300", "gb300-microbench", "Antoniomv7", 2026,
     "https://github.com/Antoniomv7/gb300-microbench",
     "commit 1f27767. Campaigns of 30 repetitions, each in a process of its own."},
    {"tensorcore", "blackwell-tensorcore-kernels", "waynehacking8", 0,
     "https://github.com/waynehacking8/blackwell-tensorcore-kernels",
     "commit c289bde, results/bench.csv. Mean of 10 launches in a row, printed to 1 us."},
};

static const char chase[] = "dependent loads", slope[] = "slope of dependent loads";
static const char all_lines[] = "read, best shown", graph[] = "kernels of 64 kB in a graph";
static const char stream[] = "kernels of 64 kB in a stream";
static const char persistent[] = "loop with atomics, 64 kB";

static const struct published figures[] = {
    {"l1-load", "V100", 20, 20, "ns", chase, "RRZE"},
    {"l1-load", "A100", 23, 24, "ns", chase, "RRZE"},
    {"l1-load", "L40", 14, 14, "ns", chase, "RRZE"},
    {"l1-load", "RTX 3090", 23.1, 23.1, "ns", chase, "arabel1a"},
    {"l1-load", "GH200", 16, 17, "ns", chase, "RRZE"},
    {"l2-load", "V100", 154, 154, "ns", chase, "RRZE"},
    {"l2-load", "Quadro RTX 6000", 161.5, 161.5, "ns", slope, "tu102"},
    {"l2-load", "RTX 3090", 142, 150, "ns", chase, "arabel1a"},
    {"l2-load", "A100 80GB", 146, 146, "ns", chase, "RRZE"},
    {"l2-load", "A100 PCIe", 145, 145, "ns", chase, "Hopper"},
    {"l2-load", "A40", 144, 144, "ns", chase, "RRZE"},
    {"l2-load", "L40", 110, 110, "ns", chase, "RRZE"},
    {"l2-load", "RTX 4090", 127, 127, "ns", chase, "Hopper"},
    {"l2-load", "H800 PCIe", 151, 151, "ns", chase, "Hopper"},
    {"l2-load", "GH200", 142, 142, "ns", chase, "RRZE"},
    {"l2-far-load", "A100 80GB", 277, 288, "ns", "chase beyond 20 MB", "RRZE"},
    {"l2-far-load", "GH200", 235, 269, "ns", "chase beyond 25 MB", "RRZE"},
    {"hbm-load", "V100", 308, 315, "ns", chase, "RRZE"},
    {"hbm-load", "Quadro RTX 6000", 299.9, 299.9, "ns", slope, "tu102"},
    {"hbm-load", "RTX 3090", 264, 269, "ns", chase, "arabel1a"},
    {"hbm-load", "A100 80GB", 375, 392, "ns", chase, "RRZE"},
    {"hbm-load", "A100 PCIe", 392, 406, "ns", chase, "Hopper"},
    {"hbm-load", "A40", 311, 320, "ns", chase, "RRZE"},
    {"hbm-load", "L40", 246, 251, "ns", chase, "RRZE"},
    {"hbm-load", "RTX 4090", 255, 255, "ns", chase, "Hopper"},
    {"hbm-load", "H800 PCIe", 360, 374, "ns", chase, "Hopper"},
    {"hbm-load", "GH200", 308, 348, "ns", chase, "RRZE"},
    {"l1-read", "V100", 13.9e12, 13.9e12, "bytes/s", all_lines, "RRZE"},
    {"l1-read", "A100", 19.1e12, 19.1e12, "bytes/s", all_lines, "RRZE"},
    {"l1-read", "A40", 9.35e12, 9.35e12, "bytes/s", all_lines, "RRZE"},
    {"l1-read", "L40", 22.6e12, 22.6e12, "bytes/s", all_lines, "RRZE"},
    {"l2-read", "A100", 5.4e12, 5.4e12, "bytes/s", all_lines, "RRZE"},
    {"l2-read", "L40", 5.2e12, 5.2e12, "bytes/s", all_lines, "RRZE"},
    {"l2-read", "H100 PCIe", 7.0e12, 7.0e12, "bytes/s", all_lines, "RRZE"},
    {"l2-read", "H200", 9.7e12, 10.5e12, "bytes/s", "5 to 40 MB", "RRZE"},
    {"hbm-read", "V100", 867e9, 867e9, "bytes/s", "read", "RRZE"},
    {"hbm-read", "Quadro RTX 6000", 609e9, 609e9, "bytes/s", "read", "tu102"},
    {"hbm-read", "A100 80GB", 1.74e12, 1.90e12, "bytes/s", "several kernels", "RRZE"},
    {"hbm-read", "A40", 680e9, 680e9, "bytes/s", "one kernel", "RRZE"},
    {"hbm-read", "L40", 847e9, 847e9, "bytes/s", "one kernel", "RRZE"},
    {"hbm-read", "H100 PCIe", 1.942e12, 1.942e12, "bytes/s", "read", "RRZE"},
    {"hbm-read", "H200", 3.888e12, 3.888e12, "bytes/s", "120 MB to 4.9 GB", "RRZE"},
    {"hbm-read", "B300", 7.02e12, 7.02e12, "bytes/s", "by cp.async", "gb300"},
    {"fma", "Quadro RTX 6000", 4.07, 4.07, "cycles", "dependent FFMA", "tu102"},
    {"grid-sync", "Quadro RTX 6000", 826, 826, "ns", "72 blocks of 256", "tu102"},
    {"grid-sync", "RTX 3090", 730, 730, "ns", "82 blocks of 256", "MegaQwen"},
    {"graph-kernel", "Quadro RTX 6000", 903, 907, "ns", "slope of 64 to 256 nodes", "tu102"},
    {"graph-kernel", "RTX 3090", 830, 830, "ns", "225 empty kernels", "MegaQwen"},
    {"step-kernel", "A40", 810, 810, "ns", persistent, "RRZE"},
    {"step-kernel", "L40", 660, 660, "ns", persistent, "RRZE"},
    {"step-kernel", "H200", 1040, 1150, "ns", persistent, "RRZE"},
    {"step-graph", "A100", 1340, 1500, "ns", graph, "RRZE"},
    {"step-graph", "A40", 1090, 1200, "ns", graph, "RRZE"},
    {"step-graph", "L40", 940, 980, "ns", graph, "RRZE"},
    {"step-graph", "H200", 1260, 1370, "ns", graph, "RRZE"},
    {"step-stream", "A100", 2600, 2700, "ns", stream, "RRZE"},
    {"step-stream", "A40", 2050, 2050, "ns", stream, "RRZE"},
    {"step-stream", "L40", 1640, 1640, "ns", stream, "RRZE"},
    {"step-stream", "H200", 2430, 2520, "ns", stream, "RRZE"},
    {"submit", "Quadro RTX 6000", 1480, 1560, "ns", "launch call", "tu102"},
    {"round-trip", "V100", 8888, 8888, "ns", "null kernel, in all", "sync"},
    {"round-trip", "Quadro RTX 6000", 4280, 4340, "ns", "launch and wait", "tu102"},
    {"product-1024-cublas", "H100 80GB", 12e3, 12e3, "ns", "cuBLAS", "tensorcore"},
    {"product-1024-cublas", "RTX PRO 6000 Max-Q", 16e3, 16e3, "ns", "cuBLAS", "tensorcore"},
};

const struct published *published_at(size_t i)
{
    return i < sizeof figures / sizeof figures[0] ? &figures[i] : NULL;
}

const struct published_source *published_source_at(size_t i)
{
    return i < sizeof sources / sizeof sources[0] ? &sources[i] : NULL;
}
