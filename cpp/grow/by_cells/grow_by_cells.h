// From the table of criteria to a compiled grower: grows a task with the criterion's scorer for one kind of cells, if
// there is one and such cells can represent the task's rows. Each grow_*.cpp instantiates the growers of one kind of
// cells, so that they compile in parallel.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "criterion/concepts.h"
#include "criterion/table.h"
#include "grow/task.h"
#include "grow/tree_grower.h"

namespace hornbeam::grow {

using criterion::Criteria;
using criterion::OfTwoClasses;

template <class S>
struct Tried {
  using Scorer = S;
  static constexpr bool kOfTwoClasses = false;
};
template <class S>
struct Tried<OfTwoClasses<S>> {
  using Scorer = S;
  static constexpr bool kOfTwoClasses = true;
};

template <class S>
consteval Cells cells_of(bool of_classes, bool of_two_classes) {
  using Stats = typename S::Stats;
  if (kNeedsRows<S>) return Cells::kRows;
  if (std::same_as<Stats, criterion::CountStats>)
    return of_two_classes ? Cells::kCountsOfTwo : Cells::kCounts;
  if (std::same_as<Stats, criterion::TwoWeightStats>) return Cells::kTwoWeights;
  if (std::same_as<Stats, criterion::ClassWeightStats>) return Cells::kClassWeights;
  if (std::same_as<Stats, criterion::SumStats>) return Cells::kSums;
  return of_classes ? Cells::kWeights : Cells::kSumsOfMany;
}

template <Cells cells>
bool can_add_up(const GrowTask& task) {
  constexpr bool kOfPortions = cells == Cells::kWeights || cells == Cells::kSumsOfMany;
  if (task.params.missing == Missing::kFractional) return kOfPortions;
  if constexpr (cells == Cells::kCounts || cells == Cells::kCountsOfTwo) {
    return can_count(task.target, task.sample);
  } else {
    return kOfPortions || cells == Cells::kRows || task.target.n_outputs == 1;
  }
}

template <class S>
S make_scorer(const GrowTask& task) {
  using Stats = typename S::Stats;
  const auto& [data, target, sample, params, cancel] = task;
  constexpr bool kCentred = criterion::kMovable<S>;
  if constexpr (kNeedsRows<S>) {
    return S(target, sample);
  } else if constexpr (std::same_as<Stats, criterion::CountStats>) {
    // min_samples_leaf counts rows, of which counts with multiplicity know nothing.
    const bool counts_rows = params.min_samples_leaf > 1 && !sample.multiplicity.empty();
    Stats stats(target, sample, counts_rows);
    if constexpr (std::constructible_from<S, Stats, std::int64_t>) {
      std::int64_t total = 0;
      for (std::size_t i = 0; i < sample.rows.size(); ++i) total += sample.times(i);
      return S(std::move(stats), total);
    } else {
      return S(std::move(stats));
    }
  } else if constexpr (std::same_as<Stats, criterion::VectorStats>) {
    return S(Stats(target, sample, params.missing == Missing::kFractional, kCentred));
  } else if constexpr (std::same_as<Stats, criterion::SumStats>) {
    return S(Stats(target, sample, kCentred));
  } else {
    return S(Stats(target, sample));
  }
}

template <Cells cells>
std::optional<GrownTree> grow_by_cells(const GrowTask& task) {
  const bool two_classes =
      task.target.is_classification() && task.target.n_outputs == 1 && task.target.n_classes[0] == 2;
  std::optional<GrownTree> grown;
  const auto try_scorer = [&]<class Row, class Marked>() {
    using S = typename Tried<Marked>::Scorer;
    constexpr bool kOfTwoClasses = Tried<Marked>::kOfTwoClasses;
    if constexpr (cells_of<S>(criterion::is_of_classes(Row::kShown), kOfTwoClasses) == cells) {
      if (grown || (kOfTwoClasses && !two_classes) || !can_add_up<cells>(task)) return;
      grown = grow_with(task, make_scorer<S>(task));
    }
  };
  const auto try_row = [&]<class Row>() {
    [&]<class... Marked>(std::type_identity<std::tuple<std::type_identity<Marked>...>>) {
      (try_scorer.template operator()<Row, Marked>(), ...);
    }(std::type_identity<typename Row::ScoredBy>{});
  };
  [&]<class... Rows>(std::type_identity<std::tuple<Rows...>>) {
    std::size_t row = 0;
    ((row++ == static_cast<std::size_t>(task.params.criterion) ? try_row.template operator()<Rows>()
                                                               : void()),
     ...);
  }(std::type_identity<Criteria>{});
  return grown;
}

}  // namespace hornbeam::grow
