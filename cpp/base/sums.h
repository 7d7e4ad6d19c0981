// Sums that do not depend on the order of what is added.
#pragma once

#include <span>

namespace hornbeam {

// Each number is written as two whole numbers of 30 bits, counted in units of the largest; whole numbers add up
// exactly. What is lost is below 2^-60 of the largest number, for each of them.
double sum_in_any_order(std::span<const double> values);

}  // namespace hornbeam
