#define HORNBEAM_KERNELS avx512
#define HORNBEAM_KERNELS_NAME "avx512"
#include "simd/base/wide_loops_body.h"
