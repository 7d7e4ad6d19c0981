#define HORNBEAM_KERNELS avx2
#include "predict_body.h"
