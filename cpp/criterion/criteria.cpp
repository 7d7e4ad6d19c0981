#include "criterion/criteria.h"

#include <array>
#include <tuple>

#include "criterion/table.h"

namespace hornbeam::criterion {

namespace {

constexpr auto kRows = []<class... Rows>(std::type_identity<std::tuple<Rows...>>) {
  return std::array{CriterionRow{Rows::kName, Rows::kOtherNames, Rows::kShown, Rows::kSecondStep}...};
}(std::type_identity<Criteria>{});

}  // namespace

std::span<const CriterionRow> criteria() {
  return kRows;
}

std::optional<Criterion> criterion_named(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<Criterion>(i);
  }
  return std::nullopt;
}

}  // namespace hornbeam::criterion
