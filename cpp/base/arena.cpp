#include "base/arena.h"

#include <algorithm>
#include <new>

namespace hornbeam {

Region::Size Region::size_for(std::size_t bytes) {
  const std::size_t lines = (std::max(bytes, kLeastSize) + kLeastSize - 1) / kLeastSize;
  const auto doubling = static_cast<std::size_t>(std::bit_width(lines)) - 1;
  const std::size_t whole = std::size_t{1} << doubling;
  // In cache lines; below four of them the steps would be fractions of a line.
  const std::size_t step = std::max<std::size_t>(1, whole / kStepsPerDoubling);
  const std::size_t n_steps = (lines - whole + step - 1) / step;
  const Size size{doubling * kStepsPerDoubling + n_steps, (whole + n_steps * step) * kLeastSize};
  if (size.bytes < bytes || size.step >= kStepsPerDoubling * kDoublings) throw std::bad_alloc();
  return size;
}

void* Region::take(std::size_t bytes) {
  const Size size = size_for(bytes);
  if (Waiting* memory = waiting_[size.step]; memory != nullptr) {
    waiting_[size.step] = memory->next;
    return memory;
  }
  if (size.bytes > n_left_) {
    const bool large = size.bytes >= block_size_;  // then it gets a block of its own
    blocks_.reserve(blocks_.size() + 1);
    const std::size_t block_bytes = large ? size.bytes : block_size_;
    void* block = allocate_aligned(block_bytes);
    blocks_.push_back({block, block_bytes});
    if (large) return block;
    next_ = static_cast<std::byte*>(block);
    n_left_ = block_size_;
    block_size_ = std::min(2 * block_size_, kLargestBlock);
  }
  void* memory = next_;
  next_ += size.bytes;
  n_left_ -= size.bytes;
  return memory;
}

void Region::give_back(void* memory, std::size_t bytes) noexcept {
  Waiting*& first = waiting_[size_for(bytes).step];
  first = new (memory) Waiting{first};
}

Region::~Region() {
  for (const Block& block : blocks_) release_aligned(block.memory, block.bytes);
}

// Under the address sanitizer every buffer is allocated by the system, so that accesses beyond its ends are found.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kUsesRegions = false;
#else
constexpr bool kUsesRegions = true;
#endif

void* take_memory(Region* region, std::size_t bytes) {
  return kUsesRegions && region != nullptr ? region->take(bytes) : allocate_aligned(bytes);
}

Region* memory_of_others() {
  static Region nobody;
  return &nobody;
}

void give_memory_back(Region* region, void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr || region == memory_of_others()) return;
  if (kUsesRegions && region != nullptr) {
    region->give_back(memory, bytes);
  } else {
    release_aligned(memory, bytes);
  }
}

}  // namespace hornbeam
