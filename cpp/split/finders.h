// One thread's finders, one for each kind of feature or test. They share the description of the node (split/node.h)
// and what is the same for all features (split/feature_search.h). They are independent of each other, and keep nothing
// from call to call but their memory. For cuts between numbers, functions are enough (split/find_cuts.h).
#pragma once

#include <type_traits>

#include "split/categories/find_categories.h"
#include "split/find_cuts.h"
#include "split/find_groups.h"
#include "split/find_medians.h"
#include "split/find_random.h"

namespace hornbeam::split {

template <Scorer S>
struct Finders {
  explicit Finders(Region* region = nullptr) : random(region) {}

  struct None {};
  std::conditional_t<BoundsGroups<S>, GroupFinder<S>, None> groups;
  CategoryFinder<S> categories;
  RandomFinder<S> random;
};

// Medians need the rows themselves.
template <>
struct Finders<MedianScorer> {
  explicit Finders(Region* = nullptr) {}

  MedianFinder medians;
};

}  // namespace hornbeam::split
