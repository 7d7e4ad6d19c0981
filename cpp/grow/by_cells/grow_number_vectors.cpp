// The growers for several numbers per row, numbers of rows in portions, and criteria of the user's own.
#include "criterion/own.h"
#include "grow/by_cells/grow_by_cells.h"

namespace hornbeam::grow {

template std::optional<GrownTree> grow_by_cells<Cells::kSumsOfMany>(const GrowTask&);
template GrownTree grow_with(const GrowTask&, criterion::OwnScorer);

}  // namespace hornbeam::grow
