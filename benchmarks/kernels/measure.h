// What the measured loops share: a clock, the line that is printed, and columns of made-up numbers.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "data/dataset.h"

namespace hornbeam::bench {

using data::ColumnView;

// Nobody interrupts a measurement.
CancelPoller& poller();

// Seconds of the fastest of several runs; `prepare` is not timed.
double fastest(const std::function<void()>& prepare, const std::function<void()>& work);

// Prints a line: nanoseconds per piece of work.
void report(const std::string& what, double seconds, double count, const std::string& unit);

ColumnView view(const std::vector<double>& values);

// Normal numbers, rounded to multiples of `step` if that is positive.
std::vector<double> normal_values(std::size_t n, double step, std::mt19937_64& generator);

// The loops of boosting: histograms, the parting of rows, the search for a cut.
void measure_boosting(std::mt19937_64& generator);

// What answers questions: trees asked for many rows, distances between rows.
void measure_answers(std::mt19937_64& generator);

}  // namespace hornbeam::bench
