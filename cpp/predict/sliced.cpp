#include "predict/sliced.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace hornbeam::predict {

using data::kMissingCategory;
using data::kUnseenCategory;
using tree::kNoTable;

namespace {

constexpr std::size_t kMostThresholds = 254;  // the codes 0 to 254; 255 is "missing"
constexpr int kFirstCategory = 2;             // "unseen" and "missing" come first
constexpr std::size_t kLinesPerBlock = kSliceRows / kLine;

std::int8_t less_128(unsigned code) {
  return static_cast<std::int8_t>(code ^ 0x80);
}

// By slot of a feature: the thresholds that the trees test, ascending; empty for categories.
std::vector<std::vector<double>> thresholds_by_slot(std::span<const Tree* const> trees,
                                                    const std::vector<std::uint32_t>& slot,
                                                    std::size_t n_slots) {
  std::vector<std::vector<double>> thresholds(n_slots);
  for (const Tree* tree : trees) {
    for (std::size_t node = 0; node < tree->n_nodes(); ++node) {
      if (tree->is_leaf(static_cast<NodeId>(node)) || tree->category_begin[node] != kNoTable) continue;
      thresholds[slot[static_cast<std::size_t>(tree->feature[node])]].push_back(tree->threshold[node]);
    }
  }
  for (auto& of_slot : thresholds) {
    std::sort(of_slot.begin(), of_slot.end());
    of_slot.erase(std::unique(of_slot.begin(), of_slot.end()), of_slot.end());
  }
  return thresholds;
}

std::vector<std::uint32_t> slots_of(std::span<const FeatureId> features) {
  std::vector<std::uint32_t> slot(features.empty() ? 0 : static_cast<std::size_t>(features.back()) + 1);
  for (std::size_t s = 0; s < features.size(); ++s)
    slot[static_cast<std::size_t>(features[s])] = static_cast<std::uint32_t>(s);
  return slot;
}

// Fills the rest with infinities, below which no value lies.
template <class Number>
void pad(const std::vector<Number>& thresholds, std::array<Number, 256>& padded,
         std::array<Number, 16>& pivots) {
  padded.fill(std::numeric_limits<Number>::infinity());
  std::copy(thresholds.begin(), thresholds.end(), padded.begin());
  for (std::size_t i = 0; i < pivots.size(); ++i) pivots[i] = padded[16 * i + 15];
}

// Puts the middle one of all 255 first, then those in the middle of either half, and so on; number 0 is free.
void arrange_by_levels(const std::array<float, 256>& ascending, std::array<float, 256>& levels) {
  levels[0] = ascending[0];
  for (std::size_t first = 1, step = 128; step != 0; first *= 2, step /= 2)
    for (std::size_t i = 0; i < first; ++i) levels[first + i] = ascending[2 * i * step + step - 1];
}

float largest_float_at_or_below(double value) {
  const auto nearest = static_cast<float>(value);
  const bool above = static_cast<double>(nearest) > value;
  return above ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

ThresholdTable make_table(const std::vector<double>& thresholds) {
  std::vector<float> singles(thresholds.size());
  std::transform(thresholds.begin(), thresholds.end(), singles.begin(), largest_float_at_or_below);
  ThresholdTable table;
  pad(thresholds, table.thresholds, table.pivots);
  pad(singles, table.single_thresholds, table.single_pivots);
  arrange_by_levels(table.single_thresholds, table.single_levels);
  return table;
}

// How many blocks of leaf numbers have to be kept while a node is computed, if the child that needs more blocks
// goes first: at most 6 for 64 leaves.
std::vector<std::uint8_t> blocks_needed(const Tree& tree) {
  std::vector<std::uint8_t> needed(tree.n_nodes(), 0);
  for (std::size_t node = tree.n_nodes(); node-- > 0;) {  // children have larger numbers
    if (tree.is_leaf(static_cast<NodeId>(node))) continue;
    const auto child = static_cast<std::size_t>(tree.first_child[node]);
    const auto [less, more] = std::minmax(needed[child], needed[child + 1]);
    needed[node] = static_cast<std::uint8_t>(less == more ? more + 1 : more);
  }
  return needed;
}
constexpr std::size_t kMostBlocks = 6;
constexpr std::size_t kSpareBlock = kMostBlocks;  // for numbers that are not needed again
constexpr std::size_t kNumberBytes = (kMostLeaves + (kMostBlocks + 1) * kLinesPerBlock) * kLine;

// The most categories that a test knows: tables lie in the order of their nodes, without gaps.
std::size_t most_categories(const Tree& tree) {
  std::size_t most = 0;
  std::size_t end = tree.category_words.size();
  for (std::size_t node = tree.n_nodes(); node-- > 0;) {
    if (tree.category_begin[node] == kNoTable) continue;
    const auto begin = static_cast<std::size_t>(tree.category_begin[node]);
    most = std::max(most, (end - begin) * 32);
    end = begin;
  }
  return most;
}

}  // namespace

// Turns one tree into tests for blocks of rows.
class SlicedTrees::TreeSlicer {
 public:
  TreeSlicer(const SlicedTrees& trees, const Tree& tree, const std::vector<std::uint32_t>& slot,
             Unseen unseen)
      : trees_(trees), tree_(tree), slot_(slot), unseen_(unseen), needed_(blocks_needed(tree)) {}

