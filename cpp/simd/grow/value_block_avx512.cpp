#define HORNBEAM_KERNELS avx512
#include "simd/grow/value_block_body.h"
