// Between numpy and the core: views of incoming arrays, and arrays made of C++ vectors without copying.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "data/input.h"
#include "in_place.h"

namespace hornbeam::bindings {

using data::ColumnView;
using data::Number;
using data::TableView;

namespace nb = nanobind;

// Arrays of any number type and stride, at any address: they are read through views, number by number
// (data/input.h).
using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using AnyTable = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Array1 = InPlace<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

inline Number number_of(const nb::dlpack::dtype& dtype) {
  using Dtype = nb::dlpack::dtype_code;
  const auto is = [&](Dtype code, int bits) {
    return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
  };
  if (is(Dtype::Float, 64)) return Number::kF64;
  if (is(Dtype::Float, 32)) return Number::kF32;
  if (is(Dtype::Int, 64)) return Number::kI64;
  if (is(Dtype::Int, 32)) return Number::kI32;
  if (is(Dtype::Int, 16)) return Number::kI16;
  if (is(Dtype::Int, 8)) return Number::kI8;
  if (is(Dtype::UInt, 64)) return Number::kU64;
  if (is(Dtype::UInt, 32)) return Number::kU32;
  if (is(Dtype::UInt, 16)) return Number::kU16;
  if (is(Dtype::UInt, 8)) return Number::kU8;
  if (dtype.code == static_cast<std::uint8_t>(Dtype::Bool)) return Number::kBool;
  throw nb::type_error("a column must hold bool, integer, float32 or float64 numbers");
}

inline ColumnView view_of(const AnyColumn& array) {
  const auto item = static_cast<std::ptrdiff_t>(array.itemsize());
  return {static_cast<const std::byte*>(array.data()), array.stride(0) * item, number_of(array.dtype())};
}

inline TableView view_of(const AnyTable& array) {
  const auto item = static_cast<std::ptrdiff_t>(array.itemsize());
  TableView table{array.shape(0), {}};
  table.columns.reserve(array.shape(1));
  const auto* data = static_cast<const std::byte*>(array.data());
  const Number number = number_of(array.dtype());
  for (std::size_t j = 0; j < array.shape(1); ++j) {
    table.columns.push_back(
        {data + static_cast<std::ptrdiff_t>(j) * array.stride(1) * item, array.stride(0) * item, number});
  }
  return table;
}

// Columns of a table, with the arrays that keep them alive. All must have n_rows elements.
inline TableView view_of(const std::vector<AnyColumn>& columns, std::size_t n_rows) {
  TableView table{n_rows, {}};
  for (const AnyColumn& column : columns) {
    if (column.shape(0) != n_rows) throw nb::value_error("columns of one table differ in length");
    table.columns.push_back(view_of(column));
  }
  return table;
}

template <class T>
std::span<const T> span_of(const Array1<T>& array) {
  return {array.data(), array.size()};
}
template <class T>
std::span<const T> span_of(const std::optional<Array1<T>>& array) {
  return array ? span_of(*array) : std::span<const T>{};
}

// A numpy array that takes over the contents of the vector.
template <class T>
NumpyArray<T> to_numpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumpyArray<T>(owned->data(), {owned->size()}, owner);
}

// A signal handler in Python raised an exception: it is set, and the work must stop.
bool python_wants_stop();

// A call into the core while Python's lock (the GIL) is released. When the interpreter is about to exit,
// calls do not return to it: taking the lock then would end the thread in the middle of C++ code. They wait
// for the end of the process instead.
class CallWithoutLock {
 public:
  CallWithoutLock();
  ~CallWithoutLock();
  CallWithoutLock(const CallWithoutLock&) = delete;
  CallWithoutLock& operator=(const CallWithoutLock&) = delete;

 private:
  nb::gil_scoped_release release_;
};

// Asks running calls to stop and waits until none of them needs Python any more; runs at exit.
void stop_running_calls();

// Runs `work(cancel)` without Python's lock. A signal that Python turns into an exception stops the work and
// is raised.
template <class Work>
auto without_lock(Work&& work) {
  Cancel cancel(python_wants_stop);
  std::optional<decltype(work(cancel))> result;
  std::exception_ptr error;
  {
    const CallWithoutLock call;
    const DefaultFloatingPoint floating_point;
    try {
      result.emplace(work(cancel));
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (error) {
    try {
      std::rethrow_exception(error);
    } catch (const Cancelled&) {
      throw nb::python_error();  // the lock is held again and the exception already set
    }
  }
  return std::move(*result);
}

}  // namespace hornbeam::bindings