  SlicedTree run() {
    sliced_.values = Buffer<double>::zeros(tree_.value_size() * kMostLeaves);
    if (tree_.is_leaf(0)) {  // it still has to be found for every row
      add_leaf(0);
      sliced_.chains.push_back({{0, 0, 0, 0}, 0, block_line(kSpareBlock), 0, 0});
    } else {
      add_subtree(0, 0);
    }
    return std::move(sliced_);
  }

 private:
  static std::uint16_t block_line(std::size_t block) {
    return static_cast<std::uint16_t>(kMostLeaves + block * kLinesPerBlock);
  }

  // Computes the leaf numbers below an inner node. If they have to be put aside later, they go into block `free`; the
  // blocks before it are in use. The recursion is as deep as the tree, which has at most 64 leaves.
  void add_subtree(NodeId node, std::size_t free) {
    const NodeId left = tree_.first_child[node];
    const NodeId right = left + 1;
    const bool left_is_leaf = tree_.is_leaf(left);
    const bool right_is_leaf = tree_.is_leaf(right);
    if (left_is_leaf && right_is_leaf) {
      const std::uint8_t left_number = add_leaf(left);
      add_chain(node, left_number, add_leaf(right));
    } else if (left_is_leaf || right_is_leaf) {
      add_subtree(left_is_leaf ? right : left, free);
      add_join(node, add_leaf(left_is_leaf ? left : right), 0, left_is_leaf);
    } else {
      // The child that needs more room goes first.
      const bool right_first =
          needed_[static_cast<std::size_t>(left)] < needed_[static_cast<std::size_t>(right)];
      add_subtree(right_first ? right : left, free);
      keep_ = block_line(free);
      add_subtree(right_first ? left : right, free + 1);
      add_join(node, block_line(free), 1, !right_first);
    }
  }

  std::uint8_t add_leaf(NodeId node) {
    const std::size_t size = tree_.value_size();
    for (std::size_t k = 0; k < size; ++k)
      sliced_.values[k * kMostLeaves + sliced_.n_leaves] =
          tree_.value[static_cast<std::size_t>(node) * size + k];
    return static_cast<std::uint8_t>(sliced_.n_leaves++);
  }

  void add_chain(NodeId node, std::uint8_t left, std::uint8_t right) {
    sliced_.chains.push_back({test_of(node, false), 0, keep_, left, right});
    keep_ = block_line(kSpareBlock);
  }

  // Joins the numbers so far, which are on the right or else on the left of the test, with others.
  void add_join(NodeId node, std::uint16_t other, std::uint8_t other_step, bool so_far_right) {
    sliced_.joins.push_back({test_of(node, so_far_right), other, other_step});
    ++sliced_.chains.back().n_joins;
  }

