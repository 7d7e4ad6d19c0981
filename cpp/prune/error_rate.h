// The error rate that pessimistic pruning expects of a leaf: errors and rows in, the upper limit U of the
// rate out. The formula is in prune.h.
#pragma once

namespace hornbeam::prune {

// U(errors, weight); 1 where there is no weight.
double upper_error_rate(double errors, double weight, double confidence);

// Throws std::invalid_argument unless the confidence factor lies between 0 and 1.
void check_confidence(double confidence);

}  // namespace hornbeam::prune
