#include "explain/walk.h"

namespace hornbeam::explain {

void PathWalk::apply(const Step& step) {
  std::int32_t& place = place_[static_cast<std::size_t>(step.feature)];
  if (place == kNowhere) {
    place = static_cast<std::int32_t>(columns_.size());
    columns_.push_back({step.feature, step.in, step.out});
    formers_.push_back({columns_.size() - 1, 1.0, 1.0, true});
    return;
  }
  PathColumn& column = columns_[static_cast<std::size_t>(place)];
  formers_.push_back({static_cast<std::size_t>(place), column.in, column.out, false});
  column.in *= step.in;
  column.out *= step.out;
}

void PathWalk::take_back(std::size_t depth) {
  while (formers_.size() > depth) {
    const Former& former = formers_.back();
    PathColumn& column = columns_[former.place];
    column.in = former.in;
    column.out = former.out;
    if (former.is_new) {
      place_[static_cast<std::size_t>(column.feature)] = kNowhere;
      columns_.pop_back();  // columns come and go in order
    }
    formers_.pop_back();
  }
}

void PathWalk::push_children(const Tree& tree, std::span<const double> shares, NodeId node, std::size_t depth,
                             std::int32_t in, std::int32_t out) {
  const FeatureId feature = tree.feature[node];
  const std::int32_t place = place_[static_cast<std::size_t>(feature)];
  const bool was_in = place == kNowhere || columns_[static_cast<std::size_t>(place)].in > 0;
  const bool was_out = place == kNowhere || columns_[static_cast<std::size_t>(place)].out > 0;
  for (std::int32_t b = tree.n_branches[node] - 1; b >= 0; --b) {
    const NodeId child = tree.first_child[node] + b;
    const double share = shares[static_cast<std::size_t>(child)];
    const double comes_in = in == kAllBranches ? share : in == b ? 1.0 : 0.0;
    const double comes_out = out == kAllBranches ? share : out == b ? 1.0 : 0.0;
    if ((was_in && comes_in > 0) || (was_out && comes_out > 0))
      waiting_.push_back({child, depth + 1, feature, comes_in, comes_out});
  }
}

void LeafGame::multiply(std::span<const PathColumn> columns) {
  const Quadrature& points = quadratures_.for_columns(columns.size());
  product_ = points.weight;
  factors_.resize(columns.size() * points.size());
  double* factor = factors_.data();
  for (const PathColumn& column : columns) {
    for (std::size_t t = 0; t < points.size(); ++t) {
      *factor = column.out + points.at[t] * (column.in - column.out);
      product_[t] *= *factor++;
    }
  }
}

// No factor is 0: the walk skips leaves where both shares of a column are 0.
double LeafGame::integral_without(std::size_t i, std::size_t j, std::size_t n_columns) const {
  const std::size_t n_points = quadratures_.for_columns(n_columns).size();
  const double* first = factors_.data() + i * n_points;
  const double* second = factors_.data() + j * n_points;
  double sum = 0.0;
  for (std::size_t t = 0; t < n_points; ++t)
    sum += i == j ? product_[t] / first[t] : product_[t] / first[t] / second[t];
  return sum;
}

}  // namespace hornbeam::explain
