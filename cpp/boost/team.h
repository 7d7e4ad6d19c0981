// The threads that work together on a node of a boosted tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/open_loops.h"

namespace hornbeam::boost {

// The pieces of several jobs, numbered through, for one loop over all of them.
class Pieces {
 public:
  void add(std::size_t n_pieces) { ends_.push_back(size() + n_pieces); }
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  // The job that a piece belongs to, and the piece's number within it.
  std::pair<std::size_t, std::size_t> at(std::size_t index) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    return {static_cast<std::size_t>(end - ends_.begin()), index - (end == ends_.begin() ? 0 : end[-1])};
  }

 private:
  std::vector<std::size_t> ends_;
};

// Workers [first, first + size). Nodes that grow side by side have teams of one thread each; idle threads may join
// in their loops.
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
  // Calls task(job, piece, worker) for every piece.
  template <class Task>
  void run(const Pieces& pieces, const Task& task, Cancel& cancel) const {
    run(
        pieces.size(),
        [&](std::size_t index, int worker) {
          const auto [thing, piece] = pieces.at(index);
          task(thing, piece, worker);
        },
        cancel);
  }
};

}  // namespace hornbeam::boost
