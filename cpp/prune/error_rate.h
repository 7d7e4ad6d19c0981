// The error rate that pessimistic pruning expects in a leaf. In: errors and rows. Out: the upper limit U of
// the rate. The formula is in prune.h.
#pragma once

namespace hornbeam::prune {

// U(errors, weight); 1 where there is no weight.
double upper_error_rate(double errors, double weight, double confidence);

// Throws std::invalid_argument unless the confidence factor lies between 0 and 1.
void check_confidence(double confidence);

}  // namespace hornbeam::prune
