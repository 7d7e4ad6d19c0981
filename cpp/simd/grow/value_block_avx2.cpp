#define HORNBEAM_KERNELS avx2
#include "simd/grow/value_block_body.h"
