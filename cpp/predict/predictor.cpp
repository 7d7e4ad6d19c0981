#include "predict/predictor.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "base/parallel.h"
#include "predict/compact.h"
#include "predict/one_row.h"
#include "predict/plain.h"
#include "predict/sliced.h"

namespace hornbeam::predict {

using tree::Gaps;

namespace {

std::vector<FeatureId> tested_features(std::span<const Tree* const> trees) {
  std::vector<bool> is_tested;
  for (const Tree* tree : trees) {
    using Features = std::span<const FeatureId>;
    for (const Features features : {Features(tree->feature), Features(tree->surrogates.feature)}) {
      for (const FeatureId feature : features) {
        if (feature < 0) continue;
        if (static_cast<std::size_t>(feature) >= is_tested.size())
          is_tested.resize(static_cast<std::size_t>(feature) + 1);
        is_tested[static_cast<std::size_t>(feature)] = true;
      }
    }
  }
  std::vector<FeatureId> features;
  for (std::size_t feature = 0; feature < is_tested.size(); ++feature)
    if (is_tested[feature]) features.push_back(static_cast<FeatureId>(feature));
  return features;
}

// Adds what the leaves of some rows say to the rows' scores.
template <class ValuesOf>
void add_values(std::span<const NodeId> leaves, const ValuesOf& values_of, std::size_t n, double weight,
                double* scores, std::size_t score_size) {
  // The loop over one or two values is written out: counting to two takes longer than adding twice.
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const double* values = values_of(leaves[i]);
    double* score = scores + i * score_size;
    score[0] += weight * values[0];
    if (n == 1) continue;
    score[1] += weight * values[1];
    for (std::size_t k = 2; k < n; ++k) score[k] += weight * values[k];
  }
}

// Adds votes for the first largest value of each output.
template <class ValuesOf>
void add_votes(std::span<const NodeId> leaves, const ValuesOf& values_of, std::size_t n,
               std::size_t n_classes, double weight, double* scores, std::size_t score_size) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const double* values = values_of(leaves[i]);
    for (std::size_t first = 0; first < n; first += n_classes) {
      const double* largest = std::max_element(values + first, values + first + n_classes);
      scores[i * score_size + static_cast<std::size_t>(largest - values)] += weight;
    }
  }
}

// Calls visit(begin, end) for every stretch of rows that have come to a leaf.
template <class Visit>
void for_each_run_of_leaves(const Tree& tree, std::span<const NodeId> found, Visit&& visit) {
  for (std::size_t begin = 0; begin < found.size();) {
    std::size_t end = begin;
    while (end < found.size() && tree.is_leaf(found[end])) ++end;
    if (end > begin) visit(begin, end);
    begin = end + 1;
  }
}

}  // namespace

Predictor::~Predictor() = default;

Predictor::Predictor(std::vector<const Tree*> trees, std::vector<std::int32_t> adds_to, Unseen unseen,
                     PredictPath path, InstructionSet instructions)
    : trees_(std::move(trees)),
      adds_to_(std::move(adds_to)),
      unseen_(unseen),
      path_(path),
      instructions_(instructions) {
  if (trees_.empty()) throw std::invalid_argument("a predictor needs a tree");
  if (!adds_to_.empty() && adds_to_.size() != trees_.size())
    throw std::invalid_argument("adds_to must name a column of the score for each tree");
  n_outputs_ = static_cast<std::size_t>(trees_[0]->n_outputs);
  n_values_ = static_cast<std::size_t>(trees_[0]->n_values);
  for (const Tree* tree : trees_) {
    if (tree->gaps != trees_[0]->gaps)
      throw std::invalid_argument("the trees of an ensemble differ in what they do without a value");
    if (static_cast<std::size_t>(tree->n_outputs) != n_outputs_ ||
        static_cast<std::size_t>(tree->n_values) != n_values_)
      throw std::invalid_argument("the trees of an ensemble differ in the shape of their values");
  }
  features_ = tested_features(trees_);
  if (std::none_of(trees_.begin(), trees_.end(), [](const Tree* tree) { return needs_plain_walk(*tree); })) {
    single_can_hold_ = CompactTrees<SingleForm>::can_hold(trees_, features_.size());
    double_can_hold_ = CompactTrees<DoubleForm>::can_hold(trees_, features_.size());
    sliced_may_hold_ = SlicedTrees::may_hold(trees_, features_);
    one_row_may_hold_ = sliced_may_hold_ && OneRowTrees::may_hold(trees_, features_);
  }
  for (const Tree* tree : trees_)
    nodes_per_tree_ += static_cast<double>(tree->n_nodes()) / static_cast<double>(trees_.size());
  if (adds_to_.empty()) return;
  if (score_size() != 1) throw std::invalid_argument("adds_to goes with trees of one value");
  const auto [least, most] = std::minmax_element(adds_to_.begin(), adds_to_.end());
  if (*least < 0 || static_cast<std::size_t>(*most) >= trees_.size())
    throw std::invalid_argument("adds_to has a column that no number of trees could fill");
  n_values_ = static_cast<std::size_t>(*most) + 1;
}

