// The Tree as Python sees it: read-only arrays under our names, and under scikit-learn's for binary trees.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "arrays.h"
#include "tree/from_children.h"
#include "tree/paths.h"
#include "tree/tree.h"

namespace hornbeam::bindings {

using tree::find_fault;
using tree::Gaps;
using tree::kNoTable;
using tree::table_words;
using tree::Tree;
using tree::TreeArray;
using tree::TreeSurrogates;

namespace {

using Leaves = InPlace<const NodeId, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// An array over the tree's own memory, which it keeps alive.
template <class T>
using View = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

template <class T, class Memory>
View<T> view(nb::handle self, const std::vector<T, Memory>& values) {
  return View<T>(values.data(), {values.size()}, self);
}

template <class T>
TreeArray<T> copy(const Array1<T>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class T>
std::vector<T> copy(const std::optional<Array1<T>>& array) {
  return array ? std::vector<T>(array->data(), array->data() + array->size()) : std::vector<T>{};
}

constexpr std::array kGaps = {std::pair{"branch", Gaps::kBranch}, std::pair{"fractional", Gaps::kFractional},
                              std::pair{"available", Gaps::kAvailable}};

Gaps gaps_named(const std::string& name) {
  for (const auto& [text, gaps] : kGaps) {
    if (name == text) return gaps;
  }
  throw nb::value_error("it does something unknown without a value");
}

std::vector<NodeId> children(const Tree& tree, std::int32_t branch) {
  for (const std::int32_t n : tree.n_branches) {
    if (n > 2)
      throw nb::attribute_error("a tree with multiway tests has no left and right children; use first_child");
  }
  std::vector<NodeId> child(tree.first_child.begin(), tree.first_child.end());
  for (NodeId& c : child) c = c == kNoChild ? kNoChild : c + branch;
  return child;
}

Tree make_tree(int n_outputs, int n_values, const Array1<std::uint32_t>& categories,
               const Array1<NodeId>& first_child, const Array1<std::int32_t>& n_branches,
               const Array1<FeatureId>& feature, const Array1<double>& threshold,
               const Array1<std::int64_t>& category_begin, const Array1<std::int32_t>& missing_branch,
               const Array1<std::int64_t>& n_samples, const Array1<double>& weight,
               const Array1<double>& impurity, const Array1<double>& gain, const Array1<double>& value,
               const Array1<std::uint32_t>& category_words,
               const std::optional<Array1<std::int64_t>>& surrogate_begin,
               const std::optional<Array1<FeatureId>>& surrogate_feature,
               const std::optional<Array1<double>>& surrogate_threshold,
               const std::optional<Array1<std::int32_t>>& surrogate_low_branch,
               const std::optional<Array1<std::int64_t>>& surrogate_category_begin,
               const std::optional<Array1<double>>& surrogate_agreement,
               const std::optional<Array1<std::uint32_t>>& surrogate_category_words,
               const std::string& gaps) {
  const Gaps what_gaps_do = gaps_named(gaps);
  // The caller keeps the arrays alive and unchanged.
  return without_lock([&](Cancel&) {
    Tree tree{n_outputs,
              n_values,
              copy(first_child),
              copy(n_branches),
              copy(feature),
              copy(threshold),
              copy(category_begin),
              copy(missing_branch),
              copy(n_samples),
              copy(weight),
              copy(impurity),
              copy(gain),
              copy(value),
              copy(category_words),
              {copy(surrogate_begin), copy(surrogate_feature), copy(surrogate_threshold),
               copy(surrogate_low_branch), copy(surrogate_category_begin), copy(surrogate_agreement),
               copy(surrogate_category_words)},
              what_gaps_do};
    if (const std::string fault = find_fault(tree, span_of(categories)); !fault.empty())
      throw nb::value_error(fault.c_str());
    return tree;
  });
}

}  // namespace

void bind_tree(nb::module_& module) {
  module.def(
      "paths_to_leaves",
      [](nb::typed<nb::tuple, Tree, nb::ellipsis> trees, const Leaves& leaves, int n_threads) {
        std::vector<const Tree*> found;
        for (nb::handle tree : trees) found.push_back(&nb::cast<const Tree&>(tree));
        if (found.empty() || leaves.shape(1) != found.size())
          throw nb::value_error("leaves must have a column per tree");
        const std::span<const NodeId> given(leaves.data(), leaves.size());
        tree::Paths paths = without_lock(
            [&](Cancel& cancel) { return tree::paths_to_leaves(found, given, n_threads, cancel); });
        return nb::make_tuple(to_numpy(std::move(paths.nodes)), to_numpy(std::move(paths.ends)));
      },
      nb::arg("trees"), nb::arg("leaves"), nb::arg("n_threads"),
      "The nodes on each row's way to its leaves, numbered on from tree to tree: indices and ends of sparse "
      "rows.");
  nb::class_<Tree> tree(module, "Tree",
                        "Flat parallel arrays; nodes breadth-first, children of a node adjacent.");
  tree.def_ro("n_outputs", &Tree::n_outputs)
      .def_ro("n_values", &Tree::n_values,
              "Classes per output (of the output with most); 1 for real targets.")
      .def_prop_ro("node_count", &Tree::n_nodes)
      .def_prop_ro("n_leaves", &Tree::n_leaves)
      .def_prop_ro("max_depth", &Tree::max_depth)
      .def_prop_ro(
          "gaps",
          [](const Tree& t) -> std::string {
            return std::ranges::find(kGaps, t.gaps, [](const auto& named) { return named.second; })->first;
          },
          "What becomes of a row without the value a test asks for: it takes one \"branch\"; all, as a "
          "\"fractional\" row; or none: only with \"available\" values the tree has an answer.");

  // These arrays carry their owner; the policy that ties results to `self` would reject them.
  constexpr auto kOwned = nb::rv_policy::automatic;
  const auto add_array = [&](const char* name, auto member) {
    tree.def_prop_ro(
        name, [member](nb::handle self) { return view(self, nb::cast<const Tree&>(self).*member); }, kOwned);
  };
  add_array("first_child", &Tree::first_child);
  add_array("n_branches", &Tree::n_branches);
  add_array("feature", &Tree::feature);
  add_array("threshold", &Tree::threshold);
  add_array("category_begin", &Tree::category_begin);
  add_array("missing_branch", &Tree::missing_branch);
  add_array("n_node_samples", &Tree::n_samples);
  add_array("weighted_n_node_samples", &Tree::weight);
  add_array("impurity", &Tree::impurity);
  add_array("gain", &Tree::gain);
  add_array("category_words", &Tree::category_words);

  const auto add_surrogate_array = [&](const char* name, auto member) {
    tree.def_prop_ro(
        name,
        [member](nb::handle self) { return view(self, nb::cast<const Tree&>(self).surrogates.*member); },
        kOwned);
  };
  add_surrogate_array("surrogate_begin", &TreeSurrogates::begin);
  add_surrogate_array("surrogate_feature", &TreeSurrogates::feature);
  add_surrogate_array("surrogate_threshold", &TreeSurrogates::threshold);
  add_surrogate_array("surrogate_low_branch", &TreeSurrogates::low_branch);
  add_surrogate_array("surrogate_category_begin", &TreeSurrogates::category_begin);
  add_surrogate_array("surrogate_agreement", &TreeSurrogates::agreement);
  add_surrogate_array("surrogate_category_words", &TreeSurrogates::category_words);

  tree.def_prop_ro(
          "value",
          [](nb::handle self) {
            const Tree& t = nb::cast<const Tree&>(self);
            return nb::ndarray<nb::numpy, const double, nb::ndim<3>>(
                t.value.data(),
                {t.n_nodes(), static_cast<std::size_t>(t.n_outputs), static_cast<std::size_t>(t.n_values)},
                self);
          },
          kOwned)
      .def_prop_ro(
          "children_left", [](const Tree& t) { return to_numpy(children(t, 0)); }, kOwned)
      .def_prop_ro(
          "children_right", [](const Tree& t) { return to_numpy(children(t, 1)); }, kOwned)
      .def_prop_ro(
          "parent", [](const Tree& t) { return to_numpy(t.parents()); }, kOwned)
      .def_prop_ro(
          "depth", [](const Tree& t) { return to_numpy(t.depths()); }, kOwned)
      .def(
          "branches_of_categories",
          [](const Tree& t, NodeId node, std::uint32_t n_categories) {
            if (node < 0 || static_cast<std::size_t>(node) >= t.n_nodes() ||
                t.category_begin[node] == kNoTable) {
              throw nb::value_error("the node has no test on categories");
            }
            const std::size_t words = table_words(n_categories, t.n_branches[node]);
            if (static_cast<std::size_t>(t.category_begin[node]) + words > t.category_words.size()) {
              throw nb::value_error("the node's table has fewer categories");
            }
            std::vector<std::int32_t> branches(n_categories);
            for (std::uint32_t c = 0; c < n_categories; ++c) branches[c] = t.branch_of_category(node, c);
            return to_numpy(std::move(branches));
          },
          nb::arg("node"), nb::arg("n_categories"), "Where each category goes at a node.")
      .def(
          "surrogate_branches",
          [](const Tree& t, std::size_t surrogate, std::uint32_t n_categories) {
            const TreeSurrogates& all = t.surrogates;
            if (surrogate >= all.feature.size() || all.category_begin[surrogate] == kNoTable)
              throw nb::value_error("there is no such surrogate on categories");
            if (static_cast<std::size_t>(all.category_begin[surrogate]) + table_words(n_categories, 2) >
                all.category_words.size())
              throw nb::value_error("the surrogate's table has fewer categories");
            std::vector<std::int32_t> branches(n_categories);
            for (std::uint32_t c = 0; c < n_categories; ++c)
              branches[c] = all.branch_of_category(surrogate, c);
            return to_numpy(std::move(branches));
          },
          nb::arg("surrogate"), nb::arg("n_categories"), "Where a surrogate sends each category.");

  using Numbers = Array1<double>;
  using Steps = Array1<std::int64_t>;
  using Inner = Array1<bool>;
  module.def(
      "sums_of_leaves",
      [](const Numbers& at_leaves, const Inner& is_inner, const Steps& node_counts) {
        return to_numpy(tree::sums_of_leaves({span_of(is_inner), span_of(node_counts)}, span_of(at_leaves)));
      },
      nb::arg("at_leaves"), nb::arg("is_inner"), nb::arg("node_counts"),
      "Counts of the leaves of binary trees, as counts of all their nodes: the sums of their children.");

  module.def(
      "steps_to_means",
      [](const Numbers& means, const Numbers& weights, const Inner& is_inner, const Steps& node_counts) {
        return to_numpy(tree::steps_to_means({span_of(is_inner), span_of(node_counts)}, span_of(means),
                                             span_of(weights)));
      },
      nb::arg("means"), nb::arg("weights"), nb::arg("is_inner"), nb::arg("node_counts"),
      "How many floating-point numbers lie between the mean of each inner node and that of its children.");

  module.def(
      "means_by_steps",
      [](const Numbers& at_leaves, const Steps& steps, const Numbers& weights, const Inner& is_inner,
         const Steps& node_counts) {
        return to_numpy(tree::means_by_steps({span_of(is_inner), span_of(node_counts)}, span_of(at_leaves),
                                             span_of(steps), span_of(weights)));
      },
      nb::arg("at_leaves"), nb::arg("steps"), nb::arg("weights"), nb::arg("is_inner"), nb::arg("node_counts"),
      "The way back: means of all nodes.");

  module.def(
      "steps_to_impurities",
      [](const Numbers& impurities, const Numbers& means, const Numbers& weights, const Inner& is_inner,
         const Steps& node_counts) {
        return to_numpy(tree::steps_to_impurities({span_of(is_inner), span_of(node_counts)},
                                                  span_of(impurities), span_of(means), span_of(weights)));
      },
      nb::arg("impurities"), nb::arg("means"), nb::arg("weights"), nb::arg("is_inner"),
      nb::arg("node_counts"), "The same for the impurity, by squared error.");

  module.def(
      "impurities_by_steps",
      [](const Numbers& at_leaves, const Steps& steps, const Numbers& means, const Numbers& weights,
         const Inner& is_inner, const Steps& node_counts) {
        return to_numpy(tree::impurities_by_steps({span_of(is_inner), span_of(node_counts)},
                                                  span_of(at_leaves), span_of(steps), span_of(means),
                                                  span_of(weights)));
      },
      nb::arg("at_leaves"), nb::arg("steps"), nb::arg("means"), nb::arg("weights"), nb::arg("is_inner"),
      nb::arg("node_counts"), "The way back: impurities of all nodes.");

  module.def(
      "make_tree", &make_tree, nb::kw_only(), nb::arg("n_outputs"), nb::arg("n_values"),
      nb::arg("categories"), nb::arg("first_child"), nb::arg("n_branches"), nb::arg("feature"),
      nb::arg("threshold"), nb::arg("category_begin"), nb::arg("missing_branch"), nb::arg("n_node_samples"),
      nb::arg("weighted_n_node_samples"), nb::arg("impurity"), nb::arg("gain"), nb::arg("value"),
      nb::arg("category_words"), nb::arg("surrogate_begin").none() = nb::none(),
      nb::arg("surrogate_feature").none() = nb::none(), nb::arg("surrogate_threshold").none() = nb::none(),
      nb::arg("surrogate_low_branch").none() = nb::none(),
      nb::arg("surrogate_category_begin").none() = nb::none(),
      nb::arg("surrogate_agreement").none() = nb::none(),
      nb::arg("surrogate_category_words").none() = nb::none(), nb::arg("gaps") = "branch",
      "A tree from arrays of unknown origin: everything is checked, ValueError says which node is wrong.\n\n"
      "`categories` holds the number of categories of every feature, 0 for numeric ones.");
}

}  // namespace hornbeam::bindings
