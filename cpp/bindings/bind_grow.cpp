// Growing: an encoded table, a target and parameters in, a Tree out.
#include <map>

#include "arrays.h"
#include "hornbeam/grower.h"
#include "hornbeam/parallel.h"

namespace hornbeam::bindings {

namespace {

template <class Enum>
Enum choice(const std::map<std::string, Enum>& names, const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end()) throw nb::value_error(("the core does not know " + name).c_str());
  return found->second;
}

// Criterion names; adding a criterion adds a line here.
const std::map<std::string, Criterion> kCriteria = {{"gini", Criterion::kGini},
                                                    {"entropy", Criterion::kEntropy},
                                                    {"squared_error", Criterion::kSquaredError},
                                                    {"poisson", Criterion::kPoisson}};
const std::map<std::string, Growth> kGrowths = {
    {"depth_first", Growth::kDepthFirst}, {"level", Growth::kLevel}, {"best_first", Growth::kBestFirst}};

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

void check_sample(const Dataset& data, const Sample& sample) {
  if (sample.rows.empty()) throw nb::value_error("a tree needs at least one row");
  for (const RowId row : sample.rows) {
    if (row >= data.n_rows()) throw nb::value_error("a row lies outside the table");
  }
  if (!sample.multiplicity.empty() && sample.multiplicity.size() != sample.rows.size()) {
    throw nb::value_error("there must be one multiplicity per row of the sample");
  }
}

nb::tuple grow(const Dataset& data, const std::vector<int>& n_classes, int n_outputs,
               std::optional<Array1<std::int32_t>> classes, std::optional<Array1<double>> reals,
               std::optional<Array1<double>> weights, const Array1<RowId>& rows,
               std::optional<Array1<std::uint32_t>> multiplicity, const std::string& criterion,
               const std::string& growth, bool random_splits, std::int32_t max_depth,
               std::int64_t min_samples_split, std::int64_t min_samples_leaf, double min_weight_leaf,
               std::int64_t max_leaf_nodes, std::int64_t max_nodes, std::int32_t max_features,
               double min_impurity_decrease, const std::vector<std::int8_t>& monotonic, std::uint64_t key,
               int n_threads) {
  const Target target{n_outputs, n_classes, span_of(classes), span_of(reals), span_of(weights)};
  const Sample sample{span_of(rows), span_of(multiplicity)};
  check_target(data, target);
  check_sample(data, sample);
  if (!monotonic.empty() && monotonic.size() != static_cast<std::size_t>(data.n_features())) {
    throw nb::value_error("there must be one monotonic constraint per feature");
  }
  GrowParams params;
  params.criterion = choice(kCriteria, criterion);
  params.growth = choice(kGrowths, growth);
  params.random_splits = random_splits;
  params.max_depth = max_depth;
  params.min_samples_split = min_samples_split;
  params.min_samples_leaf = min_samples_leaf;
  params.min_weight_leaf = min_weight_leaf;
  params.max_leaf_nodes = max_leaf_nodes;
  params.max_nodes = max_nodes;
  params.max_features = max_features;
  params.min_impurity_decrease = min_impurity_decrease;
  params.monotonic = monotonic;
  params.key = key;
  params.n_threads = n_threads;
  GrownTree grown =
      without_lock([&](Cancel& cancel) { return grow_tree(data, target, sample, params, cancel); });
  return nb::make_tuple(nb::cast(std::move(grown.tree)), grown.n_weightless);
}

}  // namespace

void bind_grow(nb::module_& module) {
  module.def("thread_was_refused", &thread_was_refused,
             "Whether the system refused a thread since the last time this was asked.");
  module.def("grow_tree", &grow, nb::arg("data"), nb::kw_only(), nb::arg("n_classes"), nb::arg("n_outputs"),
             nb::arg("classes").none(), nb::arg("reals").none(), nb::arg("weights").none(), nb::arg("rows"),
             nb::arg("multiplicity").none(), nb::arg("criterion"), nb::arg("growth"),
             nb::arg("random_splits"), nb::arg("max_depth"), nb::arg("min_samples_split"),
             nb::arg("min_samples_leaf"), nb::arg("min_weight_leaf"), nb::arg("max_leaf_nodes"),
             nb::arg("max_nodes"), nb::arg("max_features"), nb::arg("min_impurity_decrease"),
             nb::arg("monotonic"), nb::arg("key"), nb::arg("n_threads"),
             "Grows one tree; returns it and the number of rows whose weight was too small to count.");
}

}  // namespace hornbeam::bindings
