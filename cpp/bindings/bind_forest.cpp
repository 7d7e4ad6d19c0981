// Forests: draws of rows and features, and many trees at once.
#include <cmath>

#include "grow/forest.h"
#include "growing.h"

namespace hornbeam::bindings {

using grow::draw_features;
using grow::draw_rows;
using grow::draw_units;
using grow::DrawnRows;
using grow::Draws;
using grow::ForestParams;
using grow::grow_forest;
using grow::GrownTree;
using grow::member_key;

namespace {

// Draws with the arrays that keep them alive.
class BagDraws {
 public:
  BagDraws(std::uint64_t key, bool with_replacement, std::size_t n_rows, std::optional<Array1<RowId>> rows,
           std::optional<Array1<std::uint64_t>> unit_begin, Array1<std::uint64_t> stratum_begin,
           Array1<std::uint64_t> draws_per_stratum, std::optional<Array1<double>> unit_weights)
      : rows_(std::move(rows)),
        unit_begin_(std::move(unit_begin)),
        stratum_begin_(std::move(stratum_begin)),
        draws_per_stratum_(std::move(draws_per_stratum)),
        unit_weights_(std::move(unit_weights)),
        draws_{key,
               with_replacement,
               n_rows,
               span_of(rows_),
               span_of(unit_begin_),
               span_of(stratum_begin_),
               span_of(draws_per_stratum_),
               span_of(unit_weights_)} {
    check();
  }

  const Draws& draws() const { return draws_; }

 private:
  static void require(bool holds, const char* otherwise) {
    if (!holds) throw nb::value_error(otherwise);
  }

  // Whether the numbers ascend from 0 to `end`.
  static bool cover(std::span<const std::uint64_t> begins, std::size_t end) {
    return !begins.empty() && begins.front() == 0 && begins.back() == end && std::ranges::is_sorted(begins);
  }

  void check() const {
    require(draws_.n_rows <= kMaxRows, "there are too many rows");
    require(!rows_ || rows_->size() > 0, "there is no row to draw");
    for (const RowId row : draws_.rows) require(row < draws_.n_rows, "a row lies outside the table");
    require(!unit_begin_ || cover(draws_.unit_begin, draws_.n_drawable()), "units do not cover the rows");
    require(cover(draws_.stratum_begin, draws_.n_units()), "strata do not cover the units");
    require(draws_.stratum_begin.size() == draws_.draws_per_stratum.size() + 1,
            "every stratum needs a number of draws");
    if (unit_weights_) {
      require(draws_.unit_weights.size() == draws_.n_units(), "there must be one weight per unit");
      require(draws_.with_replacement, "draws by weight need replacement");
      for (const double weight : draws_.unit_weights)
        require(weight > 0 && std::isfinite(weight), "weights of units must be positive");
    }
    std::uint64_t total = 0;
    for (std::size_t s = 0; s < draws_.draws_per_stratum.size(); ++s) {
      const std::uint64_t n_draws = draws_.draws_per_stratum[s];
      const std::uint64_t n_units = draws_.stratum_begin[s + 1] - draws_.stratum_begin[s];
      require(n_draws <= kMaxRows && n_units <= kMaxRows, "there are too many draws");
      require(n_draws == 0 || n_units > 0, "an empty stratum cannot be drawn from");
      require(draws_.with_replacement || n_draws <= n_units, "more draws than units, without replacement");
      total += n_draws;
    }
    require(total > 0, "a member needs at least one draw");
  }

