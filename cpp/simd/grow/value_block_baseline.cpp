#define HORNBEAM_KERNELS baseline
#include "simd/grow/value_block_body.h"
