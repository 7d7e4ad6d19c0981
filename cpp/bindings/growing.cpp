#include "growing.h"

#include "criterion/criteria.h"
#include "settings.h"

namespace hornbeam::bindings {

using criterion::BranchCells;
using criterion::Criterion;
using criterion::LeafValue;
using criterion::ScoreBranches;
using grow::Growth;
using grow::Missing;
using split::CategoricalSplit;

namespace {

Criterion criterion_of(nb::handle name) {
  const auto text = nb::cast<std::string>(name);
  if (const auto found = criterion::criterion_named(text)) return *found;
  throw nb::value_error(("the core does not know " + text).c_str());
}

const std::map<std::string, Growth> kGrowths = {
    {"depth_first", Growth::kDepthFirst}, {"level", Growth::kLevel}, {"best_first", Growth::kBestFirst}};

const std::map<std::string, Missing> kMissing = {{"learn", Missing::kLearn},
                                                 {"majority", Missing::kMajority},
                                                 {"surrogate", Missing::kSurrogate},
                                                 {"fractional", Missing::kFractional},
                                                 {"available", Missing::kAvailable}};

const std::map<std::string, CategoricalSplit> kCategoricalSplits = {
    {"subset", CategoricalSplit::kSubset},   {"one_vs_rest", CategoricalSplit::kOneVsRest},
    {"ordinal", CategoricalSplit::kOrdinal}, {"target_mean", CategoricalSplit::kTargetMean},
    {"binary", CategoricalSplit::kBinary},   {"multiway", CategoricalSplit::kMultiway},
    {"merge", CategoricalSplit::kMerge}};

const std::map<std::string, LeafValue> kLeafValues = {{"mean", LeafValue::kMean},
                                                      {"median", LeafValue::kMedian}};

// Asks Python, under its lock. The handle is borrowed: the settings keep the object alive during the call,
// and copies of the function may be made and dropped without the lock.
ScoreBranches asking(nb::handle scorer) {
  return [scorer](const BranchCells& branches, double* scores) {
    const nb::gil_scoped_acquire lock;
    const std::size_t shape[] = {branches.n_tests, branches.n_branches, branches.cell_size};
    const nb::ndarray<nb::numpy, const double> cells(branches.cells, 3, shape, nb::handle());
    const nb::object answer = scorer(nb::cast(cells, nb::rv_policy::copy));
    const auto array = nb::cast<Array1<double>>(answer);
    if (array.shape(0) != branches.n_tests) throw nb::value_error("there must be one score per test");
    std::copy_n(array.data(), branches.n_tests, scores);
  };
}

// A name, or an object that scores tests and names the impurity to show.
void set_criterion(GrowParams& params, nb::handle value) {
  const bool is_name = nb::isinstance<nb::str>(value);
  params.criterion = criterion_of(is_name ? nb::object(nb::borrow(value)) : value.attr("shown"));
  if (!is_name) params.own_score = asking(value);
}

// The settings by name; adding one adds a line here.
const Setters<GrowParams> kSettings = {
    {"criterion", set_criterion},
    {"leaf_value", [](GrowParams& p, nb::handle name) { p.leaf_value = choice(kLeafValues, name); }},
    {"growth", [](GrowParams& p, nb::handle name) { p.growth = choice(kGrowths, name); }},
    {"missing", [](GrowParams& p, nb::handle name) { p.missing = choice(kMissing, name); }},
    {"max_surrogates", set<&GrowParams::max_surrogates>},
    {"random_splits", set<&GrowParams::random_splits>},
    {"categorical_split",
     [](GrowParams& p, nb::handle name) { p.categorical_split = choice(kCategoricalSplits, name); }},
    {"merge_level", set<&GrowParams::merge_level>},
    {"max_depth", set<&GrowParams::max_depth>},
    {"min_samples_split", set<&GrowParams::min_samples_split>},
    {"min_samples_leaf", set<&GrowParams::min_samples_leaf>},
    {"min_weight_leaf", set<&GrowParams::min_weight_leaf>},
    {"max_leaf_nodes", set<&GrowParams::max_leaf_nodes>},
    {"max_nodes", set<&GrowParams::max_nodes>},
    {"max_features", set<&GrowParams::max_features>},
    {"min_impurity_decrease", set<&GrowParams::min_impurity_decrease>},
    {"min_significance", set<&GrowParams::min_significance>},
    {"monotonic", set<&GrowParams::monotonic>},
    {"subtree_rows", set<&GrowParams::subtree_rows>},
    {"searches_groups", set<&GrowParams::searches_groups>},
    {"grows_blocks", set<&GrowParams::grows_blocks>},
};

}  // namespace

void check_target(const Dataset& data, const Target& target) {
  const std::size_t n = data.n_rows() * static_cast<std::size_t>(target.n_outputs);
  if (target.is_classification() ? target.classes.size() != n : target.reals.size() != n) {
    throw nb::value_error("the target does not have one row per row of the table");
  }
  if (!target.weights.empty() && target.weights.size() != data.n_rows()) {
    throw nb::value_error("there must be one weight per row");
  }
  for (std::size_t i = 0; i < target.classes.size(); ++i) {
    const int n_classes = target.n_classes[i % static_cast<std::size_t>(target.n_outputs)];
    if (target.classes[i] < 0 || target.classes[i] >= n_classes)
      throw nb::value_error("a class code is out of range");
  }
}

GrowParams grow_params_of(const nb::kwargs& settings, int n_features) {
  GrowParams params;
  apply_settings(kSettings, settings, "growth", params);
  if (!params.monotonic.empty() && params.monotonic.size() != static_cast<std::size_t>(n_features)) {
    throw nb::value_error("there must be one monotonic constraint per feature");
  }
  return params;
}

nb::list criteria() {
  using criterion::Impurity;
  using criterion::SecondStep;
  static const std::map<Impurity, const char*> kImpurities = {
      {Impurity::kGini, "gini"},
      {Impurity::kEntropy, "entropy"},
      {Impurity::kMisclassification, "misclassification"},
      {Impurity::kVariance, "variance"},
      {Impurity::kHalfDeviance, "half_deviance"},
      {Impurity::kAbsoluteDeviation, "absolute_deviation"}};
  static const std::map<SecondStep, const char*> kSteps = {{SecondStep::kNone, ""},
                                                           {SecondStep::kGainRatio, "gain_ratio"},
                                                           {SecondStep::kChi2, "chi2"},
                                                           {SecondStep::kFTest, "f_test"}};
  nb::list rows;
  for (const criterion::CriterionRow& row : criterion::criteria()) {
    const nb::str name(row.name.data(), row.name.size());
    const nb::object other_names = nb::str(row.other_names.data(), row.other_names.size()).attr("split")();
    rows.append(nb::make_tuple(name, kImpurities.at(row.shown), kSteps.at(row.second_step),
                               criterion::is_of_classes(row.shown), other_names));
  }
  return rows;
}

}  // namespace hornbeam::bindings
