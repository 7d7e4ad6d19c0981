#include "boost/derivatives.h"

#include <algorithm>

namespace hornbeam::boost {

void FreshDerivatives::find(std::size_t begin, std::size_t n, float* gradients, float* hessians) const {
  constexpr std::size_t kRowsAtOnce = 1024;
  float y[kRowsAtOnce];
  for (std::size_t done = 0; done < n; done += kRowsAtOnce) {
    const std::size_t first = begin + done;
    const std::size_t n_here = std::min(kRowsAtOnce, n - done);
    if (!y_codes_.empty()) std::copy_n(y_codes_.begin() + static_cast<std::ptrdiff_t>(first), n_here, y);
    const LossRows rows{scores_.data() + first,
                        y_codes_.empty() ? y_.data() + first : y,
                        weights_.empty() ? nullptr : weights_.data() + first,
                        n_here,
                        0,
                        n_here};
    compute_derivatives(loss_, 1, rows, huber_delta_, gradients + done,
                        hessian_is_one() ? nullptr : hessians + done);
  }
}

void FreshDerivatives::find_listed(std::span<const RowId> rows, std::size_t begin, std::size_t n,
                                   float* gradients, float* hessians) const {
  if (rows.empty()) return find(begin, n, gradients, hessians);
  for (std::size_t i = 0; i < n; ++i) find(rows[begin + i], 1, gradients + i, hessians + i);
}

}  // namespace hornbeam::boost
