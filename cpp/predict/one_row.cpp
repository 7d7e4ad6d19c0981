#include "predict/one_row.h"

#include <algorithm>

namespace hornbeam::predict {

namespace {

// Which tests lie on the path to a node, and which outcomes lead there.
struct Way {
  std::uint32_t wanted = 0;
  std::uint32_t on_the_way = 0;

  Way to_child(std::uint32_t test, bool right) const {
    return {wanted | (right ? test : 0), on_the_way | test};
  }
};

}  // namespace

bool OneRowTrees::may_hold(std::span<const Tree* const> trees, std::span<const FeatureId> features) {
  return features.size() <= kMostRowSlots && std::all_of(trees.begin(), trees.end(), [](const Tree* tree) {
           return tree->n_nodes() < 2 * kMostRowLeaves && tree->category_words.empty();
         });
}

OneRowTrees::OneRowTrees(std::span<const Tree* const> trees, const SlicedTrees& sliced)
    : sliced_(sliced),
      value_size_(trees[0]->value_size()),
      tests_(Buffer<RowTests>::zeros((trees.size() + 1) / 2)),
      values_(Buffer<double>::zeros(trees.size() * kMostRowLeaves * value_size_)) {
  const auto features = sliced.features();
  slot_.resize(features.empty() ? 0 : static_cast<std::size_t>(features.back()) + 1);
  for (std::size_t s = 0; s < features.size(); ++s)
    slot_[static_cast<std::size_t>(features[s])] = static_cast<std::uint8_t>(s);
  for (std::size_t t = 0; t < trees.size(); ++t) add_tree(*trees[t], t);
}

void OneRowTrees::add_tree(const Tree& tree, std::size_t number) {
  RowTests& tests = tests_[number / 2];
  RowTests::Leaves& leaves = tests.leaves[number % 2];
  std::array<Way, 2 * kMostRowLeaves> ways;  // by node
  const std::size_t first_test = number % 2 * kMostRowLeaves;
  std::size_t n_tests = 0;
  std::size_t n_leaves = 0;
  for (std::size_t n = 0; n < tree.n_nodes(); ++n) {  // children have larger numbers
    const auto node = static_cast<NodeId>(n);
    if (tree.is_leaf(node)) {
      leaves.wanted[n_leaves] = ways[n].wanted;
      leaves.on_the_way[n_leaves] = ways[n].on_the_way;
      std::copy_n(&tree.value[n * value_size_], value_size_,
                  &values_[(number * kMostRowLeaves + n_leaves) * value_size_]);
      ++n_leaves;
      continue;
    }
    const std::uint8_t slot = slot_[static_cast<std::size_t>(tree.feature[n])];
    const auto& thresholds = sliced_.thresholds(slot).thresholds;
    const auto place = std::lower_bound(thresholds.begin(), thresholds.end(), tree.threshold[n]);
    const bool missing_left = tree.missing_branch[n] == 0;
    tests.places[first_test + n_tests] = static_cast<std::uint8_t>(slot + missing_left * kMostRowSlots);
    tests.thresholds[first_test + n_tests] = static_cast<std::uint8_t>(place - thresholds.begin());
    const auto child = static_cast<std::size_t>(tree.first_child[n]);
    const std::uint32_t bit = std::uint32_t{1} << n_tests++;
    ways[child] = ways[n].to_child(bit, false);
    ways[child + 1] = ways[n].to_child(bit, true);
  }
  // Unused places look like leaves that every row reaches. They come last, and the first leaf that matches counts.
}

RowCodes OneRowTrees::code_row(const RowSource& rows, std::size_t row, const PredictKernels& kernels) const {
  RowCodes coded;
  coded.codes.fill(0);
  const auto features = sliced_.features();
  for (std::size_t slot = 0; slot < features.size(); ++slot) {
    double value;
    std::int8_t code;
    rows.read(features[slot], row, row + 1, &value);
    const bool is_missing = kernels.code_numbers(sliced_.thresholds(slot), &value, 1, &code);
    coded.codes[slot] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(code) ^ 0x80);
    coded.codes[kMostRowSlots + slot] = is_missing ? 0 : coded.codes[slot];
    coded.has_missing |= is_missing;
  }
  return coded;
}

}  // namespace hornbeam::predict
