// The loops of explain/explain_kernels.h, for one instruction set; plain loops that compilers make wide.
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include "explain/explain_kernels.h"

namespace hornbeam::explain::HORNBEAM_KERNELS {

namespace {

void compare(const double* values, std::size_t n, double threshold, bool missing_right, std::uint8_t* right) {
  if (missing_right) {
    for (std::size_t i = 0; i < n; ++i) right[i] = !(values[i] <= threshold);
  } else {
    for (std::size_t i = 0; i < n; ++i) right[i] = values[i] > threshold;
  }
}

void set_bits(const std::uint8_t* __restrict bits, std::size_t n, int place,
              std::uint8_t* __restrict patterns) {
  for (std::size_t i = 0; i < n; ++i)
    patterns[i] = static_cast<std::uint8_t>(patterns[i] | (bits[i] << place));
}

#if defined(__AVX512F__)
// Eight rows at a time: a register for what each has to say to the eight sums, turned into one for each sum.
void look_up(const std::uint8_t* patterns, std::size_t n, const double* table, double* const* sums) {
  for (std::size_t i = 0; i < n; i += 8) {
    __m512d r[8];
    for (int k = 0; k < 8; ++k) r[k] = _mm512_loadu_pd(table + std::size_t{patterns[i + k]} * kTables);
    __m512d pairs[8];
    for (int k = 0; k < 8; k += 2) {
      pairs[k] = _mm512_unpacklo_pd(r[k], r[k + 1]);
      pairs[k + 1] = _mm512_unpackhi_pd(r[k], r[k + 1]);
    }
    // Each of `pairs` has sums 0, 2, 4, 6 or 1, 3, 5, 7 of two rows; quarters go where they belong.
    for (int odd = 0; odd < 2; ++odd) {
      const __m512d a = _mm512_shuffle_f64x2(pairs[odd], pairs[2 + odd], 0x88);
      const __m512d b = _mm512_shuffle_f64x2(pairs[odd], pairs[2 + odd], 0xdd);
      const __m512d c = _mm512_shuffle_f64x2(pairs[4 + odd], pairs[6 + odd], 0x88);
      const __m512d d = _mm512_shuffle_f64x2(pairs[4 + odd], pairs[6 + odd], 0xdd);
      const __m512d found[4] = {_mm512_shuffle_f64x2(a, c, 0x88), _mm512_shuffle_f64x2(b, d, 0x88),
                                _mm512_shuffle_f64x2(a, c, 0xdd), _mm512_shuffle_f64x2(b, d, 0xdd)};
      for (int quarter = 0; quarter < 4; ++quarter) {
        double* sum = sums[2 * quarter + odd] + i;
        _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), found[quarter]));
      }
    }
  }
}
#else
void look_up(const std::uint8_t* patterns, std::size_t n, const double* table, double* const* sums) {
  for (std::size_t i = 0; i < n; ++i) {
    const double* found = table + std::size_t{patterns[i]} * kTables;
    for (std::size_t k = 0; k < kTables; ++k) sums[k][i] += found[k];
  }
}
#endif

#if defined(__AVX512F__)
constexpr std::size_t kWidth = 8;
#elif defined(__AVX2__)
constexpr std::size_t kWidth = 4;
#else
constexpr std::size_t kWidth = 2;
#endif
using Vector [[gnu::vector_size(kWidth * sizeof(double))]] = double;  // as many rows as a register holds

inline void load(const double* from, Vector& vector) {
  __builtin_memcpy(&vector, from, sizeof vector);
}
inline void store(const Vector& vector, double* to) {
  __builtin_memcpy(to, &vector, sizeof vector);
}
inline void fill(double value, Vector& vector) {
  vector = value - Vector{};
}

// The ways of some rows.
inline void find_way(const PathStep& step, std::size_t row, Vector& way) {
  Vector values, threshold, right;
  fill(step.threshold, threshold);
  fill(1.0, right);
  load(step.values + row, values);
  if (step.missing_right)
    way = values <= threshold ? -right : right;
  else
    way = values > threshold ? right : -right;
  if (step.former_way == nullptr) return;
  Vector former;
  load(step.former_way + row, former);
  way = (step.former_right ? former > 0.0 : former < 0.0) ? way : Vector{};
}

// One of three numbers, by the way; if the column is new, one of two.
template <bool kIsNew>
inline void choose(const Vector& way, double if_left, double if_right, double if_none, Vector& chosen) {
  Vector left, right;
  fill(if_left, left);
  fill(if_right, right);
  chosen = way > 0.0 ? right : left;
  if (kIsNew) return;
  Vector none;
  fill(if_none, none);
  chosen = way == 0.0 ? none : chosen;
}

