// Memory for the arrays of trees, which are many, large, and filled at once. A forest uses hundreds of megabytes for
// the first time, so the system is asked for large portions, and memory is not cleared before it is filled.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace hornbeam::tree {

void* take_tree_memory(std::size_t bytes);

// An allocator that gives vectors this memory and does not initialise elements on resize: whoever makes a tree sets
// all of them.
template <class T>
struct TreeMemory {
  using value_type = T;

  TreeMemory() = default;
  template <class Other>
  TreeMemory(const TreeMemory<Other>& /*other*/) {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(take_tree_memory(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t /*n*/) noexcept { ::operator delete(memory); }

  void construct(T* at) noexcept { ::new (static_cast<void*>(at)) T; }
  template <class... Values>
  void construct(T* at, Values&&... values) {
    ::new (static_cast<void*>(at)) T(std::forward<Values>(values)...);
  }
  bool operator==(const TreeMemory& /*other*/) const { return true; }
};

template <class T>
using TreeArray = std::vector<T, TreeMemory<T>>;

}  // namespace hornbeam::tree
