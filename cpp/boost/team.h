// Who works on a node of a boosted tree.
#pragma once

#include <cstddef>

#include "base/cancel.h"
#include "base/open_loops.h"

namespace hornbeam::boost {

// The threads that work on one node together: workers [first, first + size). Nodes worked on side by side
// have teams of one, whose loops are open to those who find no node.
struct Team {
  int first = 0;
  int size = 1;
  OpenLoops* loops = nullptr;

  Team alone() const { return {first, 1, nullptr}; }

  // Calls task(index, worker) for every index in [0, n_tasks); workers are numbered as those of the tree.
  void run(std::size_t n_tasks, const OpenLoops::Task& task, Cancel& cancel) const {
    if (size > 1) {
      parallel_for(n_tasks, size, [&](std::size_t index, int w) { task(index, first + w); }, &cancel);
      return;
    }
    if (loops != nullptr && n_tasks > 1) {
      loops->run(n_tasks, first, task);
    } else {
      for (std::size_t index = 0; index < n_tasks; ++index) task(index, first);
    }
    if (cancel.requested()) throw Cancelled();
  }
};

}  // namespace hornbeam::boost
