#define HORNBEAM_KERNELS avx2
#define HORNBEAM_KERNELS_NAME "avx2"
#include "kernels_body.h"
