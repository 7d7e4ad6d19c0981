#define HORNBEAM_KERNELS baseline
#include "simd/boost/boost_body.h"