bool Predictor::can_take(PredictPath path) const {
  if (path == PredictPath::kCompact) return double_can_hold_;
  if (path == PredictPath::kSliced) return sliced_may_hold_ && make_sliced().fits();
  if (path == PredictPath::kOneRow) return one_row_may_hold_ && make_sliced().fits();
  return true;
}

const SlicedTrees& Predictor::make_sliced() const {
  return sliced_.get_or_make([&] { return SlicedTrees(trees_, features_, unseen_); });
}

namespace {
// Converting the trees costs about as much per node as an eighth of a plain walk of one row.
constexpr double kRowsPerNode = 0.125;
}  // namespace

bool Predictor::has_seen_enough() const {
  return static_cast<double>(rows_seen_.load(std::memory_order_relaxed)) >= kRowsPerNode * nodes_per_tree_;
}

void Predictor::count_rows(std::size_t n_rows) const {
  if (!has_seen_enough()) rows_seen_.fetch_add(n_rows, std::memory_order_relaxed);
}

bool Predictor::should_compact() const {
  if (!double_can_hold_ || path_ == PredictPath::kPlain) return false;
  return path_ == PredictPath::kCompact || has_seen_enough();
}

// Whether the values of some rows seem to be float32 numbers.
bool Predictor::seem_single(const RowSource& rows) const {
  return std::all_of(features_.begin(), features_.end(),
                     [&](FeatureId feature) { return rows.seems_single(feature); });
}

template <class Form>
const CompactTrees<Form>& Predictor::compact(int n_threads, Cancel* cancel) const {
  const auto make = [&] { return CompactTrees<Form>(trees_, features_, unseen_, n_threads, cancel); };
  if constexpr (std::is_same_v<Form, SingleForm>)
    return single_.get_or_make(make);
  else
    return double_.get_or_make(make);
}

namespace {

// Runs work(worker number, first row, one behind the last row) over blocks of rows on some threads.
template <class Work>
void for_blocks(std::size_t n_rows, std::size_t block_rows, int n_threads, Cancel& cancel, Work&& work) {
  const std::size_t n_blocks = (n_rows + block_rows - 1) / block_rows;
  parallel_for(
      n_blocks, n_threads,
      [&](std::size_t block, int worker) {
        const std::size_t begin = block * block_rows;
        work(static_cast<std::size_t>(worker), begin, std::min(begin + block_rows, n_rows));
      },
      &cancel);
}

std::vector<CancelPoller> make_pollers(Cancel& cancel, int n_threads) {
  std::vector<CancelPoller> pollers;
  for (int worker = 0; worker < std::max(1, n_threads); ++worker) pollers.emplace_back(cancel, worker == 0);
  return pollers;
}

// Rows are read in order, once per tree; nodes are read in any order, once per block of rows. So a block is several
// times as large as a tree, and every thread gets the same number of rows.
std::size_t compact_block_rows(std::size_t n_rows, std::size_t n_features, double nodes_per_tree,
                               int n_threads) {
  constexpr double kMostBytes = 4 << 20;
  constexpr double kFewestBytes = 16 << 10;
  const double bytes = std::clamp(nodes_per_tree * 48, kFewestBytes, kMostBytes);
  const auto most = static_cast<std::size_t>(bytes / (4.0 * static_cast<double>(n_features) + 8)) + 1;
  const auto workers = static_cast<std::size_t>(std::max(1, n_threads));
  const std::size_t rounds = (n_rows + most * workers - 1) / (most * workers);
  const std::size_t share = (n_rows + rounds * workers - 1) / (rounds * workers);
  return std::max<std::size_t>(64, (share + kLanes - 1) / kLanes * kLanes);
}

// What a thread needs to take rows through compact trees.
template <class Form>
struct CompactWork {
  RowKeys<Form> keys;
  std::vector<NodeId> leaves;
};

template <class Form>
auto values_in(const CompactTree<Form>& tree) {
  return [&tree](NodeId leaf) { return tree.values.data() + tree.places[static_cast<std::size_t>(leaf)]; };
}

// False if the form cannot hold a value of the rows.
template <class Form, class Visit>
bool visit_block(const CompactTrees<Form>& compact, const RowSource& rows, std::size_t begin, std::size_t end,
                 TreeRange range, CompactWork<Form>& work, CancelPoller& poller, Visit&& visit) {
  if (!work.keys.load(compact, rows, begin, end)) return false;
  work.leaves.resize(end - begin);
  for (std::size_t t = range.begin; t < range.end; ++t) {
    const CompactTree<Form>& tree = compact.trees()[t];
    work.keys.find_leaves(tree, work.leaves.data());
    visit(t, begin, std::span<const NodeId>(work.leaves), values_in(tree));
    poller.poll(16 * (end - begin));
  }
  return true;
}

}  // namespace

