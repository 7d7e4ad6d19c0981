// Growing one boosted tree: derivatives of the loss come in; the nodes of a tree and the rows of its leaves go
// out. The frontier, the split and the finished tree are those of every other tree. What differs is how a node
// finds its test: from a histogram of fixed-point sums. Only the smaller child's histogram is counted; the
// larger one is its parent's minus its sibling's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "boost/boost_kernels.h"
#include "boost/cells.h"
#include "boost/derivatives.h"
#include "boost/grow/row_marker.h"
#include "boost/grow/row_sets.h"
#include "boost/histogram/cuts.h"
#include "boost/histogram/histogram.h"
#include "boost/histogram/many_categories.h"
#include "boost/histogram/reuse_pool.h"
#include "boost/histogram/shared_pass.h"
#include "boost/histogram/tiles.h"
#include "boost/spread.h"
#include "data/dataset.h"
#include "grow/frontier.h"
#include "grow/tree_builder.h"

namespace hornbeam::boost {

using grow::Frontier;
using grow::Growth;
using grow::OpenNode;
using grow::TreeBuilder;
using split::CategoricalSplit;

// By default nothing is limited; limits of 0 mean "none". The defaults that users get are stated in
// src/hornbeam/params/boosting.py.
struct BoostParams {
  double learning_rate = 1.0;
  Growth growth = Growth::kBestFirst;
  bool symmetric = false;  // one test for all nodes of a level; then `growth` has no meaning
  std::int32_t max_depth = 0;
  std::int64_t max_leaf_nodes = 0;
  std::int64_t min_samples_leaf = 1;
  double min_hessian_leaf = 0.0;
  double l1_regularization = 0.0;
  double l2_regularization = 0.0;
  double min_split_gain = 0.0;
  std::int32_t max_features = 0;       // features tried per node
  std::vector<std::int8_t> monotonic;  // per feature -1, 0, +1; empty for none
  // Groups of features that may occur on one path together; empty for all.
  std::vector<std::vector<FeatureId>> interactions;
  // Hessian added to each category when categories are ordered, and to both branches when a set is scored.
  double categorical_smoothing = 0.0;
  // kSubset (sets of categories) or kOneVsRest, nothing else.
  CategoricalSplit categorical_split = CategoricalSplit::kSubset;
  int n_threads = 1;
  // Memory is short, and the columns' codes may lie in a file: scattered rows are looked up in the tiles.
  bool columns_in_file = false;

  bool one_vs_rest() const { return categorical_split == CategoricalSplit::kOneVsRest; }
};

// The rows of one leaf, ascending.
struct LeafRows {
  NodeId node;
  std::span<const BoostEntry> entries;
};

class BoostGrower {
 public:
  // Features without a slot in `tiles` are categorical. Several growers may share a pool. Only the grower on
  // the thread that called in from Python may check for signals.
  BoostGrower(const Dataset& data, const Tiles& tiles, const BoostParams& params, HistogramPool& pool,
              bool on_calling_thread = true);
  int n_threads() const { return params_.n_threads; }
  // Rows whose derivatives are summed together when a scale is chosen.
  static constexpr std::size_t kRowsPerPiece = 1 << 12;

  // How a tree turns derivatives into fixed point.
  struct Scale {
    bool packed = true;
    bool constant_hessian = true;
    double gradient = 1.0;  // fixed point = real * scale
    double hessian = 1.0;
    std::int64_t largest_hessian = 1;  // of one row, in fixed point
    bool has_hessian = true;           // without any, nothing can be gained
  };
  // What is known of a tree's root before it grows; a missing histogram is counted then.
  struct Root {
    Scale scale;
    Histogram* histogram = nullptr;
  };
  // Plans several trees on the same rows (ascending; empty for all), all of which must then be grown. If it
  // pays off, their root histograms are counted in one pass.
  std::vector<Root> plan_roots(std::span<const Derivatives> trees, std::span<const RowId> rows,
                               Cancel& cancel);

  // Grows a tree on `rows` and the features marked in `features` (empty for all). Random draws at nodes are
  // functions of `key`.
  void grow(const Derivatives& derivatives, const Root& root, std::span<const RowId> rows,
            std::span<const char> features, std::uint64_t key, Cancel& cancel);

  TreeBuilder& nodes() { return work_; }
  const std::vector<LeafRows>& leaves() const { return leaves_; }
  // The leaf of a row that the tree was not grown on.
  NodeId leaf_of(RowId row) const;
  // The bounds that monotonic constraints put on a node's value.
  struct Bounds {
    double lower;
    double upper;
  };
  Bounds bounds_of(NodeId node) const {
    const NodeState& state = states_[static_cast<std::size_t>(node)];
    return {state.lower, state.upper};
  }

