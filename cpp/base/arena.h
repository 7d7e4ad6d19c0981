// The memory that a fit works in. Each of its threads has a region, which asks the system for blocks, large
// ones on huge pages, and keeps them until the fit ends. Memory that is given back during the fit stays in the
// region for the next request of that size. So growing a node asks the system for nothing, and the trees that a
// thread grows one after the other use the same pages, which this thread was the first to touch.
//
// Only one thread may use a region at a time, and giving memory back to it is a use.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/platform.h"

namespace hornbeam {

class Region {
 public:
  Region() = default;
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Aligned to cache lines, not cleared.
  void* take(std::size_t bytes);
  void give_back(void* memory, std::size_t bytes) noexcept;

 private:
  // Sizes come in four steps per doubling, from one cache line on, so that at most a fifth is wasted.
  static constexpr std::size_t kLeastSize = 64;
  static constexpr std::size_t kStepsPerDoubling = 4;
  static constexpr std::size_t kDoublings = 48;
  static constexpr std::size_t kFirstBlock = std::size_t{1} << 14;
  static constexpr std::size_t kLargestBlock = std::size_t{1} << 22;
  struct Size {
    std::size_t step;
    std::size_t bytes;
  };
  static Size size_for(std::size_t bytes);

  struct Waiting {
    Waiting* next;
  };
  std::array<Waiting*, kStepsPerDoubling * kDoublings> waiting_{};  // per step
  std::byte* next_ = nullptr;                                       // what is left of the last block
  std::size_t n_left_ = 0;
  std::size_t block_size_ = kFirstBlock;  // of the next block
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
};

class Arena {
 public:
  explicit Arena(std::size_t n_threads)
      : regions_(std::make_unique<Region[]>(n_threads)), n_threads_(n_threads) {}

  std::span<Region> regions() { return {regions_.get(), n_threads_}; }

 private:
  std::unique_ptr<Region[]> regions_;
  std::size_t n_threads_;
};

}  // namespace hornbeam
