#include "predict/compact.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"

namespace hornbeam::predict {

using data::kMissingCategory;
using data::kUnseenCategory;
using tree::kNoTable;

namespace {

// The codes of unseen and missing categories are -2 and -1: tables begin with these two.
constexpr int kFirstCategory = 2;
static_assert(kUnseenCategory == -kFirstCategory && kMissingCategory == 1 - kFirstCategory);

// Orders as numbers do: the bits of positive numbers do already, those of negative ones the other way round.
// -0.0 and 0.0 are one number and have one key. NaN has none.
template <class Key, class Number>
Key order_key(Number number) {
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  const Key bits = std::bit_cast<Key>(number + Number{0});
  const Key flip = (bits & kSign) != 0 ? ~Key{0} : kSign;
  return bits ^ flip;
}

}  // namespace

SingleForm::Key SingleForm::key_of_threshold(double threshold) {
  // That of the largest float32 number at or below it: rounding may have gone up by one.
  const auto nearest = static_cast<float>(threshold);
  return order_key<Key>(nearest) - (static_cast<double>(nearest) > threshold ? 1 : 0);
}

SingleForm::Key SingleForm::key_of_value(double value) {
  return order_key<Key>(static_cast<float>(value));
}

DoubleForm::Key DoubleForm::key_of_value(double value) {
  return order_key<Key>(value);
}

// Making compact trees
// ---------------------------------------------------------------------------------------

namespace {

// Stores the values of leaves, and uses stored ones again if equal values were stored recently: in classification most
// leaves are pure, and so few different values stay in the nearest cache.
class LeafValues {
 public:
  explicit LeafValues(std::size_t size) : size_(size) { recent_.fill(kNone); }

  std::uint32_t place_of(const double* value) {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < size_; ++k)
      hash = (hash ^ std::bit_cast<std::uint64_t>(value[k])) * 0x9E3779B97F4A7C15u;
    std::uint32_t& place = recent_[hash >> 56];
    if (place == kNone || std::memcmp(&values_[place], value, size_ * sizeof(double)) != 0) {
      place = static_cast<std::uint32_t>(values_.size());
      values_.insert(values_.end(), value, value + size_);
    }
    return place;
  }
  std::vector<double> take() { return std::move(values_); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::size_t size_;
  std::vector<double> values_;
  std::array<std::uint32_t, 256> recent_;
};

// The words of a test's table; tables lie in the order of their nodes, without gaps.
std::span<const std::uint32_t> table_of(const Tree& tree, NodeId node) {
  const auto begin = static_cast<std::size_t>(tree.category_begin[node]);
  std::size_t end = tree.category_words.size();
  for (std::size_t later = static_cast<std::size_t>(node) + 1; later < tree.n_nodes(); ++later) {
    if (tree.category_begin[later] == kNoTable) continue;
    end = static_cast<std::size_t>(tree.category_begin[later]);
    break;
  }
  return {tree.category_words.data() + begin, end - begin};
}

// Appends the table of a test, behind bits for unseen and missing categories; returns its first word.
std::uint32_t append_category_bits(const Tree& tree, NodeId node, Unseen unseen,
                                   std::vector<std::uint32_t>& bits) {
  const auto first = static_cast<std::uint32_t>(bits.size());
  const std::int32_t missing = tree.missing_branch[node];
  const std::int32_t fresh = unseen == Unseen::kMajority ? tree.largest_branch(node) : missing;
  const auto words = table_of(tree, node);
  bits.push_back(static_cast<std::uint32_t>(fresh | missing << 1) | words[0] << kFirstCategory);
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint32_t next = w + 1 < words.size() ? words[w + 1] << kFirstCategory : 0;
    bits.push_back(words[w] >> (32 - kFirstCategory) | next);
  }
  return first;
}

// In a tree that was grown out, three in five leaves are less than 1.5 times as deep as those of a full tree of the
// same size. A step that all rows take together costs less than half of a step of the late rows alone. So this estimate
// is good enough, and the tree's real depths, which may be those of a chain, need not be computed.
int usual_steps(std::size_t n_leaves) {
  const auto full = std::bit_width(n_leaves - 1);
  return static_cast<int>(full + full / 2);
}

// Writes the nodes of one tree, and what belongs to them.
template <class Form>
CompactTree<Form> compact_tree(const Tree& tree, const std::vector<std::uint32_t>& slot, PlaceLayout layout,
                               Unseen unseen, std::span<typename Form::Node> nodes,
                               std::span<std::uint32_t> places) {
  using Key = typename Form::Key;
  CompactTree<Form> compact;
  compact.nodes = nodes;
  compact.places = places;
  LeafValues leaf_values(tree.value_size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto node = static_cast<NodeId>(n);
    auto key = std::numeric_limits<Key>::max();
    auto child = static_cast<std::uint32_t>(n);
    std::uint32_t place = 0;
    if (tree.is_leaf(node)) {
      places[n] = leaf_values.place_of(&tree.value[n * tree.value_size()]);
    } else {
      child = static_cast<std::uint32_t>(tree.first_child[n]);
      place = slot[static_cast<std::size_t>(tree.feature[n])] << kLaneBits;
      if (tree.category_begin[n] != kNoTable) {
        key = append_category_bits(tree, node, unseen, compact.category_bits);
        place |= layout.on_categories();
      } else {
        key = Form::key_of_threshold(tree.threshold[n]);
        if (tree.missing_branch[n] == 0) place |= layout.second_copy();
      }
    }
    nodes[n] = Form::make(key, child, place, layout.bits());
  }
  compact.values = leaf_values.take();
  compact.usual_steps = usual_steps(tree.n_leaves());
  return compact;
}

PlaceLayout layout_for(std::size_t n_features) {
  const auto needed = static_cast<unsigned>(std::bit_width(n_features == 0 ? 0 : n_features - 1));
  return {std::max(needed, PlaceLayout::kFewSlotBits)};
}

}  // namespace

