#include "predict/rough_answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace hornbeam::predict {

namespace {

constexpr std::size_t kLeastTrainingRows = 512;
constexpr std::size_t kMostTrainingRows = std::size_t{1} << 25;
constexpr std::size_t kMostMembers = std::size_t{1} << 16;
constexpr std::size_t kGroup = 4;
constexpr std::size_t kChoices = 16;
constexpr double kMostSum = 65000;  // of the bytes of all groups
constexpr std::size_t kSeen = 256;  // rough values that show where a rank lies
constexpr double kDeviations = 0.8;
constexpr std::size_t kBins = 256;
constexpr std::size_t kMembersOfByte = 8;
constexpr std::size_t kBytes = 256;
constexpr std::size_t kShareOfCandidates = 8;  // with more candidates, computing all answers is as quick
constexpr double kRounding = 1.0 / (1 << 20);  // of a few operations on floats, generously
constexpr double kMostScale = 1e30;

// Values in bins of equal width from low to high, to find those that ranks can be in without ordering them.
class Bins {
 public:
  Bins(std::span<const float> values, double low, double high)
      : low_(low), width_((high - low) / static_cast<double>(kBins)) {
    const auto first = static_cast<float>(low);
    const auto per_width = static_cast<float>(1 / width_);
    for (const float value : values) {
      const int bin = static_cast<int>((value - first) * per_width);
      ++counts_[static_cast<std::size_t>(std::clamp(bin, 0, static_cast<int>(kBins) - 1))];
    }
  }
  bool is_usable() const { return width_ > 0 && std::isfinite(1 / width_) && 1 / width_ < kMostScale; }

  // Where the bin with a rank, counted from 0, begins and ends, widened a little for rounding.
  double begin_of(double rank) const { return low_ + (static_cast<double>(bin_of(rank)) - 0.01) * width_; }
  double end_of(double rank) const { return low_ + (static_cast<double>(bin_of(rank)) + 1.01) * width_; }

 private:
  std::size_t bin_of(double rank) const {
    double n = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin)
      if (n += counts_[bin]; n > rank) return bin;
    return kBins - 1;
  }

  double low_, width_;
  std::array<std::uint32_t, kBins> counts_{};
};

}  // namespace

// --- The table ---------------------------------------------------------------------------------------------------

bool RoughTable::is_worthwhile(const Said& said, const LeftOut& left_out) {
  const std::size_t n = left_out.errors.size();
  return n >= kLeastTrainingRows && n <= kMostTrainingRows && said.n_members <= kMostMembers &&
         said.n_rows >= kRoughRows;
}

RoughTable::RoughTable(const Said& said, const LeftOut& left_out) {
  const std::size_t n = left_out.errors.size();
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return left_out.errors[a] != left_out.errors[b] ? left_out.errors[a] < left_out.errors[b] : a < b;
  });
  largest_error_ = left_out.errors[order_.back()];
  n_lines_ = (n + kLine - 1) / kLine;
  n_pairs_ = (said.n_members + 2 * kGroup - 1) / (2 * kGroup);
  patterns_.assign(n_lines_ * n_pairs_ * kLine, 0);
  patterns_by_row_.assign(n_lines_ * n_pairs_ * kLine, 0);
  inverse_counts_.resize(n_lines_ * kLine);
  errors_.resize(n_lines_ * kLine);
  least_count_ = std::numeric_limits<double>::infinity();
  for (std::size_t place = 0; place < n_lines_ * kLine; ++place) {
    const std::uint32_t row = order_[std::min(place, n - 1)];  // the last one fills the last line
    const auto first = static_cast<std::size_t>(left_out.begin[row]);
    const auto end = static_cast<std::size_t>(left_out.begin[row + 1]);
    const std::size_t in_line = place % kLine;
    std::uint8_t* line = patterns_.data() + place / kLine * n_pairs_ * kLine;
    const std::size_t byte = 2 * (in_line % (kLine / 2)) + in_line / (kLine / 2);
    std::uint8_t* own = patterns_by_row_.data() + place * n_pairs_;
    for (const std::uint32_t m : left_out.members.subspan(first, end - first))
      own[m / kMembersOfByte] = static_cast<std::uint8_t>(own[m / kMembersOfByte] | 1u << m % kMembersOfByte);
    for (std::size_t pair = 0; pair < n_pairs_; ++pair) line[pair * kLine + byte] = own[pair];
    const auto count = static_cast<double>(end - first);
    inverse_counts_[place] = static_cast<float>(1 / count);
    least_count_ = std::min(least_count_, count);
    most_count_ = std::max(most_count_, count);
    errors_[place] = largest_error_ > 0 ? static_cast<float>(left_out.errors[row] / largest_error_) : 0.0F;
  }
}

