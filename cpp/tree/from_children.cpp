#include "tree/from_children.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hornbeam::tree {

namespace {

// The inner nodes in their order, and where their children are. Which node is a leaf is as good as random, so
// nothing here branches on it.
class InnerNodes {
 public:
  explicit InnerNodes(const TreesInARow& trees) : nodes_(trees.is_inner.size() + 1) {
    std::size_t end = 0;
    for (const std::int64_t count : trees.node_counts) {
      if (count < 1 || static_cast<std::uint64_t>(count) > trees.is_inner.size() - end)
        throw std::invalid_argument("the numbers of nodes of the trees do not add up");
      const std::size_t begin = end;
      end += static_cast<std::size_t>(count);
      const std::size_t first = n_;
      for (std::size_t node = begin; node < end; ++node) {
        nodes_[n_].node = node;
        nodes_[n_].first_child = begin + 1 + 2 * (n_ - first);
        n_ += trees.is_inner[node];
      }
      check(first, end);
    }
    if (end != trees.is_inner.size()) throw std::invalid_argument("there are too many nodes or leaves");
    nodes_.resize(n_);
  }

  std::size_t size() const { return n_; }

  // Calls `inner(number among the inner nodes, node, first child)`, the last first, so children before parents.
  template <class Inner>
  void from_back(const Inner& inner) const {
    for (std::size_t i = n_; i-- > 0;) inner(i, nodes_[i].node, nodes_[i].first_child);
  }

 private:
  struct Node {
    std::size_t node;
    std::size_t first_child;
  };

  void check(std::size_t first, std::size_t end) const {
    for (std::size_t i = first; i < n_; ++i) {
      if (nodes_[i].first_child + 2 > end)
        throw std::invalid_argument("the children of a tree lie outside of it");
      if (nodes_[i].first_child <= nodes_[i].node)
        throw std::invalid_argument("a node is a child of itself or of one behind it");
    }
  }

  std::vector<Node> nodes_;
  std::size_t n_ = 0;
};

// Puts the numbers of leaves at their nodes; the values at inner nodes are meaningless.
std::vector<double> at_nodes(const TreesInARow& trees, const InnerNodes& inner,
                             std::span<const double> at_leaves) {
  const std::size_t n_nodes = trees.is_inner.size();
  if (at_leaves.size() + inner.size() != n_nodes)
    throw std::invalid_argument("there are too few or too many leaves");
  std::vector<double> numbers(n_nodes);
  std::size_t leaf = 0;
  for (std::size_t node = 0; node < n_nodes; ++node) {
    numbers[node] = at_leaves[std::min(leaf, at_leaves.size() - 1)];
    leaf += !trees.is_inner[node];
  }
  return numbers;
}

void expect_all(const TreesInARow& trees, std::initializer_list<std::span<const double>> of_nodes) {
  for (const std::span<const double> numbers : of_nodes) {
    if (numbers.size() != trees.is_inner.size())
      throw std::invalid_argument("there is not one number for each node");
  }
}

// Numbers as integers in the same order, neighbours one apart. Unsigned: steps may wrap around.
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
std::uint64_t place_of(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
double number_at(std::uint64_t place) {
  return std::bit_cast<double>((place & kSign) != 0 ? place & ~kSign : ~place);
}
std::int64_t steps_between(double from, double to) {
  return static_cast<std::int64_t>(place_of(to) - place_of(from));
}
double after_steps(double from, std::int64_t steps) {
  return number_at(place_of(from) + static_cast<std::uint64_t>(steps));
}

// What follows for a node from its two children, `first` and the one after it.
struct MeanOfChildren {
  std::span<const double> weights;

  double operator()(std::span<const double> means, std::size_t node, std::size_t first) const {
    const double one = weights[first] * means[first];
    const double other = weights[first + 1] * means[first + 1];
    return (one + other) / weights[node];
  }
};

struct ImpurityOfChildren {
  std::span<const double> means;
  std::span<const double> weights;

  double operator()(std::span<const double> impurities, std::size_t node, std::size_t first) const {
    const auto spread = [&](std::size_t child) {
      const double way = means[child] - means[node];
      return weights[child] * way * way + weights[child] * impurities[child];
    };
    return (spread(first) + spread(first + 1)) / weights[node];
  }
};

template <class Rule>
std::vector<std::int64_t> steps_to(const TreesInARow& trees, std::span<const double> numbers,
                                   const Rule& rule) {
  const InnerNodes inner(trees);
  std::vector<std::int64_t> steps(inner.size());
  inner.from_back([&](std::size_t i, std::size_t node, std::size_t first) {
    steps[i] = steps_between(rule(numbers, node, first), numbers[node]);
  });
  return steps;
}

template <class Rule>
std::vector<double> by_steps(const TreesInARow& trees, std::span<const double> at_leaves,
                             std::span<const std::int64_t> steps, const Rule& rule) {
  const InnerNodes inner(trees);
  if (steps.size() != inner.size()) throw std::invalid_argument("there is not one step for each inner node");
  std::vector<double> numbers = at_nodes(trees, inner, at_leaves);
  inner.from_back([&](std::size_t i, std::size_t node, std::size_t first) {
    numbers[node] = after_steps(rule(numbers, node, first), steps[i]);
  });
  return numbers;
}

}  // namespace

std::vector<double> sums_of_leaves(const TreesInARow& trees, std::span<const double> at_leaves) {
  const InnerNodes inner(trees);
  std::vector<double> sums = at_nodes(trees, inner, at_leaves);
  inner.from_back(
      [&](std::size_t, std::size_t node, std::size_t first) { sums[node] = sums[first] + sums[first + 1]; });
  return sums;
}

std::vector<std::int64_t> steps_to_means(const TreesInARow& trees, std::span<const double> means,
                                         std::span<const double> weights) {
  expect_all(trees, {means, weights});
  return steps_to(trees, means, MeanOfChildren{weights});
}

std::vector<std::int64_t> steps_to_impurities(const TreesInARow& trees, std::span<const double> impurities,
                                              std::span<const double> means,
                                              std::span<const double> weights) {
  expect_all(trees, {impurities, means, weights});
  return steps_to(trees, impurities, ImpurityOfChildren{means, weights});
}

std::vector<double> means_by_steps(const TreesInARow& trees, std::span<const double> at_leaves,
                                   std::span<const std::int64_t> steps, std::span<const double> weights) {
  expect_all(trees, {weights});
  return by_steps(trees, at_leaves, steps, MeanOfChildren{weights});
}

std::vector<double> impurities_by_steps(const TreesInARow& trees, std::span<const double> at_leaves,
                                        std::span<const std::int64_t> steps, std::span<const double> means,
                                        std::span<const double> weights) {
  expect_all(trees, {means, weights});
  return by_steps(trees, at_leaves, steps, ImpurityOfChildren{means, weights});
}

}  // namespace hornbeam::tree
