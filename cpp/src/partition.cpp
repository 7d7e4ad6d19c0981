#include "hornbeam/partition.h"

#include <cstring>

namespace hornbeam {

namespace {

// Both destinations are written every time and only the taken one advances: no branch to mispredict.
template <class CodeType, class GoesRight>
std::size_t partition_by(std::span<Entry> entries, Entry* scratch, const CodeType* codes,
                         GoesRight goes_right) {
  Entry* left = entries.data();
  std::size_t n_left = 0;
  std::size_t n_right = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry entry = entries[i];
    const bool right = goes_right(static_cast<Code>(codes[entry.row]));
    left[n_left] = entry;
    scratch[n_right] = entry;
    n_left += !right;
    n_right += right;
  }
  if (n_right != 0) std::memcpy(left + n_left, scratch, n_right * sizeof(Entry));
  return n_left;
}

}  // namespace

std::size_t partition_rows(std::span<Entry> entries, Entry* scratch, const Column& column,
                           const Split& split) {
  const Code missing = column.missing_code();
  const bool missing_left = split.missing_branch == 0;
  return std::visit(
      [&](const auto& buffer) {
        const auto* codes = buffer.data();
        if (column.kind == ColumnKind::kCategorical) {
          std::vector<std::uint8_t> right(std::size_t{column.n_codes} + 1, split.missing_branch == 0 ? 0 : 1);
          for (const Code code : split.left_categories) right[code] = 0;
          for (const Code code : split.right_categories) right[code] = 1;
          return partition_by(entries, scratch, codes, [&](Code code) { return right[code] != 0; });
        }
        const Code first_right = split.first_right;
        if (missing_left) {
          return partition_by(entries, scratch, codes,
                              [=](Code code) { return code >= first_right && code != missing; });
        }
        return partition_by(entries, scratch, codes, [=](Code code) { return code >= first_right; });
      },
      column.codes);
}

}  // namespace hornbeam
