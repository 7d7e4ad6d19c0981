#define HORNBEAM_KERNELS baseline
#include "value_block_body.h"
