// Many trees on many samples: draws the rows and features of each member of a bag and grows the members, one per core
// at a time.
//
// A member's draw is a function of the fit's key and the member's number alone. So draws are never stored but repeated
// where they are needed (out-of-bag rows, lists of samples), and 50 + 50 members equal 100.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grow/grower.h"

namespace hornbeam::grow {

// What rows are drawn from. The units of drawing are single rows, or groups of rows that stay together. The units of a
// stratum lie side by side, and each stratum has a fixed number of draws.
struct Draws {
  std::uint64_t key = 0;
  bool with_replacement = true;
  std::size_t n_rows = 0;                     // of the table
  std::span<const RowId> rows;                // of all units, one after the other; empty: all rows in order
  std::span<const std::uint64_t> unit_begin;  // into rows, and their end; empty: every row is a unit
  std::span<const std::uint64_t> stratum_begin;  // into units, and their end
  std::span<const std::uint64_t> draws_per_stratum;
  std::span<const double> unit_weights;  // units are drawn in proportion to them; empty: all alike

  std::size_t n_units() const { return unit_begin.empty() ? n_drawable() : unit_begin.size() - 1; }
  std::size_t n_drawable() const { return rows.empty() ? n_rows : rows.size(); }
  std::size_t row(std::size_t place) const { return rows.empty() ? place : rows[place]; }
};

// Drawn rows, ascending, and how often each was drawn; an empty `multiplicity` means once each.
struct DrawnRows {
  std::vector<RowId> rows;
  std::vector<std::uint32_t> multiplicity;
};

// How often each unit is in the sample of a member.
std::vector<std::uint32_t> draw_units(const Draws& draws, std::uint64_t member);
DrawnRows draw_rows(const Draws& draws, std::uint64_t member);

// The features a member may test, ascending, out of n_features; with replacement there may be fewer of them.
std::vector<FeatureId> draw_features(std::uint64_t key, std::uint64_t member, int n_features, int n_wanted,
                                     bool with_replacement);

// The key of all draws inside a member.
std::uint64_t member_key(std::uint64_t key, std::uint64_t member);

struct ForestParams {
  GrowParams growth;  // key, features and min_weight_leaf are set per member
  std::uint64_t first_member = 0;
  std::span<const std::uint64_t> member_keys;  // one per member to grow
  int features_per_member = 0;                 // 0: all
  bool features_with_replacement = false;
  double min_weight_fraction = 0.0;  // of the sample's weight, in every leaf
  bool balance_classes = false;      // every class of a sample gets the same total weight
};

std::vector<GrownTree> grow_forest(const Dataset& data, const Target& target, const Draws& draws,
                                   const ForestParams& params, Cancel& cancel);

}  // namespace hornbeam::grow
