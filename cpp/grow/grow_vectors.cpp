// The grower for what cells of several sums are needed for: weighted classes, several outputs, rows in
// portions. Numbers are in grow/grow_number_vectors.cpp.
#include "criterion/accuracy.h"
#include "criterion/chi2.h"
#include "criterion/two_weights.h"
#include "criterion/vectors.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::TwoWeightScorer;
using criterion::VectorAccuracy;
using criterion::VectorChi2Scorer;
using criterion::VectorEntropy;
using criterion::VectorGini;
using criterion::VectorScorer;

template GrownTree grow_with(const GrowTask&, TwoWeightScorer);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorGini>);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorEntropy>);
template GrownTree grow_with(const GrowTask&, VectorScorer<VectorAccuracy>);
template GrownTree grow_with(const GrowTask&, VectorChi2Scorer);

}  // namespace hornbeam::grow
