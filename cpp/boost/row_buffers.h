// Where a boosting fit keeps its per-row arrays that are read sequentially: scores and derivatives. Usually
// that is memory; if memory is short it is a mapped file, whose pages the system writes out and reads back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "base/platform.h"

namespace hornbeam::boost {

// What a fit uses instead of memory.
struct RowsInFile {
  std::span<std::byte> memory;            // as much as Booster::row_buffer_bytes says
  bool keeps_derivatives = true;          // else they are recomputed from the scores
  std::span<const std::uint8_t> y_codes;  // if they are not kept: targets that are codes of two classes
};

class RowBuffers {
 public:
  // Without `given`, every buffer has memory of its own; otherwise they follow each other in it.
  explicit RowBuffers(std::span<std::byte> given) : is_given_(!given.empty()), left_(given) {}

  template <class T>
  Buffer<T> take(std::size_t n) {
    if (!is_given_) return Buffer<T>(n);
    const std::size_t bytes = bytes_for(n * sizeof(T));
    if (bytes > left_.size()) throw std::length_error("the memory for rows is too small");
    // Buffer::over takes const memory; what is `given` is writable, so the buffer is too.
    const auto* const first = reinterpret_cast<const T*>(left_.data());
    left_ = left_.subspan(bytes);
    return Buffer<T>::over(first, n);
  }

  // Whole pages, so that no two buffers share one.
  static std::size_t bytes_for(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

 private:
  static constexpr std::size_t kPage = 4096;

  bool is_given_;
  std::span<std::byte> left_;
};

}  // namespace hornbeam::boost
