#define HORNBEAM_KERNELS avx512
#include "value_block_body.h"
