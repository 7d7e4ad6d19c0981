// Growing: an encoded table, a target and parameters in, a Tree out.
#include "base/parallel.h"
#include "growing.h"

namespace hornbeam::bindings {

using criterion::Sample;
using grow::grow_tree;
using grow::GrownTree;
using grow::has_lanes;

namespace {

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
               std::optional<Array1<std::uint32_t>> multiplicity, std::uint64_t key, int n_threads,
               const nb::kwargs& settings) {
  const Target target{n_outputs, n_classes, span_of(classes), span_of(reals), span_of(weights)};
  const Sample sample{span_of(rows), span_of(multiplicity)};
  check_target(data, target);
  check_sample(data, sample);
  GrowParams params = grow_params_of(settings, data.n_features());
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
  module.def("criteria", &criteria, nb::sig("def criteria() -> list[tuple[str, str, str, bool, list[str]]]"),
             "The criteria: name, the impurity that is shown, the second step, '' if there is none, whether "
             "it is for "
             "classes, and other names for it.");
  module.def("has_lanes", &has_lanes,
             "Whether trees and stumps may grow by fast lanes; if not, they are the same and take longer.");
  module.def("grow_tree", &grow, nb::arg("data"), nb::kw_only(), nb::arg("n_classes"), nb::arg("n_outputs"),
             nb::arg("classes").none(), nb::arg("reals").none(), nb::arg("weights").none(), nb::arg("rows"),
             nb::arg("multiplicity").none(), nb::arg("key"), nb::arg("n_threads"), nb::arg("settings"),
             "Grows one tree; returns it and the number of rows whose weight was too small to count.");
}

}  // namespace hornbeam::bindings
