#define HORNBEAM_KERNELS avx2
#include "simd/boost/boost_body.h"
