// The grower for more classes that are counted.
#include "hornbeam/criterion/accuracy.h"
#include "hornbeam/criterion/chi2.h"
#include "hornbeam/criterion/counts.h"
#include "hornbeam/growth/tree_grower.h"

namespace hornbeam {

template GrownTree grow_with(const GrowTask&, CountScorer<GiniTerm>);
template GrownTree grow_with(const GrowTask&, CountScorer<EntropyTerm>);
template GrownTree grow_with(const GrowTask&, CountChi2Scorer);
template GrownTree grow_with(const GrowTask&, MajorityScorer);

}  // namespace hornbeam
