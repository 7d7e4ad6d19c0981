#include "boost/booster.h"

#include <algorithm>
#include <cmath>

#include "base/counters.h"
#include "base/parallel.h"
#include "boost/leaf_values.h"

namespace hornbeam::boost {

using grow::assemble;

namespace {

constexpr std::size_t kRowsPerTask = 1 << 14;
constexpr std::size_t kManyRows = 100'000;
constexpr std::size_t kVeryManyRows = 600'000;

// If memory is too short for scores, it is too short for columns, too.
BoostParams params_beside(BoostParams params, const RowsInFile& in_file) {
  params.columns_in_file = !in_file.memory.empty();
  return params;
}

// Calls visit with each row of a task that is not among `rows`, and its place among those that are not.
template <class Visit>
void for_left_out(std::span<const RowId> rows, std::size_t task, std::size_t n_rows, Visit visit) {
  const auto begin = static_cast<RowId>(task * kRowsPerTask);
  const auto end = static_cast<RowId>(std::min((task + 1) * kRowsPerTask, n_rows));
  auto next = std::lower_bound(rows.begin(), rows.end(), begin);
  std::size_t place = begin - static_cast<std::size_t>(next - rows.begin());
  for (RowId row = begin; row < end; ++row) {
    if (next != rows.end() && *next == row) {
      ++next;
    } else {
      visit(row, place++);
    }
  }
}

}  // namespace

std::size_t Booster::row_buffer_bytes(std::size_t n_rows, int n_scores, bool keeps_derivatives) {
  const std::size_t n = n_rows * static_cast<std::size_t>(n_scores);
  const std::size_t n_kept = keeps_derivatives ? n : 0;
  return RowBuffers::bytes_for(n * sizeof(double)) + 2 * RowBuffers::bytes_for(n_kept * sizeof(float));
}

Booster::Booster(const Dataset& data, const BoostParams& params, int n_scores, std::span<const float> y,
                 std::span<const float> weights, Cancel& cancel, const RowsInFile& in_file)
    : data_(data),
      params_(params_beside(params, in_file)),
      n_scores_(n_scores),
      y_(y),
      weights_(weights),
      tiles_(data, params.n_threads, cancel,
             params_.columns_in_file ? Tiles::Rows::kClose : Tiles::Rows::kAligned),
      histograms_(tiles_.n_slots()),
      grower_(data, tiles_, params_, histograms_),
      row_buffers_(in_file.memory),
      scores_(row_buffers_.take<double>(data.n_rows() * static_cast<std::size_t>(n_scores))) {
  if (in_file.keeps_derivatives) {
    gradients_ = row_buffers_.take<float>(scores_.size());
    hessians_ = row_buffers_.take<float>(scores_.size());
  } else {
    fresh_.emplace(scores_.span(), y, in_file.y_codes, weights);
  }
  if (data.n_rows() >= kManyRows) return_unused_memory();  // of reading and binning; the peak comes later
}

void Booster::compute_derivatives(const Loss& loss, Cancel& cancel) {
  const Timed timed("derivatives, all");
  const std::size_t n = data_.n_rows();
  if (loss.kind == LossKind::kHuber) {
    std::vector<double> sizes(n);
    for (std::size_t i = 0; i < n; ++i) sizes[i] = std::abs(scores_[i] - static_cast<double>(y_[i]));
    std::vector<double> weights(weights_.begin(), weights_.end());
    huber_delta_ = weighted_quantile(sizes, weights, loss.parameter);
  }
  if (fresh_) return fresh_->set(loss, huber_delta_);
  const LossRows rows{scores_.data(), y_.data(), weights_.empty() ? nullptr : weights_.data(), n, 0, n};
  float* hessians = loss.hessian_is_one() && weights_.empty() ? nullptr : hessians_.data();
  all_derivatives(loss, n_scores_, rows, huber_delta_, gradients_.data(), hessians, params_.n_threads,
                  cancel);
}

// The unquantised sums of each leaf, block by block in a fixed order: the same bits for any number of
// threads.
std::vector<LeafSums> Booster::sum_leaves(const BoostGrower& grower, RowLeaves& row_leaves, int score,
                                          bool hessian_is_one, bool recorded, Cancel& cancel) {
  struct Block {
    std::vector<RowLeaves::Sums> derivatives;
    std::vector<RowLeaves::Sums> weights;
  };
  std::vector<Block> blocks(row_leaves.n_blocks());
  parallel_for(
      blocks.size(), grower.n_threads(),
      [&](std::size_t block, int) {
        const Timed timed("sums of leaves");
        if (!recorded) row_leaves.record(block);
        std::vector<float> computed;
        const SomeDerivatives found =
            derivatives_of(score, row_leaves.begin(block), row_leaves.end(block), computed);
        blocks[block].derivatives = row_leaves.sum(
            block, found.gradients, hessian_is_one ? nullptr : found.hessians, found.first_row);
        if (!weights_.empty()) blocks[block].weights = row_leaves.sum(block, weights_.data(), nullptr);
      },
      &cancel);
  std::vector<LeafSums> sums(grower.leaves().size());
  for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) {
    const auto n = static_cast<double>(grower.leaves()[leaf].entries.size());
    sums[leaf] = {0.0, hessian_is_one ? n : 0.0, weights_.empty() ? n : 0.0};
    for (const Block& block : blocks) {
      sums[leaf].gradient += block.derivatives[leaf].first;
      sums[leaf].hessian += block.derivatives[leaf].second;
      if (!weights_.empty()) sums[leaf].weight += block.weights[leaf].first;
    }
  }
  return sums;
}