// --- Rows asked about --------------------------------------------------------------------------------------------

RoughRows::RoughRows(const Said& said, const LeftOut& left_out, const RoughTable& table)
    : said_(said),
      left_out_(left_out),
      table_(table),
      tables_(table.n_pairs_ * kRoughRows * kRoughTable),
      sums_(table.n_lines_ * kLine * kRoughRows),
      places_(table.order_.size() + 16),
      kept_(table.order_.size() + 16),
      differences_(table.n_pairs_ * 2 * kGroup),
      byte_sums_(table.n_pairs_ * kBytes) {}

void RoughRows::ask(std::size_t begin, std::size_t n_rows) {
  rows_.clear();
  std::fill(tables_.begin(), tables_.end(), std::uint8_t{0});
  for (std::size_t number = 0; number < n_rows; ++number) {
    const double* from = said_.values.data() + (begin + number) * said_.n_members;
    Row row{};
    row.number = begin + number;
    row.mean = std::accumulate(from, from + said_.n_members, 0.0) / static_cast<double>(said_.n_members);
    write_tables(row, number);
    rows_.push_back(row);
  }
  std::array<std::uint16_t, kRoughRows> least{}, most{};
  predict_kernels(InstructionSet::kAvx512)
      .add_groups({table_.patterns_.data(), table_.n_lines_, table_.n_pairs_}, tables_.data(),
                  {sums_.data(), least.data(), most.data()});
  for (std::size_t number = 0; number < n_rows; ++number) {
    Row& row = rows_[number];
    const auto furthest = [&](double sum, bool is_least) {
      return sum / ((sum < 0) == is_least ? table_.least_count_ : table_.most_count_);
    };
    const double low = furthest(least[number] + row.centre, true);
    const double high = furthest(most[number] + row.centre, false);
    const double hair = (std::abs(low) + std::abs(high)) * kRounding + row.uncertainty;
    row.least = low - hair;
    row.most = high + hair;
  }
}

// The sum over a choice among four members, less the least such sum, in units that give the widest group 255.
void RoughRows::write_tables(Row& row, std::size_t number) {
  const double* from = said_.values.data() + row.number * said_.n_members;
  const std::size_t n_groups = table_.n_pairs_ * 2;
  double largest = 0.0, widest = 0.0, all = 0.0;
  for (std::size_t g = 0; g < n_groups; ++g) {
    double width = 0.0;
    for (std::size_t m = g * kGroup; m < (g + 1) * kGroup; ++m) {
      differences_[m] = m < said_.n_members ? from[m] - row.mean : 0.0;
      if (m < said_.n_members) largest = std::max(largest, std::abs(from[m]));
      width += std::abs(differences_[m]);
    }
    widest = std::max(widest, width);
    all += width;
  }
  row.unit = std::max(widest / 255, all / kMostSum);
  if (!(row.unit > 0)) row.unit = table_.largest_error_ > 0 ? table_.largest_error_ : 1.0;
  row.error_scale = table_.largest_error_ / row.unit;
  const double in_units = 1 / row.unit;
  row.is_usable = std::isfinite(all) && std::isfinite(in_units) && row.error_scale < kMostScale;
  if (!row.is_usable) return;
  double below = 0.0;
  for (std::size_t g = 0; g < n_groups; ++g) {
    const double* d = differences_.data() + g * kGroup;
    double least = 0.0;
    for (std::size_t k = 0; k < kGroup; ++k) least += std::min(d[k], 0.0);
    below += least;
    std::array<double, kChoices> sums{};
    for (std::size_t choice = 1, bit = 0; choice < kChoices; ++choice) {
      if (choice >= std::size_t{2} << bit) ++bit;
      sums[choice] = sums[choice - (std::size_t{1} << bit)] + d[bit];
    }
    std::uint8_t* to = tables_.data() + (g / 2 * kRoughRows + number) * kRoughTable + g % 2 * kChoices;
    for (std::size_t choice = 0; choice < kChoices; ++choice)
      to[choice] =
          static_cast<std::uint8_t>(std::min(255, static_cast<int>((sums[choice] - least) * in_units + 0.5)));
  }
  row.centre = below * in_units;
  // Half a unit for each group, the rounding of floats, and that of the exact answers and of the mean.
  const double rounded =
      65536 * kRounding + largest * in_units * static_cast<double>(said_.n_members + 8) * 0x1p-50;
  row.close_doubt = (largest + table_.largest_error_) * static_cast<double>(said_.n_members + 8) * 0x1p-50;
  row.uncertainty = (static_cast<double>(n_groups) * 0.5001 + rounded) / table_.least_count_;
}

