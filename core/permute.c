#include "core/device/permute.cuh"
