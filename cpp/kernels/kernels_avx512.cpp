#define HORNBEAM_KERNELS avx512
#define HORNBEAM_KERNELS_NAME "avx512"
#include "kernels_body.h"
