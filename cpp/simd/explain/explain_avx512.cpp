#define HORNBEAM_KERNELS avx512
#include "simd/explain/explain_body.h"
