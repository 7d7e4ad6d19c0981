// Compact nodes, for trees of any size: 8 or 16 bytes per node, several walks in lock step.
//
// A walk waits: each step needs the node that the step before it led to. So one thread walks several rows (or
// one row through several trees) at once, and the waits overlap. For that to pay, a step must be short and
// free of branches, and the nodes of a tree should stay in the nearest caches:
//
// * A number becomes an unsigned key that orders as numbers do. If all values of some rows are float32
//   numbers (or integers that small), 32 bits hold the key, and the largest float32 at or below a threshold
//   decides as the threshold does. Otherwise keys and nodes have twice the size. Either way the test is
//   exact.
// * A missing value has the largest key, so it goes right. Where a test sends missing values left, it looks
//   at a second copy of the row, in which they have the smallest key. Rows without missing values have no
//   second copy: the bit that leads to it is masked out.
// * A test on categories looks its branch up in a table of bits.
// * A leaf is its own left child, and every key is below its threshold: walks that have arrived stay where
//   they are until the others have, too. Some leaves lie twice as deep as others, so after the steps that
//   most walks need, those that have not arrived are gathered and go on among themselves.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/platform.h"
#include "predict/predictor.h"

namespace hornbeam::predict {

// How many walks go in lock step. Keys are stored for groups of that many rows, slot by slot.
inline constexpr std::size_t kLanes = 16;
inline constexpr unsigned kLaneBits = 4;

// Where a test finds its value in a group of rows: the slot of the feature times kLanes, then the bit that
// leads to the second copy. The lowest bit is free and marks tests on categories.
struct PlaceLayout {
  // Shifting by a constant takes fewer instructions, so all models of up to 32 features share one layout.
  static constexpr unsigned kFewSlotBits = 5;
  static constexpr unsigned kFewBits = kFewSlotBits + kLaneBits + 1;

  unsigned slot_bits = kFewSlotBits;
  std::uint32_t on_categories() const { return 1; }
  std::uint32_t slots() const { return ((1u << slot_bits) - 1) << kLaneBits; }
  std::uint32_t second_copy() const { return 1u << (slot_bits + kLaneBits); }
  unsigned bits() const { return slot_bits + kLaneBits + 1; }
};

// Keys of float32 numbers: child and place share 32 bits.
struct SingleForm {
  using Key = std::uint32_t;
  struct Node {
    Key key;
    std::uint32_t link;
    std::uint32_t child(unsigned place_bits) const { return link >> place_bits; }
    std::uint32_t place() const { return link; }  // with the child above it
  };
  static Node make(Key key, std::uint32_t child, std::uint32_t place, unsigned place_bits) {
    return {key, child << place_bits | place};
  }
  static bool can_hold(std::size_t n_nodes, unsigned place_bits) {
    return place_bits < 32 && n_nodes <= std::size_t{1} << (32 - place_bits);
  }
  static Key key_of_threshold(double threshold);
  static Key key_of_value(double value);
  static bool is_exact(double value) {
    return static_cast<double>(static_cast<float>(value)) == value || value != value;
  }
};

struct DoubleForm {
  using Key = std::uint64_t;
  struct Node {
    Key key;
    std::uint32_t first_child;
    std::uint32_t where;
    std::uint32_t child(unsigned) const { return first_child; }
    std::uint32_t place() const { return where; }
  };
  static Node make(Key key, std::uint32_t child, std::uint32_t place, unsigned) {
    return {key, child, place};
  }
  static bool can_hold(std::size_t, unsigned place_bits) { return place_bits < 32; }
  static Key key_of_threshold(double threshold) { return key_of_value(threshold); }
  static Key key_of_value(double value);
  static bool is_exact(double) { return true; }
};

// One tree. Nodes have the numbers that they have in the tree.
template <class Form>
struct CompactTree {
  std::span<const typename Form::Node> nodes;
  std::span<const std::uint32_t> places;  // by node: where the values of a leaf begin in `values`
  std::vector<double> values;             // equal values are mostly stored once
  int usual_steps = 0;                    // enough for most walks
  std::vector<std::uint32_t> category_bits;
};

template <class Form>
class CompactTrees {
 public:
  // Whether nodes can hold the numbers of children and features. No tree may need the plain walk.
  static bool can_hold(std::span<const Tree* const> trees, std::size_t n_features);
  // `features` are those that the trees test, ascending.
  CompactTrees(std::span<const Tree* const> trees, std::span<const FeatureId> features, Unseen unseen,
               int n_threads, Cancel* cancel);

  std::span<const CompactTree<Form>> trees() const { return trees_; }
  std::span<const FeatureId> features() const { return features_; }
  const PlaceLayout& layout() const { return layout_; }
  bool is_categorical(std::size_t slot) const { return is_categorical_[slot]; }
  bool has_categories() const { return has_categories_; }

 private:
  std::vector<FeatureId> features_;
  std::vector<bool> is_categorical_;  // by slot
  PlaceLayout layout_;
  bool has_categories_ = false;
  Buffer<typename Form::Node> nodes_;  // of all trees: one piece of memory can have large pages
  Buffer<std::uint32_t> places_;
  std::vector<CompactTree<Form>> trees_;
};

// The keys of some rows, which the tests compare. One per thread.
template <class Form>
class RowKeys {
 public:
  // Reads what the trees test; false if the form cannot hold one of the values.
  bool load(const CompactTrees<Form>& trees, const RowSource& rows, std::size_t begin, std::size_t end);

  // The leaf of every row in one tree.
  void find_leaves(const CompactTree<Form>& tree, NodeId* leaves) const;
  // The leaf of one row in several trees.
  void find_leaves_of_row(std::size_t row, std::span<const CompactTree<Form>> trees, NodeId* leaves) const;

 private:
  using Key = typename Form::Key;
  static constexpr Key kLeaf = std::numeric_limits<Key>::max();
  static constexpr Key kMissing = kLeaf - 1;

  bool load_slot(std::size_t slot, const double* values, std::size_t first_row, std::size_t n);
  void add_second_copies();
  template <class Use>
  void with_step(Use&& use) const;
  // A thousand rows at a time, few enough for the nearest cache: all of them so many steps, then those that
  // have not arrived.
  static constexpr std::size_t kRowsTogether = 1024;
  struct Underway {
    std::size_t n = 0;
    std::array<std::uint32_t, kRowsTogether + kLanes> rows;
  };
  template <class StepType>
  void begin_walks(const StepType& step, const CompactTree<Form>& tree, std::size_t begin, std::size_t end,
                   NodeId* leaves, Underway& underway) const;
  template <class StepType>
  void go_on(const StepType& step, const CompactTree<Form>& tree, NodeId* leaves, Underway& underway) const;
  const Key* group(std::size_t row) const { return keys_.data() + row / kLanes * group_size_; }

  const CompactTrees<Form>* trees_ = nullptr;
  std::size_t n_rows_ = 0;
  std::size_t group_size_ = 0;
  bool has_missing_ = false;
  std::vector<Key> keys_;  // [group, slot, lane], and the second copy behind the slots of each group
};

extern template class CompactTrees<SingleForm>;
extern template class CompactTrees<DoubleForm>;
extern template class RowKeys<SingleForm>;
extern template class RowKeys<DoubleForm>;

}  // namespace hornbeam::predict
