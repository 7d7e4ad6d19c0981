#include "boost/parts/part_rows.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "boost/grow/row_marker.h"
#include "boost/spread.h"

namespace hornbeam::boost {

namespace {

LeafSums operator+(const LeafSums& a, const LeafSums& b) {
  return {a.gradient + b.gradient, a.hessian + b.hessian, a.weight + b.weight};
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
  for (std::size_t piece = 0; piece < n_pieces; ++piece)
    spread.pieces.push_back(spread_of(values.subspan(n_before + piece * kPiece, kPiece), rows_.has_value()));
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
    for (std::size_t code = 0; code < n_codes; ++code) sums.cells.push_back(histogram->cell(slot, code));
  }
  grower.builder_.give_back(parts);
  histograms_.give_back(histogram);
  for (FeatureId feature = 0; feature < data_.n_features(); ++feature) {
    if (tiles_.digit_of(feature).has_slot()) continue;
    sums.categories.push_back(many_.sums_of(data_.column(feature), grower.rows_of(node)));
  }
}

PartSums PartRows::begin_tree(int score, const BoostGrower::Scale& scale, bool hessian_is_one, bool counts,
                              Cancel& cancel) {
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
  PartSums sums;
  sums.total = grower.states_[0].total;
  if (counts) add_node(grower, grower.states_[0], sums, cancel);
  return sums;
}

PartSums PartRows::divide(int score, std::size_t node, const Split& split, Wanted wanted, Cancel& cancel) {
  BoostGrower& grower = this->grower(score);
  grower.cancel_ = &cancel;
  NodeState& parent = grower.states_[node];
  NodeState children[2];
  BoostGrower::Division division = grower.divide(parent, split, children);
  grower.partition({&division, 1}, grower.everyone());
  PartSums sums;
  sums.n_left = children[0].n_rows();
  if (wanted.total) grower.sum_child(parent, split, children[0]);  // which has no histogram here
  sums.total = children[0].total;
  for (const int b : {0, 1}) {
    if (b == 0 ? wanted.left : wanted.right) add_node(grower, children[b], sums, cancel);
    grower.states_.push_back(std::move(children[b]));
  }
  return sums;
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

// The number of each row's leaf; rows of none have the number after the last.
std::vector<std::uint32_t> PartRows::leaf_numbers(int score, std::span<const std::size_t> leaves) const {
  std::vector<std::uint32_t> numbers(data_.n_rows(), static_cast<std::uint32_t>(leaves.size()));
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (const BoostEntry entry : grower(score).entries_of(state_of(grower(score), leaves[leaf])))
      numbers[row_of(entry)] = static_cast<std::uint32_t>(leaf);
  }
  return numbers;
}

// Rows [begin, end) of all parts, which are in a block that began at block_begin.
void PartRows::add_lanes(int score, const std::vector<std::uint32_t>& numbers, std::size_t block_begin,
                         std::size_t begin, std::size_t end, std::size_t n_leaves, bool hessian_is_one,
                         std::vector<LeafSums>& lanes) const {
  const std::span<const float> gradients = this->gradients(score);
  const std::span<const float> hessians = this->hessians(score);
  for (std::size_t place = begin; place < end; ++place) {
    const std::size_t row = place - first_row_;
    if (numbers[row] == n_leaves) continue;
    LeafSums& sums = lanes[(place - block_begin) % LeafBlocks::kLanes * n_leaves + numbers[row]];
    sums.gradient += static_cast<double>(gradients[row]);
    if (!hessian_is_one) sums.hessian += static_cast<double>(hessians[row]);
    if (!weights_.empty()) sums.weight += static_cast<double>(weights_[row]);
  }
}

PartLeafSums PartRows::sum_leaves(int score, std::span<const std::size_t> leaves, bool hessian_is_one) const {
  const LeafBlocks blocks(n_rows_of_all_, leaves.size());
  const std::vector<std::uint32_t> numbers = leaf_numbers(score, leaves);
  const std::size_t end_of_part = first_row_ + data_.n_rows();
  PartLeafSums sums;
  for (std::size_t block = (first_row_ + blocks.rows_per_block - 1) / blocks.rows_per_block;
       block < blocks.n_blocks && blocks.begin(block) < end_of_part; ++block) {
    std::vector<LeafSums> lanes(LeafBlocks::kLanes * leaves.size());
    const std::size_t end = std::min(blocks.end(block), end_of_part);
    add_lanes(score, numbers, blocks.begin(block), blocks.begin(block), end, leaves.size(), hessian_is_one,
              lanes);
    if (end < blocks.end(block)) {
      sums.open = std::move(lanes);
    } else {
      const std::vector<LeafSums> whole = sum_of_lanes(lanes);
      sums.blocks.insert(sums.blocks.end(), whole.begin(), whole.end());
    }
  }
  return sums;
}

std::vector<LeafSums> PartRows::end_block(int score, std::span<const std::size_t> leaves, bool hessian_is_one,
                                          std::vector<LeafSums> lanes) const {
  const LeafBlocks blocks(n_rows_of_all_, leaves.size());
  const std::size_t block = first_row_ / blocks.rows_per_block;
  add_lanes(score, leaf_numbers(score, leaves), blocks.begin(block), first_row_,
            std::min(blocks.end(block), first_row_ + data_.n_rows()), leaves.size(), hessian_is_one, lanes);
  return lanes;
}

std::vector<std::int64_t> PartRows::leaf_sizes(int score, std::span<const std::size_t> leaves) const {
  std::vector<std::int64_t> sizes;
  for (const std::size_t leaf : leaves)
    sizes.push_back(static_cast<std::int64_t>(state_of(grower(score), leaf).n_rows()));
  return sizes;
}

PartRows::Residuals PartRows::residuals(int score, std::span<const std::size_t> leaves) const {
  const double* scores = scores_.data() + static_cast<std::size_t>(score) * data_.n_rows();
  Residuals residuals;
  for (const std::size_t leaf : leaves) {
    for (const BoostEntry entry : grower(score).entries_of(state_of(grower(score), leaf))) {
      const RowId row = row_of(entry);
      residuals.values.push_back(static_cast<double>(y_[row]) - scores[row]);
      if (!weights_.empty()) residuals.weights.push_back(static_cast<double>(weights_[row]));
    }
  }
  return residuals;
}

std::vector<double> PartRows::sizes() const {
  std::vector<double> sizes(data_.n_rows());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::abs(scores_[i] - static_cast<double>(y_[i]));
  return sizes;
}

}  // namespace hornbeam::boost