  // Holds where the row goes right, or, mirrored, where it goes left.
  SliceTest test_of(NodeId node, bool mirrored) {
    const std::uint32_t slot = slot_[static_cast<std::size_t>(tree_.feature[node])];
    if (tree_.category_begin[node] != kNoTable) return {add_category_test(node, slot, mirrored), 0, 0, 0};
    const auto& thresholds = trees_.thresholds_[slot].thresholds;
    const auto place = std::lower_bound(thresholds.begin(), thresholds.end(), tree_.threshold[node]);
    const int above = static_cast<int>(place - thresholds.begin()) - 128;
    const std::uint32_t second = tree_.missing_branch[node] == 0 ? ~0u : 0;
    const auto codes = static_cast<std::uint32_t>(slot * kSliceRows);
    if (!mirrored) return {codes, second, static_cast<std::int8_t>(above), 1};
    // c <= k is the same as -1 - c > -2 - k, and -1 - c is the mirror image of c.
    const auto mirror = static_cast<std::uint32_t>(codes + trees_.mirror());
    return {mirror, second, static_cast<std::int8_t>(-2 - above), -1};
  }

  // Returns the first byte of the branches; mirrored, they are 1 for the left.
  std::uint32_t add_category_test(NodeId node, std::uint32_t slot, bool mirrored) {
    CategoryTest test{slot, 0, {}};
    const std::size_t place = trees_.branches_begin() + sliced_.category_tests.size() * kSliceRows;
    test.result = static_cast<std::uint32_t>(place);
    const auto set = [&](std::int32_t code, std::int32_t branch) {
      test.branches[static_cast<std::size_t>(code + kFirstCategory)] =
          static_cast<std::uint8_t>(branch ^ static_cast<int>(mirrored));
    };
    const std::int32_t missing = tree_.missing_branch[node];
    set(kMissingCategory, missing);
    set(kUnseenCategory, unseen_ == Unseen::kMajority ? tree_.largest_branch(node) : missing);
    const std::size_t n_bits =
        32 * (tree_.category_words.size() - static_cast<std::size_t>(tree_.category_begin[node]));
    const std::size_t n_known = std::min<std::size_t>(n_bits, test.branches.size() - kFirstCategory);
    for (std::uint32_t category = 0; category < n_known; ++category)  // those of later tables are never asked
      set(static_cast<std::int32_t>(category), tree_.branch_of_category(node, category));
    sliced_.category_tests.push_back(test);
    return test.result;
  }

