// 16 registers of 8 floats.
#include <immintrin.h>

#define HORNBEAM_KERNELS avx2

namespace hornbeam::neighbors::HORNBEAM_KERNELS {
namespace {

struct Lanes {
  static constexpr int kCount = 8;
  __m256 value;

  static Lanes load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Lanes broadcast(float x) { return {_mm256_set1_ps(x)}; }
  static Lanes subtract_product(Lanes sum, Lanes a, Lanes b) {
    return {_mm256_fnmadd_ps(a.value, b.value, sum.value)};
  }
  static Lanes smaller(Lanes a, Lanes b) { return {_mm256_min_ps(a.value, b.value)}; }
  unsigned not_above(float x) const {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(value, _mm256_set1_ps(x), _CMP_LE_OQ)));
  }
};

// One bit for each of eight numbers that is not above x.
unsigned eight_not_above(const double* p, double x) {
  const __m256d limit = _mm256_set1_pd(x);
  const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(p), limit, _CMP_LE_OQ));
  const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(p + 4), limit, _CMP_LE_OQ));
  return static_cast<unsigned>(low | high << 4);
}

constexpr int kTileQueries = 6;
constexpr int kVectors = 2;

}  // namespace
}  // namespace hornbeam::neighbors::HORNBEAM_KERNELS

#include "simd/neighbors/distances_body.h"
