#define HORNBEAM_KERNELS baseline
#include "simd/explain/explain_body.h"
