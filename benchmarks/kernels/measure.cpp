// A clock and a line per measurement; see measure.h.
#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace hornbeam::bench {
namespace {

constexpr int kRuns = 7;

}  // namespace

CancelPoller& poller() {
  static Cancel cancel;
  static CancelPoller idle(cancel, false);
  return idle;
}

double fastest(const std::function<void()>& prepare, const std::function<void()>& work) {
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    prepare();
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

void report(const std::string& what, double seconds, double count, const std::string& unit) {
  std::printf("%-58s %8.3f ns per %s\n", what.c_str(), seconds / count * 1e9, unit.c_str());
}

ColumnView view(const std::vector<double>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), sizeof(double), data::Number::kF64};
}

std::vector<double> normal_values(std::size_t n, double step, std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  std::vector<double> values(n);
  for (double& v : values) {
    v = normal(generator);
    if (step > 0) v = std::round(v / step) * step;
  }
  return values;
}

}  // namespace hornbeam::bench
