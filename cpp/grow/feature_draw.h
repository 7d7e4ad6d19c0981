// Which features a node tries. Draws are a function of the fit's key and the node's path, so they depend neither on
// the order in which nodes grow nor on threads.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/sampler.h"
#include "base/types.h"

namespace hornbeam::grow {

class FeatureDraw {
 public:
  FeatureDraw(std::vector<FeatureId> features, std::int32_t max_features, std::uint64_t key)
      : features_(std::move(features)), max_features_(static_cast<std::size_t>(max_features)), key_(key) {}

  // The features to try now, in ascending order.
  std::span<const FeatureId> drawn() const { return drawn_; }

  // Draws max_features features and calls `try_drawn`, then draws one more at a time as long as all were constant:
  // if any feature varies in the node, one that does is tried.
  template <class TryDrawn>
  void until_informative(std::uint64_t path, const TryDrawn& try_drawn) {
    Stream stream(key_, Purpose::kFeatures, path);
    std::size_t n_drawn = 0;
    bool informative = false;
    while (n_drawn < features_.size() && !informative) {
      draw(stream, n_drawn, n_drawn == 0 ? max_features_ : 1);
      n_drawn += drawn_.size();
      informative = try_drawn();
    }
    restore();
  }

 private:
  // Draws `wanted` more without replacement (Fisher-Yates from place n_drawn on).
  void draw(Stream& stream, std::size_t n_drawn, std::size_t wanted) {
    const std::size_t end = std::min(n_drawn + wanted, features_.size());
    if (wanted < features_.size()) {
      for (std::size_t i = n_drawn; i < end; ++i) {
        const std::size_t other = i + stream.below(static_cast<std::uint32_t>(features_.size() - i));
        swaps_.push_back({i, other});
        std::swap(features_[i], features_[other]);
      }
    }
    drawn_.assign(features_.begin() + static_cast<std::ptrdiff_t>(n_drawn),
                  features_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(drawn_.begin(), drawn_.end());
  }

  // Undoes the swaps, so that every node draws from the same initial order.
  void restore() {
    for (auto swap = swaps_.rbegin(); swap != swaps_.rend(); ++swap)
      std::swap(features_[swap->first], features_[swap->second]);
    swaps_.clear();
  }

  std::vector<FeatureId> features_;  // in order between nodes
  std::size_t max_features_;
  std::uint64_t key_;
  std::vector<std::pair<std::size_t, std::size_t>> swaps_;
  std::vector<FeatureId> drawn_;
};

}  // namespace hornbeam::grow
