#include "core/board.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

char *board_slug(char *slug, size_t size, const char *name)
{
    size_t used = 0;

    for (; name && *name && used + 1 < size; name++) {
        unsigned char c = (unsigned char)*name;
        if (isalnum(c) && c < 128)
            slug[used++] = (char)tolower(c);
        else if (used > 0 && slug[used - 1] != '-')
            slug[used++] = '-';
    }
    while (used > 0 && slug[used - 1] == '-')
        used--;
    slug[used] = '\0';
    if (used == 0)
        snprintf(slug, size, "unknown");
    return slug;
}

/* Dense figures. If a datasheet prints only the figure with sparsity, half of it. Names are matched
 * in full: laptop and "Ti" parts and MIG slices have names that contain those of other boards. */
static const struct board_peak peaks[] = {
    {"nvidia-b200", 2250e12, "NVIDIA HGX datasheet: 4.5 PFLOPS FP16 with sparsity per B200"},
    {"nvidia-gh200-480gb", 989.4e12, "NVIDIA GH200 datasheet: 1,979 TFLOPS FP16 with sparsity"},
    {"nvidia-h200", 989.4e12, "NVIDIA H200 datasheet: 1,979 TFLOPS FP16 with sparsity (SXM)"},
    {"nvidia-h200-nvl", 835.5e12, "NVIDIA H200 datasheet: 1,671 TFLOPS FP16 with sparsity (NVL)"},
    {"nvidia-h100-80gb-hbm3", 989.4e12, "NVIDIA H100 architecture white paper: H100 SXM5"},
    {"nvidia-h100-pcie", 756e12, "NVIDIA H100 architecture white paper: H100 PCIe"},
    {"nvidia-a100-sxm4-40gb", 312e12, "NVIDIA A100 architecture white paper"},
    {"nvidia-a100-sxm4-80gb", 312e12, "NVIDIA A100 architecture white paper"},
    {"nvidia-a100-pcie-40gb", 312e12, "NVIDIA A100 architecture white paper"},
    {"nvidia-a100-80gb-pcie", 312e12, "NVIDIA A100 architecture white paper"},
    {"nvidia-l40s", 362.05e12, "NVIDIA L40S datasheet"},
    {"nvidia-l40", 181.05e12, "NVIDIA L40 datasheet"},
    {"nvidia-l4", 121e12, "NVIDIA L4 datasheet: 242 TFLOPS FP16 with sparsity"},
    {"nvidia-a10", 125e12, "NVIDIA A10 datasheet"},
    {"nvidia-geforce-rtx-4090", 165.2e12, "NVIDIA Ada architecture white paper"},
    {"nvidia-geforce-rtx-3090", 71e12, "NVIDIA GA102 architecture white paper"},
    {"tesla-t4", 65e12, "NVIDIA T4 datasheet"},
};

const struct board_peak *board_peak(const char *slug)
{
    const size_t digits = slug ? strspn(slug, "0123456789") : 0;
    if (digits > 0 && slug[digits] == 'x' && slug[digits + 1] == '-')
        slug += digits + 2; /* of several boards, each has it */
    for (size_t i = 0; slug && i < sizeof peaks / sizeof peaks[0]; i++)
        if (!strcmp(peaks[i].slug, slug))
            return &peaks[i];
    return NULL;
}
