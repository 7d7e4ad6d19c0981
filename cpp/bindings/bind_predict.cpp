// Prediction: which leaf each row falls into.
#include "arrays.h"
#include "hornbeam/predictor.h"

namespace hornbeam::bindings {

namespace {

NumpyArray<NodeId> leaves_of(const Tree& tree, const TableView& table, bool unseen_to_majority,
                             int n_threads) {
  for (const FeatureId feature : tree.feature) {
    if (feature >= static_cast<FeatureId>(table.columns.size()))
      throw nb::value_error("the table has too few columns");
  }
  std::vector<NodeId> leaves(table.n_rows);
  const Unseen unseen = unseen_to_majority ? Unseen::kMajority : Unseen::kMissing;
  without_lock([&](Cancel& cancel) {
    find_leaves(tree, table, unseen, n_threads, cancel, leaves);
    return 0;
  });
  return to_numpy(std::move(leaves));
}

}  // namespace

void bind_predict(nb::module_& module) {
  module.def(
      "find_leaves",
      [](const Tree& tree, const AnyTable& table, bool unseen_to_majority, int n_threads) {
        return leaves_of(tree, view_of(table), unseen_to_majority, n_threads);
      },
      nb::arg("tree"), nb::arg("table"), nb::arg("unseen_to_majority"), nb::arg("n_threads"),
      "The leaf of every row of a 2-D array of numbers.");
  module.def(
      "find_leaves",
      [](const Tree& tree, const std::vector<AnyColumn>& columns, std::size_t n_rows, bool unseen_to_majority,
         int n_threads) { return leaves_of(tree, view_of(columns, n_rows), unseen_to_majority, n_threads); },
      nb::arg("tree"), nb::arg("columns"), nb::arg("n_rows"), nb::arg("unseen_to_majority"),
      nb::arg("n_threads"), "The leaf of every row of a table given column by column.");
}

}  // namespace hornbeam::bindings