// The training rows whose values, answers plus errors times `sign`, may lie from low to high.
RoughRows::Range RoughRows::range(const Row& row, double sign, double low, double high) const {
  const std::span<const float> errors(table_.errors_.data(), table_.order_.size());
  const double scale = row.error_scale;
  const double hair = (std::abs(low) + std::abs(high) + row.most - row.least) * kRounding;
  const auto first_not_below = [&](double limit) {  // among errors in units of the row
    const auto is_below = [&](float error) { return error * scale < limit; };
    return static_cast<std::size_t>(std::partition_point(errors.begin(), errors.end(), is_below) -
                                    errors.begin());
  };
  if (sign > 0) {
    const std::size_t begin = first_not_below(low - row.most - hair);
    return {begin, std::max(begin, first_not_below(high - row.least + hair)), begin};
  }
  const std::size_t begin = first_not_below(row.least - high - hair);
  const std::size_t end = std::max(begin, first_not_below(row.most - low + hair));
  return {begin, end, errors.size() - end};
}

RoughLine RoughRows::line(const Row& row, double sign) const {
  const auto number = static_cast<std::size_t>(&row - rows_.data());
  return {sums_.data() + number * table_.n_lines_ * kLine, table_.inverse_counts_.data(),
          table_.errors_.data(), static_cast<float>(row.centre), static_cast<float>(sign * row.error_scale)};
}

// What each choice among eight members adds up to, for the row that is looked at.
void RoughRows::look_at(const Row& row) {
  if (looked_at_ == row.number) return;
  looked_at_ = row.number;
  const double* from = said_.values.data() + row.number * said_.n_members;
  for (std::size_t pair = 0; pair < table_.n_pairs_; ++pair) {
    double* sums = byte_sums_.data() + pair * kBytes;
    sums[0] = 0.0;
    for (std::size_t bit = 0; bit < kMembersOfByte; ++bit) {
      const std::size_t m = pair * kMembersOfByte + bit, half = std::size_t{1} << bit;
      const double more = m < said_.n_members ? from[m] : 0.0;
      for (std::size_t choice = 0; choice < half; ++choice) sums[half + choice] = sums[choice] + more;
    }
  }
}

// An answer, up to rounding: it is added up in another order.
double RoughRows::close_answer(std::size_t place) const {
  const std::uint8_t* pattern = table_.patterns_by_row_.data() + place * table_.n_pairs_;
  double sum = 0.0;
  for (std::size_t pair = 0; pair < table_.n_pairs_; ++pair) sum += byte_sums_[pair * kBytes + pattern[pair]];
  const std::uint32_t training_row = table_.order_[place];
  return sum / static_cast<double>(left_out_.begin[training_row + 1] - left_out_.begin[training_row]);
}

double RoughRows::exact_answer(std::size_t row, std::size_t training_row) const {
  const double* from = said_.values.data() + row * said_.n_members;
  const auto first = static_cast<std::size_t>(left_out_.begin[training_row]);
  const auto end = static_cast<std::size_t>(left_out_.begin[training_row + 1]);
  double sum = 0.0;
  for (std::size_t k = first; k < end; ++k) sum += from[left_out_.members[k]];
  return sum / static_cast<double>(end - first);
}

