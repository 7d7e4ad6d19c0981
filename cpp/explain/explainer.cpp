#include "explain/explainer.h"

#include <algorithm>
#include <stdexcept>

#include "explain/rows.h"
#include "explain/work.h"

namespace hornbeam::explain {

namespace {

std::vector<FeatureId> tested_features(std::span<const Tree* const> trees) {
  std::vector<bool> is_tested;
  const auto mark = [&](FeatureId feature) {
    if (feature < 0) return;
    const auto place = static_cast<std::size_t>(feature);
    if (place >= is_tested.size()) is_tested.resize(place + 1);
    is_tested[place] = true;
  };
  for (const Tree* tree : trees) {
    for (const FeatureId feature : tree->feature) mark(feature);
    for (const FeatureId feature : tree->surrogates.feature) mark(feature);
  }
  std::vector<FeatureId> features;
  for (std::size_t place = 0; place < is_tested.size(); ++place)
    if (is_tested[place]) features.push_back(static_cast<FeatureId>(place));
  return features;
}

}  // namespace

Explainer::Explainer(std::vector<const Tree*> trees, Sum sum, Unseen unseen)
    : trees_(std::move(trees)),
      sum_(std::move(sum)),
      unseen_(unseen),
      features_(tested_features(trees_)),
      is_category_(are_categories(trees_, features_)),
      quadratures_(features_.size()) {
  if (trees_.empty()) throw std::invalid_argument("there is no tree to explain");
  if (sum_.weights.size() != trees_.size())
    throw std::invalid_argument("weights must have a number for each tree");
  if (!sum_.adds_to.empty() && sum_.adds_to.size() != trees_.size())
    throw std::invalid_argument("adds_to must name a score for each tree");
  gaps_ = trees_[0]->gaps;
  n_scores_ = trees_[0]->value_size();
  for (const Tree* tree : trees_) {
    if (tree->gaps != gaps_ || tree->value_size() != n_scores_)
      throw std::invalid_argument("the trees of an ensemble differ in their values, or without a value");
    shares_.push_back(shares_of_rows(*tree));
  }
  if (sum_.adds_to.empty()) return;
  if (n_scores_ != 1) throw std::invalid_argument("adds_to goes with trees of one value");
  const auto [least, most] = std::ranges::minmax(sum_.adds_to);
  if (least < 0 || static_cast<std::size_t>(most) >= trees_.size())
    throw std::invalid_argument("adds_to has a score that no number of trees could fill");
  n_scores_ = static_cast<std::size_t>(most) + 1;
}

bool Explainer::has_weights() const {
  return std::ranges::all_of(trees_, [](const Tree* tree) { return tree->weight[0] > 0; });
}

void Explainer::say(std::size_t tree, NodeId leaf, double* values) const {
  const Tree& one = *trees_[tree];
  const std::size_t n = one.value_size();
  const double* said = one.value.data() + static_cast<std::size_t>(leaf) * n;
  const double weight = sum_.weights[tree];
  if (!sum_.votes) {
    for (std::size_t v = 0; v < n; ++v) values[v] = weight * said[v];
    return;
  }
  std::fill_n(values, n, 0.0);
  const auto n_classes = static_cast<std::size_t>(one.n_values);
  for (std::size_t first = 0; first < n; first += n_classes)
    values[std::max_element(said + first, said + first + n_classes) - said] = weight;
}

void Explainer::explain(const RowSource& rows, const Question& question, std::size_t n_features,
                        Cancel& cancel, std::span<double> parts, std::span<double> base) const {
  Work(*this, rows, question, cancel, {parts, base, n_features}).run();
}

}  // namespace hornbeam::explain