void find_factors(const PathTest& test, std::size_t n_points) {
  const auto [left, right] = std::pair(test.share_left, test.share_right);
  double* __restrict factors = test.factors;
  for (std::size_t t = 0; t < n_points; ++t) factors[t] = left + test.bend[t] * right;
  for (std::size_t t = 0; t < n_points; ++t) factors[n_points + t] = left - test.bend[t] * left;
  for (std::size_t t = 0; t < n_points; ++t) factors[2 * n_points + t] = right - test.bend[t] * right;
  for (std::size_t t = 0; t < n_points; ++t) factors[3 * n_points + t] = right + test.bend[t] * left;
}

// Goes down a branch of the test above; write(t, product) takes what comes of it.
template <bool kIsNew, class Write>
inline void go_down(const PathStep& step, std::size_t row, std::size_t n_rows, std::size_t n_points,
                    const Write& write) {
  const PathTest& above = *step.above;
  const double share = step.above_right ? above.share_right : above.share_left;
  const double* if_left = above.factors + (step.above_right ? 2 * n_points : 0);
  const double* if_right = if_left + n_points;
  const double* products = above.product + row;
  Vector way;
  load(above.way + row, way);
  for (std::size_t t = 0; t < n_points; ++t) {
    Vector product, factor;
    load(products + t * n_rows, product);
    choose<kIsNew>(way, if_left[t], if_right[t], share, factor);
    write(t, product * factor);
  }
}

template <bool kAboveIsNew>
void enter_as(const PathStep& step, const PathTest& test, std::size_t n_rows, std::size_t n_points) {
  for (std::size_t row = 0; row < n_rows; row += kWidth)
    go_down<kAboveIsNew>(step, row, n_rows, n_points,
                         [n_rows, to = test.product + row](std::size_t t, const Vector& product) {
                           store(product, to + t * n_rows);
                         });
}

void enter(const PathStep& step, const PathTest& test, std::size_t n_rows, std::size_t n_points) {
  find_factors(test, n_points);
  for (std::size_t row = 0; row < n_rows; row += kWidth) {
    Vector way;
    find_way(step, row, way);
    store(way, test.way + row);
  }
  if (step.above == nullptr) return;
  (step.above->weight == nullptr ? enter_as<true> : enter_as<false>)(step, test, n_rows, n_points);
}

// Gives the column its part: `sums` times what the way says.
template <bool kIsNew>
inline void give(const PathTest& test, const Vector& way, const Vector& sums, double* parts) {
  Vector turn, part;
  choose<kIsNew>(way, -test.share_right, test.share_left, 0.0, turn);
  load(parts, part);
  store(part + turn * sums, parts);
}

template <bool kIsNew, bool kLeftIsLeaf, bool kRightIsLeaf>
void join_as(const PathTest& test, const double* left_worth, const double* right_worth, std::size_t n_rows,
             std::size_t n_points, double* worth, double* parts) {
  const double* if_left = test.factors + 2 * n_points;
  const double* if_right = if_left + n_points;
  const double* products = test.product;
  const double* weights = test.weight;
  const double share = test.share_right;
  Vector left, right;
  fill(*left_worth, left);
  fill(*right_worth, right);
  for (std::size_t row = 0; row < n_rows; row += kWidth) {
    Vector way, sums = {};
    load(test.way + row, way);
    for (std::size_t t = 0; t < n_points; ++t) {
      const std::size_t at = t * n_rows + row;
      if (!kLeftIsLeaf) load(left_worth + at, left);
      if (!kRightIsLeaf) load(right_worth + at, right);
      const Vector more = right - left;
      Vector product, factor;
      load(products + at, product);
      sums += kIsNew ? product * more : product * weights[t] * more;
      choose<kIsNew>(way, if_left[t], if_right[t], share, factor);
      store(left + more * factor, worth + at);
    }
    give<kIsNew>(test, way, sums, parts + row);
  }
}

template <bool kIsNew>
void join_new_or_not(const PathTest& test, Branch left, Branch right, std::size_t n_rows,
                     std::size_t n_points, double* worth, double* parts) {
  const auto form = left.is_leaf
                        ? (right.is_leaf ? join_as<kIsNew, true, true> : join_as<kIsNew, true, false>)
                        : (right.is_leaf ? join_as<kIsNew, false, true> : join_as<kIsNew, false, false>);
  form(test, left.worth, right.worth, n_rows, n_points, worth, parts);
}

