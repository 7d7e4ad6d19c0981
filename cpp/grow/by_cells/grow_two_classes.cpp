// The growers for two classes that are counted.
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kCountsOfTwo>(const GrowTask&);

}  // namespace hornbeam::grow
