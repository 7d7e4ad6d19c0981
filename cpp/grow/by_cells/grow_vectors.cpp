// The growers that need cells of several sums: for weighted classes, several outputs, rows in portions.
// Numbers are in grow/by_cells/grow_number_vectors.cpp.
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kWeights>(const GrowTask&);
template std::optional<GrownTree> grow_by_cells<Cells::kTwoWeights>(const GrowTask&);

}  // namespace hornbeam::grow
