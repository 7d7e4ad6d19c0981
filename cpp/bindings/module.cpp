// The module only registers; each subject has a file of its own.
#include <nanobind/nanobind.h>

#include "arrays.h"

namespace hornbeam::bindings {

void bind_dataset(nb::module_& module);
void bind_tree(nb::module_& module);
void bind_grow(nb::module_& module);
void bind_predict(nb::module_& module);
void bind_prune(nb::module_& module);

bool python_wants_stop() {
  nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() != 0;
}

}  // namespace hornbeam::bindings

NB_MODULE(_core, module) {
  module.doc() =
      "hornbeam's compiled core: encoding, growing, predicting. Use the estimators; this border may change.";
  module.attr("__version__") = HORNBEAM_VERSION;
  hornbeam::bindings::bind_dataset(module);
  hornbeam::bindings::bind_tree(module);
  hornbeam::bindings::bind_grow(module);
  hornbeam::bindings::bind_predict(module);
  hornbeam::bindings::bind_prune(module);
}
