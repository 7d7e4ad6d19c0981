// Losses and settings of boosting by their names in Python.
#pragma once

#include <string>

#include "boost/grow/boost_grower.h"
#include "boost/losses.h"
#include "settings.h"

namespace hornbeam::bindings {

boost::LossKind loss_of(const std::string& name);
boost::BoostParams boost_params_of(const nb::kwargs& settings, int n_features);

}  // namespace hornbeam::bindings
