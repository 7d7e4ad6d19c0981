// How unlikely a statistic is by chance: the upper tails of the chi-square and the F distribution, as
// natural logarithms, so that tests far beyond the smallest float64 can still be compared. Weights may be
// counts here, so degrees of freedom need not be whole numbers.
//
// Built on our own logarithm and exponential (base/math.h): the same bits on every machine. About ten digits.
#pragma once

namespace hornbeam::criterion {

// ln P(X >= statistic), X chi-square with `dof` > 0 degrees of freedom; 0 for a statistic of 0 or less.
double chi2_log_sf(double statistic, double dof);

// ln P(X >= f), X with the F distribution of d1 > 0 and d2 > 0 degrees of freedom; 0 for f of 0 or less.
double f_log_sf(double f, double d1, double d2);

}  // namespace hornbeam::criterion
