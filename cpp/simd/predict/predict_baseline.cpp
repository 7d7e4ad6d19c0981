#define HORNBEAM_KERNELS baseline
#include "simd/predict/predict_body.h"
