// The grower for two classes that are counted.
#include "criterion/accuracy.h"
#include "criterion/counts.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::EntropyTerm;
using criterion::GiniTerm;
using criterion::TwoClassAccuracyTerm;
using criterion::TwoClassScorer;

template GrownTree grow_with(const GrowTask&, TwoClassScorer<GiniTerm>);
template GrownTree grow_with(const GrowTask&, TwoClassScorer<EntropyTerm>);
template GrownTree grow_with(const GrowTask&, TwoClassScorer<TwoClassAccuracyTerm>);

}  // namespace hornbeam::grow
