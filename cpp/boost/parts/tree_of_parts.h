// A boosted tree that grows from sums over rows that are elsewhere, in parts (boost/parts/part_rows.h): sums come in,
// tests go out. Frontier, search and bounds are those of BoostGrower, so the tree is the one that BoostGrower would
// grow on all rows together. Asking the parts takes long, so nodes are divided ahead of their turn: those that come
// next as far as tests are known, also below nodes whose own turn has not come. What turns out not to be needed is
// thrown away. A symmetric tree (boost/grow/symmetric_tree.h) asks for a whole
// level at once.
//
// The protocol: `begin`; `tasks` are sent to the parts, which divide nodes, and `answer` takes their sums, in the order in
// which the tasks were given. More tasks may be sent while others are on their way. `questions` that come up are put to
// the parts with the next tasks. When nothing is left to send and nothing is on its way, `leaves` names the leaves, and
// `finish` gives them values.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "boost/grow/boost_grower.h"
#include "boost/grow/symmetric_tree.h"
#include "boost/parts/part_rows.h"
#include "tree/tree.h"

namespace hornbeam::boost {

class TreeOfParts {
 public:
  using Scale = BoostGrower::Scale;

  // `data` has columns without codes, and the number of all rows; it must outlive this. `categories` are those
  // that occur, per feature, for one-vs-rest tests.
  TreeOfParts(const Dataset& data, const BoostParams& params, std::vector<std::vector<Code>> categories);

  static Scale scale_of(const Spread& gradients, const std::optional<Spread>& hessians, std::size_t n_rows,
                        bool weighted) {
    return BoostGrower::scale_of(gradients, hessians, n_rows, weighted);
  }

  // `root` are the sums of all parts over n_rows rows; features (empty for all) and key are as for BoostGrower.
  void begin(const Scale& scale, std::size_t n_rows, const PartSums& root, std::vector<char> features,
             std::uint64_t key);

  // A node to divide: its number in the parts, its test, and the sums that are wanted.
  struct Task {
    std::size_t node;
    Split split;
    PartRows::Wanted wanted;
  };
  // New tasks: at most `most`, if the tree grows node by node; those of a symmetric tree are a level, once the level
  // before has been answered.
  std::vector<Task> tasks(std::size_t most);
  // Takes the answers to the oldest tasks that have none yet: sums over all parts. Threads ask for them.
  void answer(std::size_t n_tasks, const std::function<PartSums(std::size_t)>& sums_of);

  // Nodes whose rows must be counted by code, each named once, and the counts of the one that was named first
  // (PartRows::rows_by_code).
  std::vector<std::size_t> questions();
  void answer_question(std::span<const std::uint32_t> rows_by_code);

  LeafNodes leaves() const;
  BoostGrower::Bounds bounds_of_leaf(std::size_t leaf) const;
  // Takes the leaves' values, before the learning rate, and their rows' weights. May be called once per score where
  // scores share the tests.
  tree::Tree finish(std::span<const double> values, std::span<const double> weights);
  // What the leaves of the tree that was finished last add to scores.
  std::vector<double> leaf_values() const;

  const BoostParams& params() const { return params_; }

 private:
  using NodeState = BoostGrower::NodeState;
  using Search = BoostGrower::Search;

  // A node whose test is known.
  struct Known {
    const OpenNode* node;
    NodeState* state;
    bool is_last;  // its children stay leaves
  };
  // A node that the parts are dividing; its children have the numbers from first_child on. Its state moves when its
  // parent is carried out (carry_out).
  struct Sent {
    OpenNode node;
    NodeState* state;
    PartRows::Wanted wanted;
    std::size_t first_child;
  };
  // A search that waits for the answer to a question: that of a node's child, or of the root, which has no parent.
  struct Pending {
    NodeState* parent;
    int branch;
    Search search;
    std::optional<OpenNode> open{};  // what has been found
  };

  std::vector<Known> next_nodes(std::size_t most);
  std::vector<Known> next_by_gain(std::size_t most);
  std::vector<Task> tasks_of_nodes(std::size_t most);
  std::vector<Task> tasks_of_level();
  std::vector<Pending> answer_of_node(const Sent& sent, const PartSums& sums, BoostGrower::Worker& worker);
  void answer_of_level(const PartSums& sums);
  PartRows::Wanted wanted_of(const Known& known) const;
  void describe_children(const Sent& sent, const PartSums& sums, NodeState* children) const;
  void give_sums(NodeState& parent, PartRows::Wanted wanted, const PartSums& sums, NodeState* children);
  void fill(NodeState& node, std::span<const WideCell> cells, std::span<const CategorySums> categories);
  void fill_with_rest(NodeState& parent, const NodeState& counted, NodeState& other);
  Pending searched(NodeState* parent, int branch, NodeState& node, const OpenNode& as,
                   BoostGrower::Worker& worker);
  void settle(Pending pending);
  void note_prepared(NodeState& node);
  void carry_out();
  void carry_out(OpenNode node);
  void release_below(NodeState& node);
  static void list_nodes(const NodeState& node, std::uint32_t leaf, LeafNodes& out);
  std::size_t n_cells() const;
  std::vector<NodeId> leaf_nodes() const;

  const Dataset& data_;
  BoostParams params_;
  Tiles tiles_;
  HistogramPool histograms_;
  BoostGrower grower_;
  Cancel cancel_;
  std::vector<FeatureId> without_slot_;
  std::vector<char> features_;
  std::optional<Frontier> frontier_;
  std::size_t next_node_ = 1;  // its number in the parts
  std::deque<Sent> sent_;      // without an answer, oldest first
  std::vector<Pending> pending_;
  std::size_t n_named_ = 0;  // pending searches whose questions have been given
  // Of a symmetric tree: its levels, the one that is asked for, its families in the order of the answers, and how many
  // have been answered.
  struct Asked {
    SymmetricTree::Family* family;
    PartRows::Wanted wanted;
  };
  std::optional<SymmetricTree> levels_;
  std::optional<SymmetricTree::Level> level_;
  std::vector<Asked> asked_;
  std::size_t n_answered_ = 0;
};

}  // namespace hornbeam::boost