  std::optional<Array1<RowId>> rows_;
  std::optional<Array1<std::uint64_t>> unit_begin_;
  Array1<std::uint64_t> stratum_begin_;
  Array1<std::uint64_t> draws_per_stratum_;
  std::optional<Array1<double>> unit_weights_;
  Draws draws_;
};

NumpyArray<std::uint32_t> times_of_rows(const BagDraws& bag, std::uint64_t member) {
  const DrawnRows drawn = draw_rows(bag.draws(), member);
  std::vector<std::uint32_t> times(bag.draws().n_rows, 0);
  for (std::size_t i = 0; i < drawn.rows.size(); ++i)
    times[drawn.rows[i]] = drawn.multiplicity.empty() ? 1 : drawn.multiplicity[i];
  return to_numpy(std::move(times));
}

NumpyArray<std::uint64_t> keys_of_members(std::uint64_t key, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = member_key(key, first + i);
  return to_numpy(std::move(keys));
}

NumpyArray<FeatureId> features_of_member(std::uint64_t key, std::uint64_t member, int n_features,
                                         int n_wanted, bool with_replacement) {
  if (n_wanted < 1 || (!with_replacement && n_wanted > n_features))
    throw nb::value_error("the number of features to draw is out of range");
  return to_numpy(draw_features(key, member, n_features, n_wanted, with_replacement));
}

nb::tuple grow(const Dataset& data, const std::vector<int>& n_classes, int n_outputs,
               std::optional<Array1<std::int32_t>> classes, std::optional<Array1<double>> reals,
               std::optional<Array1<double>> weights, const BagDraws& bag, std::uint64_t first_member,
               const Array1<std::uint64_t>& member_keys, int features_per_member,
               bool features_with_replacement, double min_weight_fraction, bool balance_classes,
               int n_threads, const nb::kwargs& settings) {
  const Target target{n_outputs, n_classes, span_of(classes), span_of(reals), span_of(weights)};
  check_target(data, target);
  if (bag.draws().n_rows != data.n_rows()) throw nb::value_error("the draws are of another table");
  if (features_per_member < 0 || features_per_member > data.n_features())
    throw nb::value_error("the number of features to draw is out of range");
  ForestParams params{grow_params_of(settings, data.n_features()),
                      first_member,
                      span_of(member_keys),
                      features_per_member,
                      features_with_replacement,
                      min_weight_fraction,
                      balance_classes && target.is_classification()};
  params.growth.n_threads = n_threads;
  std::vector<GrownTree> grown =
      without_lock([&](Cancel& cancel) { return grow_forest(data, target, bag.draws(), params, cancel); });
  nb::list trees;
  std::int64_t n_weightless = 0;
  for (GrownTree& one : grown) {
    n_weightless = std::max(n_weightless, one.n_weightless);
    trees.append(nb::cast(std::move(one.tree)));
  }
  return nb::make_tuple(trees, n_weightless);
}

}  // namespace

void bind_forest(nb::module_& module) {
  nb::class_<BagDraws>(module, "BagDraws",
                       "What the members of a bag draw their rows from: rows or groups, in strata.")
      .def(nb::init<std::uint64_t, bool, std::size_t, std::optional<Array1<RowId>>,
                    std::optional<Array1<std::uint64_t>>, Array1<std::uint64_t>, Array1<std::uint64_t>,
                    std::optional<Array1<double>>>(),
           nb::kw_only(), nb::arg("key"), nb::arg("with_replacement"), nb::arg("n_rows"),
           nb::arg("rows").none(), nb::arg("unit_begin").none(), nb::arg("stratum_begin"),
           nb::arg("draws_per_stratum"), nb::arg("unit_weights").none())
      .def("times", &times_of_rows, nb::arg("member"), "How often each row is in the sample of a member.")
      .def(
          "unit_times",
          [](const BagDraws& bag, std::uint64_t member) { return to_numpy(draw_units(bag.draws(), member)); },
          nb::arg("member"), "How often each unit (a row, or a group of rows) is in the sample of a member.");
  module.def("member_keys", &keys_of_members, nb::arg("key"), nb::arg("first"), nb::arg("count"),
             "The keys of all draws inside some members.");
  module.def("draw_features", &features_of_member, nb::arg("key"), nb::arg("member"), nb::arg("n_features"),
             nb::arg("n_wanted"), nb::arg("with_replacement"),
             "The features that a member may test, ascending.");
  module.def("grow_forest", &grow, nb::arg("data"), nb::kw_only(), nb::arg("n_classes"), nb::arg("n_outputs"),
             nb::arg("classes").none(), nb::arg("reals").none(), nb::arg("weights").none(), nb::arg("draws"),
             nb::arg("first_member"), nb::arg("member_keys"), nb::arg("features_per_member"),
             nb::arg("features_with_replacement"), nb::arg("min_weight_fraction"), nb::arg("balance_classes"),
             nb::arg("n_threads"), nb::arg("settings"),
             "Grows some members of a bag; returns their trees and the largest number of rows of a sample "
             "whose weight was too small to count.");
}

}  // namespace hornbeam::bindings