Booster::SomeDerivatives Booster::derivatives_of(int score, std::size_t begin, std::size_t end,
                                                 std::vector<float>& computed) {
  if (!fresh_) return {gradients(score).data(), hessians(score).data(), 0};
  const std::size_t n = end - begin;
  computed.resize(2 * n);
  fresh_->find(begin, n, computed.data(), computed.data() + n);
  return {computed.data(), computed.data() + n, begin};
}

double Booster::refit_leaf(const Loss& loss, const LeafRows& leaf, BoostGrower::Bounds bounds, int score) {
  std::vector<RowId> rows;
  for (const BoostEntry entry : leaf.entries) rows.push_back(row_of(entry));
  return std::clamp(residual_value(loss, rows, score), bounds.lower, bounds.upper);
}

double Booster::residual_value(const Loss& loss, std::span<const RowId> rows, int score) const {
  const double* scores = scores_.data() + static_cast<std::size_t>(score) * data_.n_rows();
  std::vector<double> residuals;
  std::vector<double> weights;
  for (const RowId row : rows) {
    residuals.push_back(static_cast<double>(y_[row]) - scores[row]);
    if (!weights_.empty()) weights.push_back(static_cast<double>(weights_[row]));
  }
  return refitted_value(loss, huber_delta_, residuals, weights);
}

// The leaf of every row that was not grown on, in the order of the rows.
std::vector<NodeId> Booster::walk_left_out(const BoostGrower& grower, std::span<const RowId> rows,
                                           Cancel& cancel) {
  if (rows.empty()) return {};
  const std::size_t n = data_.n_rows();
  std::vector<NodeId> leaves(n - rows.size());
  parallel_for((n + kRowsPerTask - 1) / kRowsPerTask, grower.n_threads(),
               [&](std::size_t task, int) {
                 for_left_out(rows, task, n,
                              [&](RowId row, std::size_t place) { leaves[place] = grower.leaf_of(row); });
               },
               &cancel);
  return leaves;
}

void Booster::add_to_scores(BoostGrower& grower, const RowLeaves& row_leaves, int score,
                            std::span<const RowId> rows, std::span<const NodeId> left_out, Cancel& cancel) {
  double* scores = scores_.data() + static_cast<std::size_t>(score) * data_.n_rows();
  const std::vector<double>& values = grower.nodes().values;
  std::vector<double> by_leaf;
  for (const LeafRows& leaf : grower.leaves()) by_leaf.push_back(values[static_cast<std::size_t>(leaf.node)]);
  parallel_for(
      row_leaves.n_blocks(), grower.n_threads(),
      [&](std::size_t block, int) {
        const Timed timed("add to scores");
        row_leaves.add(block, by_leaf, scores);
      },
      &cancel);
  if (rows.empty()) return;
  const std::size_t n = data_.n_rows();
  parallel_for((n + kRowsPerTask - 1) / kRowsPerTask, grower.n_threads(),
               [&](std::size_t task, int) {
                 for_left_out(rows, task, n, [&](RowId row, std::size_t place) {
                   scores[row] += values[static_cast<std::size_t>(left_out[place])];
                 });
               },
               &cancel);
}

