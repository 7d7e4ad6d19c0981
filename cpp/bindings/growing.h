// What every call that grows trees takes from Python: the target, checked, and the settings of growth.
#pragma once

#include "arrays.h"
#include "grow/grower.h"

namespace hornbeam::bindings {

using criterion::Target;
using data::Dataset;
using grow::GrowParams;

// Throws ValueError unless the target and its weights have one row per row of the table.
void check_target(const Dataset& data, const Target& target);

// The settings of growth by their names in recipes/single.py; settings that are left out have the core's
// defaults.
GrowParams grow_params_of(const nb::kwargs& settings, int n_features);

// The table of the criteria. For each: its name, the impurity it shows, its second step if it has one,
// whether it is for classes, and its other names.
nb::list criteria();

}  // namespace hornbeam::bindings
