// Stumps of least weighted error: an encoded table and classes once, then, round by round, weights in and a
// tree out.
#include "growing.h"
#include "stumps/stumps.h"

namespace hornbeam::bindings {

using stumps::Stump;
using stumps::StumpSearch;

namespace {

nb::tuple best(StumpSearch& search, const Array1<double>& weights, int n_threads) {
  if (weights.size() != search.n_rows()) throw nb::value_error("there must be one weight per row");
  bool any = false;
  for (const double weight : span_of(weights)) {
    if (!(weight >= 0 && weight < kInfinity)) throw nb::value_error("a weight is not a number >= 0");
    any |= weight > 0;
  }
  if (!any) throw nb::value_error("no row has weight");
  Stump stump =
      without_lock([&](Cancel& cancel) { return search.best(span_of(weights), n_threads, cancel); });
  return nb::make_tuple(nb::cast(std::move(stump.tree)), to_numpy(std::move(stump.wrong)),
                        stump.n_weightless);
}

}  // namespace

void bind_stumps(nb::module_& module) {
  nb::class_<StumpSearch>(module, "StumpSearch",
                          "Finds the stump of least weighted error of one data set, under many weights.")
      .def(
          "__init__",
          [](StumpSearch* self, const Dataset& data, const Array1<std::int32_t>& classes, int n_classes,
             int n_threads) {
            check_target(data, {1, {n_classes}, span_of(classes), {}, {}});
            new (self) StumpSearch(without_lock([&](Cancel& cancel) {
              return StumpSearch(data, span_of(classes), n_classes, n_threads, cancel);
            }));
          },
          nb::keep_alive<1, 2>(), nb::arg("data"), nb::arg("classes"), nb::arg("n_classes"),
          nb::arg("n_threads"))
      .def("best", &best, nb::arg("weights"), nb::arg("n_threads"),
           "The tree; for every row whether it is wrong; and how many rows weigh too little to count.");
}

}  // namespace hornbeam::bindings
