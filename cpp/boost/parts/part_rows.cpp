#include "boost/parts/part_rows.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/parallel.h"
#include "boost/grow/row_marker.h"
#include "boost/spread.h"

namespace hornbeam::boost {

namespace {

constexpr std::size_t kRowsPerTask = 1 << 15;

LeafSums operator+(const LeafSums& a, const LeafSums& b) {
  return {a.gradient + b.gradient, a.hessian + b.hessian, a.weight + b.weight};
}

// Rows [begin, end) of a list.
std::span<const BoostEntry> entries_between(std::span<const BoostEntry> entries, std::size_t begin,
                                            std::size_t end) {
  const auto first_from = [&](std::size_t row) {
    return std::partition_point(entries.begin(), entries.end(),
                                [row](BoostEntry entry) { return row_of(entry) < row; });
  };
  return {first_from(begin), first_from(end)};
}

// The lanes of a block without the sums of the rows of no leaf.
std::vector<LeafSums> without_last(std::span<const LeafSums> lanes) {
  const std::size_t n = lanes.size() / LeafBlocks::kLanes;
  std::vector<LeafSums> sums;
  for (std::size_t lane = 0; lane < LeafBlocks::kLanes; ++lane) {
    const auto own = lanes.subspan(lane * n, n - 1);
    sums.insert(sums.end(), own.begin(), own.end());
  }
  return sums;
}

}  // namespace

std::vector<LeafSums> sum_of_lanes(std::span<const LeafSums> lanes) {
  const std::size_t n_leaves = lanes.size() / LeafBlocks::kLanes;
  std::vector<LeafSums> sums(n_leaves);
  for (std::size_t lane = 0; lane < LeafBlocks::kLanes; ++lane) {
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf)
      sums[leaf] = sums[leaf] + lanes[lane * n_leaves + leaf];
  }
  return sums;
}

PartRows::PartRows(const Dataset& data, const BoostParams& params, int n_scores, std::span<const float> y,
                   std::span<const float> weights, std::size_t first_row, std::size_t n_rows_of_all,
                   Cancel& cancel)
    : data_(data),
      params_(params),
      n_scores_(n_scores),
      y_(y),
      weights_(weights),
      first_row_(first_row),
      n_rows_of_all_(n_rows_of_all),
      tiles_(data, params.n_threads, cancel),
      histograms_(tiles_.n_slots()),
      first_place_(first_row),
      scores_(data.n_rows() * static_cast<std::size_t>(n_scores)),
      gradients_(data.n_rows() * static_cast<std::size_t>(n_scores)),
      hessians_(data.n_rows() * static_cast<std::size_t>(n_scores)) {
  for (int score = 0; score < n_scores; ++score) growers_.emplace_back(data, tiles_, params, histograms_);
  leaf_numbers_.resize(growers_.size());
}

void PartRows::compute_derivatives(const Loss& loss, double huber_delta, Cancel& cancel) {
  shares_tests_ = false;
  const std::size_t n = data_.n_rows();
  const LossRows rows{scores_.data(), y_.data(), weights_.empty() ? nullptr : weights_.data(), n, 0, n};
  float* hessians = loss.hessian_is_one() && weights_.empty() ? nullptr : hessians_.data();
  all_derivatives(loss, n_scores_, rows, huber_delta, gradients_.data(), hessians, params_.n_threads, cancel);
}

void PartRows::share_tests(std::span<const std::uint64_t> keys, Cancel& cancel) {
  shares_tests_ = true;
  const std::size_t n = data_.n_rows();
  along_gradients_.grow_to(n);
  along_hessians_.grow_to(n);
  derivatives_along(keys, {gradients_.data(), hessians_.data(), n}, along_gradients_.data(),
                    along_hessians_.data(), params_.n_threads, cancel);
}

void PartRows::choose_rows(std::optional<std::vector<RowId>> rows, std::size_t first_place) {
  rows_ = std::move(rows);
  first_place_ = first_place;
}

