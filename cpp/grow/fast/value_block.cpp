#include "grow/fast/value_block.h"

#include <algorithm>
#include <utility>

#include "base/sampler.h"

#include "grow/lane_task.h"

namespace hornbeam::grow {

namespace {

// The most rows that a block over so many features holds: it must fit a core's own cache.
std::size_t most_held_rows(std::size_t n_features) {
  constexpr std::size_t kMostValues = std::size_t{1} << 18;  // 1 MiB
  return std::max(kMostValues / n_features, BlockGrowth::kLanes);
}

// The size of a list: an odd number of cache lines, so that lists do not compete for the same sets of the cache.
std::size_t room_for_list(std::size_t n_rows) {
  constexpr std::size_t kLanes = BlockGrowth::kLanes;
  return (((n_rows + kLanes - 1) / kLanes + 1) | 1) * kLanes;
}

}  // namespace

bool ValueBlock::takes(const LaneTask& lane) {
  if (!lane.params().grows_blocks || lane.values == nullptr || lane.values->records() == nullptr ||
      !lane.is_depth_first() || !lane.is_unconstrained())
    return false;
  const auto are_drawn_once = [&] {
    return std::ranges::all_of(lane.entries, [](const Entry& entry) { return (entry.payload & 0xff) == 1; });
  };
  switch (lane.criterion.block_cells) {
    case BlockCells::kTwoCounts:
    case BlockCells::kTwoEntropies:
      return are_drawn_once();
    case BlockCells::kCounts:
    case BlockCells::kEntropies:
      return block_kernels().grow_counts != nullptr &&
             lane.criterion.n_classes <= static_cast<int>(BlockWords::kMostClasses) && are_drawn_once();
    case BlockCells::kClassWeights:
    case BlockCells::kWeightEntropies:
      return block_kernels().grow_class_weights != nullptr &&
             lane.criterion.n_classes <= static_cast<int>(BlockWords::kMostClasses);
    case BlockCells::kTwoWeights:
      return block_kernels().grow_two_weights != nullptr;
    case BlockCells::kSums:
    case BlockCells::kPoisson:
      return block_kernels().grow_sums != nullptr && lane.params().leaf_value == LeafValue::kMean;
    default:
      return false;
  }
}

void ValueBlock::start(const Dataset& data, const RowValues& values, std::span<const FeatureId> features,
                       const TreeRules& rules) {
  features_.assign(features.begin(), features.end());
  columns_.clear();
  by_row_.clear();
  threshold_keys_.clear();
  for (const FeatureId feature : features) {
    columns_.push_back(&data.column(feature));
    by_row_.push_back(values.narrow(feature));
    const std::uint64_t key = combine(rules.key, static_cast<std::uint64_t>(feature));
    threshold_keys_.push_back(Stream::key_for(key, Purpose::kThreshold));
  }
  growth_.columns = columns_.data();
  growth_.by_row = by_row_.data();
  growth_.records = values.records();
  growth_.record_size = values.n_features();
  growth_.table_rows = data.n_rows();
  growth_.features = features_.data();
  growth_.whole_records = features.size() == values.n_features() && std::ranges::is_sorted(features);
  growth_.held_rows = most_held_rows(features.size());
  growth_.rules = rules;
  growth_.draw = draw_buffers_.start(features.size(), rules);
  growth_.threshold_keys = threshold_keys_.data();
  growth_.poll = [](void* poller, std::size_t work) { static_cast<CancelPoller*>(poller)->poll(work); };
}

std::int32_t ValueBlock::grow(std::span<const Entry> entries, const criterion::EntropyTerm* entropy,
                              std::uint64_t path, std::int32_t depth, CountedNodes& grown,
                              CancelPoller& poller) {
  const std::size_t n_rows = entries.size();
  make_room(n_rows);
  list_rows(entries, [](const Entry& entry) { return entry.payload >> 8; });
  const auto root = static_cast<std::int32_t>(grown.size());
  CountedNode& copy = *grown.room_for(2 * n_rows);
  copy.samples = copy.rows = static_cast<std::uint32_t>(n_rows);
  copy.first_child = kNoChild;
  copy.ones = 0;
  for (const Entry& entry : entries) copy.ones += entry.payload >> 8;
  growth_.root = {0, n_rows, path, root, depth, 0};
  growth_.nodes = grown.data();
  growth_.n_nodes = grown.size() + 1;
  growth_.poller = &poller;
  growth_.entropy = entropy;
  (entropy == nullptr ? block_kernels().grow_two_counts : block_kernels().grow_two_entropies)(growth_);
  grown.set_size(growth_.n_nodes);
  return root;
}

// Everything that is read at random lies in one allocation, which gets huge pages if it is large.
void ValueBlock::make_room(std::size_t n_rows) {
  const std::size_t n_held = std::min(n_rows, growth_.held_rows);
  const std::size_t list = room_for_list(n_rows);
  values_.grow_to(n_held * features_.size() + BlockGrowth::kFour * list);
  growth_.block = values_.data();
  for (std::size_t i = 0; i < BlockGrowth::kFour; ++i)
    growth_.fetched[i] = values_.data() + n_held * features_.size() + i * list;
  lists_.grow_to(2 * list);
  for (std::size_t side = 0; side < 2; ++side) growth_.list[side] = lists_.data() + side * list;
}

template <class ClassOf>
void ValueBlock::list_rows(std::span<const Entry> entries, const ClassOf& class_of) {
  bool in_order = entries.size() == growth_.table_rows;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    growth_.list[0][i] = entries[i].row << 1 | class_of(entries[i]);
    in_order &= entries[i].row == i;
  }
  growth_.whole_table = in_order;
}

