// The grower for more classes that are counted.
#include "criterion/accuracy.h"
#include "criterion/chi2.h"
#include "criterion/counts.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::CountChi2Scorer;
using criterion::CountScorer;
using criterion::EntropyTerm;
using criterion::GiniTerm;
using criterion::MajorityScorer;

template GrownTree grow_with(const GrowTask&, CountScorer<GiniTerm>);
template GrownTree grow_with(const GrowTask&, CountScorer<EntropyTerm>);
template GrownTree grow_with(const GrowTask&, CountChi2Scorer);
template GrownTree grow_with(const GrowTask&, MajorityScorer);

}  // namespace hornbeam::grow