PartSpread PartRows::spread(int score, bool hessians) const {
  constexpr std::size_t kPiece = BoostGrower::kRowsPerPiece;
  std::span<const float> values = hessians ? this->hessians(score) : gradients(score);
  std::vector<float> chosen;
  if (rows_) {
    for (const RowId row : *rows_) chosen.push_back(values[row]);
    values = chosen;
  }
  const std::size_t n_before = std::min((kPiece - first_place_ % kPiece) % kPiece, values.size());
  const std::size_t n_pieces = (values.size() - n_before) / kPiece;
  PartSpread spread;
  const auto end_of_pieces = values.begin() + static_cast<std::ptrdiff_t>(n_before + n_pieces * kPiece);
  spread.before.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n_before));
  spread.after.assign(end_of_pieces, values.end());
  spread.pieces.resize(n_pieces);
  parallel_for(n_pieces, params_.n_threads, [&](std::size_t piece, int) {
    spread.pieces[piece] = spread_of(values.subspan(n_before + piece * kPiece, kPiece), rows_.has_value());
  });
  return spread;
}

const PartRows::NodeState& PartRows::state_of(const BoostGrower& grower, std::size_t node) {
  return grower.states_[node];
}

// Adds a node's cells, slot after slot, and those of its categories.
void PartRows::add_node(BoostGrower& grower, const NodeState& node, PartSums& sums, Cancel& cancel) {
  Histogram* histogram = histograms_.take(grower.needs_wide(node));
  const HistogramBuilder::Parts parts =
      grower.builder_.add_rows(grower.rows_of(node), *histogram, grower.everyone(), cancel);
  for (int slot = 0; slot < tiles_.n_slots(); ++slot) {
    grower.builder_.finish_slot(slot, *histogram, parts);
    const std::size_t n_codes = tiles_.n_codes()[static_cast<std::size_t>(slot)];
    const std::size_t begin = sums.cells.size();
    sums.cells.resize(begin + n_codes);
    for (std::size_t code = 0; code < n_codes; ++code) sums.cells[begin + code] = histogram->cell(slot, code);
  }
  grower.builder_.give_back(parts);
  histograms_.give_back(histogram);
  for (FeatureId feature = 0; feature < data_.n_features(); ++feature) {
    if (tiles_.digit_of(feature).has_slot()) continue;
    sums.categories.push_back(many_.sums_of(data_.column(feature), grower.rows_of(node)));
  }
}

void PartRows::begin_tree(int score, const BoostGrower::Scale& scale, bool hessian_is_one, bool counts,
                          PartSums& root, Cancel& cancel) {
  BoostGrower& grower = this->grower(score);
  grower.cancel_ = &cancel;
  for (NodeState& node : grower.states_) grower.release(node);
  grower.scale_ = scale;
  const Derivatives derivatives{gradients(score), hessian_is_one ? std::span<const float>() : hessians(score),
                                !weights_.empty()};
  if (rows_ && rows_->empty()) {  // none is chosen, which an empty list does not say
    grower.states_.clear();
    grower.states_.emplace_back();
  } else {
    grower.load_root(derivatives, rows_ ? std::span<const RowId>(*rows_) : std::span<const RowId>());
  }
  root.clear();
  root.total = grower.states_[0].total;
  if (counts) add_node(grower, grower.states_[0], root, cancel);
}

void PartRows::divide(int score, std::size_t node, const Split& split, Wanted wanted, PartSums& sums,
                      Cancel& cancel) {
  BoostGrower& grower = this->grower(score);
  grower.cancel_ = &cancel;
  NodeState& parent = grower.states_[node];
  NodeState children[2];
  BoostGrower::Division division = grower.divide(parent, split, children);
  grower.partition({&division, 1}, grower.everyone());
  sums.clear();
  sums.n_left = children[0].n_rows();
  if (wanted.total) grower.sum_child(parent, split, children[0]);  // which has no histogram here
  sums.total = children[0].total;
  for (const int b : {0, 1}) {
    if (b == 0 ? wanted.left : wanted.right) add_node(grower, children[b], sums, cancel);
    grower.states_.push_back(std::move(children[b]));
  }
}

