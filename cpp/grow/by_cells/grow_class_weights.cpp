// The growers for weighted rows of classes, of which there are more than two.
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kClassWeights>(const GrowTask&);

}  // namespace hornbeam::grow
