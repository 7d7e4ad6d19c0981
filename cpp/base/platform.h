// Everything that depends on the operating system or the compiler lives here, with plain fallbacks:
// huge pages, fork handlers, processor features.
#pragma once

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace hornbeam {

// Memory aligned to cache lines, or to 2 MiB with a request for huge pages when it is large.
void* allocate_aligned(std::size_t bytes);
void release_aligned(void* memory, std::size_t bytes) noexcept;
// Has the system provide all pages of some memory at once, which takes less time than a page fault for each.
void make_present(void* memory, std::size_t bytes) noexcept;
// Returns freed memory to the system, where the allocator would keep much of it for later.
void return_unused_memory();

// Asks for a cache line that will be needed soon; changes nothing but time.
inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// The same into the second-level cache only, for lines that are needed later: many more such requests can be on
// their way at once, and they push nothing out of the first level.
inline void prefetch_far(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address, 0, 2);
#else
  (void)address;
#endif
}

// Tells the processor that this thread is only waiting.
inline void relax_processor() {
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#endif
}

// Runs `handler` in the child of every later fork (once per registration; not removable).
void on_fork_in_child(void (*handler)());

enum class InstructionSet : std::uint8_t { kBaseline, kAvx2, kAvx512 };
InstructionSet best_instruction_set();

// Rounding to nearest and subnormal numbers kept, whatever the host program has set (some libraries switch on
// "flush to zero"); the host's settings come back at the end.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&host_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t host_;
};

// From a fit's memory (base/arena.h) or, without a region, from the system.
class Region;
void* take_memory(Region* region, std::size_t bytes);
void give_memory_back(Region* region, void* memory, std::size_t bytes) noexcept;
// Stands for memory that somebody else owns, for example a file that is mapped: it is never given back.
Region* memory_of_others();

// A plain array that is not cleared on creation, aligned, huge-paged when large, movable.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size, Region* region = nullptr)
      : region_(region),
        data_(static_cast<T*>(size == 0 ? nullptr : take_memory(region, size * sizeof(T)))),
        size_(size) {}
  // Empty; will take its memory from the region.
  explicit Buffer(Region* region) : region_(region) {}
  Buffer(Buffer&& other) noexcept
      : region_(other.region_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(region_, other.region_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { give_memory_back(region_, data_, size_ * sizeof(T)); }

  static Buffer zeros(std::size_t size) {
    Buffer buffer(size);
    if (size != 0) std::memset(static_cast<void*>(buffer.data_), 0, size * sizeof(T));
    return buffer;
  }
  // A view of memory that belongs to somebody else and must outlive the buffer; only for reading.
  static Buffer over(const T* data, std::size_t size) {
    Buffer buffer(memory_of_others());
    buffer.data_ = const_cast<T*>(data);
    buffer.size_ = size;
    return buffer;
  }
  // Makes room for at least `size` elements; what was inside is lost.
  void grow_to(std::size_t size) {
    if (size > size_) *this = Buffer(size, region_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  Region* region_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hornbeam
