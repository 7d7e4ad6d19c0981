// The grower for two classes that are counted.
#include "hornbeam/criterion/accuracy.h"
#include "hornbeam/criterion/counts.h"
#include "hornbeam/growth/tree_grower.h"

namespace hornbeam {

template GrownTree grow_with(const GrowTask&, TwoClassScorer<GiniTerm>);
template GrownTree grow_with(const GrowTask&, TwoClassScorer<EntropyTerm>);
template GrownTree grow_with(const GrowTask&, TwoClassScorer<TwoClassAccuracyTerm>);

}  // namespace hornbeam
