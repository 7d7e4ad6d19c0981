// Tails of distributions and the merging of categories, for tests and for tables of candidate splits.
#include "arrays.h"
#include "base/math.h"
#include "criterion/significance.h"
#include "split/categories/merge_categories.h"

namespace hornbeam::bindings {

using criterion::chi2_log_sf;
using criterion::f_log_sf;
using split::kMostComparedPairwise;
using split::merge_categories;
using split::MergeTable;
using split::n_ways_to_group;

namespace {

std::vector<std::uint32_t> merge(const Array1<double>& cells, int n_classes, double level) {
  const std::span<const double> given = span_of(cells);
  MergeTable table{n_classes, std::vector<double>(given.begin(), given.end())};
  if (table.cells.size() % table.width() != 0) throw nb::value_error("a cell is not whole");
  if (table.n_groups() > kMostComparedPairwise) throw nb::value_error("too many categories for all pairs");
  return merge_categories(std::move(table), {}, ln_of(level));
}

}  // namespace

void bind_significance(nb::module_& module) {
  module.attr("MOST_COMPARED_PAIRWISE") = kMostComparedPairwise;
  module.def("chi2_log_sf", &chi2_log_sf, nb::arg("statistic"), nb::arg("dof"),
             "ln P(X >= statistic) for a chi-square X.");
  module.def("f_log_sf", &f_log_sf, nb::arg("f"), nb::arg("d1"), nb::arg("d2"),
             "ln P(X >= f) for an X with the F distribution.");
  module.def("merge_categories", &merge, nb::arg("cells"), nb::arg("n_classes"), nb::arg("level"),
             "The group of each category, given a weight per class or, for n_classes=0, weight, mean and sum "
             "of squares about it.");
  module.def("n_ways_to_group", &n_ways_to_group, nb::arg("n_categories"), nb::arg("n_groups"),
             "In how many ways categories can be put into so many groups, none of them empty.");
}

}  // namespace hornbeam::bindings