  const SlicedTrees& trees_;
  const Tree& tree_;
  const std::vector<std::uint32_t>& slot_;
  Unseen unseen_;
  std::vector<std::uint8_t> needed_;
  std::uint16_t keep_ = block_line(kSpareBlock);  // where the next chain puts the numbers so far
  SlicedTree sliced_;
};

bool SlicedTrees::may_hold(std::span<const Tree* const> trees, std::span<const FeatureId> features) {
  constexpr std::size_t kMostFeatures = 1024;  // their codes should stay in the second-nearest cache
  return !features.empty() && features.size() <= kMostFeatures &&
         std::all_of(trees.begin(), trees.end(),
                     [](const Tree* tree) { return tree->n_nodes() < 2 * kMostLeaves; });
}

SlicedTrees::SlicedTrees(std::span<const Tree* const> trees, std::span<const FeatureId> features,
                         Unseen unseen)
    : features_(features.begin(), features.end()) {
  const std::vector<std::uint32_t> slot = slots_of(features);
  const auto thresholds = thresholds_by_slot(trees, slot, features.size());
  for (const auto& of_slot : thresholds) {
    if (of_slot.size() > kMostThresholds) return;
    is_categorical_.push_back(of_slot.empty());
    thresholds_.push_back(make_table(of_slot));
  }
  // Tables are whole words, so this counts up to 31 categories too many.
  for (const Tree* tree : trees)
    if (most_categories(*tree) > 224) return;
  fits_ = true;
  for (const Tree* tree : trees) {
    trees_.push_back(TreeSlicer(*this, *tree, slot, unseen).run());
    most_category_tests_ = std::max(most_category_tests_, trees_.back().category_tests.size());
  }
}

SlicedWork::SlicedWork(const SlicedTrees& trees, const PredictKernels& kernels, std::size_t score_size)
    : trees_(trees),
      kernels_(kernels),
      score_size_(score_size),
      codes_(Buffer<std::int8_t>::zeros(trees.code_bytes())),
      numbers_(Buffer<std::uint8_t>::zeros(kNumberBytes)),
      found_(kSliceRows),
      sums_(score_size * kSliceRows) {
  for (std::size_t leaf = 0; leaf < kMostLeaves; ++leaf)
    std::fill_n(numbers_.data() + leaf * kLine, kLine, static_cast<std::uint8_t>(leaf));
}

void SlicedWork::load(const RowSource& rows, std::size_t begin, std::size_t end) {
  // A few rows at a time: in a table stored by rows, columns share cache lines, which should still be in the cache
  // when the next column is read.
  constexpr std::size_t kRowsAtOnce = kMostValues;
  n_rows_ = end - begin;
  has_missing_ = false;
  for (std::size_t first = 0; first < n_rows_; first += kRowsAtOnce) {
    const std::size_t n = std::min(kRowsAtOnce, n_rows_ - first);
    for (std::size_t slot = 0; slot < trees_.features().size(); ++slot)
      load_slot(slot, rows, begin + first, n, codes_.data() + slot * kSliceRows + first);
  }
  std::int8_t* codes = codes_.data();
  const std::size_t mirror = trees_.mirror();
  const std::size_t second = trees_.second_copy();
  for (std::size_t i = 0; i < mirror; ++i) codes[mirror + i] = static_cast<std::int8_t>(~codes[i]);
  if (!has_missing_) return;
  for (std::size_t i = 0; i < mirror; ++i) {
    const auto one_larger = static_cast<std::uint8_t>(static_cast<std::uint8_t>(codes[i]) + 1);
    codes[second + i] = static_cast<std::int8_t>(one_larger);
    codes[second + mirror + i] = static_cast<std::int8_t>(~one_larger);
  }
}

void SlicedWork::load_slot(std::size_t slot, const RowSource& rows, std::size_t begin, std::size_t n,
                           std::int8_t* codes) {
  const FeatureId feature = trees_.features()[slot];
  std::array<double, kMostValues> values;
  if (trees_.is_categorical(slot)) {
    rows.read(feature, begin, begin + n, values.data());
    for (std::size_t i = 0; i < n; ++i)
      codes[i] = less_128(static_cast<unsigned>(static_cast<int>(values[i]) + kFirstCategory));
    return;
  }
  std::array<float, kMostValues> singles;
  if (rows.read_singles(feature, begin, begin + n, singles.data())) {
    has_missing_ |= kernels_.code_singles(trees_.thresholds(slot), singles.data(), n, codes);
    return;
  }
  rows.read(feature, begin, begin + n, values.data());
  has_missing_ |= kernels_.code_numbers(trees_.thresholds(slot), values.data(), n, codes);
}

void SlicedWork::begin_sums(const double* scores) {
  for (std::size_t i = 0; i < n_lines() * kLine; ++i) {
    const std::size_t row = i / kLine * kLine + kernels_.sum_order[i % kLine];
    for (std::size_t k = 0; k < score_size_; ++k)
      sums_[k * kSliceRows + i] = row < n_rows_ ? scores[row * score_size_ + k] : 0.0;
  }
}

void SlicedWork::end_sums(double* scores) const {
  for (std::size_t i = 0; i < n_lines() * kLine; ++i) {
    const std::size_t row = i / kLine * kLine + kernels_.sum_order[i % kLine];
    if (row >= n_rows_) continue;
    for (std::size_t k = 0; k < score_size_; ++k) scores[row * score_size_ + k] = sums_[k * kSliceRows + i];
  }
}

void SlicedWork::add_tree(const SlicedTree& tree, double weight, std::size_t first_score) {
  for (const CategoryTest& test : tree.category_tests)
    kernels_.look_up(codes_.data() + test.slot * kSliceRows, test.branches.data(), n_lines(),
                     codes_.data() + test.result);
  const auto second = static_cast<std::uint32_t>(has_missing_ ? trees_.second_copy() : 0);
  kernels_.find_leaves({tree.chains.data(), tree.chains.size(), tree.joins.data()},
                       {codes_.data(), second, numbers_.data()}, found_.data());
  const std::size_t n_values = tree.values.size() / kMostLeaves;
  for (std::size_t k = 0; k < n_values; ++k) {
    const double* values = tree.values.data() + k * kMostLeaves;
    alignas(kLine) std::array<double, kMostLeaves> weighted;
    if (weight != 1.0) {
      for (std::size_t leaf = 0; leaf < kMostLeaves; ++leaf) weighted[leaf] = weight * values[leaf];
      values = weighted.data();
    }
    kernels_.add_values(found_.data(), values, tree.n_leaves, n_lines(),
                        sums_.data() + (first_score + k) * kSliceRows);
  }
}

}  // namespace hornbeam::predict
