// The grower for several numbers per row, numbers of rows in portions, and criteria of the user's own.
#include "criterion/own.h"
#include "criterion/vectors.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::OwnScorer;
using criterion::VectorPoisson;
using criterion::VectorScorer;
using criterion::VectorSquaredError;

template GrownTree grow_with(const GrowTask&, VectorScorer<VectorSquaredError>);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorPoisson>);
template GrownTree grow_with(const GrowTask&, OwnScorer);

}  // namespace hornbeam::grow