template <class Visit>
void Predictor::visit_plain(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                            Visit&& visit) const {
  std::vector<CancelPoller> pollers = make_pollers(cancel, n_threads);
  std::vector<PlainWalk> walks(pollers.size(), PlainWalk(features_, unseen_));
  for_blocks(rows.n_rows(), PlainWalk::kBlockRows, n_threads, cancel,
             [&](std::size_t worker, std::size_t begin, std::size_t end) {
               walks[worker].load(rows, begin, end);
               std::array<NodeId, PlainWalk::kBlockRows> leaves;
               for (std::size_t t = range.begin; t < range.end; ++t) {
                 const Tree& tree = *trees_[t];
                 walks[worker].find_leaves(tree, pollers[worker], leaves.data());
                 visit(t, begin, std::span<const NodeId>(leaves.data(), end - begin), [&tree](NodeId leaf) {
                   return tree.value.data() + static_cast<std::size_t>(leaf) * tree.value_size();
                 });
               }
             });
}

// Mixes the values of a tree's leaves for each row, as if every row had a leaf of its own.
template <class Visit>
void Predictor::visit_mixtures(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                               Visit&& visit) const {
  std::vector<CancelPoller> pollers = make_pollers(cancel, n_threads);
  std::vector<PlainWalk> walks(pollers.size(), PlainWalk(features_, unseen_));
  const std::size_t size = trees_[0]->value_size();
  for_blocks(rows.n_rows(), PlainWalk::kBlockRows, n_threads, cancel,
             [&](std::size_t worker, std::size_t begin, std::size_t end) {
               walks[worker].load(rows, begin, end);
               std::vector<double> mixed((end - begin) * size);
               std::vector<NodeId> own(end - begin);
               std::iota(own.begin(), own.end(), 0);
               for (std::size_t t = range.begin; t < range.end; ++t) {
                 walks[worker].mix_leaves(*trees_[t], pollers[worker], mixed.data());
                 visit(t, begin, std::span<const NodeId>(own), [&mixed, size](NodeId row) {
                   return mixed.data() + static_cast<std::size_t>(row) * size;
                 });
               }
             });
}

template <class Visit>
void Predictor::visit_compact(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                              Visit&& visit) const {
  const bool try_single = single_can_hold_ && seem_single(rows);
  const std::size_t block_rows =
      compact_block_rows(rows.n_rows(), features_.size(), nodes_per_tree_, n_threads);
  if (try_single)
    compact<SingleForm>(n_threads, &cancel);
  else
    compact<DoubleForm>(n_threads, &cancel);
  std::vector<CancelPoller> pollers = make_pollers(cancel, n_threads);
  std::vector<CompactWork<SingleForm>> single_work(pollers.size());
  std::vector<CompactWork<DoubleForm>> double_work(pollers.size());
  for_blocks(
      rows.n_rows(), block_rows, n_threads, cancel, [&](std::size_t w, std::size_t begin, std::size_t end) {
        const bool done = try_single && visit_block(compact<SingleForm>(1), rows, begin, end, range,
                                                    single_work[w], pollers[w], visit);
        if (!done)
          visit_block(compact<DoubleForm>(1), rows, begin, end, range, double_work[w], pollers[w], visit);
      });
}

