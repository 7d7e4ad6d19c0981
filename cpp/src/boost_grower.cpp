#include "hornbeam/boost/grower.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "hornbeam/boost/kernels.h"
#include "hornbeam/notes.h"
#include "hornbeam/parallel.h"
#include "hornbeam/sampler.h"

namespace hornbeam {

namespace {

constexpr std::size_t kRowsPerTask = 1 << 12;  // a multiple of 64, so that tasks share no word of marks
constexpr std::size_t kParallelRows = 12'288;  // rows below which a pass over them is not shared out
constexpr std::size_t kParallelCells = 1 << 12;
// A node with fewer rows keeps no histogram for its children: to count them anew is as cheap, and memory
// follows the rows, not the number of leaves.
constexpr std::size_t kKeepRows = 512;
constexpr int kPackedGradientBits = 15;
constexpr int kPackedHessianBits = 15;
constexpr int kWideBits = 30;
// Packed gradients must not drown: the largest may be at most this many times the mean.
constexpr double kMostSpread = 128.0;

std::size_t n_tasks(std::size_t n_rows) {
  return (n_rows + kRowsPerTask - 1) / kRowsPerTask;
}

const std::uint8_t* byte_codes(const Column& column) {
  return std::get<Buffer<std::uint8_t>>(column.codes).data();
}

// The largest power of two that keeps `largest` within so many bits.
double scale_for(double largest, int bits) {
  if (!(largest > 0)) return 1.0;
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  double scale = std::ldexp(1.0, std::clamp(bits - exponent, -1000, 1000));
  if (std::nearbyint(largest * scale) >= std::ldexp(1.0, bits)) scale /= 2;
  return scale;
}

using Spread = BoostKernels::Spread;

Spread spread_of(std::span<const float> values, std::span<const RowId> rows, std::size_t begin,
                 std::size_t end) {
  if (rows.empty()) return boost_kernels().spread(values.data() + begin, end - begin);
  Spread spread;
  for (std::size_t i = begin; i < end; ++i) {
    const double size = std::abs(static_cast<double>(values[rows[i]]));
    spread.largest = std::max(spread.largest, size);
    spread.sum += size;
  }
  return spread;
}

// One pass in pieces of fixed size, put together in their order: the same bits for any number of threads.
Spread spread_of_all(std::span<const float> values, std::span<const RowId> rows, int n_threads) {
  const std::size_t n = rows.empty() ? values.size() : rows.size();
  std::vector<Spread> pieces(n_tasks(n));
  parallel_for(pieces.size(), n_threads, [&](std::size_t task, int) {
    pieces[task] = spread_of(values, rows, task * kRowsPerTask, std::min((task + 1) * kRowsPerTask, n));
  });
  Spread all;
  for (const Spread& piece : pieces) {
    all.largest = std::max(all.largest, piece.largest);
    all.sum += piece.sum;
  }
  return all;
}

template <class CodeType>
void mark_listed(const CodeType* column, std::span<const BoostEntry> entries,
                 const std::vector<char>& is_left, std::uint64_t* marks) {
  for (std::size_t i = 0; i < entries.size(); i += 64) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(64, entries.size() - i);
    for (std::size_t j = 0; j < n; ++j)
      word |= std::uint64_t{is_left[column[row_of(entries[i + j])]] != 0} << j;
    *marks++ = word;
  }
}

// The categories that occur in a column; none if it holds numbers.
std::vector<Code> categories_in(const Column& column) {
  std::vector<Code> present;
  if (column.kind != ColumnKind::kCategorical) return present;
  std::vector<char> seen(std::size_t{column.n_codes} + 1, 0);
  std::visit(
      [&](const auto& codes) {
        for (const auto code : codes.span()) seen[code] = 1;
      },
      column.codes);
  for (Code code = 0; code < column.n_codes; ++code) {
    if (seen[code]) present.push_back(code);
  }
  return present;
}

// Which codes go to branch 0.
std::vector<char> left_codes(const Column& column, const Split& split) {
  std::vector<char> is_left(std::size_t{column.n_codes} + 1, 0);
  is_left[column.missing_code()] = split.missing_branch == 0 ? 1 : 0;
  for (const Code code : split.left_categories) is_left[code] = 1;
  if (column.kind == ColumnKind::kNumeric) {
    for (Code code = 0; code < column.n_codes; ++code) is_left[code] = code < split.first_right ? 1 : 0;
  }
  return is_left;
}

}  // namespace

