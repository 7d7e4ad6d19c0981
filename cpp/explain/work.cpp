#include "explain/work.h"

#include <algorithm>

namespace hornbeam::explain {

namespace {

constexpr std::size_t kFewestRowsForTables = 32;
constexpr std::size_t kMostSums = 1u << 16;  // of a block of rows, so that they stay in the cache

std::size_t rows_per_block(std::size_t n_sums) {
  const std::size_t fit = kMostSums / std::max<std::size_t>(n_sums, 1);
  return std::clamp<std::size_t>(fit / kLanesStep * kLanesStep, kLanesStep, 256);
}

// Rows are looked up this many at a time; blocks have room up to the next multiple.
std::size_t rows_looked_up(std::size_t n_rows) {
  return (n_rows + kTables - 1) / kTables * kTables;
}

}  // namespace

Work::Worker::Worker(const Explainer& model, bool pairs, Cancel& cancel, bool on_calling_thread)
    : rows(model.features_),
      background(model.features_),
      patterns(model.unseen_),
      long_paths(model.unseen_),
      background_walk(model.unseen_),
      wide(model.unseen_, pairs),
      walk(model.features_.empty() ? 0 : static_cast<std::size_t>(model.features_.back()) + 1),
      game(model.quadratures_),
      maker(model.quadratures_, pairs),
      poller(cancel, on_calling_thread),
      values(model.n_scores_) {}

Work::Work(const Explainer& model, const RowSource& rows, const Question& question, Cancel& cancel,
           Results results)
    : model_(model),
      rows_(rows),
      question_(question),
      cancel_(cancel),
      results_(results),
      slots_(model.features_.size(), question.pairs),
      n_background_(question.background == nullptr ? 0 : question.background->n_rows()),
      block_rows_(rows_per_block(slots_.size() * model.n_scores_)) {
  for (int w = 0; w < std::max(1, question.n_threads); ++w)
    workers_.emplace_back(model, question.pairs, cancel, w == 0);
  use_tables_ = tables_pay() && !background_is_divided();
}

bool Work::tables_pay() const {
  return rows_.n_rows() * std::max<std::size_t>(n_background_, 1) >= kFewestRowsForTables;
}

bool Work::background_is_divided() {
  if (model_.gaps_ == Gaps::kBranch) return false;
  Worker& worker = workers_[0];
  for (std::size_t begin = 0; begin < n_background_; begin += kBackgroundRows) {
    worker.background.load(*question_.background, begin, std::min(begin + kBackgroundRows, n_background_));
    for (std::size_t row = 0; row < worker.background.n_rows(); ++row)
      if (lacks_a_value(worker.background, row, model_.is_category_, model_.unseen_)) return true;
  }
  return false;
}

void Work::run() {
  std::ranges::fill(results_.parts, 0.0);
  const std::size_t n_trees = model_.trees_.size();
  base_.assign(n_trees * model_.n_scores_, 0.0);
  for (std::size_t begin = 0; begin < n_trees;) {
    const std::size_t end = prepare(begin);
    for_blocks(rows_.n_rows(), block_rows_, [&](std::size_t first, std::size_t last, Worker& worker) {
      explain_block(begin, end, first, last, worker);
    });
    begin = end;
  }
  for_blocks(rows_.n_rows(), block_rows_, [&](std::size_t first, std::size_t last, Worker& worker) {
    find_base(first, last, worker);
    if (slots_.has_pairs()) finish_pairs(first, last);
  });
}

// --- Rows -------------------------------------------------------------------------------------------------

void Work::explain_block(std::size_t begin, std::size_t end, std::size_t first_row, std::size_t last_row,
                         Worker& worker) {
  worker.rows.load(rows_, first_row, last_row);
  worker.sums.grow_to(slots_.size() * model_.n_scores_ * block_rows_);
  std::ranges::fill(worker.sums.span(), 0.0);
  for (std::size_t tree = begin; tree < end; ++tree) {
    const Prepared& prepared = batch_[tree - begin];
    look_up(tree, prepared, worker);
    look_up_wide(tree, prepared, worker);
    follow_long_paths(tree, prepared, worker);
    if (prepared.cut.n_left_over == 0) continue;
    for (std::size_t row = 0; row < worker.rows.n_rows(); ++row)
      walk_row(tree, prepared.cut.is_root, row, 1.0, worker);
  }
  play_background(begin, end, worker);
  if (model_.gaps_ != Gaps::kBranch) walk_divided_rows(begin, end, worker);
  give_out(first_row, worker);
}

void Work::look_up(std::size_t tree, const Prepared& prepared, Worker& worker) {
  const std::size_t n_said = model_.n_said(tree);
  worker.unused.grow_to(block_rows_);
  worker.patterns.run(
      *model_.trees_[tree], prepared.cut, worker.rows, [&](std::size_t s, const std::uint8_t* patterns) {
        const Subtree& subtree = prepared.cut.subtrees[s];
        worker.targets.clear();
        const auto add_slot = [&](std::size_t slot) {
          const std::size_t first = slot * model_.n_scores_ + model_.first_score(tree);
          for (std::size_t v = 0; v < n_said; ++v)
            worker.targets.push_back(worker.sums.data() + (first + v) * block_rows_);
        };
        const std::size_t n_columns = subtree.columns.size();
        const auto slot_of = [&](std::size_t i) { return worker.rows.slot_of(subtree.columns[i]); };
        for (std::size_t i = 0; i < n_columns; ++i) add_slot(slot_of(i));
        for (std::size_t i = 0; slots_.has_pairs() && i < n_columns; ++i)
          for (std::size_t j = i + 1; j < n_columns; ++j) add_slot(slots_.pair(slot_of(i), slot_of(j)));
        while (worker.targets.size() % kTables != 0) worker.targets.push_back(worker.unused.data());
        const double* table = prepared.tables.data() + prepared.table_begin[s];
        for (std::size_t k = 0; k < worker.targets.size(); k += kTables) {
          explain_kernels().look_up(patterns, rows_looked_up(worker.rows.n_rows()), table,
                                    worker.targets.data() + k);
          table += kTables * subtree.n_patterns();
        }
      });
  worker.poller.poll(worker.rows.n_rows() * prepared.cut.subtrees.size() * 8);
}

void Work::look_up_wide(std::size_t tree, const Prepared& prepared, Worker& worker) {
  const std::size_t n_said = model_.n_said(tree);
  for (const WideLeaf& leaf : prepared.wide_leaves) {
    const std::vector<std::uint64_t>& patterns = worker.wide.find(*model_.trees_[tree], leaf, worker.rows);
    model_.say(tree, leaf.node, worker.values.data());
    worker.wide.begin_leaf();
    const Slots own(leaf.columns.size(), slots_.has_pairs());
    const auto slot_of = [&](std::size_t i) { return worker.rows.slot_of(leaf.columns[i].feature); };
    for (std::size_t row = 0; row < patterns.size(); ++row) {
      const double* amounts = worker.wide.amounts(leaf, patterns[row], n_background_);
      const auto add = [&](std::size_t slot, double amount) {
        double* sums =
            worker.sums.data() + (slot * model_.n_scores_ + model_.first_score(tree)) * block_rows_ + row;
        for (std::size_t v = 0; v < n_said; ++v) sums[v * block_rows_] += amount * worker.values[v];
      };
      for (std::size_t i = 0; i < leaf.columns.size(); ++i) {
        add(slot_of(i), amounts[i]);
        for (std::size_t j = i + 1; slots_.has_pairs() && j < leaf.columns.size(); ++j)
          add(slots_.pair(slot_of(i), slot_of(j)), amounts[own.pair(i, j)]);
      }
    }
    worker.poller.poll(64 * patterns.size());
  }
}

void Work::follow_long_paths(std::size_t tree, const Prepared& prepared, Worker& worker) {
  if (!prepared.long_paths.any()) return;
  const auto value_of = [&](NodeId leaf) {
    model_.say(tree, leaf, worker.values.data());
    return worker.values.data();
  };
  const auto sums_of = [&](std::size_t slot, std::size_t v) {
    return worker.sums.data() + (slot * model_.n_scores_ + model_.first_score(tree) + v) * block_rows_;
  };
  const auto slot_of = [&](FeatureId feature) { return worker.rows.slot_of(feature); };
  worker.long_paths.add(
      *model_.trees_[tree], prepared.long_paths, worker.rows, model_.n_said(tree), value_of,
      [&](FeatureId feature, std::size_t v) { return sums_of(slot_of(feature), v); },
      [&](FeatureId one, FeatureId other, std::size_t v) {
        return sums_of(slots_.pair(slot_of(one), slot_of(other)), v);
      });
  worker.poller.poll(worker.rows.n_rows() * model_.trees_[tree]->n_leaves() * 8);
}

// The trees that are walked beside words of the background, in blocks of these rows.
void Work::play_background(std::size_t begin, std::size_t end, Worker& worker) {
  const auto is_asked = [](const Prepared& prepared) { return !prepared.tests.tests.empty(); };
  if (!std::ranges::any_of(batch_, is_asked)) return;
  const double share = 1.0 / static_cast<double>(n_background_);
  for_background_blocks(worker, [&] {
    for (std::size_t tree = begin; tree < end; ++tree) {
      const PathTests& list = batch_[tree - begin].tests;
      if (!is_asked(batch_[tree - begin])) continue;
      const std::size_t n_said = model_.n_said(tree);
      worker.leaves.resize(list.leaves.size() * n_said);
      for (std::size_t leaf = 0; leaf < list.leaves.size(); ++leaf)
        model_.say(tree, list.leaves[leaf], worker.leaves.data() + leaf * n_said);
      worker.background_walk.add(
          *model_.trees_[tree], list, {worker.rows, worker.background, worker.leaves, n_said, share},
          [&](FeatureId feature, std::size_t v) {
            const std::size_t slot = worker.rows.slot_of(feature);
            return worker.sums.data() +
                   (slot * model_.n_scores_ + model_.first_score(tree) + v) * block_rows_;
          },
          [&](std::size_t work) { worker.poller.poll(work); });
    }
  });
}

void Work::walk_row(std::size_t tree, const std::vector<bool>& skips, std::size_t row, double scale,
                    Worker& worker) {
  const Tree& one = *model_.trees_[tree];
  std::size_t n_leaves = 0;
  const auto own = [&](NodeId node) { return branch_taken(one, node, model_.unseen_, worker.rows, row); };
  const auto walk = [&](const auto& out, double share) {
    worker.walk.visit(
        one, model_.shares_[tree], own, out,
        [&](NodeId node) { return skips[static_cast<std::size_t>(node)]; },
        [&](NodeId leaf, std::span<const PathColumn> columns) {
          add_leaf(tree, leaf, columns, row, share, worker);
          ++n_leaves;
        });
  };
  if (n_background_ == 0) {
    walk([](NodeId) { return kAllBranches; }, scale);
  } else {
    const double share = scale / static_cast<double>(n_background_);
    for_background(worker, [&](std::size_t other) {
      walk([&](NodeId node) { return branch_taken(one, node, model_.unseen_, worker.background, other); },
           share);
    });
  }
  worker.poller.poll(256 * n_leaves);
}

void Work::add_leaf(std::size_t tree, NodeId leaf, std::span<const PathColumn> columns, std::size_t row,
                    double scale, Worker& worker) {
  const std::size_t n_said = model_.n_said(tree);
  model_.say(tree, leaf, worker.values.data());
  const auto add = [&](std::size_t slot, double amount) {
    double* sums =
        worker.sums.data() + (slot * model_.n_scores_ + model_.first_score(tree)) * block_rows_ + row;
    for (std::size_t v = 0; v < n_said; ++v) sums[v * block_rows_] += scale * amount * worker.values[v];
  };
  const auto slot_of = [&](std::size_t i) { return worker.rows.slot_of(columns[i].feature); };
  worker.game.singles(columns, [&](std::size_t i, double amount) { add(slot_of(i), amount); });
  if (!slots_.has_pairs()) return;
  worker.game.pairs(columns, [&](std::size_t i, std::size_t j, double amount) {
    add(slots_.pair(slot_of(i), slot_of(j)), amount);
  });
}

// Which trees have a prediction for a row of the block, and how much each counts then: a tree without one
// leaves its weight to the others.
Work::Answers Work::answers_of(const RowBlock& block, std::size_t row) const {
  Answers found{std::vector<bool>(model_.trees_.size(), true), 1.0};
  if (model_.gaps_ != Gaps::kAvailable) return found;
  std::size_t n = 0;
  for (std::size_t t = 0; t < model_.trees_.size(); ++t) {
    const Tree& tree = *model_.trees_[t];
    NodeId node = 0;
    while (!tree.is_leaf(node)) {
      const std::int32_t branch = branch_taken(tree, node, model_.unseen_, block, row);
      if (branch == kAllBranches) break;
      node = tree.first_child[node] + branch;
    }
    found.has_answer[t] = tree.is_leaf(node);
    n += found.has_answer[t];
  }
  found.scale = n == 0 ? 0.0 : static_cast<double>(model_.trees_.size()) / static_cast<double>(n);
  return found;
}

void Work::walk_divided_rows(std::size_t begin, std::size_t end, Worker& worker) {
  for (std::size_t row = 0; row < worker.rows.n_rows(); ++row) {
    if (!lacks_a_value(worker.rows, row, model_.is_category_, model_.unseen_)) continue;
    for (std::size_t sum = row; sum < worker.sums.size(); sum += block_rows_) worker.sums[sum] = 0.0;
    const Answers answers = answers_of(worker.rows, row);
    for (std::size_t tree = begin; tree < end; ++tree) {
      const std::vector<bool> skips(model_.trees_[tree]->n_nodes(), false);
      if (answers.has_answer[tree]) walk_row(tree, skips, row, answers.scale, worker);
    }
  }
}

// --- Results ----------------------------------------------------------------------------------------------

// Adds the sums of a block to its rows. Each order of a pair gets half; the diagonal holds the columns' own
// effects.
void Work::give_out(std::size_t first_row, const Worker& worker) {
  const std::size_t n_scores = model_.n_scores_;
  const std::size_t n_features = results_.n_features;
  const std::size_t per_row = n_features * (slots_.has_pairs() ? n_features : 1) * n_scores;
  const auto feature = [&](std::size_t i) { return static_cast<std::size_t>(model_.features_[i]); };
  const auto add = [&](std::size_t slot, std::size_t place, double share) {
    const double* sums = worker.sums.data() + slot * n_scores * block_rows_;
    double* parts = results_.parts.data() + first_row * per_row + place * n_scores;
    for (std::size_t row = 0; row < worker.rows.n_rows(); ++row)
      for (std::size_t v = 0; v < n_scores; ++v)
        parts[row * per_row + v] += share * sums[v * block_rows_ + row];
  };
  for (std::size_t i = 0; i < slots_.n_columns(); ++i) {
    if (!slots_.has_pairs()) {
      add(i, feature(i), 1.0);
      continue;
    }
    add(i, feature(i) * n_features + feature(i), 1.0);
    for (std::size_t j = i + 1; j < slots_.n_columns(); ++j) {
      add(slots_.pair(i, j), feature(i) * n_features + feature(j), 0.5);
      add(slots_.pair(i, j), feature(j) * n_features + feature(i), 0.5);
    }
  }
}

void Work::finish_pairs(std::size_t first_row, std::size_t last_row) {
  const std::size_t n_scores = model_.n_scores_;
  const std::size_t n = results_.n_features;
  for (std::size_t row = first_row; row < last_row; ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      double* parts = results_.parts.data() + (row * n + i) * n * n_scores;
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t v = 0; j != i && v < n_scores; ++v)
          parts[i * n_scores + v] -= parts[j * n_scores + v];
    }
  }
}

void Work::find_base(std::size_t first_row, std::size_t last_row, Worker& worker) {
  const std::size_t n_scores = model_.n_scores_;
  const bool by_row = model_.gaps_ == Gaps::kAvailable;
  if (by_row) worker.rows.load(rows_, first_row, last_row);
  for (std::size_t row = first_row; row < last_row; ++row) {
    double* base = results_.base.data() + row * n_scores;
    std::fill_n(base, n_scores, 0.0);
    const Answers answers = by_row ? answers_of(worker.rows, row - first_row) : Answers{{}, 1.0};
    for (std::size_t tree = 0; tree < model_.trees_.size(); ++tree) {
      const double* of_tree = base_.data() + tree * n_scores;
      if (answers.scale == 0.0) {  // the prediction before any test
        model_.say(tree, 0, worker.values.data());
        of_tree = worker.values.data();
      } else if (by_row && !answers.has_answer[tree]) {
        continue;
      }
      for (std::size_t v = 0; v < n_scores; ++v)
        base[v] += (answers.scale == 0.0 ? 1.0 : answers.scale) * of_tree[v];
    }
  }
}

}  // namespace hornbeam::explain
