#define HORNBEAM_KERNELS avx512
#include "simd/boost/boost_body.h"
