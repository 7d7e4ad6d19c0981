#include "hornbeam/value_block.h"

#include <algorithm>
#include <cstring>

#include "hornbeam/sampler.h"

namespace hornbeam {

namespace {

// As many rows as a block over so many features holds, so that both sides fit a core's own cache.
std::size_t most_held_rows(std::size_t n_features) {
  constexpr std::size_t kMostValues = std::size_t{1} << 17;  // 512 KiB
  constexpr std::size_t kMostCounted = (std::size_t{1} << BlockGrowth::kOnes) - 1;
  return std::clamp(kMostValues / (2 * n_features), BlockGrowth::kLanes, kMostCounted);
}

// Room for a column: an odd number of cache lines, so that columns do not fall on the same few places of a
// cache.
std::size_t column_stride(std::size_t n_rows) {
  constexpr std::size_t kLanes = BlockGrowth::kLanes;
  return (((n_rows + kLanes - 1) / kLanes + 1) | 1) * kLanes;
}

// Two sides of so many columns, and the one behind them.
std::size_t size_of_sides(std::size_t n_columns, std::size_t n_rows) {
  return 2 * column_stride(n_rows) * (n_columns + 1);
}
TwoSides two_sides(float* room, std::size_t n_columns, std::size_t n_rows) {
  return {{room, room + size_of_sides(n_columns, n_rows) / 2}, column_stride(n_rows), n_columns};
}

}  // namespace

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
  growth_.held_rows = most_held_rows(features.size());
  growth_.rules = rules;
  growth_.draw = draw_room_.start(features.size(), rules);
  growth_.threshold_keys = threshold_keys_.data();
  growth_.poll = [](void* poller, std::size_t work) { static_cast<CancelPoller*>(poller)->poll(work); };
}

std::int32_t ValueBlock::grow(std::span<const Entry> entries, std::uint64_t path, std::int32_t depth,
                              CountedNodes& grown, CancelPoller& poller) {
  const std::size_t n_rows = entries.size();
  make_room(n_rows);
  list_rows(entries);
  const auto root = static_cast<std::int32_t>(grown.size());
  CountedNode& copy = *grown.room_for(2 * n_rows);
  copy.samples = copy.rows = static_cast<std::uint32_t>(n_rows);
  copy.ones = 0;
  for (const Entry& entry : entries) copy.ones += entry.payload >> 8;
  growth_.root = {0, n_rows, path, root, depth, 0};
  growth_.nodes = grown.data();
  growth_.n_nodes = grown.size() + 1;
  growth_.poller = &poller;
  block_kernels().grow(growth_);
  grown.set_size(growth_.n_nodes);
  return root;
}

// In one piece, which gets huge pages if it is large: parting the rows of a block writes to twice as many
// places as it has columns at the same time.
void ValueBlock::make_room(std::size_t n_rows) {
  const std::size_t n_held = std::min(n_rows, growth_.held_rows);
  const std::size_t n_fetched = n_rows > n_held ? BlockGrowth::kFour * column_stride(n_rows) : 0;
  const std::size_t size_of_block = size_of_sides(features_.size(), n_held);
  const std::size_t size_of_list = size_of_sides(1, n_rows);
  room_.grow_to(size_of_block + size_of_list + n_fetched);
  growth_.block = two_sides(room_.data(), features_.size(), n_held);
  growth_.list = two_sides(room_.data() + size_of_block, 1, n_rows);
  float* fetched = room_.data() + size_of_block + size_of_list;
  for (std::size_t i = 0; i < BlockGrowth::kFour; ++i)
    growth_.fetched[i] = n_fetched > 0 ? fetched + i * column_stride(n_rows) : nullptr;
}

void ValueBlock::list_rows(std::span<const Entry> entries) {
  float* rows = growth_.list.column(0, 0, 0);
  float* counts = growth_.list.column(0, 1, 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t count = 1u | (entries[i].payload >> 8) << BlockGrowth::kOnes;
    std::memcpy(rows + i, &entries[i].row, sizeof(float));
    std::memcpy(counts + i, &count, sizeof(float));
  }
}

}  // namespace hornbeam
