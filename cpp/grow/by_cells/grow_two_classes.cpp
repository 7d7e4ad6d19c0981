// The growers for two counted classes.
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kCountsOfTwo>(const GrowTask&);

}  // namespace hornbeam::grow
