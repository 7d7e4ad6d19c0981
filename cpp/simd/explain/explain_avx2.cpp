#define HORNBEAM_KERNELS avx2
#include "simd/explain/explain_body.h"
