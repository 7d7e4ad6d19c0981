// Draws the columns that a node of a block tries (grow/fast/column_draw.h), as grow/feature_draw.h does;
// included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "grow/fast/column_draw.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

class DrawnColumns {
 public:
  explicit DrawnColumns(const ColumnDraw& draw) : draw_(draw) {
    if (!tries_all()) return;
    for (std::size_t c = 0; c < draw_.n_columns; ++c) draw_.drawn[c] = static_cast<std::uint32_t>(c);
    repeat_last(draw_.n_columns);
  }

  // Calls `try_drawn` with a list of columns in ascending order, and again with one more as long as all columns were
  // constant. The last column is repeated until the length of the list is a multiple of four.
  template <class TryDrawn>
  void until_informative(std::uint64_t path, const TryDrawn& try_drawn) {
    if (tries_all()) {
      try_drawn(draw_.drawn, draw_.n_columns);
      return;
    }
    std::size_t n_tried = 0;
    if (draw_.max_features == kFour && draw_.n_columns > kFour && draw_.n_columns <= kMostAtOnce) {
      draw_four(path);
      if (try_drawn(draw_.drawn, kFour)) return;
      n_tried = kFour;
    }
    Stream stream(draw_.key, path);
    std::size_t n_drawn = 0;
    bool informative = false;
    while (n_drawn < draw_.n_columns && !informative) {
      const std::size_t n = draw(stream, n_drawn, n_drawn == 0 ? draw_.max_features : 1);
      n_drawn += n;
      list(n);
      if (n_drawn > n_tried) informative = try_drawn(draw_.drawn, n);
    }
    restore(n_drawn);
  }

 private:
  static constexpr std::size_t kFour = ColumnDraw::kFour;
  static constexpr std::size_t kMostAtOnce = 64;

  // Computes in registers what draw and list find for the first four of up to 64 columns: draw i takes the column at a
  // random place from i on, and puts the column from place i there.
  void draw_four(std::uint64_t path) {
    Stream stream(draw_.key, path);
    std::uint32_t place[kFour];
    std::uint32_t left_there[kFour];
    std::uint64_t columns = 0;
    for (std::uint32_t i = 0; i < kFour; ++i) {
      place[i] = i + stream.below(static_cast<std::uint32_t>(draw_.n_columns) - i);
      left_there[i] = i;
      std::uint32_t column = place[i];
      for (std::uint32_t before = 0; before < i; ++before) {
        column = place[before] == place[i] ? left_there[before] : column;
        left_there[i] = place[before] == i ? left_there[before] : left_there[i];
      }
      columns |= std::uint64_t{1} << column;
    }
    for (std::size_t i = 0; i < kFour; ++i, columns &= columns - 1)
      draw_.drawn[i] = static_cast<std::uint32_t>(std::countr_zero(columns));
  }

  std::size_t draw(Stream& stream, std::size_t n_drawn, std::size_t wanted) {
    const std::size_t n_columns = draw_.n_columns;
    const std::size_t end = std::min(n_drawn + wanted, n_columns);
    std::uint32_t* order = draw_.order;
    for (std::size_t i = n_drawn; i < end; ++i) {
      std::size_t other = i;
      other += stream.below(static_cast<std::uint32_t>(n_columns - i));
      draw_.swapped[i] = static_cast<std::uint32_t>(other);
      const std::uint32_t column = order[other];
      order[other] = order[i];
      order[i] = column;
      draw_.drawn_words[column / 64] |= std::uint64_t{1} << (column % 64);
    }
    return end - n_drawn;
  }

  void restore(std::size_t n_drawn) {
    for (std::size_t i = 0; i < n_drawn; ++i) {
      draw_.order[i] = static_cast<std::uint32_t>(i);
      draw_.order[draw_.swapped[i]] = draw_.swapped[i];
    }
  }

  void list(std::size_t n) {
    std::size_t word = 0;
    for (std::size_t i = 0; i < n; ++i) {
      while (draw_.drawn_words[word] == 0) ++word;
      std::uint64_t& bits = draw_.drawn_words[word];
      draw_.drawn[i] =
          static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
    repeat_last(n);
  }
  void repeat_last(std::size_t n) {
    for (std::size_t i = n; i % kFour != 0; ++i) draw_.drawn[i] = draw_.drawn[n - 1];
  }

  bool tries_all() const { return draw_.max_features >= draw_.n_columns; }

  ColumnDraw draw_;
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
