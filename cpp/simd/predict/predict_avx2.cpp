#define HORNBEAM_KERNELS avx2
#include "simd/predict/predict_body.h"
