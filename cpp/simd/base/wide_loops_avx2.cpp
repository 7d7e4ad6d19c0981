#define HORNBEAM_KERNELS avx2
#define HORNBEAM_KERNELS_NAME "avx2"
#include "simd/base/wide_loops_body.h"
