#define HORNBEAM_KERNELS baseline
#define HORNBEAM_KERNELS_NAME "baseline"
#include "kernels_body.h"
