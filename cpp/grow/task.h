// One tree to be grown, and the door to growing it with a criterion whose type is known. The door's body is
// in tree_grower.h; the files grow_*.cpp beside it open it, each for a few criteria, so that they compile
// side by side.
#pragma once

#include "grow/grower.h"

namespace hornbeam::grow {

struct GrowTask {
  const Dataset& data;
  const Target& target;
  const Sample& sample;
  const GrowParams& params;  // with the features listed, max_features counted and a region per thread
  Cancel& cancel;
};

template <class S>
GrownTree grow_with(const GrowTask& task, S scorer);

}  // namespace hornbeam::grow