std::vector<Tree> Booster::grow(std::span<const RowId> rows, std::span<const char> features,
                                std::span<const std::uint64_t> keys, const std::optional<Loss>& loss,
                                Cancel& cancel) {
  const Timed timed("a round's trees");
  const bool constant = loss && loss->hessian_is_one() && weights_.empty();
  std::vector<Derivatives> derivatives;
  for (int score = 0; score < n_scores_; ++score) {
    if (fresh_) {
      derivatives.push_back({{}, {}, !weights_.empty(), &*fresh_});
      continue;
    }
    derivatives.push_back(
        {gradients(score), constant ? std::span<const float>() : hessians(score), !weights_.empty()});
  }
  // Trees whose roots are counted together; more of them at once would only take more memory.
  const std::size_t most = std::max(SharedPass::kMostTrees, static_cast<std::size_t>(params_.n_threads));
  std::vector<Tree> trees(derivatives.size());
  for (std::size_t first = 0; first < trees.size(); first += most) {
    const auto together = std::span(derivatives).subspan(first, std::min(most, trees.size() - first));
    const std::vector<BoostGrower::Root> roots = grower_.plan_roots(together, rows, cancel);
    const auto grow_tree = [&](BoostGrower& grower, std::size_t i) {
      grower.grow(together[i], roots[i], rows, features, keys[first + i], cancel);
      const Scores own{static_cast<int>(first + i), 1};
      trees[first + i] = std::move(finish_trees(grower, own, rows, constant, loss, cancel)[0]);
    };
    const std::size_t n_alone = n_with_own_grower(together.size());
    parallel_for(
        n_alone, params_.n_threads,
        [&](std::size_t i, int worker) { grow_tree(own_growers_[static_cast<std::size_t>(worker)], i); },
        &cancel);
    for (std::size_t i = n_alone; i < together.size(); ++i) grow_tree(grower_, i);
  }
  return trees;
}

std::vector<Tree> Booster::grow_shared(std::span<const RowId> rows, std::span<const char> features,
                                       std::span<const std::uint64_t> keys, const std::optional<Loss>& loss,
                                       Cancel& cancel) {
  const Derivatives derivatives = along(keys, cancel);
  const std::vector<BoostGrower::Root> roots = grower_.plan_roots({&derivatives, 1}, rows, cancel);
  grower_.grow(derivatives, roots[0], rows, features, keys[0], cancel);
  return finish_trees(grower_, {0, n_scores_}, rows, false, loss, cancel);
}

Derivatives Booster::along(std::span<const std::uint64_t> keys, Cancel& cancel) {
  const std::size_t n = data_.n_rows();
  along_gradients_.grow_to(n);
  along_hessians_.grow_to(n);
  derivatives_along(keys, {gradients_.data(), hessians_.data(), n}, along_gradients_.data(),
                    along_hessians_.data(), params_.n_threads, cancel);
  return {along_gradients_.span(), along_hessians_.span(), !weights_.empty()};
}

// A thread with a tree of its own never waits for another, so trees grow side by side while there is one for
// every thread. Not on very many rows: each tree takes a list of them, and one tree alone keeps all threads
// busy.
std::size_t Booster::n_with_own_grower(std::size_t n_trees) {
  const auto n_threads = static_cast<std::size_t>(params_.n_threads);
  if (n_threads < 2 || n_trees < n_threads || data_.n_rows() > kVeryManyRows) return 0;
  BoostParams alone = params_;
  alone.n_threads = 1;
  for (std::size_t worker = own_growers_.size(); worker < n_threads; ++worker) {
    own_growers_.emplace_back(data_, tiles_, alone, histograms_, worker == 0);
  }
  return n_trees - n_trees % n_threads;
}

