// Surrogate tests (CART: Breiman, Friedman, Olshen, Stone 1984): where a row lacks the feature of a node's
// test, the first test of an ordered list whose feature it has decides in its place.
//
// From the rows of a node and the branch that the node's own test gives each, it finds for every feature the test that
// agrees with the node's most often, provided that it agrees more often than sending every row to the larger branch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "criterion/stats.h"
#include "data/dataset.h"

namespace hornbeam::split {

using criterion::Entry;
using data::Column;
using data::Dataset;

// A test with two branches that stands in for another.
struct Surrogate {
  FeatureId feature = kNoFeature;
  double threshold = kNoThreshold;  // numeric: values up to it take low_branch, larger ones the other
  std::int32_t low_branch = 0;
  std::vector<Code> smaller_branch;  // categorical: the codes of the smaller branch, ascending
  std::int64_t agreeing = 0;         // weight of the rows that it sends to the same branch
  double agreement = 0.0;            // the same as a share of the rows that have the test's feature
};

// The rows of a node, side by side: which, what they weigh, and where the node's test sends them.
struct TestedRows {
  std::span<const Entry> entries;
  std::span<const std::int64_t> weights;
  std::span<const std::uint8_t> branches;  // 0, 1, or kNoBranch where the feature of the test is missing
};

class SurrogateFinder {
 public:
  explicit SurrogateFinder(Region* region = nullptr) : keys_(region), scratch_(region) {}

  // At most `most` surrogates for a test on `tested`, best first; of equals the lower feature.
  std::vector<Surrogate> find(const Dataset& data, std::span<const FeatureId> features, FeatureId tested,
                              const TestedRows& rows, std::size_t most, CancelPoller& poller);

 private:
  void sort_rows(const Column& column, const TestedRows& rows);
  Surrogate best_threshold(const Column& column, const TestedRows& rows) const;
  Surrogate best_groups(const TestedRows& rows, std::int32_t larger) const;

  Buffer<std::uint64_t> keys_;
  Buffer<std::uint64_t> scratch_;
  std::span<const std::uint64_t> sorted_;  // code above position, of the rows that have both features
};

// Sends rows that lack the feature of a test on: by the first surrogate whose feature they have, else to
// `otherwise`. `branches` has kNoBranch for these rows, and their branch afterwards.
void follow_surrogates(const Dataset& data, std::span<const Surrogate> surrogates, std::int32_t otherwise,
                       std::span<const Entry> entries, std::span<std::uint8_t> branches);

}  // namespace hornbeam::split
