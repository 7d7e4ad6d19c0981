// Prepares the trees of a batch (work.h): decides which leaves get tables and which take which other way.
#include <algorithm>
#include <unordered_map>

#include "explain/work.h"

namespace hornbeam::explain {

namespace {

constexpr std::size_t kBatchBytes = 64u << 20;      // of tables
constexpr std::size_t kMostLeavesForTables = 1024;  // of a tree: larger ones need too much memory
constexpr std::size_t kMostLeavesForPathTables =
    16;  // most where there are long paths, which cost less from there on

// Against a background: rows times words of the background, times the share of leaves that are in tables.
// Below this, making the tables takes longer than walking to these leaves.
constexpr std::size_t kFewestWordsForTables = 192;
// With at least this many background rows, patterns are kept for single columns, too: a walk takes time in
// proportion to the background, and patterns occur again. In larger trees they do not occur often enough.
constexpr std::size_t kFewestOthersForWideLeaves = 513;
constexpr std::size_t kFewestRowsForWideLeaves = 256;
constexpr std::size_t kMostLeavesForWideLeaves = 256;

}  // namespace

// Cuts trees from `begin` on and makes their tables until the batch is full; returns its end.
std::size_t Work::prepare(std::size_t begin) {
  batch_.clear();
  std::size_t n_bytes = 0;
  std::size_t n_counts = 0;
  std::size_t end = begin;
  for (; end < model_.trees_.size() && (end == begin || n_bytes < kBatchBytes); ++end) {
    const Tree& tree = *model_.trees_[end];
    Prepared& prepared = batch_.emplace_back();
    prepared.cut.n_left_over = tree.n_leaves();
    prepared.cut.is_root.resize(tree.n_nodes());
    cut_tree(end, prepared);
    n_bytes += prepared.long_paths.n_bytes() + prepared.tests.tests.size() * sizeof(TreeTest);
    std::size_t n_entries = 0;
    for (const Subtree& subtree : prepared.cut.subtrees) {
      prepared.table_begin.push_back(n_entries);
      prepared.count_begin.push_back(n_counts);
      n_entries += TableMaker::n_entries(subtree, workers_[0].maker.n_tables(subtree) * model_.n_said(end));
      n_counts += subtree.n_patterns();
    }
    prepared.tables = Buffer<double>::zeros(n_entries);
    n_bytes += n_entries * sizeof(double);
  }
  counts_.assign(n_background_ == 0 ? 0 : n_counts, 0);
  if (!counts_.empty()) count_background(begin);
  parallel_for(
      end - begin, question_.n_threads,
      [&](std::size_t i, int w) {
        count_wide_patterns(begin + i, batch_[i], workers_[static_cast<std::size_t>(w)]);
        make_tables(begin + i, batch_[i], workers_[static_cast<std::size_t>(w)]);
        find_base_of_tree(begin + i, batch_[i], workers_[static_cast<std::size_t>(w)]);
      },
      &cancel_);
  return end;
}

// Cuts a tree into subtrees for tables, or lists it for the walks that its game has for leaves without a
// table. The rest is left to a walk row by row.
void Work::cut_tree(std::size_t number, Prepared& prepared) const {
  if (n_background_ == 0)
    cut_for_paths(number, prepared);
  else if (use_tables_)
    (slots_.has_pairs() ? cut_for_pairs(number, prepared) : cut_for_background(number, prepared));
}

void Work::cut_for_paths(std::size_t number, Prepared& prepared) const {
  const Tree& tree = *model_.trees_[number];
  const std::vector<double>& shares = model_.shares_[number];
  if (use_tables_ && !slots_.has_pairs() && tree.n_leaves() <= kMostLeavesForPathTables) {
    CutTree small = cut(tree, shares);
    if (small.n_left_over == 0) {
      prepared.cut = std::move(small);
      return;
    }
  }
  prepared.long_paths = LongPaths(tree, shares, model_.quadratures_, slots_.has_pairs());
  prepared.cut.n_left_over = 0;
}

void Work::cut_for_background(std::size_t number, Prepared& prepared) const {
  const Tree& tree = *model_.trees_[number];
  const std::vector<double>& shares = model_.shares_[number];
  const std::size_t n_words = rows_.n_rows() * ((n_background_ + kOthers - 1) / kOthers);
  if (n_words >= kFewestWordsForTables && tree.n_leaves() <= kMostLeavesForTables) {
    CutTree found = cut(tree, shares);
    const std::size_t in_tables = tree.n_leaves() - found.n_left_over;
    if (n_words * in_tables >= kFewestWordsForTables * tree.n_leaves()) prepared.cut = std::move(found);
  }
  if (prepared.cut.n_left_over > 0 && n_background_ >= kFewestOthersForWideLeaves &&
      rows_.n_rows() >= kFewestRowsForWideLeaves && tree.n_leaves() <= kMostLeavesForWideLeaves) {
    prepared.wide_leaves = find_wide_leaves(tree, shares, prepared.cut.is_root);
    prepared.cut.n_left_over -= prepared.wide_leaves.size();
  }
  if (prepared.cut.n_left_over == 0) return;
  prepared.tests = list_tests(tree, prepared.cut.is_root);
  if (prepared.tests.tests.empty() || prepared.tests.most_columns > kMostColumnsOfBackgroundWalk)
    prepared.tests = {};
  else
    prepared.cut.n_left_over = 0;
}

void Work::cut_for_pairs(std::size_t number, Prepared& prepared) const {
  const Tree& tree = *model_.trees_[number];
  const std::vector<double>& shares = model_.shares_[number];
  if (tree.n_leaves() > kMostLeavesForTables) return;
  prepared.cut = cut(tree, shares);
  if (prepared.cut.n_left_over == 0) return;
  prepared.wide_leaves = find_wide_leaves(tree, shares, prepared.cut.is_root);
  prepared.cut.n_left_over -= prepared.wide_leaves.size();
}

void Work::count_background(std::size_t begin) {
  for (Worker& worker : workers_) worker.counts.assign(counts_.size(), 0);
  for_blocks(n_background_, kBackgroundRows, [&](std::size_t first, std::size_t last, Worker& worker) {
    worker.background.load(*question_.background, first, last);
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const Prepared& prepared = batch_[i];
      worker.patterns.run(*model_.trees_[begin + i], prepared.cut, worker.background,
                          [&](std::size_t subtree, const std::uint8_t* patterns) {
                            std::uint32_t* counts = worker.counts.data() + prepared.count_begin[subtree];
                            for (std::size_t row = 0; row < last - first; ++row) ++counts[patterns[row]];
                          });
      worker.poller.poll((last - first) * prepared.cut.steps.size());
    }
  });
  for (const Worker& worker : workers_)
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += worker.counts[i];
}