// Gives the leaves of the tree that has grown their values, and the rows their new scores: a tree per score.
std::vector<Tree> Booster::finish_trees(BoostGrower& grower, Scores scores, std::span<const RowId> rows,
                                        bool hessian_is_one, const std::optional<Loss>& loss,
                                        Cancel& cancel) {
  const Timed timed("finish trees");
  const bool refits = loss && loss->refits_leaves();
  Buffer<std::uint8_t>* leaf_numbers = leaf_number_buffers_.take();
  RowLeaves row_leaves(grower.leaves(), data_.n_rows(), rows.empty(), *leaf_numbers);
  const std::vector<NodeId> left_out = walk_left_out(grower, rows, cancel);
  std::vector<TreeBuilder> parts(1);
  std::vector<Tree> trees;
  for (int score = scores.first; score < scores.first + scores.count; ++score) {
    TreeBuilder& work = grower.nodes();
    const bool recorded = score > scores.first;
    const std::vector<LeafSums> sums =
        sum_leaves(grower, row_leaves, score, hessian_is_one, recorded, cancel);
    parallel_for(
        sums.size(), refits ? grower.n_threads() : 1,
        [&](std::size_t leaf, int) {
          const LeafRows& leaf_rows = grower.leaves()[leaf];
          const BoostGrower::Bounds bounds = grower.bounds_of(leaf_rows.node);
          const double value = refits ? refit_leaf(*loss, leaf_rows, bounds, score)
                                      : newton_value(params_, sums[leaf], bounds, loss);
          const auto node = static_cast<std::size_t>(leaf_rows.node);
          work.values[node] = rounded(params_.learning_rate * value);
          work.nodes[node].weight = sums[leaf].weight;
        },
        &cancel);
    describe_inner_nodes(work);
    add_to_scores(grower, row_leaves, score, rows, left_out, cancel);
    parts[0] = std::move(work);
    trees.push_back(assemble(data_, parts, 1, 1));
    work = std::move(parts[0]);
  }
  leaf_number_buffers_.give_back(leaf_numbers);
  return trees;
}

// The sums of each leaf by its node, block by block in a fixed order: the same bits for any number of
// threads.
std::vector<LeafSums> Booster::sum_nodes(const Tree& tree, std::span<const NodeId> leaves, int score,
                                         bool hessian_is_one, Cancel& cancel) {
  const std::size_t n = data_.n_rows();
  std::vector<std::vector<LeafSums>> blocks((n + kRowsPerRefitBlock - 1) / kRowsPerRefitBlock);
  parallel_for(
      blocks.size(), params_.n_threads,
      [&](std::size_t block, int) {
        std::vector<LeafSums>& sums = blocks[block];
        sums.resize(tree.n_nodes());
        const std::size_t begin = block * kRowsPerRefitBlock;
        const std::size_t end = std::min(begin + kRowsPerRefitBlock, n);
        std::vector<float> computed;
        const SomeDerivatives found = derivatives_of(score, begin, end, computed);
        for (std::size_t row = begin; row < end; ++row) {
          LeafSums& leaf = sums[static_cast<std::size_t>(leaves[row])];
          leaf.gradient += static_cast<double>(found.gradients[row - found.first_row]);
          leaf.hessian += hessian_is_one ? 1.0 : static_cast<double>(found.hessians[row - found.first_row]);
          leaf.weight += weights_.empty() ? 1.0 : static_cast<double>(weights_[row]);
        }
      },
      &cancel);
  std::vector<LeafSums> total(tree.n_nodes());
  for (const std::vector<LeafSums>& block : blocks) {
    for (std::size_t node = 0; node < total.size(); ++node) {
      total[node].gradient += block[node].gradient;
      total[node].hessian += block[node].hessian;
      total[node].weight += block[node].weight;
    }
  }
  return total;
}

Tree Booster::refit(const Tree& tree, std::span<const NodeId> leaves, int score, double share,
                    const std::optional<Loss>& loss, Cancel& cancel) {
  const bool constant = loss && loss->hessian_is_one() && weights_.empty();
  const std::vector<LeafSums> sums = sum_nodes(tree, leaves, score, constant, cancel);
  std::vector<std::vector<RowId>> rows_of_leaf(loss && loss->refits_leaves() ? tree.n_nodes() : 0);
  std::vector<std::int64_t> sizes(tree.n_nodes());
  for (std::size_t row = 0; row < leaves.size(); ++row) {
    const auto leaf = static_cast<std::size_t>(leaves[row]);
    ++sizes[leaf];
    if (!rows_of_leaf.empty()) rows_of_leaf[leaf].push_back(static_cast<RowId>(row));
  }
  Tree out = refitted(tree, sums, sizes, params_.learning_rate, [&](std::size_t node) {
    return rows_of_leaf.empty() ? newton_value(params_, sums[node], {-kInfinity, kInfinity}, loss)
                                : residual_value(*loss, rows_of_leaf[node], score);
  });
  double* scores = scores_.data() + static_cast<std::size_t>(score) * data_.n_rows();
  for (std::size_t row = 0; row < leaves.size(); ++row)
    scores[row] += out.value[static_cast<std::size_t>(leaves[row])];
  for (double& value : out.value) value *= share;
  return out;
}

}  // namespace hornbeam::boost