 private:
  // Rows that a thread takes at once; a multiple of 64, so that tasks share no word of bits.
  static constexpr std::size_t kRowsPerTask = kRowsPerPiece;
  static constexpr std::size_t kSparsest = 8;
  static std::size_t n_tasks(std::size_t n_rows) { return (n_rows + kRowsPerTask - 1) / kRowsPerTask; }

  friend class SymmetricTree;  // grows whole levels with one test each
  friend class SideBySide;     // prepares nodes while others are carried out
  friend class PartRows;       // has some of the rows, and adds them up for a tree that grows elsewhere
  friend class TreeOfParts;    // grows a tree from the sums of such rows
  struct Prepared;
  // The stages of a node whose test has been found.
  enum class Stage : std::uint8_t { kWaiting, kTaken, kPrepared };

  // What a node whose rows are elsewhere needs besides its histogram: by feature, the sums of the categories
  // of columns without a slot and, on request, the number of rows with each code.
  struct NodeSums {
    std::size_t node = 0;  // its number where the rows are
    std::map<FeatureId, CategorySums> categories;
    std::map<FeatureId, std::vector<std::uint32_t>> rows_by_code;
  };
  // What the grower knows about a node besides OpenNode.
  struct NodeState {
    std::size_t begin = 0;
    std::size_t end = 0;
    int side = 0;               // which of the two entry lists holds its rows
    RowSet* members = nullptr;  // the same rows as a set, while they are many
    Histogram* histogram = nullptr;
    WideCell total{};
    double lower = -kInfinity;
    double upper = kInfinity;
    std::vector<std::size_t> groups;  // of `interactions`: those with every feature tested above
    Stage stage = Stage::kWaiting;
    int home = 0;  // the worker that wrote most of its list of rows, and so has it in its cache
    std::unique_ptr<Prepared> prepared;
    std::unique_ptr<NodeSums> sums;  // of rows that are elsewhere
    std::size_t n_rows() const { return end - begin; }
  };
  // The outcome of a node's test, before the node's turn has come: its children, and their tests if they have
  // any.
  struct Prepared {
    int smaller() const { return children[0].n_rows() <= children[1].n_rows() ? 0 : 1; }
    NodeState children[2];
    std::optional<OpenNode> open[2];
  };
  struct Worker {
    CutFinder cuts;
    ManyCategories many;
    std::vector<std::uint64_t> left_bits;
    std::vector<std::uint32_t> rows_by_code;
  };

  Scale choose_scale(const Derivatives& derivatives, std::span<const RowId> rows) const;
  Scale scale_of_fresh(const Derivatives& derivatives, std::span<const RowId> rows) const;
  // From the spread of all gradients, and that of all hessians unless they are 1.
  static Scale scale_of(const Spread& gradients, const std::optional<Spread>& hessians, std::size_t n_rows,
                        bool weighted);
  void load_root(const Derivatives& derivatives, std::span<const RowId> rows);
  WideCell load_piece(const Derivatives& derivatives, std::span<const RowId> rows, std::size_t begin,
                      std::size_t n);
  void open_root(Frontier& frontier, Histogram* counted);
  void grow_by_frontier(Histogram* counted);
  void grow_side_by_side(Frontier& frontier);
  std::vector<const OpenNode*> next_in_step(const Frontier& frontier) const;
  void prepare_in_step(std::span<const OpenNode* const> nodes);
  void find_tests_in_step(std::span<const OpenNode* const> nodes);
  void prepare(const OpenNode& node, NodeState& state, Team team, bool is_last);
  bool name_children(const OpenNode& node, NodeState& parent, Team team, bool is_last);
  void find_tests(const OpenNode& node, const NodeState& parent, Team team, Prepared& out);
  void carry_out(Frontier& frontier, OpenNode& node);
  // Some of a node's rows: a bit for each, set for branch 0.
  struct Piece {
    const std::uint64_t* left_bits;
    SetCounts counts;
  };
  // A node whose rows are being divided between its children.
  struct Division {
    NodeState& node;
    NodeState* children;
    RowMarker marker;
    std::size_t n_places = 0;  // marked: rows of its list, or of the table if the node is a set
    std::size_t places_per_piece = 0;
    std::uint64_t* left_bits = nullptr;
    std::vector<Piece> pieces{};
    std::vector<SetCounts> before{};  // each piece
    std::size_t n_left = 0;
    bool is_set() const { return children[0].members != nullptr; }
  };
  RowMarker marker_of_list(FeatureId feature, const Split& split) const;
  Division divide(NodeState& node, const Split& split, NodeState* children);
  void mark(Division& division, std::size_t piece);
  void add_up(Division& division);
  void send(const Division& division, std::size_t piece);
  void partition(std::span<Division> divisions, Team team);
  // Whether a node has so few of the table's rows that a list of them is quicker than a set.
  bool is_sparse(const NodeState& node) const { return node.n_rows() * kSparsest < data_.n_rows(); }
  void release(NodeState& node);
  void release_unsplittable(const Frontier& frontier);
  bool may_split(const NodeState& node, std::int32_t depth) const;
  void sum_child(const NodeState& parent, const Split& split, NodeState& left) const;
  void bound_children(FeatureId feature, NodeState* children) const;
  double value_of(const NodeState& node) const;
  std::vector<std::size_t> groups_with(FeatureId feature, const std::vector<std::size_t>& groups) const;
  void describe(NodeId id);
  Team everyone() const { return {0, static_cast<int>(workers_.size()), nullptr}; }
  bool is_large(const OpenNode& node) const;
  // Whether all threads should work on the next nodes together.
  bool takes_everyone(const Frontier& frontier) const;
  Worker& first_of(Team team) { return workers_[static_cast<std::size_t>(team.first)]; }
  NodeState& state_of(NodeId id) { return states_[static_cast<std::size_t>(id)]; }
  const NodeState& state_of(NodeId id) const { return states_[static_cast<std::size_t>(id)]; }

