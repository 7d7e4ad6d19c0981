// The grower for several numbers per row, numbers of rows in portions, and criteria of the user's own.
#include "hornbeam/criterion/own.h"
#include "hornbeam/criterion/vectors.h"
#include "hornbeam/growth/tree_grower.h"

namespace hornbeam {

template GrownTree grow_with(const GrowTask&, VectorScorer<VectorSquaredError>);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorPoisson>);
template GrownTree grow_with(const GrowTask&, OwnScorer);

}  // namespace hornbeam
