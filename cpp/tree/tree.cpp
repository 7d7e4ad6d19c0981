#include "tree/tree.h"

#include <algorithm>
#include <cmath>

namespace hornbeam::tree {

int bits_per_branch(std::int32_t n_branches) {
  if (n_branches <= 2) return 1;
  if (n_branches <= 256) return 8;
  return n_branches <= 65536 ? 16 : 32;
}

std::size_t table_words(std::size_t n_categories, std::int32_t n_branches) {
  return (n_categories * static_cast<std::size_t>(bits_per_branch(n_branches)) + 31) / 32;
}

void set_table_entry(std::uint32_t* words, std::uint32_t category, int bits, std::uint32_t branch) {
  const std::uint64_t bit = std::uint64_t{category} * static_cast<std::uint64_t>(bits);
  words[bit / 32] |= branch << (bit % 32);
}

std::int32_t Tree::largest_branch(NodeId node) const {
  std::int32_t best = 0;
  for (std::int32_t b = 1; b < n_branches[node]; ++b) {
    if (weight[first_child[node] + b] > weight[first_child[node] + best]) best = b;
  }
  return best;
}

std::size_t Tree::n_leaves() const {
  return static_cast<std::size_t>(std::count(first_child.begin(), first_child.end(), kNoChild));
}

std::int32_t Tree::max_depth() const {
  return depths().back();
}  // breadth-first: the last node is among the deepest

std::vector<NodeId> Tree::parents() const {
  std::vector<NodeId> parent(n_nodes(), kNoChild);
  for (NodeId node = 0; node < static_cast<NodeId>(n_nodes()); ++node) {
    for (std::int32_t b = 0; b < n_branches[node]; ++b) parent[first_child[node] + b] = node;
  }
  return parent;
}

std::vector<std::int32_t> Tree::depths() const {
  // Children come after their parent in breadth-first order, so one pass is enough.
  std::vector<std::int32_t> depth(n_nodes(), 0);
  for (NodeId node = 0; node < static_cast<NodeId>(n_nodes()); ++node) {
    for (std::int32_t b = 0; b < n_branches[node]; ++b) depth[first_child[node] + b] = depth[node] + 1;
  }
  return depth;
}

namespace {

std::string at_node(std::size_t node, const std::string& what) {
  return "node " + std::to_string(node) + ": " + what;
}

std::string find_size_fault(const Tree& tree) {
  const std::size_t n = tree.n_nodes();
  if (n == 0) return "it has no nodes";
  if (n > kMaxRows) return "it has more nodes than an int32 can number";
  if (tree.n_outputs < 1 || tree.n_values < 1) return "the number of outputs or classes is not positive";
  const bool agree = tree.n_branches.size() == n && tree.feature.size() == n && tree.threshold.size() == n &&
                     tree.category_begin.size() == n && tree.missing_branch.size() == n &&
                     tree.n_samples.size() == n && tree.weight.size() == n && tree.impurity.size() == n &&
                     tree.gain.size() == n && tree.value.size() / tree.value_size() == n &&
                     tree.value.size() % tree.value_size() == 0;
  return agree ? "" : "its arrays differ in length";
}

// No fault. Faults of nodes are plain literals, since building a string for each of millions of nodes would take long.
constexpr const char* kSound = nullptr;

const char* find_number_fault(const Tree& tree, std::size_t node) {
  if (tree.n_samples[node] < 0) return "its number of rows is negative";
  if (!(std::isfinite(tree.weight[node]) && tree.weight[node] >= 0)) return "its weight is not a number >= 0";
  // Targets like 1e200 have an infinite variance, but nothing computes NaN.
  if (std::isnan(tree.impurity[node]) || std::isnan(tree.gain[node]))
    return "its impurity or gain is not a number";
  for (std::size_t i = 0; i < tree.value_size(); ++i) {
    if (!std::isfinite(tree.value[node * tree.value_size() + i])) return "its value is not finite";
  }
  return kSound;
}

// `next_word` is where the next table of categories must begin: tables stand in node order, without gaps or
// overlaps.
const char* find_test_fault(const Tree& tree, std::size_t node, FeatureCategories categories,
                            std::size_t& next_word) {
  const FeatureId feature = tree.feature[node];
  if (feature < 0 || static_cast<std::size_t>(feature) >= categories.size())
    return "its feature is out of range";
  if (tree.missing_branch[node] < 0 || tree.missing_branch[node] >= tree.n_branches[node]) {
    return "its branch for missing values is out of range";
  }
  const std::uint32_t n_categories = categories[static_cast<std::size_t>(feature)];
  if (tree.category_begin[node] == kNoTable) {
    if (n_categories != 0) return "it compares a categorical feature with a threshold";
    if (std::isnan(tree.threshold[node])) return "its threshold is not a number";
    return tree.n_branches[node] == 2 ? kSound : "a threshold has two branches";
  }
  if (n_categories == 0) return "it looks up a numeric feature in a table of categories";
  const std::size_t words = table_words(n_categories, tree.n_branches[node]);
  if (tree.category_begin[node] != static_cast<std::int64_t>(next_word) ||
      words > tree.category_words.size() - next_word) {
    return "its table of categories is out of range";
  }
  next_word += words;
  for (std::uint32_t category = 0; category < n_categories; ++category) {
    // Compared unsigned: an entry of 2^31 or more must not pass as a negative number.
    if (static_cast<std::uint32_t>(tree.branch_of_category(static_cast<NodeId>(node), category)) >=
        static_cast<std::uint32_t>(tree.n_branches[node])) {
      return "its table of categories names a branch that does not exist";
    }
  }
  return kSound;
}

// As find_test_fault, for the surrogates of a node.
std::string find_surrogate_fault(const Tree& tree, std::size_t node, FeatureCategories categories,
                                 std::size_t& next_word) {
  const TreeSurrogates& all = tree.surrogates;
  const std::int64_t begin = all.begin[node];
  const std::int64_t end = all.begin[node + 1];
  if (begin > end) return "its surrogates end before they begin";
  if (begin < end && tree.n_branches[node] != 2) return "it has surrogates, but not two branches";
  for (auto s = static_cast<std::size_t>(begin); s < static_cast<std::size_t>(end); ++s) {
    const FeatureId feature = all.feature[s];
    if (feature < 0 || static_cast<std::size_t>(feature) >= categories.size())
      return "the feature of a surrogate is out of range";
    if (!(all.agreement[s] >= 0 && all.agreement[s] <= 1)) return "the agreement of a surrogate is no share";
    const std::uint32_t n_categories = categories[static_cast<std::size_t>(feature)];
    if ((all.category_begin[s] == kNoTable) != (n_categories == 0))
      return "a surrogate compares categories with a threshold, or looks numbers up in a table";
    if (n_categories == 0) {
      if (std::isnan(all.threshold[s])) return "the threshold of a surrogate is not a number";
      if (all.low_branch[s] < 0 || all.low_branch[s] > 1)
        return "a surrogate names a branch that does not exist";
      continue;
    }
    const std::size_t words = table_words(n_categories, 2);
    if (all.category_begin[s] != static_cast<std::int64_t>(next_word) ||
        words > all.category_words.size() - next_word)
      return "the table of a surrogate is out of range";
    next_word += words;
  }
  return "";
}

// Checks the surrogates of a tree that is sound otherwise.
std::string find_surrogates_fault(const Tree& tree, FeatureCategories categories) {
  const TreeSurrogates& all = tree.surrogates;
  const std::size_t n = all.feature.size();
  const bool agree = all.threshold.size() == n && all.low_branch.size() == n &&
                     all.category_begin.size() == n && all.agreement.size() == n;
  const bool complete = all.any() ? all.begin.size() == tree.n_nodes() + 1 && all.begin.front() == 0 &&
                                        all.begin.back() == static_cast<std::int64_t>(n)
                                  : n == 0;
  if (!agree || !complete) return "the arrays of its surrogates differ in length";
  std::size_t next_word = 0;
  for (std::size_t node = 0; all.any() && node < tree.n_nodes(); ++node) {
    // Positions that only ascend from 0 to n can be used before all of them are known to ascend.
    if (all.begin[node] < 0 || all.begin[node + 1] > static_cast<std::int64_t>(n))
      return at_node(node, "its surrogates are out of range");
    if (std::string fault = find_surrogate_fault(tree, node, categories, next_word); !fault.empty())
      return at_node(node, fault);
  }
  return next_word == all.category_words.size() ? "" : "some words of surrogate tables belong to no node";
}

}  // namespace

std::string find_fault(const Tree& tree, FeatureCategories categories) {
  if (std::string fault = find_size_fault(tree); !fault.empty()) return fault;
  // Breadth-first order with adjacent children means that the children of the inner nodes, taken in order,
  // are exactly the nodes 1, 2, 3, ...: so every node is reached once and there is no cycle.
  std::size_t next_child = 1;
  std::size_t next_word = 0;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    if (const char* fault = find_number_fault(tree, node)) return at_node(node, fault);
    const bool leaf = tree.first_child[node] == kNoChild;
    if (leaf != (tree.n_branches[node] == 0) || leaf != (tree.feature[node] == kNoFeature)) {
      return at_node(node, "it is a leaf in one array and not in another");
    }
    if (leaf) {
      if (tree.category_begin[node] != kNoTable) return at_node(node, "a leaf has a table of categories");
      if (std::isnan(tree.threshold[node]) || tree.missing_branch[node] != 0) {
        return at_node(node, "a leaf has a test");
      }
      continue;
    }
    if (tree.n_branches[node] < 2) return at_node(node, "it has fewer than two branches");
    if (static_cast<std::size_t>(tree.first_child[node]) != next_child || next_child <= node) {
      return at_node(node, "its children are not the next nodes in breadth-first order");
    }
    next_child += static_cast<std::size_t>(tree.n_branches[node]);
    if (next_child > tree.n_nodes()) return at_node(node, "its children lie outside the tree");
    if (const char* fault = find_test_fault(tree, node, categories, next_word)) return at_node(node, fault);
  }
  if (next_child != tree.n_nodes()) return "some nodes have no parent";
  if (next_word != tree.category_words.size()) return "some words of the category tables belong to no node";
  return find_surrogates_fault(tree, categories);
}

}  // namespace hornbeam::tree
