#include "fused/common/decoder/deal.cuh"
