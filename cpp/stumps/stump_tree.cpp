// Makes the tree of a stump that has been found (stumps/stumps.h), and finds the rows that it gets wrong.
#include <algorithm>
#include <variant>

#include "criterion/facts.h"
#include "grow/tree_builder.h"
#include "stumps/stumps.h"

namespace hornbeam::stumps {

using criterion::class_facts;
using criterion::Impurity;
using criterion::NodeFacts;
using criterion::Target;
using data::Column;
using grow::assemble;
using grow::NodeRecord;
using grow::TreeBuilder;

namespace {

// Stores the class shares of a node, as the grower does.
void describe(TreeBuilder& part, NodeId id, std::span<const std::int64_t> cell, std::int64_t n_samples,
              double unit) {
  const auto n_classes = static_cast<int>(cell.size());
  std::vector<double> weights(cell.begin(), cell.end());
  for (double& weight : weights) weight *= unit;
  const Target target{1, {n_classes}, {}, {}, {}};
  double* shares = &part.values[static_cast<std::size_t>(id) * cell.size()];
  const NodeFacts facts = class_facts(Impurity::kMisclassification, target, weights, shares, n_classes);
  NodeRecord& record = part.nodes[static_cast<std::size_t>(id)];
  record.n_samples = n_samples;
  record.weight = facts.weight;
  record.impurity = facts.impurity;
}

// The branch of every row: left, right, or where missing values go. Without a test all rows are in the first.
std::vector<std::uint8_t> branches_of_rows(const Dataset& data, const Split& split, std::size_t n_rows) {
  constexpr std::uint8_t kLikeMissing = 2;
  std::vector<std::uint8_t> branch(n_rows, 0);
  if (split.feature == kNoFeature) return branch;
  const Column& column = data.column(split.feature);
  std::vector<std::uint8_t> side_of_category;
  if (column.kind == ColumnKind::kCategorical) {
    side_of_category.assign(std::size_t{column.n_codes} + 1, kLikeMissing);
    for (const Code code : split.left_categories) side_of_category[code] = 0;
    for (const Code code : split.right_categories) side_of_category[code] = 1;
  }
  std::visit(
      [&](const auto& codes) {
        for (std::size_t row = 0; row < n_rows; ++row) {
          const Code code = codes[row];
          if (!side_of_category.empty()) {
            branch[row] = side_of_category[code];
          } else {
            branch[row] = code == column.missing_code() ? kLikeMissing : code >= split.first_right;
          }
        }
      },
      column.codes);
  return branch;
}

}  // namespace

// Makes the tree of a split, or a single leaf if the split names no feature, and predicts all rows with it.
Stump StumpSearch::carry_out(Split split, double gain) const {
  const bool has_test = split.feature != kNoFeature;
  const std::size_t n_classes = node_.size();
  const std::vector<std::uint8_t> branch = branches_of_rows(data_, split, rows_.size());
  // Cells of the left branch, of the right one, and of the rows with missing values.
  std::vector<std::int64_t> cells(3 * n_classes, 0);
  std::int64_t n_samples[3] = {0, 0, 0};
  for (std::size_t row = 0; row < branch.size(); ++row) {
    cells[branch[row] * n_classes + static_cast<std::size_t>(rows_[row].label)] += rows_[row].weight;
    n_samples[branch[row]] += rows_[row].weight != 0;
  }
  Stump stump;
  stump.n_weightless = n_weightless_;
  std::vector<TreeBuilder> parts(1);
  TreeBuilder& part = parts[0];
  part.add(n_classes);
  describe(part, 0, node_, static_cast<std::int64_t>(n_rows_counting_), unit_);
  if (has_test) {
    if (split.missing_branch >= 0) {
      const auto side = static_cast<std::size_t>(split.missing_branch);
      for (std::size_t k = 0; k < n_classes; ++k) cells[side * n_classes + k] += cells[2 * n_classes + k];
      n_samples[side] += n_samples[2];
    }
    const std::span<const std::int64_t> both(cells);
    for (std::size_t side = 0; side < 2; ++side) {
      const NodeId child = part.add(n_classes);
      describe(part, child, both.subspan(side * n_classes, n_classes), n_samples[side], unit_);
    }
    NodeRecord& root = part.nodes[0];
    root.first_child = 1;
    root.gain = gain;
    root.split = 0;
    root.missing_branch = split.missing_branch;
    if (root.missing_branch < 0) root.missing_branch = part.nodes[2].weight > part.nodes[1].weight ? 1 : 0;
    split.missing_branch = root.missing_branch;
    part.splits.push_back(split);
  }
  std::int32_t answer[3];
  const auto heaviest_in = [&](std::size_t node) {
    const double* shares = &part.values[node * n_classes];
    return static_cast<std::int32_t>(std::max_element(shares, shares + n_classes) - shares);
  };
  answer[0] = heaviest_in(has_test ? 1 : 0);
  answer[1] = has_test ? heaviest_in(2) : answer[0];
  answer[2] = has_test ? answer[split.missing_branch] : answer[0];
  stump.wrong.resize(rows_.size());
  for (std::size_t row = 0; row < branch.size(); ++row)
    stump.wrong[row] = rows_[row].label != answer[branch[row]] ? 1 : 0;
  stump.tree = assemble(data_, parts, 1, n_classes_);
  return stump;
}

}  // namespace hornbeam::stumps
