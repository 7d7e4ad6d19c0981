#define HORNBEAM_KERNELS avx512
#include "boost_body.h"
