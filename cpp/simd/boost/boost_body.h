// The bodies of boost/boost_kernels.h, in four files; included once per instruction set, inside a namespace
// that HORNBEAM_KERNELS names.
#include "simd/boost/boost_derivatives.h"
#include "simd/boost/boost_histograms.h"
#include "simd/boost/boost_partition.h"
#include "simd/boost/boost_scores.h"

namespace hornbeam::boost::HORNBEAM_KERNELS {

extern const BoostKernels boost_table;
const BoostKernels boost_table = {add_packed, add_wide,   add_lanes<4>, add_lanes<8>, mark_left,
                                  send,       divide_set, score_packed, score_wide,   first_at_least,
                                  rank_keys,  spread,     pack_rows,    log_loss,     softmax};

}  // namespace hornbeam::boost::HORNBEAM_KERNELS
