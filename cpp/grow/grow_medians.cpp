// The grower for absolute error, which needs the rows themselves to find a test.
#include "criterion/medians.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::MedianScorer;

template GrownTree grow_with(const GrowTask&, MedianScorer);

}  // namespace hornbeam::grow
