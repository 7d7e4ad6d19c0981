#define HORNBEAM_KERNELS avx512
#include "predict_body.h"
