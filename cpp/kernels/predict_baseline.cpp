#define HORNBEAM_KERNELS baseline
#include "predict_body.h"