std::optional<double> RoughRows::value_of_rank(std::size_t number, double sign, std::size_t rank) {
  const Row& row = rows_[number];
  if (!row.is_usable) return std::nullopt;
  look_at(row);
  const std::size_t n = table_.order_.size();
  const RoughLine rough = line(row, sign);
  // If all answers were the same, the error of this rank would decide.
  const double error = table_.errors_[sign > 0 ? rank : n - 1 - rank] * row.error_scale;
  const double doubt =
      2 * row.uncertainty + 4 * kRounding * (error + std::abs(row.least) + std::abs(row.most));
  double low = sign * error + row.least - doubt, high = sign * error + row.most + doubt;
  const Range wide = range(row, sign, low, high);
  if (rank < wide.n_below || wide.begin == wide.end) return std::nullopt;
  const std::size_t step = std::max<std::size_t>(1, (wide.end - wide.begin) / kSeen);
  seen_.clear();
  for (std::size_t i = wide.begin; i < wide.end; i += step) seen_.push_back(rough_value(rough, i));
  const Bins seen(seen_, low, high);
  if (!seen.is_usable()) return std::nullopt;
  const auto n_seen = static_cast<double>(seen_.size());
  const double middle = static_cast<double>(rank - wide.n_below) / static_cast<double>(step);
  const double share = std::clamp(middle / n_seen, 0.0, 1.0);
  const double margin = 3 + kDeviations * std::sqrt(n_seen * share * (1 - share));
  if (middle - margin > 0) low = seen.begin_of(middle - margin);
  if (middle + margin < n_seen - 1) high = seen.end_of(middle + margin);

  const Range narrow = range(row, sign, low - doubt, high + doubt);
  std::size_t n_below = narrow.n_below;
  const PredictKernels& kernels = predict_kernels(InstructionSet::kAvx512);
  const std::size_t n_kept =
      kernels.keep_rough(rough, narrow.begin, narrow.end, static_cast<float>(low - doubt),
                         static_cast<float>(high + doubt), places_.data(), kept_.data(), n_below);
  if (rank < n_below || rank >= n_below + n_kept) return std::nullopt;
  const std::span<const float> kept(kept_.data(), n_kept);
  const Bins bins(kept, low - doubt, high + doubt);
  const auto rank_kept = static_cast<double>(rank - n_below);
  const double from = bins.begin_of(rank_kept), to = bins.end_of(rank_kept);
  if (!bins.is_usable() || from < low || to > high) return std::nullopt;  // the guess was wrong
  return exact_value_of_rank(row, sign, rank - n_below, kept, from - doubt, to + doubt);
}

// Among those kept whose rough value is from `low` to `high`.
std::optional<double> RoughRows::exact_value_of_rank(const Row& row, double sign, std::size_t rank,
                                                     std::span<const float> kept, double low, double high) {
  close_places_.resize(kept.size());
  const auto least_rough = static_cast<float>(low), most_rough = static_cast<float>(high);
  std::size_t n_close = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {  // without a branch, which would be unpredictable
    close_places_[n_close] = places_[i];
    n_close +=
        static_cast<std::size_t>(kept[i] >= least_rough) & static_cast<std::size_t>(kept[i] <= most_rough);
    rank -= static_cast<std::size_t>(kept[i] < least_rough);
  }
  close_places_.resize(n_close);
  close_.clear();
  if (close_places_.size() * kShareOfCandidates > table_.order_.size()) return std::nullopt;
  for (const std::uint32_t place : close_places_)
    close_.push_back(close_answer(place) + sign * left_out_.errors[table_.order_[place]]);
  if (rank >= close_.size()) return std::nullopt;
  exact_.assign(close_.begin(), close_.end());
  const auto about = exact_.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(exact_.begin(), about, exact_.end());
  const double least = *about - row.close_doubt, most = *about + row.close_doubt;
  exact_.clear();
  for (std::size_t i = 0; i < close_.size(); ++i) {
    rank -= close_[i] < least ? 1 : 0;
    if (!(close_[i] >= least && close_[i] <= most)) continue;
    const std::uint32_t training_row = table_.order_[close_places_[i]];
    exact_.push_back(exact_answer(row.number, training_row) + sign * left_out_.errors[training_row]);
  }
  if (rank >= exact_.size()) return std::nullopt;
  const auto wanted = exact_.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(exact_.begin(), wanted, exact_.end());
  return *wanted;
}

std::optional<std::int64_t> RoughRows::count_smaller_errors(std::size_t number, double tolerance) {
  const Row& row = rows_[number];
  if (!row.is_usable) return std::nullopt;
  const double limit = (1 - tolerance - row.mean) / row.unit;
  const double doubt = 2 * row.uncertainty + 0x1p-48 / row.unit +
                       4 * kRounding * (std::abs(limit) + std::abs(row.least) + std::abs(row.most));
  const Range around = range(row, 1.0, limit - doubt, limit + doubt);
  std::size_t n_below = around.n_below;
  const std::size_t n_kept =
      predict_kernels(InstructionSet::kAvx512)
          .keep_rough(line(row, 1.0), around.begin, around.end, static_cast<float>(limit - doubt),
                      static_cast<float>(limit + doubt), places_.data(), kept_.data(), n_below);
  if (n_kept * kShareOfCandidates > table_.order_.size()) return std::nullopt;
  auto count = static_cast<std::int64_t>(n_below);
  for (std::size_t i = 0; i < n_kept; ++i) {
    const std::uint32_t training_row = table_.order_[places_[i]];
    const double answer = exact_answer(row.number, training_row);
    count += left_out_.errors[training_row] < (1 - answer) - tolerance ? 1 : 0;
  }
  return count;
}

}  // namespace hornbeam::predict
