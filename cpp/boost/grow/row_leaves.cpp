#include "boost/grow/row_leaves.h"

#include <algorithm>

namespace hornbeam::boost {

using data::Number;

namespace {

constexpr std::size_t kMostRows = 1 << 15;    // of a block: their numbers stay in the cache
constexpr std::size_t kFewestRows = 1 << 12;  // worth the search for where they begin in the lists
constexpr std::size_t kMostPairs = 1 << 18;   // of a leaf and a block, each of which has sums
constexpr std::size_t kFewBlocks = 8;         // are shared out evenly

// Rows [begin, end) of a list.
std::span<const BoostEntry> between(std::span<const BoostEntry> entries, std::size_t begin, std::size_t end) {
  const auto first_from = [&](std::size_t row) {
    return std::partition_point(entries.begin(), entries.end(),
                                [row](BoostEntry entry) { return row_of(entry) < row; });
  };
  return {first_from(begin), first_from(end)};
}

}  // namespace

LeafBlocks::LeafBlocks(std::size_t n_rows, std::size_t n_leaves) : n_rows(n_rows) {
  const std::size_t wanted = std::max(n_rows / kMostRows, std::min(kFewBlocks, n_rows / kFewestRows));
  n_blocks = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(1, kMostPairs / n_leaves));
  rows_per_block = (n_rows + n_blocks - 1) / n_blocks;
}

RowLeaves::RowLeaves(const std::vector<LeafRows>& leaves, std::size_t n_rows, bool complete,
                     Buffer<std::uint8_t>& numbers)
    : leaves_(leaves),
      complete_(complete),
      numbers_(numbers),
      bytes_(n_numbers() <= 256),
      blocks_(n_rows, leaves.size()) {
  numbers_.grow_to(n_rows * (bytes_ ? 1 : sizeof(std::uint32_t)));
}

void RowLeaves::record(std::size_t block) {
  with_numbers([&]<class Number>(Number* numbers) {
    const std::size_t begin = this->begin(block);
    const std::size_t end = this->end(block);
    if (!complete_) std::fill(numbers + begin, numbers + end, static_cast<Number>(leaves_.size()));
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      for (const BoostEntry entry : between(leaves_[leaf].entries, begin, end))
        numbers[row_of(entry)] = static_cast<Number>(leaf);
    }
  });
}

// Neighbouring rows add to different sums: rows of the same leaf would otherwise wait for each other.
std::vector<RowLeaves::Sums> RowLeaves::sum(std::size_t block, const float* first, const float* second,
                                            std::size_t first_row) const {
  constexpr std::size_t kLanes = LeafBlocks::kLanes;
  const std::size_t n = n_numbers();
  std::vector<Sums> lanes(kLanes * n);
  const auto for_rows = [&](auto add) {
    std::size_t row = begin(block);
    for (const std::size_t last = end(block) - (end(block) - row) % kLanes; row < last; row += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) add(row + lane, lanes.data() + lane * n);
    }
    for (std::size_t lane = 0; row < end(block); ++lane) add(row++, lanes.data() + lane * n);
  };
  with_numbers([&](const auto* numbers) {
    if (second == nullptr) {
      for_rows([&](std::size_t row, Sums* sums) {
        sums[numbers[row]].first += static_cast<double>(first[row - first_row]);
      });
    } else {
      for_rows([&](std::size_t row, Sums* sums) {
        Sums& sum = sums[numbers[row]];
        sum.first += static_cast<double>(first[row - first_row]);
        sum.second += static_cast<double>(second[row - first_row]);
      });
    }
  });
  std::vector<Sums> sums(leaves_.size());
  for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[leaf].first += lanes[lane * n + leaf].first;
      sums[leaf].second += lanes[lane * n + leaf].second;
    }
  }
  return sums;
}

void RowLeaves::add(std::size_t block, std::span<const double> values, double* scores) const {
  std::vector<double> by_number(values.begin(), values.end());
  by_number.push_back(0.0);
  with_numbers([&](const auto* numbers) {
    for (std::size_t row = begin(block); row < end(block); ++row) scores[row] += by_number[numbers[row]];
  });
}

}  // namespace hornbeam::boost
