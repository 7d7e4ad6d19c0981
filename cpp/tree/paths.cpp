#include "tree/paths.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/parallel.h"

namespace hornbeam::tree {

namespace {

constexpr std::size_t kRowsPerTask = 4096;

// What the walk up one tree looks at.
struct WayUp {
  std::vector<NodeId> parent;
  std::vector<std::int32_t> n_above;  // nodes on the way to it, itself included
  std::int32_t first_number = 0;
};

std::vector<WayUp> ways_up(std::span<const Tree* const> trees) {
  std::vector<WayUp> ways;
  std::size_t n_before = 0;
  for (const Tree* tree : trees) {
    WayUp way{tree->parents(), std::vector<std::int32_t>(tree->n_nodes(), 1),
              static_cast<std::int32_t>(n_before)};
    for (std::size_t node = 1; node < tree->n_nodes(); ++node)  // parents have smaller numbers
      way.n_above[node] = way.n_above[static_cast<std::size_t>(way.parent[node])] + 1;
    n_before += tree->n_nodes();
    if (n_before > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw std::invalid_argument("the trees have too many nodes to be numbered");
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace

Paths paths_to_leaves(std::span<const Tree* const> trees, std::span<const NodeId> leaves, int n_threads,
                      Cancel& cancel) {
  const std::vector<WayUp> ways = ways_up(trees);
  const std::size_t n_rows = leaves.size() / trees.size();
  Paths paths;
  paths.ends.assign(n_rows + 1, 0);
  const auto leaf = [&](std::size_t row, std::size_t t) {
    return static_cast<std::size_t>(leaves[row * trees.size() + t]);
  };
  const std::size_t n_tasks = (n_rows + kRowsPerTask - 1) / kRowsPerTask;
  const auto for_rows = [&](auto&& visit) {
    parallel_for(
        n_tasks, n_threads,
        [&](std::size_t task, int) {
          const std::size_t end = std::min(n_rows, (task + 1) * kRowsPerTask);
          for (std::size_t row = task * kRowsPerTask; row < end; ++row) visit(row);
        },
        &cancel);
  };
  for_rows([&](std::size_t row) {
    std::int64_t length = 0;
    for (std::size_t t = 0; t < ways.size(); ++t) {
      if (leaf(row, t) >= ways[t].n_above.size())
        throw std::invalid_argument("a leaf is no node of its tree");
      length += ways[t].n_above[leaf(row, t)];
    }
    paths.ends[row + 1] = length;
  });
  for (std::size_t row = 0; row < n_rows; ++row) paths.ends[row + 1] += paths.ends[row];
  paths.nodes.resize(static_cast<std::size_t>(paths.ends.back()));
  for_rows([&](std::size_t row) {
    auto place = static_cast<std::size_t>(paths.ends[row]);
    for (std::size_t t = 0; t < ways.size(); ++t) {
      const WayUp& way = ways[t];
      auto node = static_cast<NodeId>(leaf(row, t));
      const auto length = static_cast<std::size_t>(way.n_above[static_cast<std::size_t>(node)]);
      for (std::size_t above = length; above-- > 0; node = way.parent[static_cast<std::size_t>(node)])
        paths.nodes[place + above] = way.first_number + node;
      place += length;
    }
  });
  return paths;
}

}  // namespace hornbeam::tree
