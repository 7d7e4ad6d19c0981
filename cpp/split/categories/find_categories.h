// The best test of one categorical feature: whichever kind the fit looks for (split/categories/category_tests.h).
#pragma once

#include "split/categories/find_branches.h"
#include "split/categories/find_encoded.h"
#include "split/categories/find_subsets.h"
#include "split/categories/node_categories.h"
#include "split/gather.h"

namespace hornbeam::split {

template <Scorer S>
class CategoryFinder {
 public:
  // False if the feature is constant in the node.
  bool find(const Node<S>& node, FeatureId feature, const GatheredCodes& codes, FirstBest<Split>& best) {
    if (is_constant(node, codes)) return false;
    const FeatureSearch<S> search = search_of(node, feature, codes);
    categories_.list(node, codes);
    if (node.categories.has_many_branches()) {
      branches_.find(search, codes, categories_, best);
    } else if (node.categories.split() == CategoricalSplit::kSubset) {
      subsets_.find(search, categories_, best);
    } else {
      encoded_.find(search, categories_, best);
    }
    return true;
  }

 private:
  NodeCategories<S> categories_;
  SubsetFinder<S> subsets_;
  EncodedFinder<S> encoded_;
  BranchFinder<S> branches_;
};

}  // namespace hornbeam::split
