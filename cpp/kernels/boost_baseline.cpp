#define HORNBEAM_KERNELS baseline
#include "boost_body.h"
