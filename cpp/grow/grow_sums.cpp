// The grower for one number per row, which is summed.
#include "criterion/sums.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::PoissonBranch;
using criterion::SquaredErrorBranch;
using criterion::SumScorer;

template GrownTree grow_with(const GrowTask&, SumScorer<SquaredErrorBranch>);
template GrownTree grow_with(const GrowTask&, SumScorer<PoissonBranch>);

}  // namespace hornbeam::grow
