#include <algorithm>
#include <bit>

#include "boost/boost_kernels.h"
#include "boost/grow/row_marker.h"
#include "boost/grow/row_sets.h"

namespace hornbeam::boost {

namespace {

// The same for codes among others of their row.
void mark_in_rows(const Tiles::SlotCodes& codes, std::span<const BoostEntry> entries,
                  const std::vector<std::uint8_t>& is_left, std::uint64_t* left_bits) {
  constexpr std::size_t kAhead = 32;
  const auto code_at = [&](std::size_t i) { return codes.codes + row_of(entries[i]) * codes.row_bytes; };
  for (std::size_t i = 0; i < entries.size(); i += 64) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(64, entries.size() - i);
    for (std::size_t j = 0; j < n; ++j) {
      if (i + j + kAhead < entries.size()) prefetch(code_at(i + j + kAhead));
      word |= std::uint64_t{is_left[*code_at(i + j)]} << j;
    }
    *left_bits++ = word;
  }
}

// What the kernels do for codes of one byte.
template <class CodeType>
void mark_listed(const CodeType* column, std::span<const BoostEntry> entries,
                 const std::vector<std::uint8_t>& is_left, std::uint64_t* left_bits) {
  for (std::size_t i = 0; i < entries.size(); i += 64) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(64, entries.size() - i);
    for (std::size_t j = 0; j < n; ++j) word |= std::uint64_t{is_left[column[row_of(entries[i + j])]]} << j;
    *left_bits++ = word;
  }
}

template <class CodeType>
SetCounts divide_listed(const CodeType* column, const std::vector<std::uint8_t>& is_left, std::size_t n_words,
                        std::uint64_t* members, std::uint64_t* left, std::uint64_t* left_bits) {
  BitStream stream(left_bits);
  SetCounts counts;
  for (std::size_t w = 0; w < n_words; ++w) {
    left[w] = 0;
    for (std::uint64_t rest = members[w]; rest != 0; rest &= rest - 1) {
      const auto row = static_cast<std::size_t>(std::countr_zero(rest));
      const std::uint64_t goes_left = is_left[column[64 * w + row]];
      left[w] |= goes_left << row;
      stream.add(goes_left, 1);
      ++counts.n_rows;
      counts.n_left += goes_left;
    }
    members[w] &= ~left[w];
  }
  stream.end();
  return counts;
}

}  // namespace

std::vector<std::uint8_t> left_codes(const Column& column, const Split& split) {
  std::vector<std::uint8_t> is_left(std::max<std::size_t>(256, std::size_t{column.n_codes} + 1), 0);
  is_left[column.missing_code()] = split.missing_branch == 0 ? 1 : 0;
  for (const Code code : split.left_categories) is_left[code] = 1;
  if (column.kind == ColumnKind::kNumeric) {
    for (Code code = 0; code < column.n_codes; ++code) is_left[code] = code < split.first_right ? 1 : 0;
  }
  return is_left;
}

RowMarker::RowMarker(const Column& column, const Split& split)
    : column_(column), is_left_(left_codes(column, split)) {}

RowMarker::RowMarker(const Column& column, const Split& split, const Digit& digit, Tiles::SlotCodes codes)
    : column_(column), codes_(codes), is_left_(kCellsPerSlot, 0) {
  const std::vector<std::uint8_t> by_code = left_codes(column, split);
  for (std::size_t joint = 0; joint < digit.n_joint; ++joint)
    is_left_[joint] = by_code[joint / digit.step % digit.n_codes];
}

std::size_t RowMarker::mark(std::span<const BoostEntry> rows, std::uint64_t* words) const {
  if (codes_.codes != nullptr) {
    mark_in_rows(codes_, rows, is_left_, words);
  } else {
    std::visit(
        [&](const auto& codes) {
          const auto* column = codes.data();
          if constexpr (std::is_same_v<decltype(column), const std::uint8_t*>) {
            boost_kernels().mark_left(column, rows.data(), rows.size(), is_left_.data(), words);
          } else {
            mark_listed(column, rows, is_left_, words);
          }
        },
        column_.codes);
  }
  std::size_t count = 0;
  for (std::size_t w = 0; w < (rows.size() + 63) / 64; ++w) count += std::popcount(words[w]);
  return count;
}

SetCounts RowMarker::divide(std::size_t first_word, std::size_t n_words, std::uint64_t* members,
                            std::uint64_t* left, std::uint64_t* left_bits) const {
  return std::visit(
      [&](const auto& codes) {
        const auto* column = codes.data() + 64 * first_word;
        if constexpr (std::is_same_v<decltype(column), const std::uint8_t*>) {
          return boost_kernels().divide_set(column, is_left_.data(), n_words, members, left, left_bits);
        } else {
          return divide_listed(column, is_left_, n_words, members, left, left_bits);
        }
      },
      column_.codes);
}

}  // namespace hornbeam::boost
