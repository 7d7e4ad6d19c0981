// The tasks of a loop, shared out so that each thread mostly gets the rows that it still has in its cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hornbeam {

// Tasks 0, 1, ... in runs of neighbours, one run per worker. A worker takes the tasks of its own run in order and
// then the last ones of other runs. So in successive loops over the same rows a thread mostly has the rows it had
// before, and no thread is idle while there are tasks left.
class TaskRuns {
 public:
  TaskRuns(std::size_t n_tasks, int n_workers);
  TaskRuns(const TaskRuns&) = delete;
  TaskRuns& operator=(const TaskRuns&) = delete;

  // The next task for this worker; nothing if all have been taken.
  std::optional<std::size_t> take(int worker);
  // The next task for a thread without a run of its own: the last of some run, trying those from `first` on first.
  std::optional<std::size_t> help(std::size_t first = 0);
  bool has_tasks() const;
  // No further task is given out.
  void end();

 private:
  // The tasks that are left. First and end share one word, so that a task is taken by one atomic exchange. Each run has
  // a cache line of its own, which mostly only its worker uses.
  struct alignas(64) Run {
    std::atomic<std::uint64_t> tasks{0};
  };
  static constexpr std::size_t kFew = 4;
  Run few_[kFew];  // loops over small nodes are short: allocating memory would cost too much
  std::vector<Run> many_;
  std::span<Run> runs_;
};

}  // namespace hornbeam
