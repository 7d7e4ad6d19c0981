#include "grow/fast/rank_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "grow/lane_task.h"

namespace hornbeam::grow {

using data::Column;
using data::halfway;

namespace {

// The size of a column: an odd number of cache lines, so that columns do not compete for the same sets of the cache.
std::size_t column_stride(std::size_t n_rows) {
  constexpr std::size_t kRanksPerLine = 64 / sizeof(RankGrowth::Rank);
  return ((n_rows + RankGrowth::kLanes + kRanksPerLine - 1) / kRanksPerLine | 1) * kRanksPerLine;
}

}  // namespace

bool RankBlock::takes(const LaneTask& lane) {
  const GrowParams& params = lane.params();
  if (!params.grows_blocks || rank_kernels() == nullptr || !lane.is_depth_first() || lane.subtree_rows == 0)
    return false;
  const auto are_drawn_at_most = [&](std::uint32_t times) {
    return std::ranges::all_of(lane.entries,
                               [times](const Entry& entry) { return (entry.payload & 0xff) <= times; });
  };
  const bool is_complete = !params.random_splits && lane.is_plain() && lane.is_unconstrained() &&
                           params.missing == Missing::kLearn && RowRecords::can_hold(lane.task.data);
  switch (lane.criterion.block_cells) {
    case BlockCells::kTwoCounts:
      return lane.records != nullptr && are_drawn_at_most(RankGrowth::kMostTimes);
    case BlockCells::kTwoEntropies:
      return is_complete && are_drawn_at_most(RankGrowth::kMostTimes);
    case BlockCells::kTwoWeights:
      return is_complete;
    case BlockCells::kClassWeights:
    case BlockCells::kWeightEntropies:
      return is_complete && lane.criterion.n_classes <= static_cast<int>(RankGrowth::kMostClasses);
    case BlockCells::kCounts:
      return is_complete && lane.criterion.n_classes <= static_cast<int>(RankGrowth::kMostClasses) &&
             are_drawn_at_most(RankGrowth::kMostTimesOfMany);
    case BlockCells::kSums:
      return is_complete && params.leaf_value == LeafValue::kMean;
    default:
      return false;
  }
}

// Larger nodes count by columns of groups, or sort; smaller ones become blocks. That leaves to subtrees only
// nodes that are too sparse for columns (less than two of their rows per cache line) or too small to be worth
// a block.
std::size_t RankBlock::rows_beside(const LaneTask& lane) {
  constexpr std::size_t kSparse = 32;
  return std::max(lane.task.data.n_rows() / kSparse, std::size_t{lane.most_codes} / kCodesPerRow);
}

bool RankBlock::grows_within_subtrees(const LaneTask& lane) {
  const auto n_tried = static_cast<std::size_t>(lane.params().max_features);
  return lane.criterion.block_cells == BlockCells::kSums && 2 * n_tried > lane.params().features.size();
}

void RankBlock::start(const Dataset& data, std::span<const FeatureId> features, const TreeRules& rules) {
  data_ = &data;
  features_.assign(features.begin(), features.end());
  places_.resize(features.size());
  n_codes_.clear();
  for (const FeatureId feature : features) n_codes_.push_back(data.column(feature).n_codes);
  const std::size_t n_words = *std::ranges::max_element(n_codes_) / 64 + 1;
  // The words, followed by how many bits are set before each word.
  codes_present_.grow_to(n_words + (n_words + 3) / 4);
  std::fill_n(codes_present_.data(), n_words, std::uint64_t{0});
  repeats_.resize(features.size() * RankGrowth::kWords);
  has_repeats_.resize(features.size());
  tables_.assign(RankGrowth::kTables * RankGrowth::kMostRows, 0);
  growth_.n_columns = features.size();
  growth_.n_codes = n_codes_.data();
  growth_.repeats = repeats_.data();
  growth_.has_repeats = has_repeats_.data();
  growth_.features = features_.data();
  growth_.rules = rules;
  growth_.draw = draw_buffers_.start(features.size(), rules);
  growth_.codes_present = codes_present_.data();
  growth_.present_before = reinterpret_cast<std::uint16_t*>(codes_present_.data() + n_words);
  growth_.tables = tables_.data();
  growth_.poll = [](void* poller, std::size_t work) { static_cast<CancelPoller*>(poller)->poll(work); };
}

void RankBlock::make_room(std::size_t n_rows) {
  const std::size_t n_columns = features_.size();
  growth_.n_rows = n_rows;
  growth_.stride = column_stride(n_rows);
  const std::size_t size_of_side = growth_.stride * (n_columns + 1);
  sides_.grow_to(2 * size_of_side);
  growth_.sides[0] = sides_.data();
  growth_.sides[1] = sides_.data() + size_of_side;
  codes_.grow_to(2 * growth_.stride * n_columns);
  growth_.codes = codes_.data();
  growth_.code_at = codes_.data() + growth_.stride * n_columns;
}

void RankBlock::start_growth(std::int32_t root, std::uint64_t path, std::int32_t depth,
                             CancelPoller& poller) {
  growth_.root_path = path;
  growth_.root = root;
  growth_.root_depth = depth;
  growth_.n_nodes = static_cast<std::size_t>(root) + 1;
  growth_.poller = &poller;
}

bool RankBlock::can_weigh_counts(std::span<const Entry> entries,
                                 const std::array<std::int64_t, 2>& row_weights) {
  constexpr std::int64_t kMostApart = std::int64_t{1} << 20;
  const auto [least, most] = std::ranges::minmax(row_weights);
  if (most / kMostApart >= least) return false;
  std::uint64_t weight = 0;
  for (const Entry& entry : entries) {
    if (entry.payload > RankGrowth::kMostTimes) return false;
    weight += entry.payload;
  }
  return weight <= RankGrowth::kMostWeight;
}

std::int32_t RankBlock::grow_held_counts(std::int32_t root, std::uint64_t path, std::int32_t depth,
                                         CountedNodes& grown, void (*kernel)(RankGrowth& growth),
                                         CancelPoller& poller) {
  start_growth(root, path, depth, poller);
  growth_.counted = grown.data();
  kernel(growth_);
  grown.set_size(growth_.n_nodes);
  look_up_thresholds(std::span(grown.data() + root, growth_.n_nodes - static_cast<std::size_t>(root)));
  return root;
}

std::int32_t RankBlock::grow_entropies(std::span<const Entry> entries, const criterion::EntropyTerm& entropy,
                                       std::uint64_t path, std::int32_t depth, CountedNodes& grown,
                                       CancelPoller& poller) {
  make_room(entries.size());
  read_codes(entries);
  growth_.entropy = &entropy;
  const std::int32_t root = start_counts(entries, label_of, grown);
  return grow_held_counts(root, path, depth, grown, rank_kernels()->grow_entropies, poller);
}

// Column by column, in the table's order.
void RankBlock::read_codes(std::span<const Entry> entries) {
  for (std::size_t c = 0; c < features_.size(); ++c) {
    Code* to = codes_.data() + c * growth_.stride;
    std::visit(
        [&](const auto& codes) {
          for (std::size_t i = 0; i < entries.size(); ++i) to[i] = codes[entries[i].row];
        },
        data_->column(features_[c]).codes);
  }
}

std::span<const BlockNode> RankBlock::grow_held_weights(std::span<const Entry> entries, std::uint64_t path,
                                                        std::int32_t depth, CancelPoller& poller) {
  make_room(entries.size());
  read_codes(entries);
  if (nodes_.size() < 2 * entries.size()) nodes_.resize(2 * entries.size());
  if (node_weights_.size() < 2 * nodes_.size()) node_weights_.resize(2 * nodes_.size());
  nodes_[0].samples = static_cast<std::uint32_t>(entries.size());
  double weight = 0.0;
  double ones = 0.0;
  RankGrowth::Rank* numbers = growth_.column(0, growth_.n_columns, 0);
  for (std::size_t i = 1; i <= entries.size(); ++i) {
    weight += std::abs(weights_[i]);
    ones -= std::min(weights_[i], 0.0);
    *numbers++ = static_cast<RankGrowth::Rank>(i);
  }
  node_weights_[0] = weight;
  node_weights_[1] = ones;
  start_growth(0, path, depth, poller);
  growth_.nodes = nodes_.data();
  growth_.weights = weights_.data();
  growth_.node_weights = node_weights_.data();
  rank_kernels()->grow_weights(growth_);
  look_up_thresholds(std::span(nodes_.data(), growth_.n_nodes));
  return {nodes_.data(), growth_.n_nodes};
}

std::span<const BlockNode> RankBlock::grow_held_class_weights(std::span<const Entry> entries,
                                                              std::size_t n_classes, bool by_entropy,
                                                              std::uint64_t path, std::int32_t depth,
                                                              CancelPoller& poller) {
  make_room(entries.size());
  read_codes(entries);
  if (nodes_.size() < 2 * entries.size()) nodes_.resize(2 * entries.size());
  nodes_[0].samples = static_cast<std::uint32_t>(entries.size());
  RankGrowth::Rank* numbers = growth_.column(0, growth_.n_columns, 0);
  std::iota(numbers, numbers + entries.size(), RankGrowth::Rank{1});
  start_growth(0, path, depth, poller);
  growth_.nodes = nodes_.data();
  growth_.class_weights = class_weights_.data();
  growth_.node_weights = node_weights_.data();
  growth_.n_classes = n_classes;
  (by_entropy ? rank_kernels()->grow_weight_entropies : rank_kernels()->grow_class_weights)(growth_);
  look_up_thresholds(std::span(nodes_.data(), growth_.n_nodes));
  return {nodes_.data(), growth_.n_nodes};
}

std::span<const BlockNode> RankBlock::grow_classes(std::span<const Entry> entries, std::size_t n_classes,
                                                   std::uint64_t path, std::int32_t depth,
                                                   CancelPoller& poller) {
  make_room(entries.size());
  read_codes(entries);
  if (nodes_.size() < 2 * entries.size()) nodes_.resize(2 * entries.size());
  if (class_counts_.size() < nodes_.size() * n_classes) class_counts_.resize(nodes_.size() * n_classes);
  nodes_[0].samples = static_cast<std::uint32_t>(entries.size());
  std::fill_n(class_counts_.data(), n_classes, 0u);
  RankGrowth::Rank* items = growth_.column(0, growth_.n_columns, 0);
  for (const Entry& entry : entries) {
    class_counts_[entry.payload >> 8] += entry.payload & 0xff;
    *items++ = static_cast<RankGrowth::Rank>(entry.payload);
  }
  start_growth(0, path, depth, poller);
  growth_.nodes = nodes_.data();
  growth_.class_counts = class_counts_.data();
  growth_.n_classes = n_classes;
  rank_kernels()->grow_classes(growth_);
  look_up_thresholds(std::span(nodes_.data(), growth_.n_nodes));
  return {nodes_.data(), growth_.n_nodes};
}

RankNumbers& RankBlock::start_numbers(std::size_t n_rows) {
  const std::size_t n_items = n_rows + 1;
  if (nodes_.size() < 2 * n_rows) nodes_.resize(2 * n_rows);
  if (node_sums_.size() < 2 * nodes_.size()) {
    node_sums_.resize(2 * nodes_.size());
    node_facts_.resize(nodes_.size());
    node_values_.resize(nodes_.size());
  }
  if (moments_.size() < 2 * n_items) {
    moments_.resize(2 * n_items);
    numbers_.resize(2 * n_items);
  }
  growth_.numbers = {moments_.data(),           moments_.data() + n_items, numbers_.data(),
                     numbers_.data() + n_items, node_sums_.data(),         node_facts_.data(),
                     node_values_.data()};
  moments_[0] = moments_[n_items] = 0;
  return growth_.numbers;
}

std::span<const BlockNode> RankBlock::grow_numbers(std::span<const Entry> entries, std::uint64_t path,
                                                   std::int32_t depth, CancelPoller& poller) {
  make_room(entries.size());
  read_codes(entries);
  nodes_[0].samples = static_cast<std::uint32_t>(entries.size());
  node_sums_[0] = node_sums_[1] = 0;
  RankGrowth::Rank* items = growth_.column(0, growth_.n_columns, 0);
  for (std::size_t i = 1; i <= entries.size(); ++i) {
    node_sums_[0] += growth_.numbers.sums[i];
    node_sums_[1] += growth_.numbers.weights[i];
    *items++ = static_cast<RankGrowth::Rank>(i);
  }
  start_growth(0, path, depth, poller);
  growth_.nodes = nodes_.data();
  rank_kernels()->grow_sums(growth_);
  look_up_thresholds(std::span(nodes_.data(), growth_.n_nodes));
  return {nodes_.data(), growth_.n_nodes};
}

// All at once: the values are scattered in memory, and the processor can wait for many of them at a time.
template <class Node>
void RankBlock::look_up_thresholds(std::span<Node> nodes) const {
  for (Node& node : nodes) {
    if (node.first_child == kNoChild) continue;
    const Column& column = data_->column(node.feature);
    const auto codes = std::bit_cast<std::uint64_t>(node.threshold);
    const double low = column.values[static_cast<Code>(codes)];
    node.threshold = column.binned ? low : halfway(low, column.values[codes >> 32]);
  }
}

}  // namespace hornbeam::grow
