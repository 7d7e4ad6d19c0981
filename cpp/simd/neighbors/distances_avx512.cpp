// 32 registers of 16 floats.
#include <immintrin.h>

#define HORNBEAM_KERNELS avx512

namespace hornbeam::neighbors::HORNBEAM_KERNELS {
namespace {

struct Lanes {
  static constexpr int kCount = 16;
  __m512 value;

  static Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Lanes broadcast(float x) { return {_mm512_set1_ps(x)}; }
  static Lanes subtract_product(Lanes sum, Lanes a, Lanes b) {
    return {_mm512_fnmadd_ps(a.value, b.value, sum.value)};
  }
  static Lanes smaller(Lanes a, Lanes b) { return {_mm512_min_ps(a.value, b.value)}; }
  unsigned not_above(float x) const { return _mm512_cmp_ps_mask(value, _mm512_set1_ps(x), _CMP_LE_OQ); }
};

// One bit for each of eight numbers that is not above x.
unsigned eight_not_above(const double* p, double x) {
  return _mm512_cmp_pd_mask(_mm512_loadu_pd(p), _mm512_set1_pd(x), _CMP_LE_OQ);
}

constexpr int kTileQueries = 12;
constexpr int kVectors = 2;

}  // namespace
}  // namespace hornbeam::neighbors::HORNBEAM_KERNELS

#include "simd/neighbors/distances_body.h"
