// The grower for what cells of several sums are needed for: weighted classes, several outputs, rows in
// portions. Numbers are in grow_number_vectors.cpp.
#include "hornbeam/criterion/accuracy.h"
#include "hornbeam/criterion/chi2.h"
#include "hornbeam/criterion/vectors.h"
#include "hornbeam/growth/tree_grower.h"

namespace hornbeam {

template GrownTree grow_with(const GrowTask&, VectorScorer<VectorGini>);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorEntropy>);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorAccuracy>);
template GrownTree grow_with(const GrowTask&, VectorChi2Scorer);

}  // namespace hornbeam
