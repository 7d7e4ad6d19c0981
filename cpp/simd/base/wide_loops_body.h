// The bodies of base/wide_loops.h; included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names.
#include <algorithm>
#include <bit>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "base/math.h"
#include "base/wide_loops.h"

namespace hornbeam::HORNBEAM_KERNELS {

namespace {

// Eight running maxima: a single one would wait for itself. The order of comparison does not change a
// maximum.
double largest(const double* scores, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  double best[kLanes];
  for (double& b : best) b = scores[0];
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) best[j] = scores[i + j] > best[j] ? scores[i + j] : best[j];
  }
  for (; i < n; ++i) best[0] = std::max(best[0], scores[i]);
  for (std::size_t j = 1; j < kLanes; ++j) best[0] = std::max(best[0], best[j]);
  return best[0];
}

double gini(TwoCounts left, double node_rows, double node_ones) {
  const double l = rows_of(left);
  const double l1 = ones_of(left);
  const double l0 = l - l1;
  const double r = node_rows - l;
  const double r1 = node_ones - l1;
  const double r0 = r - r1;
  return (l1 * l1 + l0 * l0) / l + (r1 * r1 + r0 * r0) / r;
}

double gini_two_classes(const TwoCounts* __restrict left, std::size_t n, TwoCounts node,
                        double* __restrict scores) {
  const double node_rows = rows_of(node);
  const double node_ones = ones_of(node);
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) scores[i] = gini(left[i], node_rows, node_ones);
  return largest(scores, end);
}

// With one division; a branch without rows scores nothing. Positive numbers are in the order of their bits,
// and a maximum of integers is a vector instruction.
std::int32_t rough_gini_bits(std::int32_t rows, std::int32_t ones, std::int32_t node_rows,
                             std::int32_t node_ones) {
  const auto l1 = static_cast<float>(ones);
  const auto l0 = static_cast<float>(rows - ones);
  const auto r1 = static_cast<float>(node_ones - ones);
  const auto r0 = static_cast<float>(node_rows - node_ones - (rows - ones));
  const auto left = static_cast<float>(std::max(rows, 1));
  const auto right = static_cast<float>(std::max(node_rows - rows, 1));
  const float score = ((l1 * l1 + l0 * l0) * right + (r1 * r1 + r0 * r0) * left) / (left * right);
  return std::bit_cast<std::int32_t>(score);
}

float rough_gini_two_classes(const TwoCounts* __restrict left, std::size_t n, TwoCounts node,
                             float* __restrict scores) {
  const std::int32_t node_rows = rows_of(node);
  const std::int32_t node_ones = ones_of(node);
  const std::size_t end = whole_groups(n);
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const std::int32_t score = rough_gini_bits(rows_of(left[i]), ones_of(left[i]), node_rows, node_ones);
    scores[i] = std::bit_cast<float>(score);
    largest = std::max(largest, score);
  }
  return std::bit_cast<float>(largest);
}

float bound_gini_groups(const TwoCounts* __restrict before, std::size_t n_groups, float* __restrict edges,
                        float* __restrict groups) {
  const std::int32_t node_rows = rows_of(before[n_groups]);
  const std::int32_t node_ones = ones_of(before[n_groups]);
  std::int32_t largest = 0;
  const std::size_t n_edges = whole_groups(n_groups + 1);
  for (std::size_t i = 0; i < n_edges; ++i) {
    const std::int32_t edge = rough_gini_bits(rows_of(before[i]), ones_of(before[i]), node_rows, node_ones);
    edges[i] = std::bit_cast<float>(edge);
    largest = std::max(largest, edge);
  }
  const std::size_t end = whole_groups(n_groups);
  for (std::size_t i = 0; i < end; ++i) {
    const std::int32_t rows = rows_of(before[i]);
    const std::int32_t ones = ones_of(before[i]);
    const std::int32_t more_ones = ones_of(before[i + 1]) - ones;
    const std::int32_t more_zeros = rows_of(before[i + 1]) - rows - more_ones;
    const std::int32_t ones_first = rough_gini_bits(rows + more_ones, ones + more_ones, node_rows, node_ones);
    const std::int32_t zeros_first = rough_gini_bits(rows + more_zeros, ones, node_rows, node_ones);
    const std::int32_t corner = std::max(ones_first, zeros_first);
    const std::int32_t edge =
        std::max(std::bit_cast<std::int32_t>(edges[i]), std::bit_cast<std::int32_t>(edges[i + 1]));
    groups[i] = std::bit_cast<float>(std::max(corner, edge));
  }
  return std::bit_cast<float>(largest);
}

