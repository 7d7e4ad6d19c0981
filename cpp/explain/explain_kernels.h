// The loops of explanations that profit from wide registers, compiled once per instruction set. Each row's
// sums are made in the same order in all forms: the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hornbeam::explain {

inline constexpr std::size_t kLanes = 64;  // rows that long paths are followed with side by side

inline constexpr std::size_t kTables =
    8;  // tables that are looked up together: a cache line for each pattern

// The factors of a column on a path, at each point t: c + t in, with c = (1 - t) out; see walk.h. Of one that
// the row does not get past, `inverse` is 1 / c; `more` is what 1 / (c + t) has more than that.
struct Factors {
  const double* c;
  const double* inverse;
  const double* more;
};

struct ExplainKernels {
  // right[i] = 1 where values[i] goes right at a threshold; NaN goes right if `missing_right`.
  void (*compare)(const double* values, std::size_t n, double threshold, bool missing_right,
                  std::uint8_t* right);
  // patterns[i] |= bits[i] << place
  void (*set_bits)(const std::uint8_t* bits, std::size_t n, int place, std::uint8_t* patterns);
  // sums[k][i] += table[patterns[i], k], for kTables tables side by side; n is a multiple of kTables.
  void (*look_up)(const std::uint8_t* patterns, std::size_t n, const double* table, double* const* sums);
  // below[t, i] = above[t, i] * (c[t] + at[t] * in[i])
  void (*descend)(const double* above, const double* in, Factors factors, const double* at,
                  std::size_t n_points, double* below);
  // The same where the column has been on the path before: its former factor is taken out.
  void (*descend_again)(const double* above, const double* in, Factors factors, const double* former_in,
                        Factors former, const double* at, std::size_t n_points, double* below);
  // parts[i] += scale * (in[i] - out) * (the sum over points of worth[t, i] without the column's factor)
  void (*share_out)(const double* worth, const double* in, double out, Factors factors, std::size_t n_points,
                    double scale, double* parts);
  // to[i] += scale * from[i]
  void (*add_scaled)(const double* from, double scale, std::size_t n, double* to);
};

const ExplainKernels& explain_kernels();

}  // namespace hornbeam::explain
