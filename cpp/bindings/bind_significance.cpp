// Tails of distributions, for tests and for tables of tests.
#include "arrays.h"
#include "hornbeam/significance.h"

namespace hornbeam::bindings {

void bind_significance(nb::module_& module) {
  module.def("chi2_log_sf", &chi2_log_sf, nb::arg("statistic"), nb::arg("dof"),
             "ln P(X >= statistic) for a chi-square X.");
  module.def("f_log_sf", &f_log_sf, nb::arg("f"), nb::arg("d1"), nb::arg("d2"),
             "ln P(X >= f) for an X with the F distribution.");
}

}  // namespace hornbeam::bindings
