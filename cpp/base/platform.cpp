#include "base/platform.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <pthread.h>
#include <sys/mman.h>
#elif defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace hornbeam {

namespace {
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  return (bytes + unit - 1) / unit * unit;
}

// Large memory is a mapping of its own where the system has huge pages. A request for them stays with the addresses:
// within the allocator's memory, later allocations at the same place would take whole huge pages, too. Not under the
// address sanitizer, which only watches memory from the allocator.
#if defined(__linux__) && defined(MADV_HUGEPAGE) && !defined(__SANITIZE_ADDRESS__)

bool is_mapped(std::size_t bytes) {
  return bytes >= 2 * kHugePage;
}

constexpr std::size_t kMappingUnit = std::size_t{1} << 16;  // a multiple of any system's pages

void* map_huge(std::size_t bytes) {
  const std::size_t size = rounded_up(bytes, kMappingUnit);
  const std::size_t reserved = rounded_up(size + kHugePage, kMappingUnit);
  void* mapping = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(mapping);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  std::byte* const memory = start + before;
  if (before > 0) munmap(start, before);
  if (reserved > before + size) munmap(memory + size, reserved - before - size);
  // Only a request; failure changes nothing. Not for memory smaller than a huge page, which would be provided whole.
  madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

void unmap(void* memory, std::size_t bytes) noexcept {
  munmap(memory, (bytes + kMappingUnit - 1) / kMappingUnit * kMappingUnit);
}

#else

bool is_mapped(std::size_t) {
  return false;
}
void* map_huge(std::size_t) {
  return nullptr;
}
void unmap(void*, std::size_t) noexcept {}

#endif

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  if (is_mapped(bytes)) return map_huge(bytes);
  void* memory = std::aligned_alloc(kCacheLine, rounded_up(bytes, kCacheLine));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void make_present(void* memory, std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  constexpr std::uintptr_t kPage = 4096;
  const auto first = reinterpret_cast<std::uintptr_t>(memory) / kPage * kPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE);  // only a request, as above
#else
  (void)memory;
  (void)bytes;
#endif
}

void release_aligned(void* memory, std::size_t bytes) noexcept {
  if (is_mapped(bytes)) {
    unmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

void return_unused_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void on_fork_in_child(void (*handler)()) {
#if defined(__unix__) || defined(__APPLE__)
  pthread_atfork(nullptr, nullptr, handler);
#else
  (void)handler;
#endif
}

InstructionSet best_instruction_set() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
      __builtin_cpu_supports("avx512vpopcntdq")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kBaseline;
}

}  // namespace hornbeam
