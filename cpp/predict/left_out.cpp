#include "predict/left_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/parallel.h"
#include "predict/predict_kernels.h"
#include "predict/rough_answers.h"

namespace hornbeam::predict {

namespace {

constexpr std::size_t kFew = 600;           // values that are ranked as they are
constexpr std::size_t kShareLookedAt = 64;  // of more values, one in so many shows where the rank lies
constexpr std::size_t kLeastLookedAt = 128;
constexpr double kDeviations = 3.0;
constexpr std::size_t kTrainingRowsAtOnce = 64;
constexpr std::size_t kMostAnswers = std::size_t{1} << 25;  // to hold at once, per thread

// The answers to a few rows: answers[row, training row].
class Answers {
 public:
  Answers(const Said& said, const LeftOut& left_out)
      : said_(said),
        left_out_(left_out),
        n_(left_out.errors.size()),
        turned_(said.n_members * kAnswersAtOnce),
        answers_(n_ * rows_at_once(left_out)) {}

  static std::size_t rows_at_once(const LeftOut& left_out) {
    return std::clamp<std::size_t>(kMostAnswers / left_out.errors.size(), 1, kAnswersAtOnce);
  }

  // Computes those of some rows, at most rows_at_once.
  void compute(std::span<const std::size_t> rows, CancelPoller& poller) {
    const std::size_t n_rows = rows.size();
    for (std::size_t r = 0; r < n_rows; ++r) {
      const double* from = said_.values.data() + rows[r] * said_.n_members;
      for (std::size_t m = 0; m < said_.n_members; ++m) turned_[m * kAnswersAtOnce + r] = from[m];
    }
    const PredictKernels& kernels = predict_kernels(InstructionSet::kAvx512);
    for (std::size_t i = 0; i < n_; i += kTrainingRowsAtOnce) {
      const std::size_t n = std::min(kTrainingRowsAtOnce, n_ - i);
      for (std::size_t k = 0; k < n; ++k) {
        const auto first = static_cast<std::size_t>(left_out_.begin[i + k]);
        const auto end = static_cast<std::size_t>(left_out_.begin[i + k + 1]);
        kernels.mean_of_members(turned_.data(), left_out_.members.data() + first, end - first,
                                block_ + k * kAnswersAtOnce);
      }
      for (std::size_t r = 0; r < n_rows; ++r)
        for (std::size_t k = 0; k < n; ++k) answers_[r * n_ + i + k] = block_[k * kAnswersAtOnce + r];
      poller.poll(n * said_.n_members * 2);
    }
  }

  std::span<const double> of(std::size_t row) const { return std::span(answers_).subspan(row * n_, n_); }