std::vector<std::uint32_t> PartRows::rows_by_code(int score, std::size_t node) const {
  std::vector<std::uint32_t> counts;
  for (FeatureId feature = 0; feature < data_.n_features(); ++feature) {
    if (!tiles_.digit_of(feature).has_slot()) continue;
    const std::uint8_t* codes = byte_codes(data_.column(feature));
    const std::size_t begin = counts.size();
    counts.resize(begin + kCellsPerSlot, 0);
    for (const BoostEntry entry : grower(score).entries_of(state_of(grower(score), node)))
      ++counts[begin + codes[row_of(entry)]];
  }
  return counts;
}

// Block by block, whose numbers stay in the cache.
void PartRows::record_leaves(int score, const LeafNodes& leaves, Cancel& cancel) {
  const std::size_t n = data_.n_rows();
  const BoostGrower& grower = this->grower(score);
  std::vector<std::uint32_t>& numbers = leaf_numbers_[tree_of(score)];
  numbers.resize(n);
  parallel_for((n + kRowsPerTask - 1) / kRowsPerTask, params_.n_threads,
               [&](std::size_t task, int) {
                 const std::size_t begin = task * kRowsPerTask;
                 const std::size_t end = std::min(begin + kRowsPerTask, n);
                 if (rows_) std::fill(numbers.data() + begin, numbers.data() + end, leaves.n_leaves);
                 for (std::size_t i = 0; i < leaves.nodes.size(); ++i) {
                   for (const BoostEntry entry :
                        entries_between(grower.entries_of(state_of(grower, leaves.nodes[i])), begin, end))
                     numbers[row_of(entry)] = leaves.leaf_of[i];
                 }
               },
               &cancel);
}

// Rows [begin, end) of all parts, which are in a block that began at block_begin. Rows of no leaf have sums, too: the
// last of each lane.
void PartRows::add_lanes(int score, std::size_t block_begin, std::size_t begin, std::size_t end,
                         bool hessian_is_one, std::span<LeafSums> lanes) const {
  const std::vector<std::uint32_t>& numbers = leaf_numbers_[tree_of(score)];
  const std::span<const float> gradients = this->gradients(score);
  const std::span<const float> hessians = this->hessians(score);
  const std::size_t n = lanes.size() / LeafBlocks::kLanes;
  const auto add = [&](auto with_hessians, auto with_weights) {
    for (std::size_t place = begin; place < end; ++place) {
      const std::size_t row = place - first_row_;
      LeafSums& sums = lanes[(place - block_begin) % LeafBlocks::kLanes * n + numbers[row]];
      sums.gradient += static_cast<double>(gradients[row]);
      if constexpr (with_hessians) sums.hessian += static_cast<double>(hessians[row]);
      if constexpr (with_weights) sums.weight += static_cast<double>(weights_[row]);
    }
  };
  const auto choose = [&](auto with_hessians) {
    weights_.empty() ? add(with_hessians, std::false_type()) : add(with_hessians, std::true_type());
  };
  hessian_is_one ? choose(std::false_type()) : choose(std::true_type());
}

PartLeafSums PartRows::sum_leaves(int score, const LeafNodes& leaves, bool hessian_is_one, Cancel& cancel) {
  if (!shares_tests_ || score == 0) record_leaves(score, leaves, cancel);
  const LeafBlocks blocks(n_rows_of_all_, leaves.n_leaves);
  const std::size_t end_of_part = first_row_ + data_.n_rows();
  const std::size_t first = (first_row_ + blocks.rows_per_block - 1) / blocks.rows_per_block;
  std::size_t n_here = 0;
  while (first + n_here < blocks.n_blocks && blocks.begin(first + n_here) < end_of_part) ++n_here;
  std::vector<std::vector<LeafSums>> found(n_here);
  parallel_for(
      n_here, params_.n_threads,
      [&](std::size_t i, int) {
        const std::size_t block = first + i;
        std::vector<LeafSums> lanes(LeafBlocks::kLanes * (leaves.n_leaves + 1));
        const std::size_t end = std::min(blocks.end(block), end_of_part);
        add_lanes(score, blocks.begin(block), blocks.begin(block), end, hessian_is_one, lanes);
        found[i] = without_last(lanes);
        if (end == blocks.end(block)) found[i] = sum_of_lanes(found[i]);
      },
      &cancel);
  PartLeafSums sums;
  if (n_here > 0 && blocks.end(first + n_here - 1) > end_of_part) {
    sums.open = std::move(found.back());
    found.pop_back();
  }
  for (const std::vector<LeafSums>& block : found)
    sums.blocks.insert(sums.blocks.end(), block.begin(), block.end());
  return sums;
}