std::int32_t majorities_two_classes(const TwoCounts* __restrict left, std::size_t n, TwoCounts node,
                                    std::int32_t* __restrict scores) {
  const std::int32_t node_rows = rows_of(node);
  const std::int32_t node_ones = ones_of(node);
  const std::size_t end = whole_groups(n);
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const std::int32_t l = rows_of(left[i]);
    const std::int32_t l1 = ones_of(left[i]);
    const std::int32_t r = node_rows - l;
    const std::int32_t r1 = node_ones - l1;
    scores[i] = std::max(l1, l - l1) + std::max(r1, r - r1);
    largest = std::max(largest, scores[i]);
  }
  return largest;
}

double two_squares(const double* __restrict left_sums, const double* __restrict right_sums,
                   const double* __restrict left, std::size_t n, double node, double* __restrict scores) {
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) {
    scores[i] = left_sums[i] * left_sums[i] / left[i] + right_sums[i] * right_sums[i] / (node - left[i]);
  }
  return largest(scores, end);
}

double two_poissons(const double* __restrict left_sums, const double* __restrict right_sums,
                    const double* __restrict left, std::size_t n, double node, double unit,
                    double* __restrict scores) {
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) scores[i] = poisson_branch(left_sums[i], left[i], unit);
  for (std::size_t i = 0; i < end; ++i) scores[i] += poisson_branch(right_sums[i], node - left[i], unit);
  return largest(scores, end);
}

// With u and v the left branch's share of the sum and of the weight, the score exceeds the node's by node_sum
// times v f(u / v) + (1 - v) f((1 - u) / (1 - v)), f(t) = t ln t - t + 1. For all t > 0, ln t is at most
// (t - 1) (t + 5) / (4 t + 2): they are equal at 1, and the slope of what lies between them has the sign of
// t - 1. So f(t) <= (t - 1)^2 (t + 2) / (4 t + 2), which for t between 1/2 and 2 is at most 4% too much.
double poisson_bounds(const double* __restrict left_sums, const double* __restrict left, std::size_t n,
                      double node_sum, double node, double* __restrict bounds) {
  const std::size_t end = whole_groups(n);
  const double per_sum = 1 / node_sum;
  const double per_weight = 1 / node;
  for (std::size_t i = 0; i < end; ++i) {
    const double u = left_sums[i] * per_sum;
    const double v = left[i] * per_weight;
    const double right_u = 1 - u;
    const double right_v = 1 - v;
    const double in_left = (u + 2 * v) / (v * (4 * u + 2 * v));
    const double in_right = (right_u + 2 * right_v) / (right_v * (4 * right_u + 2 * right_v));
    bounds[i] = node_sum * (u - v) * (u - v) * (in_left + in_right);
  }
  return largest(bounds, end);
}

void log_ratios(const double* __restrict numbers, std::size_t n, double mean, double* __restrict logs) {
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) logs[i] = ln_of(numbers[i] > 0 ? numbers[i] / mean : 1.0);
}

void add_x_log2_x(const double* __restrict numbers, std::size_t n, double* __restrict sums) {
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) sums[i] += x_log2_x(numbers[i]);
}

void add_rough_x_log2_x(const double* __restrict numbers, std::size_t n, double unit,
                        float* __restrict sums) {
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) {
    const auto x = static_cast<float>(numbers[i] * unit);
    sums[i] += x * rough_log2(x);
  }
}

double two_ratios(const double* __restrict left_terms, const double* __restrict right_terms,
                  const double* __restrict left, std::size_t n, double node, double* __restrict scores) {
  const std::size_t end = whole_groups(n);
  for (std::size_t i = 0; i < end; ++i) {
    scores[i] = left_terms[i] / left[i] + right_terms[i] / (node - left[i]);
  }
  return largest(scores, end);
}