 private:
  const Said& said_;
  const LeftOut& left_out_;
  std::size_t n_;
  std::vector<double> turned_;  // [member, row]
  std::vector<double> answers_;
  alignas(64) double block_[kTrainingRowsAtOnce * kAnswersAtOnce];  // [training row, row]
};

// Tries `rough(rows, number, row, worker)` for every row first. Where that does not decide, or is not worthwhile,
// computes all answers and calls use(row, answers, worker).
template <class Rough, class Use>
void for_each_row(const Said& said, const LeftOut& left_out, int n_threads, Cancel& cancel, Rough&& rough,
                  Use&& use) {
  struct Worker {
    std::unique_ptr<Answers> answers;
    std::unique_ptr<RoughRows> rough_rows;
    std::vector<std::size_t> undecided;
  };
  std::unique_ptr<const RoughTable> table;
  if (RoughTable::is_worthwhile(said, left_out)) table = std::make_unique<RoughTable>(said, left_out);
  const std::size_t at_once = Answers::rows_at_once(left_out);
  const std::size_t n_blocks = (said.n_rows + at_once - 1) / at_once;
  const int useful = static_cast<int>(
      std::min<std::size_t>(std::max<std::size_t>(n_blocks, 1), static_cast<std::size_t>(n_threads)));
  std::vector<Worker> workers(static_cast<std::size_t>(useful));
  parallel_for(
      n_blocks, useful,
      [&](std::size_t block, int number) {
        Worker& worker = workers[static_cast<std::size_t>(number)];
        CancelPoller poller(cancel, number == 0);
        const std::size_t begin = block * at_once, end = std::min(begin + at_once, said.n_rows);
        worker.undecided.clear();
        if (table && !worker.rough_rows)
          worker.rough_rows = std::make_unique<RoughRows>(said, left_out, *table);
        for (std::size_t row = begin; row < end; row += kRoughRows) {
          const std::size_t n = std::min(kRoughRows, end - row);
          if (table) worker.rough_rows->ask(row, n);
          for (std::size_t r = 0; r < n; ++r)
            if (!table || !rough(*worker.rough_rows, r, row + r)) worker.undecided.push_back(row + r);
          if (table) poller.poll(n * left_out.errors.size() * 3);
        }
        if (worker.undecided.empty()) return;
        if (!worker.answers) worker.answers = std::make_unique<Answers>(said, left_out);
        worker.answers->compute(worker.undecided, poller);
        for (std::size_t r = 0; r < worker.undecided.size(); ++r) {
          use(worker.undecided[r], worker.answers->of(r), number);
          poller.poll(left_out.errors.size());
        }
      },
      &cancel);
}

}  // namespace

// Guesses from a sample of the values where the rank lies. One pass, without a branch per value, then counts the values
// below and keeps the few around the guess. If the guess was wrong, all values are ranked.
double value_of_rank(std::span<double> values, std::size_t rank, std::vector<double>& scratch) {
  const PredictKernels& kernels = predict_kernels(InstructionSet::kAvx512);
  if (scratch.size() < 2 * values.size() + 8) scratch.resize(2 * values.size() + 8);
  std::span<double> kept = values;
  while (kept.size() > kFew) {
    const std::size_t step = std::max<std::size_t>(1, std::min(kShareLookedAt, kept.size() / kLeastLookedAt));
    const std::size_t n_seen = kept.size() / step;
    const std::span<double> seen(scratch.data(), n_seen);
    for (std::size_t i = 0; i < n_seen; ++i) seen[i] = kept[i * step];
    const double share = static_cast<double>(rank) / static_cast<double>(kept.size());
    const double middle = share * static_cast<double>(n_seen);
    const double margin = 2 + kDeviations * std::sqrt(static_cast<double>(n_seen) * share * (1 - share));
    const auto place = [&](double where) {
      return seen.begin() + std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(where), 0,
                                                       static_cast<std::ptrdiff_t>(n_seen) - 1);
    };
    double low = -std::numeric_limits<double>::infinity(), high = -low;
    if (middle + margin < static_cast<double>(n_seen) - 1) {
      std::nth_element(seen.begin(), place(middle + margin), seen.end());
      high = *place(middle + margin);
    }
    if (middle - margin > 0) {
      std::nth_element(seen.begin(), place(middle - margin), seen.end());
      low = *place(middle - margin);
    }
    // The values that stay go to the rest of the scratch; `kept` may be overwritten already.
    double* out = scratch.data() + n_seen;
    std::size_t n_below = 0;
    const std::size_t n_kept = kernels.keep_between(kept.data(), kept.size(), low, high, out, n_below);
    const bool is_inside = n_below <= rank && rank < n_below + n_kept;
    if (!is_inside || n_kept * 2 > kept.size()) break;
    rank -= n_below;
    std::copy(out, out + n_kept, values.begin());
    kept = values.first(n_kept);
  }
  const auto place = kept.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(kept.begin(), place, kept.end());
  return *place;
}

std::vector<double> ranked_bounds(const Said& said, const LeftOut& left_out, std::size_t low_rank,
                                  std::size_t high_rank, int n_threads, Cancel& cancel) {
  struct Scratch {
    std::vector<double> values, more;
  };
  const std::size_t n = left_out.errors.size();
  std::vector<Scratch> scratch(static_cast<std::size_t>(n_threads));
  std::vector<double> bounds(said.n_rows * 2);
  const auto rank = [&](std::span<const double> answers, double sign, std::size_t wanted, Scratch& own) {
    own.values.resize(n);
    for (std::size_t i = 0; i < n; ++i) own.values[i] = answers[i] + sign * left_out.errors[i];
    return value_of_rank(own.values, wanted - 1, own.more);
  };
  const auto rough = [&](RoughRows& rows, std::size_t number, std::size_t row) {
    const std::optional<double> low = rows.value_of_rank(number, -1.0, low_rank - 1);
    const std::optional<double> high = low ? rows.value_of_rank(number, 1.0, high_rank - 1) : std::nullopt;
    if (!high) return false;
    bounds[row * 2] = *low;
    bounds[row * 2 + 1] = *high;
    return true;
  };
  for_each_row(said, left_out, n_threads, cancel, rough,
               [&](std::size_t row, std::span<const double> answers, int worker) {
                 Scratch& own = scratch[static_cast<std::size_t>(worker)];
                 bounds[row * 2] = rank(answers, -1.0, low_rank, own);
                 bounds[row * 2 + 1] = rank(answers, 1.0, high_rank, own);
               });
  return bounds;
}

std::vector<std::int64_t> count_smaller_errors(const Said& said, const LeftOut& left_out, double tolerance,
                                               int n_threads, Cancel& cancel) {
  std::vector<std::int64_t> counts(said.n_rows);
  const auto rough = [&](RoughRows& rows, std::size_t number, std::size_t row) {
    const std::optional<std::int64_t> count = rows.count_smaller_errors(number, tolerance);
    if (count) counts[row] = *count;
    return count.has_value();
  };
  for_each_row(said, left_out, n_threads, cancel, rough,
               [&](std::size_t row, std::span<const double> answers, int) {
                 std::int64_t count = 0;
                 for (std::size_t i = 0; i < answers.size(); ++i)
                   count += left_out.errors[i] < (1 - answers[i]) - tolerance ? 1 : 0;
                 counts[row] = count;
               });
  return counts;
}

}  // namespace hornbeam::predict
