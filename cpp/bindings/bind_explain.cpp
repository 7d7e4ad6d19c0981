// Explanations: how much each column adds to the prediction.
#include "arrays.h"
#include "explain/explainer.h"

namespace hornbeam::bindings {

using explain::Explainer;
using predict::TableRows;
using predict::Unseen;
using tree::Tree;

namespace {

using explain::Explainer;
// These are written to, so they are bound with `noconvert`: results in a converted copy would be lost.
using Parts = InPlace<double, nb::c_contig, nb::device::cpu>;
using Base = InPlace<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Columns = std::vector<AnyColumn>;

void check_width(const Explainer& explainer, const TableView& table, const char* what) {
  const auto& features = explainer.features();
  if (!features.empty() && static_cast<std::size_t>(features.back()) >= table.columns.size())
    throw nb::value_error((std::string(what) + " has too few columns").c_str());
}

void explain_rows(const Explainer& explainer, const TableView& table,
                  const std::optional<TableView>& background, Parts& parts, Base& base, int n_threads) {
  check_width(explainer, table, "the table");
  const std::size_t n_features = table.columns.size();
  const std::size_t n_scores = explainer.n_scores();
  const bool pairs = parts.ndim() == 4;
  const std::size_t expected = table.n_rows * n_features * (pairs ? n_features : 1) * n_scores;
  if ((!pairs && parts.ndim() != 3) || parts.shape(0) != table.n_rows || parts.shape(1) != n_features ||
      parts.size() != expected)
    throw nb::value_error(
        "parts must have the shape (rows, columns, scores) or (rows, columns, columns, scores)");
  if (base.shape(0) != table.n_rows || base.shape(1) != n_scores)
    throw nb::value_error("base must have the shape (rows, scores)");
  std::optional<TableRows> others;
  if (background) {
    check_width(explainer, *background, "the background");
    if (background->n_rows == 0) throw nb::value_error("the background has no rows");
    others.emplace(*background);
  }
  const explain::Question question{others ? &*others : nullptr, pairs, n_threads};
  without_lock([&](Cancel& cancel) {
    explainer.explain(TableRows(table), question, n_features, cancel, {parts.data(), parts.size()},
                      {base.data(), base.size()});
    return 0;
  });
}

}  // namespace

void bind_explain(nb::module_& module) {
  nb::class_<Explainer>(module, "Explainer",
                        "Shapley values of the columns in the sum of some trees, exactly.")
      .def(
          "__init__",
          [](Explainer* self, nb::typed<nb::tuple, Tree, nb::ellipsis> trees, const Array1<double>& weights,
             const std::optional<Array1<std::int32_t>>& adds_to, bool votes, bool unseen_to_majority) {
            std::vector<const Tree*> found;
            for (nb::handle tree : trees) found.push_back(&nb::cast<const Tree&>(tree));
            explain::Sum sum{{weights.data(), weights.data() + weights.size()}, {}, votes};
            if (adds_to) sum.adds_to.assign(adds_to->data(), adds_to->data() + adds_to->size());
            new (self) Explainer(std::move(found), std::move(sum),
                                 unseen_to_majority ? Unseen::kMajority : Unseen::kMissing);
          },
          nb::keep_alive<1, 2>(), nb::arg("trees"), nb::arg("weights"), nb::arg("adds_to").none(),
          nb::arg("votes"), nb::arg("unseen_to_majority"),
          "Tree t adds weights[t] times its values (with `votes`: times 1 for the largest) to the scores, or "
          "to score adds_to[t] alone.")
      .def_prop_ro("n_scores", &Explainer::n_scores)
      .def_prop_ro("has_weights", &Explainer::has_weights,
                   "Whether every tree knows the weight of the rows it was grown on.")
      .def(
          "explain",
          [](const Explainer& self, const Columns& columns, std::size_t n_rows,
             const std::optional<Columns>& background, std::size_t n_background, Parts parts, Base base,
             int n_threads) {
            std::optional<TableView> others;
            if (background) others = view_of(*background, n_background);
            explain_rows(self, view_of(columns, n_rows), others, parts, base, n_threads);
          },
          nb::arg("columns"), nb::arg("n_rows"), nb::arg("background").none(), nb::arg("n_background"),
          nb::arg("parts").noconvert(), nb::arg("base").noconvert(), nb::arg("n_threads"),
          "Writes parts[row, column, score], or parts[row, column, column, score] for pairs, and base[row, "
          "score]; path-dependent without a background.");
}

}  // namespace hornbeam::bindings
