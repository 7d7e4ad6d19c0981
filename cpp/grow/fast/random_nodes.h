// Random tests (extra trees) of any criterion: the rows and values of a node that is grown with everything below it
// (grow/fast/grow_random_nodes.h). Gini and squared error have kernels of their own (grow/fast/value_block.h).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/platform.h"
#include "base/sampler.h"
#include "base/types.h"
#include "criterion/stats.h"
#include "data/row_values.h"
#include "grow/fast/value_block.h"
#include "grow/lane_task.h"

namespace hornbeam::grow {

using criterion::Entry;
using data::RowValues;

// A node that waits for its test.
struct RandomNode {
  NodeId id;
  std::int32_t depth;
  std::uint64_t path;
  std::size_t begin;  // its rows in the grower's list
  std::size_t end;

  std::size_t n_rows() const { return end - begin; }
};

struct RandomTest {
  FeatureId feature;
  double threshold;
};

// A feature's range of values in a node.
struct RangeOfNode {
  double least;
  double largest;
  bool is_constant() const { return least == largest; }
};

// Reads the values of a node's rows. Those of a large node lie in the table's columns. When a node is down to some
// thousand rows, and values are float32, its records are copied into a block that fits a core's own cache, and all
// nodes below read from there.
class RandomBuffers {
 public:
  explicit RandomBuffers(Region* region)
      : block_(region), narrow_(region), wide_(region), words_(region), scratch_(region) {}

  // Whether a task's random tests compare values instead of codes, and whether all features have such values.
  static bool reads_values(const LaneTask& lane) { return lane.params().random_splits && lane.is_plain(); }
  static bool can_read(const RowValues& values, std::span<const FeatureId> features) {
    return std::ranges::all_of(features, [&](FeatureId feature) { return values.has(feature); });
  }
  // Whether this lane can grow the task.
  static bool takes(const LaneTask& lane) {
    return lane.values != nullptr && lane.is_depth_first() && lane.is_unconstrained() &&
           lane.subtree_rows > 0 && lane.criterion.n_words <= kMostWords;
  }
  // The largest node that it grows: any, or with several threads a piece. (Tests set a smaller limit.)
  static std::size_t rows_for(const GrowParams& params) {
    const bool as_many_as_there_are =
        params.n_threads <= 1 && params.subtree_rows == GrowParams{}.subtree_rows;
    return as_many_as_there_are ? kMaxRows : std::min(params.subtree_rows, kPieceRows);
  }

  // Makes room for nodes of up to n_rows rows, of n_words words each.
  void start(const RowValues& values, std::uint64_t key, std::size_t n_rows, std::size_t n_words) {
    values_ = &values;
    threshold_keys_.clear();
    for (std::size_t feature = 0; feature < values.n_features(); ++feature)
      threshold_keys_.push_back(Stream::key_for(combine(key, feature), Purpose::kThreshold));
    held_begin_ = held_end_ = 0;
    n_words_ = n_words;
    stride_ = (n_rows + 7) / 8 * 8;
    words_.grow_to(n_words * stride_);
    offsets_.resize(n_rows);
    if (is_narrow()) {
      narrow_.grow_to(n_rows);
    } else {
      wide_.grow_to(n_rows);
    }
  }

  double share(FeatureId feature, std::uint64_t path) const {
    return Stream(threshold_keys_[static_cast<std::size_t>(feature)], path).unit();
  }

  // Makes a node the current one.
  template <class Stats>
  void load(const RandomNode& node, std::span<const Entry> entries, const Stats& stats) {
    if (!holds(node) && is_narrow() && entries.size() <= most_held_rows()) hold(node, entries);
    n_rows_ = entries.size();
    if (holds(node)) {
      node_offsets_ = held_offsets_.data() + (node.begin - held_begin_);
    } else {
      for (std::size_t i = 0; i < n_rows_; ++i) offsets_[i] = entries[i].row;
      node_offsets_ = offsets_.data();
    }
    reads_block_ = holds(node);
    stats.write_words(entries, words_.data(), stride_);
  }

  // Collects the current node's values of a feature side by side.
  RangeOfNode fetch(FeatureId feature) {
    if (is_narrow()) {
      const float* from = reads_block_ ? block_.data() + feature : values_->narrow(feature);
      const ValueRange range = block_kernels().fetch_values(from, node_offsets_, n_rows_, narrow_.data());
      return {range.least, range.largest};
    }
    RangeOfNode range{kInfinity, -kInfinity};
    values_->visit(feature, [&](const auto* by_row) {
      for (std::size_t i = 0; i < n_rows_; ++i) {
        const double value = wide_[i] = by_row[node_offsets_[i]];
        range.least = std::min(range.least, value);
        range.largest = std::max(range.largest, value);
      }
    });
    return range;
  }

