#include "split/surrogates.h"

#include <algorithm>
#include <array>

#include "base/radix.h"
#include "split/partition.h"

namespace hornbeam::split {

namespace {

using data::halfway;

using BranchWeights = std::array<std::int64_t, 2>;

BranchWeights weigh(const TestedRows& rows) {
  BranchWeights weight{};
  for (std::size_t i = 0; i < rows.entries.size(); ++i) {
    if (rows.branches[i] != kNoBranch) weight[rows.branches[i]] += rows.weights[i];
  }
  return weight;
}

Code code_of(std::uint64_t key) {
  return static_cast<Code>(key >> 32);
}

}  // namespace

// The rows that have both features, by their code of this one.
void SurrogateFinder::sort_rows(const Column& column, const TestedRows& rows) {
  keys_.grow_to(rows.entries.size());
  scratch_.grow_to(rows.entries.size());
  std::size_t n = 0;
  Code lowest = ~Code{0};
  Code highest = 0;
  std::visit(
      [&](const auto& codes) {
        for (std::size_t i = 0; i < rows.entries.size(); ++i) {
          const Code code = codes[rows.entries[i].row];
          if (rows.branches[i] == kNoBranch || code == column.missing_code()) continue;
          keys_[n++] = std::uint64_t{code} << 32 | i;
          lowest = std::min(lowest, code);
          highest = std::max(highest, code);
        }
      },
      column.codes);
  sorted_ = {n == 0 ? keys_.data() : sort_by_code(keys_.data(), scratch_.data(), n, lowest, highest), n};
}

// Of equal agreement the lower threshold, and then the one whose low values take branch 0.
Surrogate SurrogateFinder::best_threshold(const Column& column, const TestedRows& rows) const {
  BranchWeights above{};
  for (const std::uint64_t key : sorted_) {
    const auto i = static_cast<std::uint32_t>(key);
    above[rows.branches[i]] += rows.weights[i];
  }
  BranchWeights below{};
  Surrogate best;
  for (std::size_t place = 0; place + 1 < sorted_.size(); ++place) {
    const auto i = static_cast<std::uint32_t>(sorted_[place]);
    below[rows.branches[i]] += rows.weights[i];
    above[rows.branches[i]] -= rows.weights[i];
    const Code low = code_of(sorted_[place]);
    const Code high = code_of(sorted_[place + 1]);
    if (low == high) continue;
    for (const int branch : {0, 1}) {
      const std::int64_t agreeing = below[branch] + above[1 - branch];
      if (agreeing <= best.agreeing) continue;
      best.agreeing = agreeing;
      best.low_branch = branch;
      best.threshold = column.binned ? column.values[low] : halfway(column.values[low], column.values[high]);
    }
  }
  return best;
}

// Every category goes where most of its rows go; with a tie or without rows, to the larger branch.
Surrogate SurrogateFinder::best_groups(const TestedRows& rows, std::int32_t larger) const {
  Surrogate best;
  for (std::size_t begin = 0; begin < sorted_.size();) {
    const Code code = code_of(sorted_[begin]);
    BranchWeights weight{};
    for (; begin < sorted_.size() && code_of(sorted_[begin]) == code; ++begin) {
      const auto i = static_cast<std::uint32_t>(sorted_[begin]);
      weight[rows.branches[i]] += rows.weights[i];
    }
    best.agreeing += std::max(weight[0], weight[1]);
    if (weight[1 - larger] > weight[larger]) best.smaller_branch.push_back(code);
  }
  return best;
}

std::vector<Surrogate> SurrogateFinder::find(const Dataset& data, std::span<const FeatureId> features,
                                             FeatureId tested, const TestedRows& rows, std::size_t most,
                                             CancelPoller& poller) {
  const BranchWeights weight = weigh(rows);
  const std::int32_t larger = weight[1] > weight[0] ? 1 : 0;
  std::vector<Surrogate> found;
  for (const FeatureId feature : features) {
    if (feature == tested || most == 0) continue;
    poller.poll(8 * rows.entries.size());
    const Column& column = data.column(feature);
    sort_rows(column, rows);
    const bool categorical = column.kind == ColumnKind::kCategorical;
    Surrogate best = categorical ? best_groups(rows, larger) : best_threshold(column, rows);
    if (best.agreeing <= weight[larger]) continue;
    best.feature = feature;
    best.agreement = static_cast<double>(best.agreeing) / static_cast<double>(weight[0] + weight[1]);
    found.push_back(std::move(best));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Surrogate& a, const Surrogate& b) { return a.agreeing > b.agreeing; });
  if (found.size() > most) found.resize(most);
  return found;
}

void follow_surrogates(const Dataset& data, std::span<const Surrogate> surrogates, std::int32_t otherwise,
                       std::span<const Entry> entries, std::span<std::uint8_t> branches) {
  for (const Surrogate& surrogate : surrogates) {
    const Column& column = data.column(surrogate.feature);
    const bool categorical = column.kind == ColumnKind::kCategorical;
    const Code first_high = categorical ? 0 : codes_at_or_below(column, surrogate.threshold);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (branches[i] != kNoBranch) continue;
      const Code code = column.code(entries[i].row);
      if (code == column.missing_code()) continue;
      const bool second =
          categorical ? std::ranges::binary_search(surrogate.smaller_branch, code) : code >= first_high;
      const std::int32_t first = categorical ? otherwise : surrogate.low_branch;
      branches[i] = static_cast<std::uint8_t>(second ? 1 - first : first);
    }
  }
  std::ranges::replace(branches, kNoBranch, static_cast<std::uint8_t>(otherwise));
}

}  // namespace hornbeam::split
