// The module only registers its parts; each subject has a file of its own.
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <new>
#include <thread>

#include "arrays.h"

namespace hornbeam::bindings {

void bind_dataset(nb::module_& module);
void bind_bins(nb::module_& module);
void bind_tree(nb::module_& module);
void bind_grow(nb::module_& module);
void bind_predict(nb::module_& module);
void bind_explain(nb::module_& module);
void bind_prune(nb::module_& module);
void bind_density(nb::module_& module);
void bind_forest(nb::module_& module);
void bind_boost(nb::module_& module);
void bind_part_rows(nb::module_& module);
void bind_tree_of_parts(nb::module_& module);
void bind_neighbors(nb::module_& module);
void bind_stumps(nb::module_& module);
void bind_sums(nb::module_& module);
void bind_significance(nb::module_& module);
void forget_running_calls();

namespace {
std::atomic<bool> leaving{false};
std::atomic<int> running_calls{0};
}  // namespace

bool python_wants_stop() {
  if (leaving) return true;
  nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() != 0;
}

CallWithoutLock::CallWithoutLock() {
  ++running_calls;
}

CallWithoutLock::~CallWithoutLock() {
  --running_calls;
  while (leaving) std::this_thread::sleep_for(std::chrono::hours(1));
}

// The child of a fork has only the thread that forked, which is in Python, so no call is running there.
void forget_running_calls() {
  running_calls = 0;
}

void stop_running_calls() {
  leaving = true;
  if (running_calls > 0) nb::set_leak_warnings(false);  // the memory of those calls cannot be freed
  nb::gil_scoped_release release;
  while (running_calls > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The text of std::bad_alloc is its name, which tells a user nothing.
void say_what_a_lack_of_memory_is(const std::exception_ptr& error, void* /*nothing of ours*/) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(
        PyExc_MemoryError,
        "There is too little memory for this, or a limit on it is reached (ulimit -v, that of a container). "
        "Use fewer rows, smaller or fewer trees, or fewer threads (n_jobs), or raise the limit.");
  }
}

}  // namespace hornbeam::bindings

NB_MODULE(_core, module) {
  module.doc() =
      "hornbeam's compiled core: encoding, growing, predicting. Use the estimators; this border may change.";
  module.attr("version") = HORNBEAM_VERSION;
  nanobind::register_exception_translator(hornbeam::bindings::say_what_a_lack_of_memory_is);
  hornbeam::bindings::bind_dataset(module);
  hornbeam::bindings::bind_bins(module);
  hornbeam::bindings::bind_tree(module);
  hornbeam::bindings::bind_grow(module);
  hornbeam::bindings::bind_predict(module);
  hornbeam::bindings::bind_explain(module);
  hornbeam::bindings::bind_prune(module);
  hornbeam::bindings::bind_density(module);
  hornbeam::bindings::bind_forest(module);
  hornbeam::bindings::bind_boost(module);
  hornbeam::bindings::bind_part_rows(module);
  hornbeam::bindings::bind_tree_of_parts(module);
  hornbeam::bindings::bind_neighbors(module);
  hornbeam::bindings::bind_stumps(module);
  hornbeam::bindings::bind_sums(module);
  hornbeam::bindings::bind_significance(module);
  namespace nb = nanobind;
  hornbeam::on_fork_in_child(hornbeam::bindings::forget_running_calls);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&hornbeam::bindings::stop_running_calls));
}