template <class Form>
bool CompactTrees<Form>::can_hold(std::span<const Tree* const> trees, std::size_t n_features) {
  if (n_features > std::size_t{1} << 24) return false;
  const PlaceLayout layout = layout_for(n_features);
  return std::all_of(trees.begin(), trees.end(),
                     [&](const Tree* tree) { return Form::can_hold(tree->n_nodes(), layout.bits()); });
}

template <class Form>
CompactTrees<Form>::CompactTrees(std::span<const Tree* const> trees, std::span<const FeatureId> features,
                                 Unseen unseen, int n_threads, Cancel* cancel)
    : features_(features.begin(), features.end()),
      is_categorical_(features.size()),
      layout_(layout_for(features.size())),
      trees_(trees.size()) {
  std::vector<std::uint32_t> slot(features_.empty() ? 0 : static_cast<std::size_t>(features_.back()) + 1);
  for (std::size_t s = 0; s < features_.size(); ++s)
    slot[static_cast<std::size_t>(features_[s])] = static_cast<std::uint32_t>(s);
  std::vector<std::size_t> first_node{0};
  for (const Tree* tree : trees) {
    first_node.push_back(first_node.back() + tree->n_nodes());
    if (tree->category_words.empty()) continue;
    has_categories_ = true;
    for (std::size_t node = 0; node < tree->n_nodes(); ++node) {
      if (tree->category_begin[node] != kNoTable)
        is_categorical_[slot[static_cast<std::size_t>(tree->feature[node])]] = true;
    }
  }
  nodes_ = Buffer<typename Form::Node>(first_node.back());
  places_ = Buffer<std::uint32_t>(first_node.back());
  parallel_for(
      trees.size(), n_threads,
      [&](std::size_t t, int) {
        const auto nodes = nodes_.span().subspan(first_node[t], trees[t]->n_nodes());
        const auto places = places_.span().subspan(first_node[t], trees[t]->n_nodes());
        trees_[t] = compact_tree<Form>(*trees[t], slot, layout_, unseen, nodes, places);
      },
      cancel);
}

// Keys of rows
// -----------------------------------------------------------------------------------------------

template <class Form>
bool RowKeys<Form>::load(const CompactTrees<Form>& trees, const RowSource& rows, std::size_t begin,
                         std::size_t end) {
  constexpr std::size_t kBlockRows = 16 * kLanes;
  trees_ = &trees;
  const std::size_t n_slots = trees_->features().size();
  n_rows_ = end - begin;
  has_missing_ = false;
  group_size_ = std::max<std::size_t>(1, n_slots) * kLanes;  // leaves look at slot 0, even if there is none
  keys_.resize((n_rows_ + kLanes - 1) / kLanes * group_size_);
  // Lanes behind the last row walk, too: zeros are keys that every test understands.
  if (n_rows_ % kLanes != 0)
    std::fill_n(keys_.end() - static_cast<std::ptrdiff_t>(group_size_), group_size_, Key{0});
  std::array<double, kBlockRows> values;
  for (std::size_t first = 0; first < n_rows_; first += kBlockRows) {
    const std::size_t n = std::min(kBlockRows, n_rows_ - first);
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      rows.read(trees_->features()[slot], begin + first, begin + first + n, values.data());
      if (!load_slot(slot, values.data(), first, n)) return false;
    }
  }
  if (has_missing_) add_second_copies();
  return true;
}

