// Density trees: columns of numbers in, a Tree out.
#include "arrays.h"
#include "density/density.h"

namespace hornbeam::bindings {

using density::DensityParams;
using density::grow_density_tree;

void bind_density(nb::module_& module) {
  module.def(
      "grow_density_tree",
      [](const std::vector<Array1<double>>& columns, const std::optional<Array1<double>>& weights,
         const Array1<RowId>& rows, const Array1<double>& low, const Array1<double>& high,
         std::int32_t max_depth, std::int64_t min_samples_split, std::int64_t min_samples_leaf) {
        std::vector<std::span<const double>> views;
        for (const Array1<double>& column : columns) views.push_back(span_of(column));
        const DensityParams params{max_depth, min_samples_split, min_samples_leaf};
        return without_lock([&](Cancel& cancel) {
          return grow_density_tree(views, span_of(weights), span_of(rows), span_of(low), span_of(high),
                                   params, cancel);
        });
      },
      nb::arg("columns"), nb::kw_only(), nb::arg("weights").none(), nb::arg("rows"), nb::arg("low"),
      nb::arg("high"), nb::arg("max_depth"), nb::arg("min_samples_split"), nb::arg("min_samples_leaf"),
      "Grows a density tree; values are densities relative to the uniform one over the box [low, high].");
}

}  // namespace hornbeam::bindings
