#include "hornbeam/predictor.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "hornbeam/parallel.h"
#include "hornbeam/predict/plain.h"

namespace hornbeam {

namespace {

// Adds what the leaves of a block of rows say to the rows' scores.
void add_values(const Tree& tree, double weight, std::span<const NodeId> leaves, double* scores,
                std::size_t score_size) {
  const std::size_t n = tree.value_size();
  for (std::size_t row = 0; row < leaves.size(); ++row) {
    const double* value = tree.value.data() + static_cast<std::size_t>(leaves[row]) * n;
    for (std::size_t k = 0; k < n; ++k) scores[row * score_size + k] += weight * value[k];
  }
}

void add_votes(const Tree& tree, double weight, std::span<const NodeId> leaves, double* scores,
               std::size_t score_size) {
  const auto n_values = static_cast<std::size_t>(tree.n_values);
  for (std::size_t row = 0; row < leaves.size(); ++row) {
    const double* value = tree.value.data() + static_cast<std::size_t>(leaves[row]) * tree.value_size();
    for (std::size_t first = 0; first < tree.value_size(); first += n_values) {
      const double* largest = std::max_element(value + first, value + first + n_values);
      scores[row * score_size + static_cast<std::size_t>(largest - value)] += weight;
    }
  }
}

std::vector<FeatureId> tested_features(std::span<const Tree* const> trees) {
  std::vector<bool> is_tested;
  for (const Tree* tree : trees) {
    for (const FeatureId feature : tree->feature) {
      if (feature < 0) continue;
      if (static_cast<std::size_t>(feature) >= is_tested.size())
        is_tested.resize(static_cast<std::size_t>(feature) + 1);
      is_tested[static_cast<std::size_t>(feature)] = true;
    }
  }
  std::vector<FeatureId> features;
  for (std::size_t feature = 0; feature < is_tested.size(); ++feature)
    if (is_tested[feature]) features.push_back(static_cast<FeatureId>(feature));
  return features;
}

}  // namespace

Predictor::Predictor(std::vector<const Tree*> trees, std::vector<std::int32_t> adds_to, Unseen unseen)
    : trees_(std::move(trees)), adds_to_(std::move(adds_to)), unseen_(unseen) {
  if (trees_.empty()) throw std::invalid_argument("a predictor needs a tree");
  if (!adds_to_.empty() && adds_to_.size() != trees_.size())
    throw std::invalid_argument("adds_to must name a column of the score for each tree");
  n_outputs_ = static_cast<std::size_t>(trees_[0]->n_outputs);
  n_values_ = static_cast<std::size_t>(trees_[0]->n_values);
  for (const Tree* tree : trees_) {
    if (static_cast<std::size_t>(tree->n_outputs) != n_outputs_ ||
        static_cast<std::size_t>(tree->n_values) != n_values_)
      throw std::invalid_argument("the trees of an ensemble differ in the shape of their values");
  }
  features_ = tested_features(trees_);
  if (adds_to_.empty()) return;
  if (score_size() != 1) throw std::invalid_argument("adds_to goes with trees of one value");
  const auto [least, most] = std::minmax_element(adds_to_.begin(), adds_to_.end());
  if (*least < 0 || static_cast<std::size_t>(*most) >= trees_.size())
    throw std::invalid_argument("adds_to has a column that no number of trees could fill");
  n_values_ = static_cast<std::size_t>(*most) + 1;
}

namespace {

// Calls visit(tree, first row of the block, leaves of the block's rows), block by block on some threads,
// within a block in the order of the trees.
template <class Visit>
void visit_leaves(std::span<const Tree* const> trees, std::span<const FeatureId> features, Unseen unseen,
                  const RowSource& rows, int n_threads, Cancel& cancel, Visit&& visit) {
  using predict::PlainWalk;
  const auto n_workers = static_cast<std::size_t>(std::max(1, n_threads));
  std::vector<PlainWalk> walks(n_workers, PlainWalk(features, unseen));
  std::vector<CancelPoller> pollers;
  for (std::size_t w = 0; w < n_workers; ++w) pollers.emplace_back(cancel, w == 0);
  const std::size_t n_blocks = (rows.n_rows() + PlainWalk::kBlockRows - 1) / PlainWalk::kBlockRows;
  parallel_for(
      n_blocks, n_threads,
      [&](std::size_t block, int worker) {
        PlainWalk& walk = walks[static_cast<std::size_t>(worker)];
        const std::size_t begin = block * PlainWalk::kBlockRows;
        const std::size_t end = std::min(begin + PlainWalk::kBlockRows, rows.n_rows());
        walk.load(rows, begin, end);
        std::array<NodeId, PlainWalk::kBlockRows> leaves;
        for (std::size_t t = 0; t < trees.size(); ++t) {
          walk.find_leaves(*trees[t], pollers[static_cast<std::size_t>(worker)], leaves.data());
          visit(t, begin, std::span<const NodeId>(leaves.data(), end - begin));
        }
      },
      &cancel);
}

}  // namespace

void Predictor::leaves(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                       std::span<NodeId> leaves) const {
  const std::span<const Tree* const> trees(trees_.data() + range.begin, range.size());
  visit_leaves(trees, features_, unseen_, rows, n_threads, cancel,
               [&](std::size_t t, std::size_t begin, std::span<const NodeId> found) {
                 for (std::size_t i = 0; i < found.size(); ++i)
                   leaves[(begin + i) * range.size() + t] = found[i];
               });
}

void Predictor::add(const RowSource& rows, TreeRange range, const Counting& counting, int n_threads,
                    Cancel& cancel, std::span<double> scores) const {
  const std::span<const Tree* const> trees(trees_.data() + range.begin, range.size());
  visit_leaves(trees, features_, unseen_, rows, n_threads, cancel,
               [&](std::size_t t, std::size_t begin, std::span<const NodeId> found) {
                 const std::size_t tree = range.begin + t;
                 const auto column = adds_to_.empty() ? 0 : static_cast<std::size_t>(adds_to_[tree]);
                 double* first = scores.data() + begin * score_size() + column;
                 const auto add_one = counting.hard_votes ? add_votes : add_values;
                 add_one(*trees_[tree], counting.weight(tree), found, first, score_size());
               });
}

}  // namespace hornbeam