template <class Form>
bool RowKeys<Form>::load_slot(std::size_t slot, const double* values, std::size_t first_row, std::size_t n) {
  const bool categorical = trees_->is_categorical(slot);
  bool any_missing = false;
  bool all_exact = true;
  for (std::size_t first = 0; first < n; first += kLanes) {
    Key* keys = keys_.data() + (first_row + first) / kLanes * group_size_ + slot * kLanes;
    const std::size_t lanes = std::min(kLanes, n - first);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = values[first + lane];
      if (categorical) {
        keys[lane] = static_cast<Key>(static_cast<std::int32_t>(value) + kFirstCategory);
        continue;
      }
      const bool is_missing = value != value;
      any_missing |= is_missing;
      all_exact &= Form::is_exact(value);
      keys[lane] = is_missing ? kMissing : Form::key_of_value(value);
    }
  }
  has_missing_ |= any_missing;
  return all_exact;
}

template <class Form>
void RowKeys<Form>::add_second_copies() {
  const std::size_t size = group_size_;
  const std::size_t second = trees_->layout().second_copy();
  const std::size_t n_groups = (n_rows_ + kLanes - 1) / kLanes;
  std::vector<Key> keys(n_groups * (second + size));
  for (std::size_t g = 0; g < n_groups; ++g) {
    const Key* from = keys_.data() + g * size;
    Key* to = keys.data() + g * (second + size);
    for (std::size_t i = 0; i < size; ++i) {
      to[i] = from[i];
      to[second + i] = from[i] == kMissing ? 0 : from[i];
    }
  }
  keys_.swap(keys);
  group_size_ = second + size;
}

// Walking
// ----------------------------------------------------------------------------------------------------

namespace {

// 1 where x > key, by arithmetic: if the compiler made a jump of it, half of the jumps would be mispredicted.
inline std::uint32_t is_above(std::uint32_t x, std::uint32_t key) {
  return static_cast<std::uint32_t>((std::uint64_t{key} - x) >> 63);
}
inline std::uint32_t is_above(std::uint64_t x, std::uint64_t key) {
  return static_cast<std::uint32_t>(x > key);
}

// One step of one walk. `keys` are those of the walk's group of rows, from its lane on.
template <class Form, bool kHasCategories, class PlaceBits>
struct Step {
  std::uint32_t place_mask;
  std::uint32_t on_categories;
  PlaceBits place_bits;  // a number, or one known to the compiler

  std::uint32_t operator()(const CompactTree<Form>& tree, const typename Form::Node* nodes, std::uint32_t at,
                           const typename Form::Key* keys) const {
    const typename Form::Node node = nodes[at];
    const std::uint32_t child = node.child(place_bits);
    const auto x = keys[node.place() & place_mask];
    if constexpr (kHasCategories) {
      if ((node.place() & on_categories) != 0)
        return child + (tree.category_bits[node.key + x / 32] >> x % 32 & 1);
    }
    return child + is_above(x, node.key);
  }
};

// Takes kLanes walks to their leaves; walker(lane, node) is the node after it.
template <class Walker>
void walk_to_leaves(std::array<std::uint32_t, kLanes>& at, Walker&& walker) {
  constexpr int kStepsBetweenChecks = 4;
  std::uint32_t moved = 1;
  while (moved != 0) {
    for (int step = 1; step < kStepsBetweenChecks; ++step)
#pragma GCC unroll 16
      for (std::size_t lane = 0; lane < kLanes; ++lane) at[lane] = walker(lane, at[lane]);
    moved = 0;
#pragma GCC unroll 16
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t next = walker(lane, at[lane]);
      moved |= next ^ at[lane];
      at[lane] = next;
    }
  }
}

}  // namespace

template <class Form>
template <class Use>
void RowKeys<Form>::with_step(Use&& use) const {
  const PlaceLayout& layout = trees_->layout();
  const std::uint32_t mask = layout.slots() | (has_missing_ ? layout.second_copy() : 0);
  const auto with_bits = [&](auto bits) {
    if (trees_->has_categories())
      use(Step<Form, true, decltype(bits)>{mask, layout.on_categories(), bits});
    else
      use(Step<Form, false, decltype(bits)>{mask, layout.on_categories(), bits});
  };
  constexpr std::integral_constant<unsigned, PlaceLayout::kFewBits> kFewBits;
  if (layout.bits() == kFewBits)
    with_bits(kFewBits);
  else
    with_bits(layout.bits());
}