  std::span<const BoostEntry> entries_of(const NodeState& node) const {
    return {entries_[node.side].data() + node.begin, node.n_rows()};
  }
  NodeRows rows_of(const NodeState& node) const {
    return {entries_of(node), scale_.packed ? nullptr : pairs_.data()};
  }
  bool needs_wide(const NodeState& node) const { return !scale_.packed || node.n_rows() > kMostPackedRows; }
  std::size_t n_splits_left() const;

  // The search for a node's test, once its histogram is at hand.
  struct Search {
    NodeState* node;
    CutTerms terms;
    OpenNode open;
    std::vector<char> allowed;        // per feature; empty for all
    std::vector<Cut> cuts;            // per feature; empty if the node must stay a leaf
    FeatureId question = kNoFeature;  // whose rows by code must be known before the search can end
  };
  Search start_search(NodeState& node, std::int32_t depth, std::uint64_t path) const;
  Cut find_cut(const Search& search, int feature, Worker& worker,
               std::span<const std::uint32_t> rows_by_code = {});
  void search_feature(Search& search, int feature, Worker& worker);
  std::optional<OpenNode> settle(Search& search, Worker& worker);
  enum class Rows : std::uint8_t { kEnough, kOtherCut, kUnknown };
  Rows verify_rows(Search& search, int feature, Worker& worker);
  bool has_probably_rows(const Search& search, int feature, double left, Worker& worker);
  bool recount(Search& search, int feature, Worker& worker, std::span<const std::uint32_t> rows_by_code);
  Split split_of(const NodeState& node, int feature, const Cut& cut, Worker& worker) const;
  void name_rest(Split& split) const;
  CutTerms terms_of(const NodeState& node) const;
  BranchLimits limits_of(const NodeState& node, int feature) const;
  CutTerms terms_for(const Column& column, CutTerms terms) const;
  // Features whose sums are read together: those that share a slot, or a single one without.
  struct FeatureGroup {
    int slot = Digit::kNoSlot;
    std::vector<FeatureId> features;
  };
  void for_feature_groups(Team team, const std::function<void(const FeatureGroup&, Worker&)>& task);
  void search_feature_group(Search& search, const FeatureGroup& group, Worker& worker);
  bool may_cut(const Search& search, int slot) const;

  const Dataset& data_;
  BoostParams params_;
  bool on_calling_thread_;
  Cancel* cancel_ = nullptr;
  const Tiles& tiles_;
  std::vector<FeatureGroup> feature_groups_;
  // Per feature, with one-vs-rest tests: the categories that the table has.
  std::vector<std::vector<Code>> categories_;
  HistogramBuilder builder_;
  SharedPass shared_pass_;
  HistogramPool& pool_;
  ReusePool<RowSet> row_sets_;
  std::vector<Worker> workers_;
  Buffer<BoostEntry> entries_[2];
  Buffer<FixedPair> pairs_;
  Scale scale_;
  std::span<const char> features_;
  std::uint64_t key_ = 0;
  TreeBuilder work_;
  std::deque<NodeState> states_;  // its members never move: they are read while the tree grows
  std::vector<LeafRows> leaves_;
};

}  // namespace hornbeam::boost