  // Adds up the rows whose fetched values are not larger than the threshold; returns how many they are.
  template <class Stats>
  std::size_t add_up_left(double threshold, const Stats& stats, typename Stats::Element* cell) {
    std::array<std::int64_t, kMostWords> sums;
    std::size_t n_left = 0;
    for (std::size_t first = 0; first < n_rows_; first += Stats::kRowsPerSum) {
      const std::size_t n = std::min(Stats::kRowsPerSum, n_rows_ - first);
      const std::int64_t* words = words_.data() + first;
      const std::size_t n_here =
          is_narrow() ? block_kernels().sum_words(narrow_.data() + first, n, largest_float_up_to(threshold),
                                                  words, stride_, n_words_, sums.data())
                      : sum_words(wide_.data() + first, n, threshold, words, sums.data());
      stats.add_words(cell, sums.data(), n_here);
      n_left += n_here;
    }
    return n_left;
  }

  // Sends the rows whose fetched values are not larger than the threshold to the left, the others to the
  // right, both in their order; returns how many go left.
  std::size_t divide(const RandomNode& node, double threshold, std::span<Entry> entries) {
    const float bound = largest_float_up_to(threshold);
    const auto goes_left = [&](std::size_t i) {
      return is_narrow() ? narrow_[i] <= bound : wide_[i] <= threshold;
    };
    if (holds(node))
      divide(std::span(held_offsets_.data() + (node.begin - held_begin_), entries.size()), goes_left);
    return divide(entries, goes_left);
  }

  static constexpr std::size_t kMostWords = 8;

 private:
  bool is_narrow() const { return values_->records() != nullptr; }
  bool holds(const RandomNode& node) const { return held_begin_ <= node.begin && node.end <= held_end_; }
  std::size_t most_held_rows() const {
    constexpr std::size_t kMostValues = std::size_t{1} << 18;  // 1 MiB
    return kMostValues / values_->n_features();
  }

  void hold(const RandomNode& node, std::span<const Entry> entries) {
    const std::size_t size = values_->n_features();
    block_.grow_to(entries.size() * size);
    if (held_offsets_.size() < entries.size()) held_offsets_.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      constexpr std::size_t kAhead = 8;
      if (i + kAhead < entries.size()) prefetch(values_->records() + entries[i + kAhead].row * size);
      std::copy_n(values_->records() + entries[i].row * size, size, block_.data() + i * size);
      held_offsets_[i] = static_cast<std::uint32_t>(i * size);
    }
    held_begin_ = node.begin;
    held_end_ = node.end;
  }

  // Values are at most the one exactly if they are at most the other.
  static float largest_float_up_to(double threshold) {
    const auto nearest = static_cast<float>(threshold);
    if (static_cast<double>(nearest) <= threshold) return nearest;
    return std::nextafter(nearest, -std::numeric_limits<float>::infinity());
  }

  std::size_t sum_words(const double* values, std::size_t n, double threshold, const std::int64_t* words,
                        std::int64_t* sums) const {
    std::fill_n(sums, n_words_, 0);
    std::size_t n_found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t mask = -static_cast<std::int64_t>(values[i] <= threshold);
      n_found += static_cast<std::size_t>(-mask);
      for (std::size_t w = 0; w < n_words_; ++w) sums[w] += words[w * stride_ + i] & mask;
    }
    return n_found;
  }

  template <class T, class GoesLeft>
  std::size_t divide(std::span<T> list, const GoesLeft& goes_left) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    scratch_.grow_to(list.size());
    T* right = reinterpret_cast<T*>(scratch_.data());
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const T here = list[i];
      list[n_left] = here;
      right[i - n_left] = here;
      n_left += goes_left(i);
    }
    std::copy_n(right, list.size() - n_left, list.data() + n_left);
    return n_left;
  }

  const RowValues* values_ = nullptr;
  std::vector<std::uint64_t> threshold_keys_;
  std::size_t n_words_ = 0;
  std::size_t stride_ = 0;  // between the words of a row

  // Rows whose records are in the block.
  std::size_t held_begin_ = 0;
  std::size_t held_end_ = 0;
  Buffer<float> block_;
  std::vector<std::uint32_t> held_offsets_;  // where their records begin, in the order of the grower's list

  // The node at hand.
  std::size_t n_rows_ = 0;
  bool reads_block_ = false;
  const std::uint32_t* node_offsets_ = nullptr;
  std::vector<std::uint32_t> offsets_;
  Buffer<float> narrow_;  // values of the feature that was fetched last
  Buffer<double> wide_;
  Buffer<std::int64_t> words_;
  Buffer<std::uint64_t> scratch_;
};

}  // namespace hornbeam::grow
