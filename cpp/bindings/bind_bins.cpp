// Bins and codes step by step, for tables that are not in one piece: in files, or spread over machines.
#include <algorithm>
#include <cmath>
#include <memory>

#include "arrays.h"
#include "data/bins.h"

namespace hornbeam::bindings {

using data::Bins;
using data::CodeBuffer;
using data::codes_in_bins;
using data::Column;
using data::column_of;
using data::Dataset;
using data::DistinctNumbers;
using data::make_bins;
using data::sampled_rows;

namespace {

void check_max_bins(int max_bins) {
  if (max_bins < 1) throw nb::value_error("max_bins must be at least 1");
}

void check_ascending(const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) || (i > 0 && !(values[i - 1] < values[i]))) {
      throw nb::value_error("the values of bins must ascend");
    }
  }
}

std::vector<double> known_numbers(const AnyColumn& values) {
  const ColumnView view = view_of(values);
  std::vector<double> numbers(values.shape(0));
  data::read_doubles(view, 0, numbers.size(), numbers.data());
  std::erase_if(numbers, [](double number) { return std::isnan(number); });
  for (double& number : numbers) number += 0.0;  // -0.0 + 0.0 is 0.0
  return numbers;
}

Bins bins_of(const AnyColumn& values, bool binned) {
  Bins bins{binned, known_numbers(values)};
  if (bins.values.size() != values.shape(0)) throw nb::value_error("the values of bins must ascend");
  check_ascending(bins.values);
  return bins;
}

nb::tuple bins_from(const AnyColumn& sample, const std::optional<AnyColumn>& distinct, int max_bins) {
  check_max_bins(max_bins);
  std::optional<std::vector<double>> all;
  if (distinct) {
    all = known_numbers(*distinct);
    check_ascending(*all);
  }
  std::vector<double> numbers = known_numbers(sample);
  Bins bins = without_lock([&](Cancel&) { return make_bins(std::move(numbers), std::move(all), max_bins); });
  return nb::make_tuple(to_numpy(std::move(bins.values)), bins.binned);
}

template <class T>
nb::object array_of(Buffer<T> codes) {
  auto* owned = new Buffer<T>(std::move(codes));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
  return nb::cast(NumpyArray<T>(owned->data(), {owned->size()}, owner));
}

nb::object codes_of_block(const AnyColumn& column, const AnyColumn& values, bool binned) {
  const Bins bins = bins_of(values, binned);
  const ColumnView view = view_of(column);
  CodeBuffer codes = without_lock([&](Cancel&) { return codes_in_bins(view, column.shape(0), bins); });
  return std::visit([](auto& buffer) { return array_of(std::move(buffer)); }, codes);
}

// ---- a data set of finished codes

// The width of codes says how many there are: the narrowest that has room for the missing one.
Number width_for(Code missing_code) {
  return missing_code <= 0xff ? Number::kU8 : missing_code <= 0xffff ? Number::kU16 : Number::kU32;
}

using CodeColumn = InPlace<nb::ro, nb::ndim<1>, nb::device::cpu>;

// A column whose codes stay where they are. They are checked first: the core trusts the codes of a data set.
struct GivenColumn {
  CodeColumn codes;
  Column column;

  void check(std::size_t n_rows) const {
    if (codes.shape(0) != n_rows) throw nb::value_error("columns of one table differ in length");
    if (number_of(codes.dtype()) != width_for(column.missing_code()) ||
        (n_rows > 1 && codes.stride(0) != 1)) {
      throw nb::value_error("codes must lie side by side, in the narrowest type that has room for them");
    }
  }

