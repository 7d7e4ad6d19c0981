#include "split/portions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "split/partition.h"

namespace hornbeam::split {

namespace {

// Calls visit(branch, row or portion of it). Portions are rounded by their running sum, so they add up.
template <class Visit>
void for_each_part(std::span<const Entry> rows, std::span<const std::uint32_t> branches,
                   std::span<const double> share_up_to, Visit&& visit) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (branches[i] != kNoneOfMany) {
      visit(branches[i], rows[i]);
      continue;
    }
    std::uint32_t sent = 0;
    for (std::size_t b = 0; b < share_up_to.size(); ++b) {
      const auto up_to = static_cast<std::uint32_t>(std::llround(rows[i].payload * share_up_to[b]));
      if (up_to > sent) visit(b, Entry{rows[i].row, up_to - sent});
      sent = up_to;
    }
  }
}

}  // namespace

std::vector<Entry> share_out(std::span<const Entry> rows, std::span<const std::uint32_t> branches,
                             std::span<const std::int64_t> weights, std::span<std::size_t> begin) {
  const auto total = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
  std::vector<double> share_up_to;
  std::int64_t up_to = 0;
  for (const std::int64_t weight : weights)
    share_up_to.push_back(static_cast<double>(up_to += weight) / total);
  std::ranges::fill(begin, 0);
  for_each_part(rows, branches, share_up_to, [&](std::size_t branch, const Entry&) { ++begin[branch + 1]; });
  add_up_counts(begin);
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  std::vector<Entry> divided(begin.back());
  for_each_part(rows, branches, share_up_to,
                [&](std::size_t branch, const Entry& part) { divided[next[branch]++] = part; });
  return divided;
}

}  // namespace hornbeam::split
