// The grower for absolute error, which needs the rows themselves to find a test.
#include "criterion/medians.h"
#include "split/median_finder.h"
// What finds tests has to be known before those who ask.
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::MedianScorer;

template GrownTree grow_with(const GrowTask&, MedianScorer);

}  // namespace hornbeam::grow