std::vector<LeafSums> PartRows::end_block(int score, std::size_t n_leaves, bool hessian_is_one,
                                          std::vector<LeafSums> lanes) const {
  const LeafBlocks blocks(n_rows_of_all_, n_leaves);
  const std::size_t block = first_row_ / blocks.rows_per_block;
  std::vector<LeafSums> with_last;
  for (std::size_t lane = 0; lane < LeafBlocks::kLanes; ++lane) {
    const auto own = lanes.begin() + static_cast<std::ptrdiff_t>(lane * n_leaves);
    with_last.insert(with_last.end(), own, own + static_cast<std::ptrdiff_t>(n_leaves));
    with_last.emplace_back();
  }
  add_lanes(score, blocks.begin(block), first_row_, std::min(blocks.end(block), first_row_ + data_.n_rows()),
            hessian_is_one, with_last);
  return without_last(with_last);
}

void PartRows::add_values(int score, std::span<const double> values, Cancel& cancel) {
  const std::size_t n = data_.n_rows();
  const std::vector<std::uint32_t>& numbers = leaf_numbers_[tree_of(score)];
  double* scores = scores_.data() + static_cast<std::size_t>(score) * n;
  std::vector<double> by_number(values.begin(), values.end());
  by_number.push_back(0.0);
  parallel_for((n + kRowsPerTask - 1) / kRowsPerTask, params_.n_threads,
               [&](std::size_t task, int) {
                 const std::size_t end = std::min((task + 1) * kRowsPerTask, n);
                 for (std::size_t row = task * kRowsPerTask; row < end; ++row)
                   scores[row] += by_number[numbers[row]];
               },
               &cancel);
}

std::vector<std::int64_t> PartRows::leaf_sizes(int score, const LeafNodes& leaves) const {
  std::vector<std::int64_t> sizes(leaves.n_leaves);
  for (std::size_t i = 0; i < leaves.nodes.size(); ++i)
    sizes[leaves.leaf_of[i]] += static_cast<std::int64_t>(state_of(grower(score), leaves.nodes[i]).n_rows());
  return sizes;
}

PartRows::Residuals PartRows::residuals(int score, const LeafNodes& leaves) const {
  const double* scores = scores_.data() + static_cast<std::size_t>(score) * data_.n_rows();
  Residuals residuals;
  std::vector<RowId> rows;
  for (std::size_t i = 0; i < leaves.nodes.size(); ++i) {
    for (const BoostEntry entry : grower(score).entries_of(state_of(grower(score), leaves.nodes[i])))
      rows.push_back(row_of(entry));
    if (i + 1 < leaves.nodes.size() && leaves.leaf_of[i + 1] == leaves.leaf_of[i]) continue;
    std::ranges::sort(rows);  // those of several nodes are not in order
    for (const RowId row : rows) {
      residuals.values.push_back(static_cast<double>(y_[row]) - scores[row]);
      if (!weights_.empty()) residuals.weights.push_back(static_cast<double>(weights_[row]));
    }
    rows.clear();
  }
  return residuals;
}

std::vector<double> PartRows::sizes() const {
  std::vector<double> sizes(data_.n_rows());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::abs(scores_[i] - static_cast<double>(y_[i]));
  return sizes;
}

}  // namespace hornbeam::boost