void Work::count_wide_patterns(std::size_t tree, Prepared& prepared, Worker& worker) {
  if (prepared.wide_leaves.empty()) return;
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> counts(prepared.wide_leaves.size());
  for_background_blocks(worker, [&] {
    for (std::size_t leaf = 0; leaf < counts.size(); ++leaf) {
      for (const std::uint64_t pattern :
           worker.wide.find(*model_.trees_[tree], prepared.wide_leaves[leaf], worker.background))
        ++counts[leaf][pattern];
    }
    worker.poller.poll(32 * worker.background.n_rows() * counts.size());
  });
  for (std::size_t leaf = 0; leaf < counts.size(); ++leaf) {
    auto& found = prepared.wide_leaves[leaf].background;
    found.assign(counts[leaf].begin(), counts[leaf].end());
    std::ranges::sort(found);
  }
}

std::span<const std::uint32_t> Work::counts_of(const Prepared& prepared, std::size_t subtree) const {
  if (n_background_ == 0) return {};
  return std::span(counts_).subspan(prepared.count_begin[subtree],
                                    prepared.cut.subtrees[subtree].n_patterns());
}

void Work::make_tables(std::size_t tree, Prepared& prepared, Worker& worker) {
  const auto value_of = [&](NodeId leaf) {
    model_.say(tree, leaf, worker.values.data());
    return worker.values.data();
  };
  for (std::size_t s = 0; s < prepared.cut.subtrees.size(); ++s) {
    const Subtree& subtree = prepared.cut.subtrees[s];
    worker.maker.make(subtree, counts_of(prepared, s), n_background_, model_.n_said(tree), value_of,
                      prepared.tables.data() + prepared.table_begin[s]);
    worker.poller.poll(worker.maker.n_tables(subtree) * subtree.n_patterns() * subtree.leaves.size());
  }
}

// The prediction for a row about which nothing is known: the mean over the rows of the fit or of the
// background.
void Work::find_base_of_tree(std::size_t tree, const Prepared& prepared, Worker& worker) {
  const Tree& one = *model_.trees_[tree];
  const std::size_t n_said = model_.n_said(tree);
  double* base = base_.data() + tree * model_.n_scores_ + model_.first_score(tree);
  const auto add = [&](NodeId leaf, double reach) {
    model_.say(tree, leaf, worker.values.data());
    for (std::size_t v = 0; v < n_said; ++v) base[v] += reach * worker.values[v];
  };
  if (n_background_ == 0) {
    std::vector<double> reach = model_.shares_[tree];
    for (std::size_t node = 0; node < one.n_nodes(); ++node) {
      for (std::int32_t b = 0; b < one.n_branches[node]; ++b)
        reach[static_cast<std::size_t>(one.first_child[node] + b)] *= reach[node];
      if (one.n_branches[node] == 0) add(static_cast<NodeId>(node), reach[node]);
    }
    return;
  }
  for (std::size_t s = 0; s < prepared.cut.subtrees.size(); ++s) {
    const Subtree& subtree = prepared.cut.subtrees[s];
    for (const SubtreeLeaf& leaf : subtree.leaves)
      add(leaf.node, worker.maker.reach(leaf, subtree, counts_of(prepared, s), n_background_));
  }
  for (const WideLeaf& leaf : prepared.wide_leaves) {
    const auto& last = leaf.background.back();  // a row that reaches the leaf has the largest pattern
    if (last.first == leaf.all_bits())
      add(leaf.node, static_cast<double>(last.second) / static_cast<double>(n_background_));
  }
  if (!prepared.tests.tests.empty()) {
    const std::vector<bool>& is_elsewhere = prepared.cut.is_root;
    for_background(worker, [&](std::size_t other) {
      NodeId node = 0;
      while (!is_elsewhere[static_cast<std::size_t>(node)] && !one.is_leaf(node))
        node = one.first_child[node] + branch_taken(one, node, model_.unseen_, worker.background, other);
      if (!is_elsewhere[static_cast<std::size_t>(node)]) add(node, 1.0 / static_cast<double>(n_background_));
    });
  }
  if (prepared.cut.n_left_over == 0) return;
  const double each = 1.0 / static_cast<double>(n_background_);
  for_background(worker, [&](std::size_t other) {
    const auto branch = [&](NodeId node) {
      return branch_taken(one, node, model_.unseen_, worker.background, other);
    };
    worker.walk.visit(
        one, model_.shares_[tree], branch, branch, [&](NodeId node) { return prepared.cut.is_root[node]; },
        [&](NodeId leaf, std::span<const PathColumn> columns) {
          double share = each;
          for (const PathColumn& column : columns) share *= column.in;
          add(leaf, share);
        });
  });
}

}  // namespace hornbeam::explain
