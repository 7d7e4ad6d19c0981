#include "split/partition.h"

#include <algorithm>
#include <cstring>

namespace hornbeam::split {

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

std::size_t partition_rows(std::span<Entry> entries, Entry* scratch, const Column& column, const Split& split,
                           const CategoryPlan& plan, Region* region) {
  const Code missing = column.missing_code();
  const bool missing_left = split.missing_branch == 0;
  return std::visit(
      [&](const auto& buffer) {
        const auto* codes = buffer.data();
        if (column.kind == ColumnKind::kCategorical) {
          Buffer<std::uint8_t> right(std::size_t{column.n_codes} + 1, region);
          fill_branches(plan, column, split, missing_left ? 0 : 1, right.span());
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

std::size_t partition_rows(std::span<Entry> entries, Entry* scratch, std::span<const std::uint8_t> branches) {
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry entry = entries[i];
    entries[n_left] = entry;
    scratch[i - n_left] = entry;
    n_left += branches[i] == 0;
  }
  std::copy_n(scratch, entries.size() - n_left, entries.data() + n_left);
  return n_left;
}

namespace {

template <class Branch>
void look_up(std::span<const Entry> entries, const Column& column, const Buffer<Branch>& branch_of_code,
             std::span<Branch> branches) {
  std::visit(
      [&](const auto& codes) {
        for (std::size_t i = 0; i < entries.size(); ++i) branches[i] = branch_of_code[codes[entries[i].row]];
      },
      column.codes);
}

template <class Branch>
void mark(std::span<const Entry> entries, const Column& column, const Split& split, const CategoryPlan& plan,
          Branch none, std::span<Branch> branches, Region* region) {
  Buffer<Branch> branch_of_code(std::size_t{column.n_codes} + 1, region);
  if (column.kind == ColumnKind::kCategorical) {
    fill_branches(plan, column, split, std::max(split.missing_branch, 0), branch_of_code.span());
  } else {
    const Code first_right = codes_at_or_below(column, split.threshold);
    std::ranges::fill(branch_of_code.span().first(first_right), Branch{0});
    std::ranges::fill(branch_of_code.span().subspan(first_right), Branch{1});
  }
  branch_of_code[column.missing_code()] = none;
  look_up(entries, column, branch_of_code, branches);
}

}  // namespace

void mark_branches(std::span<const Entry> entries, const Column& column, const Split& split,
                   const CategoryPlan& plan, std::span<std::uint8_t> branches, Region* region) {
  mark(entries, column, split, plan, kNoBranch, branches, region);
}

void mark_branches(std::span<const Entry> entries, const Column& column, const Split& split,
                   const CategoryPlan& plan, std::span<std::uint32_t> branches, Region* region) {
  mark(entries, column, split, plan, kNoneOfMany, branches, region);
}

void mark_missing(std::span<const Entry> entries, const Column& column, std::span<std::uint8_t> branches,
                  Region* region) {
  Buffer<std::uint8_t> is_missing(std::size_t{column.n_codes} + 1, region);
  std::ranges::fill(is_missing.span(), std::uint8_t{0});
  is_missing[column.missing_code()] = 1;
  look_up(entries, column, is_missing, branches);
}

void partition_rows(std::span<Entry> entries, Entry* scratch, const Column& column, const Split& split,
                    const CategoryPlan& plan, std::span<std::size_t> begin, Region* region) {
  Buffer<std::uint32_t> branch(std::size_t{column.n_codes} + 1, region);
  fill_branches(plan, column, split, std::max(split.missing_branch, 0), branch.span());
  std::ranges::fill(begin, 0);
  std::visit(
      [&](const auto& codes) {
        for (const Entry entry : entries) ++begin[branch[codes[entry.row]] + 1];
        add_up_counts(begin);
        Buffer<std::size_t> next(begin.size(), region);
        std::ranges::copy(begin, next.data());
        for (const Entry entry : entries) scratch[next[branch[codes[entry.row]]]++] = entry;
      },
      column.codes);
  std::memcpy(entries.data(), scratch, entries.size_bytes());
}

}  // namespace hornbeam::split
