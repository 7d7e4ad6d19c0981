// Sums that do not depend on the order of rows.
#include "arrays.h"
#include "base/sums.h"

namespace hornbeam::bindings {

void bind_sums(nb::module_& module) {
  module.def(
      "sum_in_any_order",
      [](const Array1<double>& values) { return hornbeam::sum_in_any_order(span_of(values)); },
      nb::arg("values"), "The sum of numbers, the same bits in whatever order they come.");
}

}  // namespace hornbeam::bindings
