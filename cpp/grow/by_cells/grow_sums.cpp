// The growers for one number per row, which is summed.
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kSums>(const GrowTask&);

}  // namespace hornbeam::grow
