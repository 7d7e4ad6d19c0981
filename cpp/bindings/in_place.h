// Arrays from Python whose numbers the core reads, or writes, where they lie.
//
// C++ requires numbers to be aligned: one of eight bytes must lie at an address divisible by eight, and
// reading it anywhere else is undefined. Arrays made from a buffer, a packed record or a network message may
// lie anywhere. Arrays that are only read are copied if they are not aligned; arrays that are written to are
// then refused.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace hornbeam::bindings {

template <class... Args>
class InPlace : public nanobind::ndarray<Args...> {
 public:
  InPlace() = default;
  explicit InPlace(const nanobind::ndarray<Args...>& array) : nanobind::ndarray<Args...>(array) {}
};

template <class... Args>
bool lies_well(const nanobind::ndarray<Args...>& array) {
  constexpr std::size_t kWidest = alignof(double);
  const std::size_t step = std::clamp<std::size_t>(array.itemsize(), 1, kWidest);
  return array.size() == 0 || reinterpret_cast<std::uintptr_t>(array.data()) % step == 0;
}

}  // namespace hornbeam::bindings

namespace nanobind::detail {

template <class... Args>
struct type_caster<hornbeam::bindings::InPlace<Args...>> {
  using Inner = type_caster<ndarray<Args...>>;
  NB_TYPE_CASTER(hornbeam::bindings::InPlace<Args...>, Inner::Name)

  bool from_python(handle given, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    Inner inner;
    if (!inner.from_python(given, flags, cleanup)) return false;
    if (inner.value.is_valid() && !hornbeam::bindings::lies_well(inner.value)) {
      if constexpr (!ndarray<Args...>::ReadOnly) return false;
      Inner copied;
      try {
        const object copy = module_::import_("numpy").attr("require")(given, none(), "A");
        if (!copied.from_python(copy, flags, cleanup)) return false;
      } catch (const std::exception&) {
        return false;  // out of memory: nanobind then reports which arguments do not fit
      }
      value = Value(copied.value);
      return true;
    }
    value = Value(inner.value);
    return true;
  }
};

}  // namespace nanobind::detail