// One row or a few, without threads, and without allocating after the first time: one row is taken through
// several trees at once.
template <class Form, class Visit>
bool Predictor::visit_few_rows(const RowSource& rows, TreeRange range, Visit&& visit) const {
  thread_local CompactWork<Form> work;
  const CompactTrees<Form>& compact = this->compact<Form>(1);
  if (!work.keys.load(compact, rows, 0, rows.n_rows())) return false;
  const auto trees = compact.trees().subspan(range.begin, range.size());
  work.leaves.resize(range.size());
  for (std::size_t row = 0; row < rows.n_rows(); ++row) {
    work.keys.find_leaves_of_row(row, trees, work.leaves.data());
    for (std::size_t t = 0; t < trees.size(); ++t)
      visit(range.begin + t, row, std::span<const NodeId>(&work.leaves[t], 1), values_in(trees[t]));
  }
  return true;
}

template <class Visit>
void Predictor::visit_leaves(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                             Visit&& visit) const {
  constexpr std::size_t kFewRows = kLanes / 2;
  if (!should_compact()) return visit_plain(rows, range, n_threads, cancel, visit);
  if (rows.n_rows() > kFewRows) return visit_compact(rows, range, n_threads, cancel, visit);
  const bool try_single =
      single_can_hold_ && (single_.get() != nullptr || (double_.get() == nullptr && seem_single(rows)));
  if (try_single && visit_few_rows<SingleForm>(rows, range, visit)) return;
  visit_few_rows<DoubleForm>(rows, range, visit);
}

namespace {
constexpr std::size_t kFewestRowsToSlice = 48;  // with fewer, most of a block is empty
}  // namespace

const SlicedTrees* Predictor::sliced(std::size_t n_rows, TreeRange range, const Counting& counting) const {
  constexpr std::size_t kFewestTrees = 4;  // with fewer, coding the rows takes longer than walking
  constexpr std::size_t kMostScores = 8;   // each is another pass over rows and trees
  const bool may_use = path_ == PredictPath::kFastest || path_ == PredictPath::kSliced;
  if (!may_use || !sliced_may_hold_ || counting.hard_votes || score_size() > kMostScores) return nullptr;
  if (path_ == PredictPath::kFastest && (n_rows < kFewestRowsToSlice || range.size() < kFewestTrees))
    return nullptr;
  const SlicedTrees& made = make_sliced();
  return made.fits() ? &made : nullptr;
}

void Predictor::add_sliced(const SlicedTrees& sliced, const RowSource& rows, TreeRange range,
                           const Counting& counting, int n_threads, Cancel& cancel, std::span<double> scores,
                           const Stages& stages) const {
  const PredictKernels& kernels = predict_kernels(instructions_);
  std::vector<CancelPoller> pollers = make_pollers(cancel, n_threads);
  std::vector<SlicedWork> work;
  for (std::size_t w = 0; w < pollers.size(); ++w) work.emplace_back(sliced, kernels, score_size());
  for_blocks(rows.n_rows(), kSliceRows, n_threads, cancel,
             [&](std::size_t w, std::size_t begin, std::size_t end) {
               double* block_scores = scores.data() + begin * score_size();
               work[w].load(rows, begin, end);
               work[w].begin_sums(block_scores);
               for (std::size_t t = range.begin; t < range.end; ++t) {
                 work[w].add_tree(sliced.trees()[t], counting.weight(t), first_score(t));
                 if (double* stage = stage_after(t, range, stages, rows.n_rows(), begin))
                   work[w].end_sums(stage);
               }
               work[w].end_sums(block_scores);
               pollers[w].poll((end - begin) * range.size());
             });
}

const OneRowTrees* Predictor::one_row(std::size_t n_rows, const Counting& counting,
                                      const Stages& stages) const {
  const bool may_use = path_ == PredictPath::kFastest || path_ == PredictPath::kOneRow;
  if (!may_use || !one_row_may_hold_ || counting.hard_votes || stages.step != 0) return nullptr;
  if (path_ == PredictPath::kFastest) {
    const bool is_quick = predict_kernels(instructions_).is_quick_with_rows;
    if (!is_quick || n_rows >= kFewestRowsToSlice || !has_seen_enough()) return nullptr;
  }
  const SlicedTrees& codes = make_sliced();
  return codes.fits() ? &one_row_.get_or_make([&] { return OneRowTrees(trees_, codes); }) : nullptr;
}

