#define HORNBEAM_KERNELS avx512
#include "simd/predict/predict_body.h"