BoostGrower::BoostGrower(const Dataset& data, const Tiles& tiles, std::span<const FeatureId> tiled,
                         const BoostParams& params)
    : data_(data),
      params_(params),
      place_(static_cast<std::size_t>(data.n_features()), kNoTile),
      n_codes_(tiled.size()),
      builder_(tiles, n_codes_, params.n_threads),
      shared_pass_(tiles, n_codes_, params.n_threads),
      pool_(tiles.n_features()),
      workers_(static_cast<std::size_t>(std::max(1, params.n_threads))) {
  for (std::size_t place = 0; place < tiled.size(); ++place) {
    place_[static_cast<std::size_t>(tiled[place])] = static_cast<int>(place);
    n_codes_[place] = data.column(tiled[place]).n_codes + 1;
  }
  if (params_.max_leaf_nodes > 0 && params_.growth == Growth::kDepthFirst)
    params_.growth = Growth::kBestFirst;
  if (!params_.one_vs_rest) return;
  for (int f = 0; f < data.n_features(); ++f) categories_.push_back(categories_in(data.column(f)));
}

// ---- the root

BoostGrower::Scale BoostGrower::choose_scale(const Derivatives& derivatives,
                                             std::span<const RowId> rows) const {
  const double n = static_cast<double>(rows.empty() ? data_.n_rows() : rows.size());
  const Spread gradients = spread_of_all(derivatives.gradients, rows, params_.n_threads);
  Scale scale;
  scale.packed = !derivatives.weighted && gradients.largest <= kMostSpread * gradients.sum / n;
  scale.constant_hessian = derivatives.hessians.empty();
  Spread hessians{1.0, n};
  if (!scale.constant_hessian) {
    hessians = spread_of_all(derivatives.hessians, rows, params_.n_threads);
    scale.packed = scale.packed && hessians.largest <= kMostSpread * hessians.sum / n;
  }
  scale.gradient = scale_for(gradients.largest, scale.packed ? kPackedGradientBits : kWideBits);
  if (!scale.constant_hessian) {
    scale.hessian = scale_for(hessians.largest, scale.packed ? kPackedHessianBits : kWideBits);
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

void BoostGrower::load_root(const Derivatives& derivatives, std::span<const RowId> rows) {
  const std::size_t n = rows.empty() ? data_.n_rows() : rows.size();
  entries_[0].grow_to(n);
  entries_[1].grow_to(n);
  if (!scale_.packed) pairs_.grow_to(data_.n_rows());
  std::vector<WideCell> sums(n_tasks(n));
  const float* gradients = derivatives.gradients.data();
  const float* hessians = derivatives.hessians.data();
  const auto load = [&](std::size_t task, auto row_at, auto hessian_at) {
    WideCell sum;
    const std::size_t end = std::min((task + 1) * kRowsPerTask, n);
    for (std::size_t i = task * kRowsPerTask; i < end; ++i) {
      const RowId row = row_at(i);
      const std::int32_t gradient = fixed_point(gradients[row], scale_.gradient);
      const std::int32_t hessian = hessian_at(row);
      sum += WideCell{gradient, hessian};
      if (scale_.packed) {
        entries_[0][i] = make_entry(row, gradient, hessian);
      } else {
        pairs_[row] = {gradient, hessian};
        entries_[0][i] = row;
      }
    }
    sums[task] = sum;
  };
  const auto all = [](std::size_t i) { return static_cast<RowId>(i); };
  const auto listed = [&](std::size_t i) { return rows[i]; };
  const auto one = [](RowId) { return 1; };
  const auto given = [&](RowId row) { return fixed_point(hessians[row], scale_.hessian); };
  parallel_for(sums.size(), params_.n_threads, [&](std::size_t task, int) {
    if (rows.empty() && scale_.packed) {
      const std::size_t begin = task * kRowsPerTask;
      sums[task] =
          boost_kernels().pack_rows(gradients + begin, scale_.constant_hessian ? nullptr : hessians + begin,
                                    std::min(kRowsPerTask, n - begin), static_cast<RowId>(begin),
                                    scale_.gradient, scale_.hessian, entries_[0].data() + begin);
    } else if (rows.empty()) {
      scale_.constant_hessian ? load(task, all, one) : load(task, all, given);
    } else {
      scale_.constant_hessian ? load(task, listed, one) : load(task, listed, given);
    }
  });
  NodeState root;
  root.end = n;
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
  if (!may_split(root, 0)) return;
  root.histogram = counted;
  if (counted == nullptr) {
    root.histogram = pool_.take(needs_wide(root));
    builder_.add_rows(rows_of(root), *root.histogram, everyone(), *cancel_);
  }
  Search search = start_search(root, 0, 0);
  for_features(everyone(), [&](int feature, Worker& worker) {
    if (const int place = place_of(feature); place != kNoTile && counted == nullptr) {
      builder_.finish_feature(place, *root.histogram, everyone());
    }
    search_feature(search, feature, worker);
  });
  if (std::optional<OpenNode> open = settle(search, workers_[0])) frontier.push(std::move(*open));
}

// ---- one node

bool BoostGrower::may_split(const NodeState& node, std::int32_t depth) const {
  const auto n = static_cast<std::int64_t>(node.n_rows());
  return n >= 2 * params_.min_samples_leaf && n >= 2 && (params_.max_depth == 0 || depth < params_.max_depth);
}

std::size_t BoostGrower::n_splits_left() const {
  if (params_.max_leaf_nodes == 0) return data_.n_rows();
  const auto n_leaves = static_cast<std::int64_t>(work_.nodes.size() + 1) / 2;
  return static_cast<std::size_t>(std::max(std::int64_t{0}, params_.max_leaf_nodes - n_leaves));
}

void BoostGrower::describe(NodeId id) {
  NodeRecord& record = work_.nodes[static_cast<std::size_t>(id)];
  record.n_samples = static_cast<std::int64_t>(states_[static_cast<std::size_t>(id)].n_rows());
  record.weight = static_cast<double>(record.n_samples);
}

// Marks the rows that a test sends to branch 0, one bit each; returns how many there are.
class BoostGrower::Marker {
 public:
  Marker(const Column& column, const Split& split) : column_(column), first_right_(split.first_right) {
    if (column.kind == ColumnKind::kCategorical) is_left_ = left_codes(column, split);
    if (split.missing_branch == 0) extra_ = column.missing_code();
  }
  std::size_t mark(std::span<const BoostEntry> rows, std::uint64_t* words) const {
    if (column_.kind == ColumnKind::kCategorical) {
      std::visit([&](const auto& codes) { mark_listed(codes.data(), rows, is_left_, words); }, column_.codes);
    } else {
      boost_kernels().mark_left(byte_codes(column_), rows.data(), rows.size(), first_right_, extra_, words);
    }
    std::size_t count = 0;
    for (std::size_t w = 0; w < (rows.size() + 63) / 64; ++w) count += std::popcount(words[w]);
    return count;
  }

 private:
  const Column& column_;
  Code first_right_;
  unsigned extra_ = 256;  // a code beside those below first_right; 256 is none
  std::vector<char> is_left_;
};

// Moves the node's rows into the other list, those of branch 0 first; returns how many those are.
std::size_t BoostGrower::partition(const NodeState& node, const Split& split, Team team) {
  const std::span<const BoostEntry> rows = entries_of(node);
  const std::size_t pieces = n_tasks(rows.size());
  const int n_threads = rows.size() < kParallelRows ? 1 : team.size;
  std::vector<std::uint64_t>& marks = first_of(team).marks;
  marks.resize((rows.size() + 63) / 64);
  std::vector<std::size_t> n_left(pieces + 1, 0);
  const auto piece = [&](std::size_t task) {
    return rows.subspan(task * kRowsPerTask, std::min(kRowsPerTask, rows.size() - task * kRowsPerTask));
  };
  const Marker marker(data_.column(split.feature), split);
  parallel_for(
      pieces, n_threads,
      [&](std::size_t task, int) {
        n_left[task + 1] = marker.mark(piece(task), marks.data() + task * kRowsPerTask / 64);
      },
      cancel_);
  for (std::size_t task = 0; task < pieces; ++task) n_left[task + 1] += n_left[task];
  BoostEntry* out = entries_[1 - node.side].data() + node.begin;
  parallel_for(
      pieces, n_threads,
      [&](std::size_t task, int) {
        const auto part = piece(task);
        BoostEntry* left = out + n_left[task];
        BoostEntry* right = out + n_left[pieces] + (task * kRowsPerTask - n_left[task]);
        boost_kernels().send(part.data(), part.size(), marks.data() + task * kRowsPerTask / 64, left,
                             n_left[task + 1] - n_left[task], right);
      },
      cancel_);
  return n_left[pieces];
}

// Carries out a node's test on its rows and finds the tests of its children, unless it is the last node that
// may be split. What that yields does not depend on when it is done.
void BoostGrower::prepare(const OpenNode& node, NodeState& parent, Team team, bool is_last) {
  const std::size_t n_left = partition(parent, node.split, team);
  parent.prepared = std::make_unique<Prepared>();
  Prepared& out = *parent.prepared;
  for (int b = 0; b < 2; ++b) {
    NodeState& child = out.children[b];
    child.begin = b == 0 ? parent.begin : parent.begin + n_left;
    child.end = b == 0 ? parent.begin + n_left : parent.end;
    child.side = 1 - parent.side;
    child.lower = parent.lower;
    child.upper = parent.upper;
    child.groups = groups_with(node.split.feature, parent.groups);
  }
  sum_child(parent, node.split, out.children[0]);
  out.children[1].total = parent.total;
  out.children[1].total -= out.children[0].total;
  if (!params_.monotonic.empty()) bound_children(node.split.feature, out.children);
  const int smaller = 2 * n_left <= parent.n_rows() ? 0 : 1;
  if (!is_last && may_split(out.children[1 - smaller], node.depth + 1)) {
    find_tests(node, parent, smaller, team, out);
  } else {
    pool_.give_back(parent.histogram);
  }
}

// The smaller child is counted; the larger is what remains of the parent, whose histogram is used up.
void BoostGrower::find_tests(const OpenNode& node, const NodeState& parent, int smaller, Team team,
                             Prepared& out) {
  NodeState& small = out.children[smaller];
  NodeState& large = out.children[1 - smaller];
  Search searches[2] = {start_search(out.children[0], node.depth + 1, child_path(node.path, 0)),
                        start_search(out.children[1], node.depth + 1, child_path(node.path, 1))};
  small.histogram = pool_.take(needs_wide(small));
  builder_.add_rows(rows_of(small), *small.histogram, team, *cancel_);
  if (parent.histogram != nullptr) {
    const bool same_kind = parent.histogram->is_wide() == needs_wide(large);
    large.histogram = same_kind ? parent.histogram : pool_.take(needs_wide(large));
    for_features(team, [&](int feature, Worker& worker) {
      if (const int place = place_of(feature); place != kNoTile) {
        builder_.finish_feature(place, *small.histogram, team);
        builder_.subtract(place, *parent.histogram, *small.histogram, *large.histogram);
      }
      for (Search& search : searches) search_feature(search, feature, worker);
    });
    if (!same_kind) pool_.give_back(parent.histogram);
  } else {
    for_features(team, [&](int feature, Worker& worker) {
      if (const int place = place_of(feature); place != kNoTile) {
        builder_.finish_feature(place, *small.histogram, team);
      }
      search_feature(searches[smaller], feature, worker);
    });
    large.histogram = pool_.take(needs_wide(large));
    builder_.add_rows(rows_of(large), *large.histogram, team, *cancel_);
    for_features(team, [&](int feature, Worker& worker) {
      if (const int place = place_of(feature); place != kNoTile) {
        builder_.finish_feature(place, *large.histogram, team);
      }
      search_feature(searches[1 - smaller], feature, worker);
    });
  }
  for (int b = 0; b < 2; ++b) out.open[b] = settle(searches[b], first_of(team));
}

// Makes the prepared children nodes of the tree.
void BoostGrower::carry_out(Frontier& frontier, OpenNode& node) {
  const std::unique_ptr<Prepared> prepared = std::move(state_of(node.id).prepared);
  const NodeId first = work_.add(1);
  work_.add(1);
  NodeRecord& record = work_.nodes[static_cast<std::size_t>(node.id)];
  record.first_child = first;
  record.gain = node.gain;
  const bool left_is_larger = prepared->children[0].n_rows() >= prepared->children[1].n_rows();
  record.missing_branch = node.split.missing_branch >= 0 ? node.split.missing_branch : left_is_larger ? 0 : 1;
  record.split = static_cast<std::int32_t>(work_.splits.size());
  work_.splits.push_back(std::move(node.split));
  state_of(node.id).histogram = nullptr;  // its children have it
  for (int b = 0; b < 2; ++b) {
    states_.push_back(std::move(prepared->children[b]));
    describe(first + b);
    if (!prepared->open[b]) continue;
    prepared->open[b]->id = first + b;
    frontier.push(std::move(*prepared->open[b]));
  }
}

std::vector<std::size_t> BoostGrower::groups_with(FeatureId feature,
                                                  const std::vector<std::size_t>& groups) const {
  std::vector<std::size_t> remaining;
  for (const std::size_t group : groups) {
    if (std::ranges::find(params_.interactions[group], feature) != params_.interactions[group].end()) {
      remaining.push_back(group);
    }
  }
  return remaining;
}

// The sums of branch 0, from the cells of the tested feature or from the rows themselves.
void BoostGrower::sum_child(const NodeState& parent, const Split& split, NodeState& left) const {
  const int place = place_of(split.feature);
  if (parent.histogram == nullptr || place == kNoTile) {
    for (const BoostEntry entry : entries_of(left)) {
      const FixedPair pair = scale_.packed ? FixedPair{} : pairs_[row_of(entry)];
      left.total += scale_.packed ? widen(cell_of(entry)) : WideCell{pair.gradient, pair.hessian};
    }
    return;
  }
  Histogram& histogram = *parent.histogram;
  const std::vector<char> is_left = left_codes(data_.column(split.feature), split);
  for (Code code = 0; code < n_codes_[static_cast<std::size_t>(place)]; ++code) {
    if (!is_left[code]) continue;
    left.total += histogram.is_wide() ? histogram.wide(place)[code] : widen(histogram.packed(place)[code]);
  }
}

// A test on a constrained feature keeps each side's values, now and further down, on its own side of the
// middle.
void BoostGrower::bound_children(FeatureId feature, NodeState* children) const {
  const int direction = params_.monotonic[static_cast<std::size_t>(feature)];
  if (direction == 0) return;
  NodeState& left = children[0];
  NodeState& right = children[1];
  const double middle = (value_of(left) + value_of(right)) / 2;
  (direction > 0 ? left.upper : left.lower) = middle;
  (direction > 0 ? right.lower : right.upper) = middle;
}

// What a node would say as a leaf, before the learning rate.
double BoostGrower::value_of(const NodeState& node) const {
  const double gradient = static_cast<double>(node.total.gradient) / scale_.gradient;
  const double size = std::max(0.0, std::abs(gradient) - params_.l1);
  const double value = size / (static_cast<double>(node.total.hessian) / scale_.hessian + params_.l2);
  return std::clamp(gradient > 0 ? -value : value, node.lower, node.upper);
}

// ---- the search for a test

void BoostGrower::for_features(Team team, const std::function<void(int, Worker&)>& task) {
  const int n_features = data_.n_features();
  const std::size_t cells = static_cast<std::size_t>(n_features) * kCellsPerFeature;
  const bool alone = team.size == 1 || cells < kParallelCells;
  const int step = alone ? n_features : std::max(1, n_features / (4 * team.size));
  parallel_for(
      static_cast<std::size_t>((n_features + step - 1) / step), team.size,
      [&](std::size_t index, int w) {
        const int begin = static_cast<int>(index) * step;
        Worker& worker = workers_[static_cast<std::size_t>(team.first + w)];
        for (int f = begin; f < std::min(begin + step, n_features); ++f) task(f, worker);
      },
      cancel_);
}

CutTerms BoostGrower::terms_of(const NodeState& node) const {
  CutTerms terms;
  terms.gradient = static_cast<double>(node.total.gradient);
  terms.hessian = static_cast<double>(node.total.hessian);
  terms.hessian_unit = 1.0 / scale_.hessian;
  terms.l1 = params_.l1 * scale_.gradient;
  terms.l2 = params_.l2;
  // One unit at least: a branch without any hessian has no value.
  terms.min_hessian = std::max(1.0, std::ceil(params_.min_hessian_leaf * scale_.hessian));
  if (scale_.constant_hessian) {
    terms.min_hessian = std::max(terms.min_hessian, static_cast<double>(params_.min_samples_leaf));
  }
  return terms;
}

BranchLimits BoostGrower::limits_of(const NodeState& node, int feature) const {
  BranchLimits limits;
  limits.node_rows = static_cast<std::int64_t>(node.n_rows());
  limits.min_rows = params_.min_samples_leaf;
  if (!params_.monotonic.empty()) {
    limits.direction = params_.monotonic[static_cast<std::size_t>(feature)];
    limits.lower = node.lower * scale_.gradient;
    limits.upper = node.upper * scale_.gradient;
  }
  limits.category_smoothing = params_.category_smoothing * scale_.hessian;
  limits.one_category = params_.one_vs_rest;
  return limits;
}

double BoostGrower::score_of(const NodeState& node) const {
  const double gradient = static_cast<double>(node.total.gradient);
  const double size = std::max(0.0, std::abs(gradient) - params_.l1 * scale_.gradient);
  return size * size / (static_cast<double>(node.total.hessian) / scale_.hessian + params_.l2);
}

BoostGrower::Search BoostGrower::start_search(NodeState& node, std::int32_t depth, std::uint64_t path) const {
  Search search;
  search.node = &node;
  search.open.depth = depth;
  search.open.path = path;
  if (!may_split(node, depth)) return search;  // no cuts: it stays a leaf
  const auto n_features = static_cast<std::size_t>(data_.n_features());
  search.cuts.resize(n_features);
  if (!features_.empty()) search.allowed.assign(features_.begin(), features_.end());
  if (!params_.interactions.empty()) {
    std::vector<char> together(n_features, 0);
    for (const std::size_t group : node.groups) {
      for (const FeatureId feature : params_.interactions[group])
        together[static_cast<std::size_t>(feature)] = 1;
    }
    for (std::size_t f = 0; f < n_features && !search.allowed.empty(); ++f) together[f] &= search.allowed[f];
    search.allowed = std::move(together);
  }
  if (params_.max_features > 0 && params_.max_features < data_.n_features()) {
    std::vector<FeatureId> pool;
    for (int f = 0; f < data_.n_features(); ++f) {
      if (search.allowed.empty() || search.allowed[static_cast<std::size_t>(f)]) pool.push_back(f);
    }
    search.allowed.assign(n_features, 0);
    Stream stream(key_, Purpose::kFeatures, path);
    const std::size_t wanted = std::min(pool.size(), static_cast<std::size_t>(params_.max_features));
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(pool[i], pool[i + stream.below(static_cast<std::uint32_t>(pool.size() - i))]);
      search.allowed[static_cast<std::size_t>(pool[i])] = 1;
    }
  }
  return search;
}

void BoostGrower::search_feature(Search& search, int feature, Worker& worker) {
  const auto f = static_cast<std::size_t>(feature);
  if (search.cuts.empty() || (!search.allowed.empty() && !search.allowed[f])) return;
  const NodeState& node = *search.node;
  const Column& column = data_.column(feature);
  const CutTerms terms = terms_of(node);
  const BranchLimits limits = limits_of(node, feature);
  const int place = place_of(feature);
  search.cuts[f] = place == kNoTile ? worker.many.find(column, rows_of(node), terms, limits)
                                    : worker.cuts.find(column, *node.histogram, place, terms, limits);
}

// Makes sure that the branches of a feature's cut have rows enough; if not, looks for the next best with the
// rows counted. Hessians are sums of rows, so enough hessian proves enough rows; only short branches must be
// counted.
bool BoostGrower::verify_rows(Search& search, int feature, Worker& worker) {
  const int place = place_of(feature);
  if (place == kNoTile || scale_.constant_hessian || params_.min_samples_leaf <= 1) return true;
  const NodeState& node = *search.node;
  const Column& column = data_.column(feature);
  Histogram& histogram = *node.histogram;
  const BranchLimits limits = limits_of(node, feature);
  Cut& cut = search.cuts[static_cast<std::size_t>(feature)];
  const double enough = static_cast<double>(params_.min_samples_leaf * scale_.largest_hessian);
  const double left = worker.cuts.left_hessian(column, histogram, place, cut, limits);
  if (left >= enough && static_cast<double>(node.total.hessian) - left >= enough) return true;
  const Split split = worker.cuts.to_split(column, histogram, place, cut, limits);
  worker.marks.resize((node.n_rows() + 63) / 64);
  const auto n_left =
      static_cast<std::int64_t>(Marker(column, split).mark(entries_of(node), worker.marks.data()));
  const auto n_right = static_cast<std::int64_t>(node.n_rows()) - n_left;
  if (std::min(n_left, n_right) >= params_.min_samples_leaf) return true;
  worker.rows_by_code.assign(kCellsPerFeature, 0);
  const std::uint8_t* codes = byte_codes(column);
  for (const BoostEntry entry : entries_of(node)) ++worker.rows_by_code[codes[row_of(entry)]];
  const Cut counted = worker.cuts.find(column, histogram, place, terms_of(node), limits, worker.rows_by_code);
  const bool same = counted.found && counted.place == cut.place && counted.missing_left == cut.missing_left;
  cut = counted;
  return same;
}

// Rows whose derivatives all round to nothing leave no trace in the cells, but they are in the node and go
// somewhere: to branch 1, like every code that a test does not name. The test must say so.
void BoostGrower::name_all_codes(const NodeState& node, Split& split, Worker& worker) const {
  const Column& column = data_.column(split.feature);
  const bool is_categorical = column.kind == ColumnKind::kCategorical;
  const bool missing_is_open = split.missing_branch < 0 && column.has_missing;
  if (scale_.constant_hessian || !(is_categorical || missing_is_open)) return;
  worker.rows_by_code.assign(kCellsPerFeature, 0);
  const std::uint8_t* codes = byte_codes(column);
  for (const BoostEntry entry : entries_of(node)) ++worker.rows_by_code[codes[row_of(entry)]];
  if (missing_is_open && worker.rows_by_code[column.missing_code()] > 0) split.missing_branch = 1;
  if (!is_categorical) return;
  std::vector<char> named(column.n_codes, 0);
  for (const Code code : split.left_categories) named[code] = 1;
  for (const Code code : split.right_categories) named[code] = 1;
  for (Code code = 0; code < column.n_codes; ++code) {
    if (!named[code] && worker.rows_by_code[code] > 0) split.right_categories.push_back(code);
  }
  std::sort(split.right_categories.begin(), split.right_categories.end());
}

// The rest are all other categories of the table, in the node or not: it is a column of its own that is
// tested.
void BoostGrower::name_rest(Split& split) const {
  if (!params_.one_vs_rest || split.left_categories.empty()) return;
  split.right_categories = categories_[static_cast<std::size_t>(split.feature)];
  std::erase(split.right_categories, split.left_categories.front());
}

Split BoostGrower::split_of(const NodeState& node, int feature, const Cut& cut, Worker& worker) const {
  const Column& column = data_.column(feature);
  const BranchLimits limits = limits_of(node, feature);
  const int place = place_of(feature);
  Split split = place == kNoTile ? worker.many.to_split(column, feature, rows_of(node), cut, limits)
                                 : worker.cuts.to_split(column, *node.histogram, place, cut, limits);
  split.feature = feature;
  if (place != kNoTile) name_all_codes(node, split, worker);
  name_rest(split);
  return split;
}

// Chooses among the features; a node without a test that gains stays a leaf.
std::optional<OpenNode> BoostGrower::settle(Search& search, Worker& worker) {
  NodeState& node = *search.node;
  const auto drop_histogram = [&] {
    pool_.give_back(node.histogram);
    node.histogram = nullptr;
    return std::nullopt;
  };
  std::vector<char> verified(search.cuts.size(), 0);
  for (;;) {
    FirstBest<int> best(0.0);
    for (std::size_t f = 0; f < search.cuts.size(); ++f) {
      if (search.cuts[f].found) best.offer(search.cuts[f].score, static_cast<int>(f));
    }
    if (!best.found()) return drop_histogram();
    const int feature = best.winner();
    if (!verified[static_cast<std::size_t>(feature)]) {
      verified[static_cast<std::size_t>(feature)] = 1;
      if (!verify_rows(search, feature, worker)) continue;
    }
    const Cut& cut = search.cuts[static_cast<std::size_t>(feature)];
    const double unit = 0.5 / (scale_.gradient * scale_.gradient);
    const double node_score = score_of(node);
    const double gain = (cut.score - node_score) * unit;
    if (!(gain > params_.min_split_gain) || !(cut.score - node_score > tie_slack(node_score, 0.0)))
      return drop_histogram();
    search.open.gain = gain;
    search.open.split = split_of(node, feature, cut, worker);
    if (node.n_rows() < kKeepRows) drop_histogram();
    return std::move(search.open);
  }
}

void BoostGrower::grow(const Derivatives& derivatives, const Root& root, std::span<const RowId> rows,
                       std::span<const char> features, std::uint64_t key, Cancel& cancel) {
  cancel_ = &cancel;
  work_ = Branchwork{};
  leaves_.clear();
  features_ = features;
  key_ = key;
  scale_ = root.scale;
  load_root(derivatives, rows);
  Frontier frontier(params_.growth);
  open_root(frontier, root.histogram);
  while (n_splits_left() > 0 && frontier.size() > 0) {
    if (!takes_everyone(frontier)) {
      grow_side_by_side(frontier);
    } else {
      std::optional<OpenNode> node = frontier.next();
      prepare(*node, state_of(node->id), everyone(), n_splits_left() == 1);
      carry_out(frontier, *node);
    }
  }
  for (NodeState& node : states_) {
    if (node.prepared) {  // its turn never came; the children have its histogram
      for (NodeState& child : node.prepared->children) pool_.give_back(child.histogram);
      node.prepared.reset();
    } else {
      pool_.give_back(node.histogram);
    }
    node.histogram = nullptr;
  }
  for (std::size_t id = 0; id < states_.size(); ++id) {
    if (work_.nodes[id].split < 0) leaves_.push_back({static_cast<NodeId>(id), entries_of(states_[id])});
  }
}

NodeId BoostGrower::leaf_of(RowId row) const {
  NodeId id = 0;
  for (;;) {
    const NodeRecord& record = work_.nodes[static_cast<std::size_t>(id)];
    if (record.split < 0) return id;
    const Split& split = work_.splits[static_cast<std::size_t>(record.split)];
    const Column& column = data_.column(split.feature);
    const Code code =
        std::visit([&](const auto& codes) { return static_cast<Code>(codes[row]); }, column.codes);
    bool right = code >= split.first_right;
    if (code == column.missing_code()) {
      right = record.missing_branch == 1;
    } else if (column.kind == ColumnKind::kCategorical) {
      right = !std::binary_search(split.left_categories.begin(), split.left_categories.end(), code) &&
              (record.missing_branch == 1 ||
               std::binary_search(split.right_categories.begin(), split.right_categories.end(), code));
    }
    id = record.first_child + (right ? 1 : 0);
  }
}

}  // namespace hornbeam
