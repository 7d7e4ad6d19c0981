#define HORNBEAM_KERNELS avx2
#include "value_block_body.h"
