// Copies the nodes that remain of a tree, one by one.
#include "tree/collapse.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace hornbeam::tree {

namespace {

// The arrays of a smaller tree, filled node by node in breadth-first order.
class TreeCopy {
 public:
  TreeCopy(const Tree& source, std::size_t n_nodes)
      : source_(source), table_begins_(source.category_begin.begin(), source.category_begin.end()) {
    copy_.n_outputs = source.n_outputs;
    copy_.n_values = source.n_values;
    copy_.gaps = source.gaps;
    copy_.first_child.reserve(n_nodes);
    copy_.n_branches.reserve(n_nodes);
    copy_.feature.reserve(n_nodes);
    copy_.threshold.reserve(n_nodes);
    copy_.category_begin.reserve(n_nodes);
    copy_.missing_branch.reserve(n_nodes);
    copy_.n_samples.reserve(n_nodes);
    copy_.weight.reserve(n_nodes);
    copy_.impurity.reserve(n_nodes);
    copy_.gain.reserve(n_nodes);
    copy_.value.reserve(n_nodes * source.value_size());
    std::ranges::sort(table_begins_);
  }

  void add_leaf(NodeId node) {
    add_facts(node);
    if (source_.surrogates.any()) begin_surrogates();
    copy_.first_child.push_back(kNoChild);
    copy_.n_branches.push_back(0);
    copy_.feature.push_back(kNoFeature);
    copy_.threshold.push_back(kNoThreshold);
    copy_.category_begin.push_back(kNoTable);
    copy_.missing_branch.push_back(0);
    copy_.gain.push_back(0.0);
  }

  void add_inner(NodeId node) {
    add_facts(node);
    copy_.first_child.push_back(next_child_);
    next_child_ += source_.n_branches[node];
    copy_.n_branches.push_back(source_.n_branches[node]);
    copy_.feature.push_back(source_.feature[node]);
    copy_.threshold.push_back(source_.threshold[node]);
    copy_.category_begin.push_back(add_table(source_.category_begin[node]));
    copy_.missing_branch.push_back(source_.missing_branch[node]);
    copy_.gain.push_back(source_.gain[node]);
    if (source_.surrogates.any()) add_surrogates(node);
  }

  Tree take() && {
    if (copy_.surrogates.feature.empty()) copy_.surrogates.begin.clear();
    if (copy_.surrogates.any()) begin_surrogates();
    return std::move(copy_);
  }

 private:
  void begin_surrogates() {
    copy_.surrogates.begin.push_back(static_cast<std::int64_t>(copy_.surrogates.feature.size()));
  }

  void add_surrogates(NodeId node) {
    const TreeSurrogates& from = source_.surrogates;
    TreeSurrogates& to = copy_.surrogates;
    begin_surrogates();
    for (auto s = static_cast<std::size_t>(from.begin[node]);
         s < static_cast<std::size_t>(from.begin[node + 1]); ++s) {
      to.feature.push_back(from.feature[s]);
      to.threshold.push_back(from.threshold[s]);
      to.low_branch.push_back(from.low_branch[s]);
      to.agreement.push_back(from.agreement[s]);
      to.category_begin.push_back(kNoTable);
      if (from.category_begin[s] == kNoTable) continue;
      const auto next = std::find_if(from.category_begin.begin() + static_cast<std::ptrdiff_t>(s) + 1,
                                     from.category_begin.end(), [](auto begin) { return begin != kNoTable; });
      const auto words = from.category_words.begin();
      const auto end = next == from.category_begin.end() ? from.category_words.end() : words + *next;
      to.category_begin.back() = static_cast<std::int64_t>(to.category_words.size());
      to.category_words.insert(to.category_words.end(), words + from.category_begin[s], end);
    }
  }

  // The facts that leaves and inner nodes have in common.
  void add_facts(NodeId node) {
    copy_.n_samples.push_back(source_.n_samples[node]);
    copy_.weight.push_back(source_.weight[node]);
    copy_.impurity.push_back(source_.impurity[node]);
    const auto size = static_cast<std::ptrdiff_t>(source_.value_size());
    const auto value = source_.value.begin() + node * size;
    copy_.value.insert(copy_.value.end(), value, value + size);
  }

  // A tree does not store how many categories its features have. Tables lie side by side, so each ends where the next
  // one begins.
  std::int64_t add_table(std::int64_t begin) {
    if (begin == kNoTable) return kNoTable;
    const auto next = std::ranges::upper_bound(table_begins_, begin);
    const auto words = source_.category_words.begin();
    const auto end = next == table_begins_.end() ? source_.category_words.end() : words + *next;
    const auto new_begin = static_cast<std::int64_t>(copy_.category_words.size());
    copy_.category_words.insert(copy_.category_words.end(), words + begin, end);
    return new_begin;
  }

  const Tree& source_;
  Tree copy_;
  NodeId next_child_ = 1;
  std::vector<std::int64_t> table_begins_;  // sorted
};

}  // namespace

Tree collapse(const Tree& tree, std::span<const NodeId> new_leaves) {
  const NodeId n = static_cast<NodeId>(tree.n_nodes());
  std::vector<char> is_leaf(tree.n_nodes());
  for (NodeId node = 0; node < n; ++node) is_leaf[node] = tree.is_leaf(node);
  for (const NodeId node : new_leaves) {
    if (node < 0 || node >= n) {
      throw std::invalid_argument("the tree has " + std::to_string(n) + " nodes and none with number " +
                                  std::to_string(node));
    }
    is_leaf[node] = 1;
  }
  // The remaining nodes keep their order: they stay breadth-first when others are removed.
  std::vector<char> remains(tree.n_nodes(), 0);
  remains[0] = 1;
  std::size_t n_remaining = 1;
  for (NodeId node = 0; node < n; ++node) {
    if (!remains[node] || is_leaf[node]) continue;
    std::fill_n(remains.begin() + tree.first_child[node], tree.n_branches[node], 1);
    n_remaining += static_cast<std::size_t>(tree.n_branches[node]);
  }
  TreeCopy copy(tree, n_remaining);
  for (NodeId node = 0; node < n; ++node) {
    if (!remains[node]) continue;
    if (is_leaf[node]) {
      copy.add_leaf(node);
    } else {
      copy.add_inner(node);
    }
  }
  return std::move(copy).take();
}

}  // namespace hornbeam::tree
