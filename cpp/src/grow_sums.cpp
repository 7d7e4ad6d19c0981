// The grower for one number per row, which is summed.
#include "hornbeam/criterion/sums.h"
#include "hornbeam/growth/tree_grower.h"

namespace hornbeam {

template GrownTree grow_with(const GrowTask&, SumScorer<SquaredErrorBranch>);
template GrownTree grow_with(const GrowTask&, SumScorer<PoissonBranch>);

}  // namespace hornbeam