void join(const PathTest& test, Branch left, Branch right, std::size_t n_rows, std::size_t n_points,
          double* worth, double* parts) {
  (test.weight == nullptr ? join_new_or_not<true> : join_new_or_not<false>)(test, left, right, n_rows,
                                                                            n_points, worth, parts);
}

template <bool kIsNew>
void part_as(const PathTest& test, Branch left, Branch right, std::size_t n_rows, std::size_t n_points,
             const double* unknown, double* at_points, double* if_unknown) {
  Vector low, high;
  fill(*left.worth, low);
  fill(*right.worth, high);
  for (std::size_t row = 0; row < n_rows; row += kWidth) {
    Vector way, turn, sum = {};
    load(test.way + row, way);
    choose<kIsNew>(way, -test.share_right, test.share_left, 0.0, turn);
    for (std::size_t t = 0; t < n_points; ++t) {
      const std::size_t at = t * n_rows + row;
      if (!left.is_leaf) load(left.worth + at, low);
      if (!right.is_leaf) load(right.worth + at, high);
      Vector product;
      load(test.product + at, product);
      const Vector part = (kIsNew ? product : product * test.weight[t]) * (high - low) * turn;
      store(part, at_points + at);
      sum += part * unknown[t];
    }
    store(sum, if_unknown + row);
  }
}

void part_at_points(const PathTest& test, Branch left, Branch right, std::size_t n_rows, std::size_t n_points,
                    const double* unknown, double* at_points, double* if_unknown) {
  (test.weight == nullptr ? part_as<true> : part_as<false>)(test, left, right, n_rows, n_points, unknown,
                                                            at_points, if_unknown);
}

void add_pair(const double* at_points, const double* if_unknown, const double* known, const double* way,
              bool right, std::size_t n_rows, std::size_t n_points, double* sums) {
  for (std::size_t row = 0; row < n_rows; row += kWidth) {
    Vector gone, otherwise, before, sum = {};
    for (std::size_t t = 0; t < n_points; ++t) {
      Vector part;
      load(at_points + t * n_rows + row, part);
      sum += part * known[t];
    }
    load(way + row, gone);
    load(if_unknown + row, otherwise);
    load(sums + row, before);
    store(before + ((right ? gone > 0.0 : gone < 0.0) ? sum : otherwise), sums + row);
  }
}

template <bool kIsNew, bool kAboveIsNew>
void join_leaves_as(const PathStep& step, const PathTest& test, double left, double right, std::size_t n_rows,
                    std::size_t n_points, double* worth, double* parts) {
  const double more = right - left;
  double* values = test.factors;  // of the whole, by the way
  for (std::size_t t = 0; t < n_points; ++t) {
    values[t] = left + more * (test.share_right - test.bend[t] * test.share_right);
    values[n_points + t] = left + more * (test.share_right + test.bend[t] * test.share_left);
  }
  const double mean = left + more * test.share_right;
  const double* weights = test.weight;
  for (std::size_t row = 0; row < n_rows; row += kWidth) {
    Vector way, sums = {};
    find_way(step, row, way);
    go_down<kAboveIsNew>(step, row, n_rows, n_points, [&](std::size_t t, const Vector& product) {
      sums += kIsNew ? product : product * weights[t];
      Vector value;
      choose<kIsNew>(way, values[t], values[n_points + t], mean, value);
      store(value, worth + t * n_rows + row);
    });
    give<kIsNew>(test, way, sums * more, parts + row);
  }
}

void join_leaves(const PathStep& step, const PathTest& test, double left, double right, std::size_t n_rows,
                 std::size_t n_points, double* worth, double* parts) {
  const bool above_is_new = step.above->weight == nullptr;
  const auto form = test.weight == nullptr
                        ? (above_is_new ? join_leaves_as<true, true> : join_leaves_as<true, false>)
                        : (above_is_new ? join_leaves_as<false, true> : join_leaves_as<false, false>);
  form(step, test, left, right, n_rows, n_points, worth, parts);
}

#include "simd/explain/background_body.h"

}  // namespace

extern const ExplainKernels explain_table;
const ExplainKernels explain_table = {compare,
                                      set_bits,
                                      look_up,
                                      enter,
                                      join,
                                      part_at_points,
                                      add_pair,
                                      join_leaves,
                                      follow_others,
                                      add_leaf_for_others,
                                      add_two_leaves_for_others,
                                      return_others};

}  // namespace hornbeam::explain::HORNBEAM_KERNELS
