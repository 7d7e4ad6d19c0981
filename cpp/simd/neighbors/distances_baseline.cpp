// Any processor: four floats that the compiler may keep in one register.
#define HORNBEAM_KERNELS baseline

namespace hornbeam::neighbors::HORNBEAM_KERNELS {
namespace {

struct Lanes {
  static constexpr int kCount = 4;
  float value[kCount];

  static Lanes load(const float* p) {
    Lanes lanes;
    for (int i = 0; i < kCount; ++i) lanes.value[i] = p[i];
    return lanes;
  }
  static Lanes broadcast(float x) { return {{x, x, x, x}}; }
  static Lanes subtract_product(Lanes sum, Lanes a, Lanes b) {
    for (int i = 0; i < kCount; ++i) sum.value[i] -= a.value[i] * b.value[i];
    return sum;
  }
  static Lanes smaller(Lanes a, Lanes b) {
    for (int i = 0; i < kCount; ++i) a.value[i] = b.value[i] < a.value[i] ? b.value[i] : a.value[i];
    return a;
  }
  unsigned not_above(float x) const {
    unsigned lanes = 0;
    for (int i = 0; i < kCount; ++i) lanes |= static_cast<unsigned>(value[i] <= x) << i;
    return lanes;
  }
};

// One bit for each of eight numbers that is not above x.
unsigned eight_not_above(const double* p, double x) {
  unsigned lanes = 0;
  for (int i = 0; i < 8; ++i) lanes |= static_cast<unsigned>(p[i] <= x) << i;
  return lanes;
}

constexpr int kTileQueries = 4;
constexpr int kVectors = 2;

}  // namespace
}  // namespace hornbeam::neighbors::HORNBEAM_KERNELS

#include "simd/neighbors/distances_body.h"