  void look_at_codes(Cancel& cancel) {
    data::visit_number(number_of(codes.dtype()), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 4) {
        take_codes(static_cast<const T*>(codes.data()), cancel);
      }
    });
  }

 private:
  template <class T>
  void take_codes(const T* rows, Cancel& cancel) {
    constexpr std::size_t kRowsPerLook = 1 << 22;
    const std::size_t n_rows = codes.shape(0);
    CancelPoller poller(cancel, true);
    T largest = 0;
    for (std::size_t begin = 0; begin < n_rows; begin += kRowsPerLook) {
      const std::size_t end = std::min(begin + kRowsPerLook, n_rows);
      for (std::size_t row = begin; row < end; ++row) largest = std::max(largest, rows[row]);
      poller.poll(end - begin);
    }
    const Code most = column.n_codes + (column.has_missing ? 1 : 0);
    if (n_rows > 0 && largest >= most)
      throw std::invalid_argument("a code lies outside the codes of its column");
    column.codes = Buffer<T>::over(rows, n_rows);
  }
};

// (codes, values, binned, has_missing) of numbers, (codes, n_categories, has_missing) of categories.
GivenColumn given_column(nb::handle item) {
  const auto parts = nb::cast<nb::tuple>(item);
  GivenColumn given;
  given.codes = nb::cast<CodeColumn>(parts[0]);
  if (parts.size() == 4) {
    given.column = column_of(bins_of(nb::cast<AnyColumn>(parts[1]), nb::cast<bool>(parts[2])));
    given.column.has_missing = nb::cast<bool>(parts[3]);
  } else {
    given.column.kind = ColumnKind::kCategorical;
    given.column.n_codes = nb::cast<Code>(parts[1]);
    given.column.has_missing = nb::cast<bool>(parts[2]);
  }
  return given;
}

Dataset dataset_of_codes(std::size_t n_rows, nb::list columns) {
  std::vector<GivenColumn> given;
  for (nb::handle item : columns) {
    given.push_back(given_column(item));
    given.back().check(n_rows);
  }
  Dataset data = without_lock([&](Cancel& cancel) {
    Dataset made(n_rows);
    for (GivenColumn& each : given) {
      each.look_at_codes(cancel);
      made.add(std::move(each.column));
    }
    return made;
  });
  for (GivenColumn& each : given) data.keep(std::make_shared<CodeColumn>(std::move(each.codes)));
  return data;
}

}  // namespace

void bind_bins(nb::module_& module) {
  module.def(
      "sampled_rows", [](std::size_t n_rows) { return to_numpy(sampled_rows(n_rows)); }, nb::arg("n_rows"),
      "The rows that the bins of a table of so many rows are made from, ascending; at most 200,000.");
  nb::class_<DistinctNumbers>(module, "DistinctNumbers",
                              "The distinct values of a column, collected block by block in any order.")
      .def(
          "__init__",
          [](DistinctNumbers* self, int max_bins) {
            check_max_bins(max_bins);
            new (self) DistinctNumbers(max_bins);
          },
          nb::arg("max_bins"))
      .def(
          "add",
          [](DistinctNumbers& self, const AnyColumn& block) { self.add(view_of(block), block.shape(0)); },
          nb::arg("block"), "Takes the values of a block of rows; NaN is missing.")
      .def_prop_ro("has_missing", &DistinctNumbers::has_missing)
      .def(
          "values",
          [](const DistinctNumbers& self) -> std::optional<NumpyArray<double>> {
            auto values = self.values();
            if (!values) return std::nullopt;
            return to_numpy(std::move(*values));
          },
          "The distinct values, ascending; None if they are more than bins, or than 2048.");
  module.def(
      "make_bins", &bins_from, nb::arg("sample"), nb::arg("distinct").none(), nb::arg("max_bins"),
      "Values and whether they are edges of bins: the distinct values if they are few, else edges from "
      "the values of the sampled rows.");
  module.def("codes_in_bins", &codes_of_block, nb::arg("block"), nb::arg("values"), nb::arg("binned"),
             "The codes of a block of rows, in the narrowest type that has room for all of the column.");
  module.def("dataset_of_codes", &dataset_of_codes, nb::arg("n_rows"), nb::arg("columns"),
             "A data set over codes that exist already, which stay where they are.\n\n"
             "A tuple per column: (codes, values, binned, has_missing) of numbers, (codes, n_categories, "
             "has_missing) of categories. Codes out of range are refused.");
}

}  // namespace hornbeam::bindings
