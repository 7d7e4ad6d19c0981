#include "hornbeam/predictor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "hornbeam/parallel.h"

namespace hornbeam {

namespace {

// Rows are taken in blocks: the features the tree tests are read into a small float64 block, feature by
// feature.
constexpr std::size_t kBlockRows = 512;

struct Block {
  const double* value(std::size_t slot) const { return values.data() + slot * kBlockRows; }
  std::vector<double> values;
};

// The features a tree tests, numbered densely.
struct UsedFeatures {
  explicit UsedFeatures(const Tree& tree, std::size_t n_features) : slot(n_features, -1) {
    for (const FeatureId feature : tree.feature) {
      if (feature < 0 || slot[static_cast<std::size_t>(feature)] >= 0) continue;
      slot[static_cast<std::size_t>(feature)] = static_cast<std::int32_t>(features.size());
      features.push_back(feature);
    }
  }
  std::vector<std::int32_t> slot;
  std::vector<FeatureId> features;
};

std::int32_t branch_of(const Tree& tree, NodeId node, double value, Unseen unseen) {
  if (tree.category_begin[node] == kNoTable) {
    if (std::isnan(value)) return tree.missing_branch[node];
    return value <= tree.threshold[node] ? 0 : 1;
  }
  if (value >= 0) return tree.branch_of_category(node, static_cast<std::uint32_t>(value));
  const bool is_unseen = value == kUnseenCategory;
  return is_unseen && unseen == Unseen::kMajority ? tree.largest_branch(node) : tree.missing_branch[node];
}

}  // namespace

void find_leaves(const Tree& tree, const TableView& table, Unseen unseen, int n_threads, Cancel& cancel,
                 std::span<NodeId> leaves) {
  const UsedFeatures used(tree, table.columns.size());
  const std::size_t n_blocks = (table.n_rows + kBlockRows - 1) / kBlockRows;
  std::vector<Block> blocks(static_cast<std::size_t>(std::max(1, n_threads)));
  std::vector<std::unique_ptr<CancelPoller>> pollers;
  for (int w = 0; w < std::max(1, n_threads); ++w)
    pollers.push_back(std::make_unique<CancelPoller>(cancel, w == 0));
  parallel_for(
      n_blocks, n_threads,
      [&](std::size_t b, int worker) {
        Block& block = blocks[static_cast<std::size_t>(worker)];
        block.values.resize(used.features.size() * kBlockRows);
        const std::size_t begin = b * kBlockRows;
        const std::size_t end = std::min(begin + kBlockRows, table.n_rows);
        for (std::size_t s = 0; s < used.features.size(); ++s) {
          const ColumnView& column = table.columns[static_cast<std::size_t>(used.features[s])];
          read_doubles(column, begin, end, block.values.data() + s * kBlockRows);
        }
        std::size_t steps = 0;
        for (std::size_t row = begin; row < end; ++row) {
          NodeId node = 0;
          while (!tree.is_leaf(node)) {
            const std::size_t slot =
                static_cast<std::size_t>(used.slot[static_cast<std::size_t>(tree.feature[node])]);
            node = tree.first_child[node] + branch_of(tree, node, block.value(slot)[row - begin], unseen);
            if (++steps % 65536 == 0) pollers[static_cast<std::size_t>(worker)]->poll(65536 * 4);
          }
          leaves[row] = node;
        }
        pollers[static_cast<std::size_t>(worker)]->poll((end - begin) * used.features.size());
      },
      &cancel);
}

}  // namespace hornbeam
