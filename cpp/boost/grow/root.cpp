// Where a boosted tree begins: derivatives turned into fixed point, the list of its rows, the root's
// histogram and its test.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counters.h"
#include "base/parallel.h"
#include "boost/boost_kernels.h"
#include "boost/grow/boost_grower.h"
#include "boost/spread.h"

namespace hornbeam::boost {

namespace {

constexpr int kPackedGradientBits = 15;
constexpr int kPackedHessianBits = 15;
constexpr int kWideBits = 30;
// Packed gradients must keep enough digits: the largest may be at most this many times the mean.
constexpr double kMostSpread = 2048.0;

// The largest power of two that keeps `largest` within so many bits.
double scale_for(double largest, int bits) {
  if (!(largest > 0)) return 1.0;
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  double scale = std::ldexp(1.0, std::clamp(bits - exponent, -1000, 1000));
  if (std::nearbyint(largest * scale) >= std::ldexp(1.0, bits)) scale /= 2;
  return scale;
}

Spread spread_of_all(std::span<const float> values, std::span<const RowId> rows, std::size_t rows_per_task,
                     int n_threads) {
  const std::size_t n = rows.empty() ? values.size() : rows.size();
  std::vector<Spread> pieces((n + rows_per_task - 1) / rows_per_task);
  parallel_for(pieces.size(), n_threads, [&](std::size_t task, int) {
    const Timed timed("spread");
    const std::size_t begin = task * rows_per_task;
    const std::size_t n_here = std::min(rows_per_task, n - begin);
    pieces[task] = rows.empty()
                       ? spread_of(values.subspan(begin, n_here), false)
                       : spread_of_listed(n_here, [&](std::size_t i) { return values[rows[begin + i]]; });
  });
  Spread all;
  for (const Spread& piece : pieces) all += piece;
  return all;
}

}  // namespace

BoostGrower::Scale BoostGrower::choose_scale(const Derivatives& derivatives,
                                             std::span<const RowId> rows) const {
  if (derivatives.fresh != nullptr) return scale_of_fresh(derivatives, rows);
  const std::size_t n = rows.empty() ? data_.n_rows() : rows.size();
  const Spread gradients = spread_of_all(derivatives.gradients, rows, kRowsPerTask, params_.n_threads);
  std::optional<Spread> hessians;
  if (!derivatives.hessians.empty())
    hessians = spread_of_all(derivatives.hessians, rows, kRowsPerTask, params_.n_threads);
  return scale_of(gradients, hessians, n, derivatives.weighted);
}

// The same in one pass, piece by piece.
BoostGrower::Scale BoostGrower::scale_of_fresh(const Derivatives& derivatives,
                                               std::span<const RowId> rows) const {
  const std::size_t n = rows.empty() ? data_.n_rows() : rows.size();
  const bool listed = !rows.empty();
  std::vector<Spread> pieces[2];
  for (std::vector<Spread>& spreads : pieces) spreads.resize(n_tasks(n));
  parallel_for(n_tasks(n), params_.n_threads, [&](std::size_t task, int) {
    float found[2][kRowsPerTask];
    const std::size_t begin = task * kRowsPerTask;
    const std::size_t n_here = std::min(kRowsPerTask, n - begin);
    derivatives.fresh->find_listed(rows, begin, n_here, found[0], found[1]);
    pieces[0][task] = spread_of({found[0], n_here}, listed);
    if (!derivatives.hessian_is_one()) pieces[1][task] = spread_of({found[1], n_here}, listed);
  });
  Spread gradients;
  Spread hessians;
  for (const Spread& piece : pieces[0]) gradients += piece;
  for (const Spread& piece : pieces[1]) hessians += piece;
  return scale_of(gradients, derivatives.hessian_is_one() ? std::nullopt : std::optional(hessians), n,
                  derivatives.weighted);
}

BoostGrower::Scale BoostGrower::scale_of(const Spread& gradients, const std::optional<Spread>& given,
                                         std::size_t n_rows, bool weighted) {
  const double n = static_cast<double>(n_rows);
  Scale scale;
  scale.packed = !weighted && gradients.largest <= kMostSpread * gradients.sum / n;
  scale.constant_hessian = !given;
  const Spread hessians = given.value_or(Spread{1.0, n});
  if (given) scale.packed = scale.packed && hessians.largest <= kMostSpread * hessians.sum / n;
  scale.gradient = scale_for(gradients.largest, scale.packed ? kPackedGradientBits : kWideBits);
  if (!scale.constant_hessian) {
    scale.hessian = scale_for(hessians.largest, scale.packed ? kPackedHessianBits : kWideBits);
    scale.has_hessian = hessians.largest > 0;
    scale.largest_hessian = static_cast<std::int64_t>(std::nearbyint(hessians.largest * scale.hessian));
  }
  return scale;
}

std::vector<BoostGrower::Root> BoostGrower::plan_roots(std::span<const Derivatives> trees,
                                                       std::span<const RowId> rows, Cancel& cancel) {
  std::vector<Root> roots;
  for (const Derivatives& tree : trees) roots.push_back({choose_scale(tree, rows)});
  NodeState all_rows;
  all_rows.end = rows.empty() ? data_.n_rows() : rows.size();
  if (!may_split(all_rows, 0) || !shared_pass_.pays(all_rows.n_rows())) return roots;
  std::vector<std::size_t> packed;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (roots[i].scale.packed) packed.push_back(i);
  }
  const std::size_t n_passes = (packed.size() + SharedPass::kMostTrees - 1) / SharedPass::kMostTrees;
  for (std::size_t pass = 0; pass < n_passes; ++pass) {
    const std::size_t begin = packed.size() * pass / n_passes;
    const std::size_t end = packed.size() * (pass + 1) / n_passes;
    if (end - begin < 2) continue;  // a tree alone is counted when its turn comes
    std::vector<SharedTree> together;
    for (std::size_t p = begin; p < end; ++p) {
      Root& root = roots[packed[p]];
      root.histogram = pool_.take(all_rows.n_rows() > kMostPackedRows);
      together.push_back({trees[packed[p]].gradients, trees[packed[p]].hessians, root.scale.gradient,
                          root.scale.hessian, root.histogram});
    }
    shared_pass_.add_rows(together, data_.n_rows(), rows, cancel);
  }
  return roots;
}