BlockWords& ValueBlock::start_words(std::size_t n_rows, std::size_t n_words, std::size_t n_carried,
                                    std::size_t n_counts, std::size_t n_sums) {
  make_room(n_rows);
  BlockWords& words = growth_.words;
  words.stride = room_for_list(n_rows);
  words.n_words = n_words;
  words.n_carried = n_carried;
  words.n_classes = std::max(n_counts, n_sums);
  const std::size_t side = (n_words + n_carried) * words.stride;
  words_.grow_to(2 * side);
  words.of_side[0] = words_.data();
  words.of_side[1] = words_.data() + side;
  const std::size_t most_nodes = 2 * n_rows + BlockGrowth::kLanes;
  constexpr std::size_t kNode = sizeof(BlockNode) / sizeof(double);
  constexpr std::size_t kFacts = 3;
  const std::size_t per_node = kNode + (n_counts + 1) / 2 + n_sums + (n_carried > 0 ? kFacts : 0);
  cells_.grow_to(most_nodes * per_node);
  double* next = cells_.data();
  words.nodes = reinterpret_cast<BlockNode*>(std::exchange(next, next + most_nodes * kNode));
  words.sums = reinterpret_cast<std::int64_t*>(next);
  words.counts = reinterpret_cast<std::uint32_t*>(next);
  next = cells_.data() + most_nodes * (per_node - kFacts);
  words.weight = next;
  words.impurity = next + most_nodes;
  words.value = next + 2 * most_nodes;
  return words;
}

std::span<const BlockNode> ValueBlock::grow_words(void (*kernel)(BlockGrowth& growth),
                                                  std::span<const Entry> entries,
                                                  const criterion::EntropyTerm* entropy, std::uint64_t path,
                                                  std::int32_t depth, CancelPoller& poller) {
  list_rows(entries, [](const Entry&) { return 0u; });
  BlockNode& root = growth_.words.nodes[0];
  root.first_child = kNoChild;
  root.samples = static_cast<std::uint32_t>(entries.size());
  growth_.root = {0, entries.size(), path, 0, depth, 0};
  growth_.n_nodes = 1;
  growth_.poller = &poller;
  growth_.entropy = entropy;
  kernel(growth_);
  return {growth_.words.nodes, growth_.n_nodes};
}

}  // namespace hornbeam::grow
