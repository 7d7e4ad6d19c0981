// Points and weights on [0, 1] with which polynomials are integrated (Gauss and Legendre).
//
// The Shapley value of a column in a product over d columns is the integral of a polynomial of degree d - 1:
// n points are exact up to degree 2n - 1. On long paths fewer suffice: what n points miss of such a product
// is below exp(-4 n^2 / d) of it, which 3.1 sqrt(d) points bring below the rounding of a double.
#pragma once

#include <cstddef>
#include <vector>

namespace hornbeam::explain {

struct Quadrature {
  std::vector<double> at;
  std::vector<double> weight;
  std::size_t size() const { return at.size(); }
};

std::size_t points_for(std::size_t n_columns);

// The points for every number of columns up to a limit; made once for a model.
class Quadratures {
 public:
  explicit Quadratures(std::size_t most_columns);
  const Quadrature& for_columns(std::size_t n_columns) const { return made_[points_for(n_columns) - 1]; }

 private:
  std::vector<Quadrature> made_;  // with 1, 2, 3, ... points
};

}  // namespace hornbeam::explain
