#define HORNBEAM_KERNELS avx2
#include "boost_body.h"
