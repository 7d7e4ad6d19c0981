#define HORNBEAM_KERNELS baseline
#define HORNBEAM_KERNELS_NAME "baseline"
#include "simd/base/wide_loops_body.h"
