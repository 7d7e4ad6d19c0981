// The growers for criteria that need the rows themselves to find a test.
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kRows>(const GrowTask&);

}  // namespace hornbeam::grow
