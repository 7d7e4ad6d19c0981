#include "grow/forest.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/parallel.h"
#include "base/sampler.h"

namespace hornbeam::grow {

namespace {

// Knuth's selection sampling: each unit is taken with probability (units still needed) / (units left), so every set of
// n_draws units is equally likely, in one pass and without a list.
void draw_without_replacement(Stream& stream, std::uint64_t n_draws, std::span<std::uint32_t> times) {
  std::uint64_t needed = n_draws;
  for (std::size_t unit = 0; unit < times.size() && needed > 0; ++unit) {
    const std::size_t left = times.size() - unit;
    if (left > needed && stream.below(static_cast<std::uint32_t>(left)) >= needed) continue;
    times[unit] = 1;
    --needed;
  }
}

void draw_with_replacement(Stream& stream, std::uint64_t n_draws, std::span<std::uint32_t> times) {
  const auto n_units = static_cast<std::uint32_t>(times.size());
  for (std::uint64_t draw = 0; draw < n_draws; ++draw) ++times[stream.below(n_units)];
}

// Each draw takes a unit with a chance in proportion to its weight.
void draw_by_weight(Stream& stream, std::uint64_t n_draws, std::span<const double> weights,
                    std::span<std::uint32_t> times) {
  std::vector<double> ends(weights.size());
  std::partial_sum(weights.begin(), weights.end(), ends.begin());
  for (std::uint64_t draw = 0; draw < n_draws; ++draw) {
    const auto end = std::ranges::upper_bound(ends, stream.unit() * ends.back());
    // Rounding may lead one place beyond the end.
    ++times[std::min<std::size_t>(static_cast<std::size_t>(end - ends.begin()), times.size() - 1)];
  }
}

// Weights under which the classes of a sample have equal totals; with several outputs the factors multiply.
std::vector<double> balanced_weights(const Target& target, const Sample& sample) {
  constexpr double kLargestFactor = 0x1p400;  // a class may have almost no weight; products must stay finite
  std::vector<double> factors(target.classes.size() / static_cast<std::size_t>(target.n_outputs), 1.0);
  for (int output = 0; output < target.n_outputs; ++output) {
    std::vector<double> totals(static_cast<std::size_t>(target.n_classes[static_cast<std::size_t>(output)]));
    for (std::size_t i = 0; i < sample.rows.size(); ++i) {
      const RowId row = sample.rows[i];
      totals[static_cast<std::size_t>(target.label(row, output))] += target.weight(row) * sample.times(i);
    }
    const double total = std::accumulate(totals.begin(), totals.end(), 0.0);
    const auto n_present = static_cast<double>(std::ranges::count_if(totals, [](double t) { return t > 0; }));
    for (const RowId row : sample.rows) {
      const double of_class = totals[static_cast<std::size_t>(target.label(row, output))];
      factors[row] = std::min(factors[row] * (total / (n_present * of_class)), kLargestFactor);
    }
  }
  for (const RowId row : sample.rows) factors[row] *= target.weight(row);
  return factors;
}

double total_weight(const Target& target, const Sample& sample) {
  double total = 0.0;
  for (std::size_t i = 0; i < sample.rows.size(); ++i)
    total += target.weight(sample.rows[i]) * sample.times(i);
  return total;
}

// Whether every member draws all units once, so that all samples are the same.
bool draws_all(const Draws& draws) {
  if (draws.with_replacement || !draws.unit_weights.empty()) return false;
  for (std::size_t stratum = 0; stratum < draws.draws_per_stratum.size(); ++stratum) {
    if (draws.draws_per_stratum[stratum] < draws.stratum_begin[stratum + 1] - draws.stratum_begin[stratum])
      return false;
  }
  return true;
}

// `all_rows` if every member draws them.
GrownTree grow_member(const Dataset& data, const Target& target, const Draws& draws,
                      const DrawnRows& all_rows, const ForestParams& params, std::size_t position,
                      GrowParams growth, Cancel& cancel) {
  const std::uint64_t member = params.first_member + position;
  const bool as_all = !all_rows.rows.empty();
  const DrawnRows own_rows = as_all ? DrawnRows{} : draw_rows(draws, member);
  const DrawnRows& drawn = as_all ? all_rows : own_rows;
  const Sample sample{drawn.rows, drawn.multiplicity};
  growth.key = params.member_keys[position];
  if (params.features_per_member > 0) {
    growth.features = draw_features(draws.key, member, data.n_features(), params.features_per_member,
                                    params.features_with_replacement);
    const auto n_features = static_cast<std::int32_t>(growth.features.size());
    growth.max_features = growth.max_features < 1 ? n_features : std::min(growth.max_features, n_features);
  }
  Target balanced = target;
  std::vector<double> weights;
  if (params.balance_classes) {
    weights = balanced_weights(target, sample);
    balanced.weights = weights;
  }
  if (params.min_weight_fraction > 0)
    growth.min_weight_leaf = params.min_weight_fraction * total_weight(balanced, sample);
  return grow_tree(data, balanced, sample, growth, cancel);
}

}  // namespace

std::uint64_t member_key(std::uint64_t key, std::uint64_t member) {
  return combine(combine(key, static_cast<std::uint64_t>(Purpose::kMember)), member);
}

std::vector<std::uint32_t> draw_units(const Draws& draws, std::uint64_t member) {
  std::vector<std::uint32_t> times(draws.n_units(), 0);
  for (std::size_t stratum = 0; stratum < draws.draws_per_stratum.size(); ++stratum) {
    const std::uint64_t begin = draws.stratum_begin[stratum];
    const std::span units(times.data() + begin, draws.stratum_begin[stratum + 1] - begin);
    Stream stream(member_key(draws.key, member), Purpose::kBootstrap, stratum);
    if (!draws.unit_weights.empty()) {
      draw_by_weight(stream, draws.draws_per_stratum[stratum],
                     draws.unit_weights.subspan(begin, units.size()), units);
    } else if (draws.with_replacement) {
      draw_with_replacement(stream, draws.draws_per_stratum[stratum], units);
    } else {
      draw_without_replacement(stream, draws.draws_per_stratum[stratum], units);
    }
  }
  return times;
}

DrawnRows draw_rows(const Draws& draws, std::uint64_t member) {
  const std::vector<std::uint32_t> times = draw_units(draws, member);
  // Strata and groups may come in any order, but rows have to ascend.
  std::vector<std::uint32_t> times_of_row(draws.n_rows, 0);
  for (std::size_t unit = 0; unit < times.size(); ++unit) {
    const std::size_t begin = draws.unit_begin.empty() ? unit : draws.unit_begin[unit];
    const std::size_t end = draws.unit_begin.empty() ? unit + 1 : draws.unit_begin[unit + 1];
    for (std::size_t i = begin; i < end; ++i) times_of_row[draws.row(i)] = times[unit];
  }
  DrawnRows drawn;
  bool repeated = false;
  for (std::size_t row = 0; row < times_of_row.size(); ++row) {
    if (times_of_row[row] == 0) continue;
    drawn.rows.push_back(static_cast<RowId>(row));
    drawn.multiplicity.push_back(times_of_row[row]);
    repeated |= times_of_row[row] > 1;
  }
  if (!repeated) drawn.multiplicity.clear();
  return drawn;
}

std::vector<FeatureId> draw_features(std::uint64_t key, std::uint64_t member, int n_features, int n_wanted,
                                     bool with_replacement) {
  std::vector<std::uint32_t> times(static_cast<std::size_t>(n_features), 0);
  Stream stream(member_key(key, member), Purpose::kMemberFeatures);
  const auto n_draws = static_cast<std::uint64_t>(n_wanted);
  if (with_replacement) {
    draw_with_replacement(stream, n_draws, times);
  } else {
    draw_without_replacement(stream, n_draws, times);
  }
  std::vector<FeatureId> features;
  for (FeatureId feature = 0; feature < n_features; ++feature) {
    if (times[static_cast<std::size_t>(feature)] > 0) features.push_back(feature);
  }
  return features;
}

std::vector<GrownTree> grow_forest(const Dataset& data, const Target& target, const Draws& draws,
                                   const ForestParams& params, Cancel& cancel) {
  const std::size_t n_members = params.member_keys.size();
  std::vector<GrownTree> grown(n_members);
  GrowParams growth = params.growth;
  std::optional<RowValues> row_values;
  if (growth.random_splits) {
    CancelPoller poller(cancel, growth.on_calling_thread);
    growth.row_values = &row_values.emplace(data, poller);
  }
  std::optional<RowRecords> records;
  if (!growth.random_splits && RowRecords::can_hold(data)) {
    CancelPoller poller(cancel, growth.on_calling_thread);
    growth.records = &records.emplace(data, poller);
  }
  const DrawnRows all_rows = draws_all(draws) ? draw_rows(draws, params.first_member) : DrawnRows{};
  Arena arena(static_cast<std::size_t>(std::max(1, growth.n_threads)));
  growth.regions = arena.regions();
  // One tree per core; where there are fewer trees than cores, the cores share each tree.
  if (n_members < static_cast<std::size_t>(std::max(1, growth.n_threads))) {
    for (std::size_t i = 0; i < n_members; ++i)
      grown[i] = grow_member(data, target, draws, all_rows, params, i, growth, cancel);
    return grown;
  }
  growth.n_threads = 1;
  parallel_for(
      n_members, params.growth.n_threads,
      [&](std::size_t i, int worker) {
        GrowParams alone = growth;
        alone.on_calling_thread = worker == 0;
        alone.regions = arena.regions().subspan(static_cast<std::size_t>(worker), 1);
        grown[i] = grow_member(data, target, draws, all_rows, params, i, std::move(alone), cancel);
      },
      &cancel);
  return grown;
}

}  // namespace hornbeam::grow
