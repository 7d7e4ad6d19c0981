#include <algorithm>
#include <bit>

#include "hornbeam/boost/kernels.h"
#include "hornbeam/boost/marks.h"

namespace hornbeam {

namespace {

template <class CodeType>
void mark_listed(const CodeType* column, std::span<const BoostEntry> entries,
                 const std::vector<char>& is_left, std::uint64_t* marks) {
  for (std::size_t i = 0; i < entries.size(); i += 64) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(64, entries.size() - i);
    for (std::size_t j = 0; j < n; ++j)
      word |= std::uint64_t{is_left[column[row_of(entries[i + j])]] != 0} << j;
    *marks++ = word;
  }
}

}  // namespace

std::vector<char> left_codes(const Column& column, const Split& split) {
  std::vector<char> is_left(std::size_t{column.n_codes} + 1, 0);
  is_left[column.missing_code()] = split.missing_branch == 0 ? 1 : 0;
  for (const Code code : split.left_categories) is_left[code] = 1;
  if (column.kind == ColumnKind::kNumeric) {
    for (Code code = 0; code < column.n_codes; ++code) is_left[code] = code < split.first_right ? 1 : 0;
  }
  return is_left;
}

RowMarker::RowMarker(const Column& column, const Split& split)
    : column_(column), first_right_(split.first_right) {
  if (column.kind == ColumnKind::kCategorical) is_left_ = left_codes(column, split);
  if (split.missing_branch == 0) extra_ = column.missing_code();
}

std::size_t RowMarker::mark(std::span<const BoostEntry> rows, std::uint64_t* words) const {
  if (column_.kind == ColumnKind::kCategorical) {
    std::visit([&](const auto& codes) { mark_listed(codes.data(), rows, is_left_, words); }, column_.codes);
  } else {
    boost_kernels().mark_left(byte_codes(column_), rows.data(), rows.size(), first_right_, extra_, words);
  }
  std::size_t count = 0;
  for (std::size_t w = 0; w < (rows.size() + 63) / 64; ++w) count += std::popcount(words[w]);
  return count;
}

}  // namespace hornbeam