// A key's place is the number of those below it. Comparing each with all of them is quicker than sorting: a
// register is compared at once.
void places(const std::uint32_t* keys, std::size_t n, std::uint8_t* places) {
  constexpr std::size_t kLanes = 16;
  for (std::size_t first = 0; first < n; first += kLanes) {
    std::uint32_t before[kLanes] = {};
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < kLanes; ++i) before[i] += keys[j] < keys[first + i];
    }
    for (std::size_t i = 0; i < kLanes; ++i) places[first + i] = static_cast<std::uint8_t>(before[i]);
  }
}

#if defined(__AVX512BW__)

std::uint64_t places_of_bytes(const std::uint8_t* codes, std::size_t n, std::uint8_t* places) {
  const __mmask64 all = ~__mmask64{0} >> (64 - n);
  const __m512i list = _mm512_maskz_loadu_epi8(all, codes);
  std::uint64_t not_alone = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const __m512i code = _mm512_set1_epi8(static_cast<char>(codes[i]));
    const std::uint64_t less = _mm512_mask_cmplt_epu8_mask(all, list, code);
    const std::uint64_t equal = _mm512_mask_cmpeq_epu8_mask(all, list, code);
    const std::uint64_t equal_before = equal & ((std::uint64_t{1} << i) - 1);
    places[i] = static_cast<std::uint8_t>(__builtin_popcountll(less) + __builtin_popcountll(equal_before));
    not_alone |= equal_before != 0 ? equal : 0;
  }
  return not_alone;
}

#else

std::uint64_t places_of_bytes(const std::uint8_t* codes, std::size_t n, std::uint8_t* places) {
  std::uint64_t not_alone = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t code = codes[i];
    std::uint8_t before = 0;
    std::uint8_t others = 0;
    for (std::size_t j = 0; j < n; ++j) {
      before += codes[j] < code || (codes[j] == code && j < i);
      others += codes[j] == code;
    }
    places[i] = before;
    not_alone |= std::uint64_t{others > 1} << i;
  }
  return not_alone;
}

#endif

#if defined(__AVX512F__)

// Sixteen edges at once, twice: which block of sixteen, and where in it.
void count_below(const double* values, std::size_t n, const double* edges, std::uint8_t* counts) {
  __m512d last_low = _mm512_setzero_pd();  // the last edge of each block
  __m512d last_high = _mm512_setzero_pd();
  for (int block = 0; block < 8; ++block) {
    const auto lane = static_cast<__mmask8>(1u << block);
    last_low = _mm512_mask_mov_pd(last_low, lane, _mm512_set1_pd(edges[16 * block + 15]));
    last_high = _mm512_mask_mov_pd(last_high, lane, _mm512_set1_pd(edges[16 * (block + 8) + 15]));
  }
  const auto below = [](__m512d low, __m512d high, __m512d value) {
    const __mmask8 first = _mm512_cmp_pd_mask(low, value, _CMP_LT_OQ);
    const __mmask8 second = _mm512_cmp_pd_mask(high, value, _CMP_LT_OQ);
    return static_cast<unsigned>(
        __builtin_popcount(static_cast<unsigned>(first) | static_cast<unsigned>(second) << 8));
  };
  for (std::size_t i = 0; i < n; ++i) {
    const __m512d value = _mm512_set1_pd(values[i]);
    const unsigned block = below(last_low, last_high, value);
    const double* edge = edges + 16 * std::size_t{block};
    counts[i] = static_cast<std::uint8_t>(16 * block +
                                          below(_mm512_loadu_pd(edge), _mm512_loadu_pd(edge + 8), value));
  }
}

#else

// Halving in a fixed number of steps, without a branch to mispredict.
void count_below(const double* values, std::size_t n, const double* edges, std::uint8_t* counts) {
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t below = 0;
    for (std::size_t step = 128; step > 0; step /= 2) below += edges[below + step - 1] < values[i] ? step : 0;
    counts[i] = static_cast<std::uint8_t>(below);
  }
}

#endif

}  // namespace

extern const Kernels table;
const Kernels table = {HORNBEAM_KERNELS_NAME,
                       gini_two_classes,
                       rough_gini_two_classes,
                       bound_gini_groups,
                       majorities_two_classes,
                       two_squares,
                       two_poissons,
                       poisson_bounds,
                       log_ratios,
                       two_ratios,
                       add_x_log2_x,
                       add_rough_x_log2_x,
                       largest,
                       places,
                       places_of_bytes,
                       count_below};

}  // namespace hornbeam::HORNBEAM_KERNELS
