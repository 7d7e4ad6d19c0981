// Settings from Python by name: a table has a line per setting, so that adding one touches one line.
#pragma once

#include <map>
#include <string>
#include <type_traits>

#include "arrays.h"

namespace hornbeam::bindings {

template <class Params>
using Setters = std::map<std::string, void (*)(Params&, nb::handle)>;

template <class Class, class Value>
Class class_of(Value Class::*);

// Sets a member to the given value.
template <auto Member>
void set(decltype(class_of(Member))& params, nb::handle value) {
  params.*Member = nb::cast<std::remove_reference_t<decltype(params.*Member)>>(value);
}

// Sets one of several named choices.
template <class Enum>
Enum choice(const std::map<std::string, Enum>& names, nb::handle name) {
  const auto text = nb::cast<std::string>(name);
  const auto found = names.find(text);
  if (found == names.end()) throw nb::value_error(("the core does not know " + text).c_str());
  return found->second;
}

// Throws TypeError for a name that is not in the table; settings that are not given keep their values.
template <class Params>
void apply_settings(const Setters<Params>& known, const nb::kwargs& given, const char* subject,
                    Params& params) {
  for (const auto [name, value] : given) {
    const auto text = nb::cast<std::string>(name);
    const auto found = known.find(text);
    if (found == known.end()) {
      const std::string message = std::string("the core has no setting of ") + subject + " called " + text;
      throw nb::type_error(message.c_str());
    }
    found->second(params, value);
  }
}

}  // namespace hornbeam::bindings