// Without threads, and without allocating after the first time.
void Predictor::add_row_by_row(const OneRowTrees& trees, const RowSource& rows, TreeRange range,
                               const Counting& counting, std::span<double> scores) const {
  thread_local std::vector<std::uint8_t> found;  // the leaf in each tree, from `first` on
  const PredictKernels& kernels = predict_kernels(instructions_);
  const std::size_t first = range.begin / 2 * 2;
  const auto tests = trees.tests().subspan(first / 2, (range.end + 1) / 2 - first / 2);
  const std::size_t n_said = trees_[0]->value_size();
  const bool is_one_sum = score_size() == 1 && counting.weights.empty();
  found.resize(2 * tests.size());
  for (std::size_t row = 0; row < rows.n_rows(); ++row) {
    const RowCodes codes = trees.code_row(rows, row, kernels);
    kernels.find_leaves_of_row(tests.data(), tests.size(), codes, found.data());
    double* score = scores.data() + row * score_size();
    if (is_one_sum) {
      for (std::size_t t = range.begin; t < range.end; ++t) score[0] += *trees.values_of(t, found[t - first]);
      continue;
    }
    for (std::size_t t = range.begin; t < range.end; ++t) {
      const double* said = trees.values_of(t, found[t - first]);
      for (std::size_t k = 0; k < n_said; ++k) score[first_score(t) + k] += counting.weight(t) * said[k];
    }
  }
}

void Predictor::leaves(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                       std::span<NodeId> leaves) const {
  if (rows.n_rows() == 0 || range.size() == 0) return;
  count_rows(rows.n_rows());
  visit_leaves(rows, range, n_threads, cancel,
               [&](std::size_t tree, std::size_t first, std::span<const NodeId> found, const auto&) {
                 NodeId* column = leaves.data() + first * range.size() + (tree - range.begin);
                 for (std::size_t i = 0; i < found.size(); ++i) column[i * range.size()] = found[i];
               });
}

void Predictor::add(const RowSource& rows, TreeRange range, const Counting& counting, int n_threads,
                    Cancel& cancel, std::span<double> scores, const Stages& stages) const {
  if (rows.n_rows() == 0 || range.size() == 0) return;  // the paths below need a row and a tree
  count_rows(rows.n_rows());
  if (const OneRowTrees* trees = one_row(rows.n_rows(), counting, stages))
    return add_row_by_row(*trees, rows, range, counting, scores);
  if (const SlicedTrees* sliced = this->sliced(rows.n_rows(), range, counting))
    return add_sliced(*sliced, rows, range, counting, n_threads, cancel, scores, stages);
  const std::size_t n_said = trees_[0]->value_size();
  const auto n_classes = static_cast<std::size_t>(trees_[0]->n_values);
  const std::size_t size = score_size();
  const auto say = [&](std::size_t tree, std::size_t first, std::span<const NodeId> found,
                       const auto& values_of) {
    const double weight = counting.weight(tree);
    double* score = scores.data() + first * size + first_score(tree);
    if (counting.hard_votes)
      add_votes(found, values_of, n_said, n_classes, weight, score, size);
    else
      add_values(found, values_of, n_said, weight, score, size);
    if (double* stage = stage_after(tree, range, stages, rows.n_rows(), first))
      std::copy_n(scores.data() + first * size, found.size() * size, stage);
  };
  switch (trees_[0]->gaps) {
    case Gaps::kBranch:
      return visit_leaves(rows, range, n_threads, cancel, say);
    case Gaps::kFractional:
      return visit_mixtures(rows, range, n_threads, cancel, say);
    case Gaps::kAvailable:
      return visit_leaves(
          rows, range, n_threads, cancel,
          [&](std::size_t tree, std::size_t first, std::span<const NodeId> found, const auto& values_of) {
            for_each_run_of_leaves(*trees_[tree], found, [&](std::size_t begin, std::size_t end) {
              say(tree, first + begin, found.subspan(begin, end - begin), values_of);
            });
          });
  }
}

}  // namespace hornbeam::predict