template <class Form>
void RowKeys<Form>::find_leaves(const CompactTree<Form>& tree, NodeId* leaves) const {
  with_step([&](const auto step) {
    Underway underway;
    for (std::size_t begin = 0; begin < n_rows_; begin += kRowsTogether) {
      begin_walks(step, tree, begin, std::min(begin + kRowsTogether, n_rows_), leaves, underway);
      while (underway.n != 0) go_on(step, tree, leaves, underway);
    }
  });
}

template <class Form>
template <class StepType>
void RowKeys<Form>::begin_walks(const StepType& step, const CompactTree<Form>& tree, std::size_t begin,
                                std::size_t end, NodeId* leaves, Underway& underway) const {
  const auto* nodes = tree.nodes.data();
  std::size_t n_underway = 0;
  for (std::size_t first = begin; first < end; first += kLanes) {
    const Key* keys = group(first);
    std::array<std::uint32_t, kLanes> at{};
    for (int s = 0; s < tree.usual_steps; ++s)
#pragma GCC unroll 16
      for (std::size_t lane = 0; lane < kLanes; ++lane) at[lane] = step(tree, nodes, at[lane], keys + lane);
    const std::size_t n = std::min(kLanes, end - first);
    for (std::size_t lane = 0; lane < n; ++lane) {
      leaves[first + lane] = static_cast<NodeId>(at[lane]);
      underway.rows[n_underway] = static_cast<std::uint32_t>(first + lane);
      n_underway += nodes[at[lane]].key != kLeaf;
    }
  }
  underway.n = n_underway;
}

template <class Form>
template <class StepType>
void RowKeys<Form>::go_on(const StepType& step, const CompactTree<Form>& tree, NodeId* leaves,
                          Underway& underway) const {
  constexpr int kSteps = 4;
  const auto* nodes = tree.nodes.data();
  std::size_t n_underway = 0;
  std::fill_n(underway.rows.data() + underway.n, kLanes, underway.rows[0]);  // all lanes have a row
  for (std::size_t first = 0; first < underway.n; first += kLanes) {
    std::array<std::uint32_t, kLanes> rows;
    std::array<std::uint32_t, kLanes> at;
    std::array<const Key*, kLanes> keys;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      rows[lane] = underway.rows[first + lane];
      at[lane] = static_cast<std::uint32_t>(leaves[rows[lane]]);
      keys[lane] = group(rows[lane]) + rows[lane] % kLanes;
    }
    for (int s = 0; s < kSteps; ++s)
#pragma GCC unroll 16
      for (std::size_t lane = 0; lane < kLanes; ++lane) at[lane] = step(tree, nodes, at[lane], keys[lane]);
    const std::size_t n = std::min(kLanes, underway.n - first);
    for (std::size_t lane = 0; lane < n; ++lane) {
      leaves[rows[lane]] = static_cast<NodeId>(at[lane]);
      underway.rows[n_underway] = rows[lane];
      n_underway += nodes[at[lane]].key != kLeaf;
    }
  }
  underway.n = n_underway;
}

template <class Form>
void RowKeys<Form>::find_leaves_of_row(std::size_t row, std::span<const CompactTree<Form>> trees,
                                       NodeId* leaves) const {
  with_step([&](const auto step) {
    const Key* keys = group(row) + row % kLanes;
    for (std::size_t first = 0; first < trees.size(); first += kLanes) {
      const std::size_t n = std::min(kLanes, trees.size() - first);
      std::array<const CompactTree<Form>*, kLanes> tree;
      for (std::size_t lane = 0; lane < kLanes; ++lane) tree[lane] = &trees[first + lane % n];
      std::array<std::uint32_t, kLanes> at{};
      walk_to_leaves(at, [&](std::size_t lane, std::uint32_t node) {
        return step(*tree[lane], tree[lane]->nodes.data(), node, keys);
      });
      for (std::size_t lane = 0; lane < n; ++lane) leaves[first + lane] = static_cast<NodeId>(at[lane]);
    }
  });
}

template class CompactTrees<SingleForm>;
template class CompactTrees<DoubleForm>;
template class RowKeys<SingleForm>;
template class RowKeys<DoubleForm>;

}  // namespace hornbeam::predict
