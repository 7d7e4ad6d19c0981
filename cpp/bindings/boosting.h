// Losses and settings of boosting by their names in Python.
#pragma once

#include <optional>
#include <string>

#include "boost/grow/boost_grower.h"
#include "boost/losses.h"
#include "settings.h"

namespace hornbeam::bindings {

// A loss by its name; nothing for an empty one, which stands for a loss that gives its own derivatives.
std::optional<boost::Loss> loss_of(const std::string& name, double parameter);
boost::BoostParams boost_params_of(const nb::kwargs& settings, int n_features);

}  // namespace hornbeam::bindings