// Entries of some rows that the tree grows on; returns their sum.
WideCell BoostGrower::load_piece(const Derivatives& derivatives, std::span<const RowId> rows,
                                 std::size_t begin, std::size_t n) {
  // By place in the piece where derivatives are found anew, else by row.
  float found[2][kRowsPerTask];
  const bool fresh = derivatives.fresh != nullptr;
  if (fresh) derivatives.fresh->find_listed(rows, begin, n, found[0], found[1]);
  if (rows.empty() && scale_.packed) {
    const float* gradients = fresh ? found[0] : derivatives.gradients.data() + begin;
    const float* hessians = fresh ? found[1] : derivatives.hessians.data() + begin;
    return boost_kernels().pack_rows(gradients, scale_.constant_hessian ? nullptr : hessians, n,
                                     static_cast<RowId>(begin), scale_.gradient, scale_.hessian,
                                     entries_[0].data() + begin);
  }
  const float* gradients = fresh ? found[0] : derivatives.gradients.data();
  const float* hessians = fresh ? found[1] : derivatives.hessians.data();
  const auto load = [&](auto row_at, auto hessian_at) {
    WideCell sum;
    for (std::size_t i = 0; i < n; ++i) {
      const RowId row = row_at(i);
      const std::size_t place = fresh ? i : row;
      const std::int32_t gradient = fixed_point(gradients[place], scale_.gradient);
      const std::int32_t hessian = hessian_at(place);
      sum += WideCell{gradient, hessian};
      if (scale_.packed) {
        entries_[0][begin + i] = make_entry(row, gradient, hessian);
      } else {
        pairs_[row] = {gradient, hessian};
        entries_[0][begin + i] = row;
      }
    }
    return sum;
  };
  const auto all = [&](std::size_t i) { return static_cast<RowId>(begin + i); };
  const auto listed = [&](std::size_t i) { return rows[begin + i]; };
  const auto one = [](std::size_t) { return 1; };
  const auto given = [&](std::size_t place) { return fixed_hessian(hessians[place], scale_.hessian); };
  if (rows.empty()) return scale_.constant_hessian ? load(all, one) : load(all, given);
  return scale_.constant_hessian ? load(listed, one) : load(listed, given);
}

void BoostGrower::load_root(const Derivatives& derivatives, std::span<const RowId> rows) {
  const std::size_t n = rows.empty() ? data_.n_rows() : rows.size();
  entries_[0].grow_to(n);
  entries_[1].grow_to(n);
  if (!scale_.packed) pairs_.grow_to(data_.n_rows());
  std::vector<WideCell> sums(n_tasks(n));
  parallel_for(sums.size(), params_.n_threads, [&](std::size_t task, int) {
    const Timed timed("load rows");
    const std::size_t begin = task * kRowsPerTask;
    sums[task] = load_piece(derivatives, rows, begin, std::min(kRowsPerTask, n - begin));
  });
  NodeState root;
  root.end = n;
  if (rows.empty()) {
    root.members = row_sets_.take(words_of_set(data_.n_rows()));
    std::ranges::fill(root.members->span(), ~std::uint64_t{0});
    if (n % 64 != 0) (*root.members)[n / 64] = (std::uint64_t{1} << n % 64) - 1;
  }
  for (const WideCell& sum : sums) root.total += sum;
  root.groups.resize(params_.interactions.size());
  std::iota(root.groups.begin(), root.groups.end(), std::size_t{0});
  states_.clear();
  states_.push_back(std::move(root));
}

// `counted` is the root's histogram if it has been filled already.
void BoostGrower::open_root(Frontier& frontier, Histogram* counted) {
  work_.add(1);
  describe(0);
  NodeState& root = states_[0];
  root.histogram = counted;
  if (!may_split(root, 0) || !scale_.has_hessian) return;
  HistogramBuilder::Parts parts;
  if (counted == nullptr) {
    root.histogram = pool_.take(needs_wide(root));
    parts = builder_.add_rows(rows_of(root), *root.histogram, everyone(), *cancel_);
  }
  Search search = start_search(root, 0, 0);
  for_feature_groups(everyone(), [&](const FeatureGroup& group, Worker& worker) {
    if (group.slot != Digit::kNoSlot) builder_.finish_slot(group.slot, *root.histogram, parts);
    search_feature_group(search, group, worker);
  });
  builder_.give_back(parts);
  if (std::optional<OpenNode> open = settle(search, workers_[0])) frontier.push(std::move(*open));
}

}  // namespace hornbeam::boost
