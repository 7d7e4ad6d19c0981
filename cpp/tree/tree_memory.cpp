#include "tree/tree_memory.h"

#include "base/platform.h"

namespace hornbeam::tree {

void* take_tree_memory(std::size_t bytes) {
  constexpr std::size_t kManyPages = std::size_t{64} << 10;
  void* memory = ::operator new(bytes);
  if (bytes >= kManyPages) make_present(memory, bytes);
  return memory;
}

}  // namespace hornbeam::tree
