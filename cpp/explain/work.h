// One call of Explainer::explain at work: trees in batches, rows in blocks.
//
// The trees of a batch are cut into subtrees, for which tables are made, or their tests are listed for walks
// of many rows side by side: along the paths, or beside words of a background. Then every block of rows looks
// up its patterns and takes the walks. Leaves that neither covers are reached row by row; so are all leaves
// for rows that take several branches of a test, and for calls with a few rows, against a background or for
// pairs, where making tables would not pay off.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "explain/explainer.h"
#include "explain/paths/background_walk.h"
#include "explain/paths/long_paths.h"
#include "explain/patterns.h"
#include "explain/slots.h"
#include "explain/subtrees.h"
#include "explain/tables.h"
#include "explain/walk.h"
#include "explain/wide_leaves.h"

namespace hornbeam::explain {

// Where a call's results go: parts[row, feature(, feature), score], base[row, score].
struct Results {
  std::span<double> parts;
  std::span<double> base;
  std::size_t n_features;
};

class Work {
 public:
  Work(const Explainer& model, const RowSource& rows, const Question& question, Cancel& cancel,
       Results results);
  void run();

 private:
  // What a thread has for itself.
  struct Worker {
    Worker(const Explainer& model, bool pairs, Cancel& cancel, bool on_calling_thread);
    RowBlock rows;
    RowBlock background;
    PatternWalk patterns;
    LongPathWalk long_paths;
    BackgroundWalk background_walk;
    WidePatterns wide;
    PathWalk walk;
    LeafGame game;
    TableMaker maker;
    CancelPoller poller;
    Buffer<double> sums;           // [slot, score, row of the block]
    std::vector<double> values;    // of a leaf
    std::vector<double> leaves;    // [leaf, value]
    std::vector<double*> targets;  // sums of the tables
    Buffer<double> unused;
    std::vector<std::uint32_t> counts;
  };
  // A tree of the batch.
  struct Prepared {
    CutTree cut;
    LongPaths long_paths;
    PathTests tests;  // for a walk beside words of the background
    std::vector<WideLeaf> wide_leaves;
    std::vector<std::size_t> table_begin;  // by subtree
    std::vector<std::size_t> count_begin;  // by subtree, among those of the batch
    Buffer<double> tables;
  };

  // The trees that have a prediction for a row, and what each counts.
  struct Answers {
    std::vector<bool> has_answer;
    double scale;
  };

  bool tables_pay() const;
  bool background_is_divided();

  static constexpr std::size_t kBackgroundRows = 256;  // in a block

  std::size_t prepare(std::size_t begin);
  void cut_tree(std::size_t tree, Prepared& prepared) const;
  void cut_for_paths(std::size_t tree, Prepared& prepared) const;
  void cut_for_background(std::size_t tree, Prepared& prepared) const;
  void cut_for_pairs(std::size_t tree, Prepared& prepared) const;
  void count_background(std::size_t begin);
  std::span<const std::uint32_t> counts_of(const Prepared& prepared, std::size_t subtree) const;
  void make_tables(std::size_t tree, Prepared& prepared, Worker& worker);
  void find_base_of_tree(std::size_t tree, const Prepared& prepared, Worker& worker);

  void explain_block(std::size_t begin, std::size_t end, std::size_t first_row, std::size_t last_row,
                     Worker& worker);
  void count_wide_patterns(std::size_t tree, Prepared& prepared, Worker& worker);
  void look_up_wide(std::size_t tree, const Prepared& prepared, Worker& worker);
  void follow_long_paths(std::size_t tree, const Prepared& prepared, Worker& worker);
  void play_background(std::size_t begin, std::size_t end, Worker& worker);
  void look_up(std::size_t tree, const Prepared& prepared, Worker& worker);
  void walk_row(std::size_t tree, const std::vector<bool>& skips, std::size_t row, double scale,
                Worker& worker);
  void add_leaf(std::size_t tree, NodeId leaf, std::span<const PathColumn> columns, std::size_t row,
                double scale, Worker& worker);
  Answers answers_of(const RowBlock& block, std::size_t row) const;
  void walk_divided_rows(std::size_t begin, std::size_t end, Worker& worker);

  void give_out(std::size_t first_row, const Worker& worker);
  void finish_pairs(std::size_t first_row, std::size_t last_row);
  void find_base(std::size_t first_row, std::size_t last_row, Worker& worker);

  // Calls task(first, last, worker) for blocks of rows.
  template <class Task>
  void for_blocks(std::size_t n_rows, std::size_t size, const Task& task) {
    parallel_for((n_rows + size - 1) / size, question_.n_threads,
                 [&](std::size_t block, int w) {
                   task(block * size, std::min(n_rows, (block + 1) * size),
                        workers_[static_cast<std::size_t>(w)]);
                 },
                 &cancel_);
  }
  // Loads the background block by block.
  template <class Visit>
  void for_background_blocks(Worker& worker, const Visit& visit) {
    for (std::size_t begin = 0; begin < n_background_; begin += kBackgroundRows) {
      worker.background.load(*question_.background, begin, std::min(begin + kBackgroundRows, n_background_));
      visit();
    }
  }
  // Calls visit(row of worker.background) for each row of the background.
  template <class Visit>
  void for_background(Worker& worker, const Visit& visit) {
    for_background_blocks(worker, [&] {
      for (std::size_t row = 0; row < worker.background.n_rows(); ++row) visit(row);
      worker.poller.poll(64 * worker.background.n_rows());
    });
  }

  const Explainer& model_;
  const RowSource& rows_;
  Question question_;
  Cancel& cancel_;
  Results results_;
  Slots slots_;
  std::size_t n_background_;
  std::size_t block_rows_;
  bool use_tables_;
  std::vector<Worker> workers_;
  std::vector<Prepared> batch_;
  std::vector<std::uint32_t> counts_;  // of the background, by subtree of the batch and pattern
  std::vector<double> base_;           // [tree, score that it adds to]
};

}  // namespace hornbeam::explain
