#include "grow/fast/rank_block.h"

#include <algorithm>
#include <bit>

namespace hornbeam::grow {

using data::Column;
using data::halfway;

namespace {

// Room for a column: an odd number of cache lines, so that columns do not fall on the same few places of a
// cache.
std::size_t column_stride(std::size_t n_rows) {
  constexpr std::size_t kRanksPerLine = 64 / sizeof(RankGrowth::Rank);
  return ((n_rows + RankGrowth::kLanes + kRanksPerLine - 1) / kRanksPerLine | 1) * kRanksPerLine;
}

}  // namespace

void RankBlock::start(const Dataset& data, const RowRecords& records, std::span<const FeatureId> features,
                      const TreeRules& rules) {
  data_ = &data;
  all_ = &records;
  features_.assign(features.begin(), features.end());
  places_.clear();
  n_codes_.clear();
  for (const FeatureId feature : features) {
    places_.push_back(records.place(feature));
    n_codes_.push_back(data.column(feature).n_codes);
  }
  const std::size_t n_words = *std::ranges::max_element(n_codes_) / 64 + 1;
  // The words, and behind them how many bits the words before each have.
  marks_.grow_to(n_words + (n_words + 3) / 4);
  std::fill_n(marks_.data(), n_words, std::uint64_t{0});
  repeats_.resize(features.size() * RankGrowth::kWords);
  has_repeats_.resize(features.size());
  tables_.assign(RankGrowth::kTables * RankGrowth::kMostRows, 0);
  growth_.n_columns = features.size();
  growth_.n_codes = n_codes_.data();
  growth_.repeats = repeats_.data();
  growth_.has_repeats = has_repeats_.data();
  growth_.features = features_.data();
  growth_.rules = rules;
  growth_.draw = draw_room_.start(features.size(), rules);
  growth_.marks = marks_.data();
  growth_.marks_before = reinterpret_cast<std::uint16_t*>(marks_.data() + n_words);
  growth_.tables = tables_.data();
  growth_.poll = [](void* poller, std::size_t work) { static_cast<CancelPoller*>(poller)->poll(work); };
}

void RankBlock::make_room(std::size_t n_rows) {
  const std::size_t n_columns = features_.size();
  growth_.n_rows = n_rows;
  growth_.stride = column_stride(n_rows);
  const std::size_t size_of_side = growth_.stride * (n_columns + 1);
  room_.grow_to(2 * size_of_side);
  growth_.sides[0] = room_.data();
  growth_.sides[1] = room_.data() + size_of_side;
  codes_.grow_to(2 * growth_.stride * n_columns);
  growth_.codes = codes_.data();
  growth_.code_at = codes_.data() + growth_.stride * n_columns;
}

std::int32_t RankBlock::grow_held(std::span<const Entry> entries, std::uint64_t path, std::int32_t depth,
                                  CountedNodes& grown, CancelPoller& poller) {
  const auto root = static_cast<std::int32_t>(grown.size());
  CountedNode& copy = *grown.room_for(2 * entries.size());
  copy.samples = static_cast<std::uint32_t>(entries.size());
  copy.rows = copy.ones = 0;
  RankGrowth::Rank* counts = growth_.column(0, growth_.n_columns, 0);
  for (const Entry& entry : entries) {
    const std::uint32_t times = entry.payload & 0xff;
    const std::uint32_t label = entry.payload >> 8;
    copy.rows += times;
    copy.ones += times * label;
    *counts++ = static_cast<RankGrowth::Rank>(times | label * RankGrowth::kClass1);
  }
  growth_.root_path = path;
  growth_.root = root;
  growth_.root_depth = depth;
  growth_.nodes = grown.data();
  growth_.n_nodes = grown.size() + 1;
  growth_.poller = &poller;
  rank_kernels()->grow(growth_);
  grown.set_size(growth_.n_nodes);
  look_up_thresholds({grown.data() + root, growth_.n_nodes - static_cast<std::size_t>(root)});
  return root;
}

// All at once: the values lie far apart, and a processor can wait for many of them at the same time.
void RankBlock::look_up_thresholds(std::span<CountedNode> nodes) const {
  for (CountedNode& node : nodes) {
    if (node.first_child == kNoChild) continue;
    const Column& column = data_->column(node.feature);
    const auto codes = std::bit_cast<std::uint64_t>(node.threshold);
    const double low = column.values[static_cast<Code>(codes)];
    node.threshold = column.binned ? low : halfway(low, column.values[codes >> 32]);
  }
}

}  // namespace hornbeam::grow
