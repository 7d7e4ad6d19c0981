#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/patience.h"
#include "base/platform.h"
#include "base/work_stealing.h"

namespace hornbeam {

namespace {

thread_local bool inside_task = false;
std::atomic<bool> refused{false};

struct Batch {
  Batch(std::size_t n_tasks, int n_workers, const std::function<void(std::size_t, int)>& t, Cancel* c)
      : tasks(n_tasks, n_workers), task(t), cancel(c) {}

  TaskRuns tasks;
  const std::function<void(std::size_t, int)>& task;
  Cancel* cancel;
  std::exception_ptr error{};
  std::mutex error_mutex{};

  void run(int worker) {
    const Timed timed("in a loop");
    const DefaultFloatingPoint floating_point;
    inside_task = true;
    try {
      while (const std::optional<std::size_t> index = tasks.take(worker)) {
        task(*index, worker);
        // Tasks may be too short to poll themselves.
        if (cancel == nullptr) continue;
        if (cancel->requested()) throw Cancelled();
        if (worker == 0) cancel->ask_host_now_and_then();
      }
    } catch (...) {
      tasks.end();
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
    inside_task = false;
  }
};

// Threads wait for a batch. Each is called by a number of its own, so a batch for two threads leaves the other fourteen
// asleep that an earlier one has started. Only one batch runs at a time: a second caller finds the pool busy and does
// its work alone, which is also what keeps concurrent fits from oversubscribing.
class Pool {
 public:
  bool try_run(Batch& batch, int n_threads, Cancel* cancel) {
    if (busy_.exchange(true)) return false;
    tally("loops shared out", 1);
    ensure_threads(n_threads - 1);
    publish(batch, std::min(n_threads - 1, static_cast<int>(threads_.size())));
    batch.run(0);
    close();
    wait_for_helpers(cancel);
    busy_.store(false);
    return true;
  }

 private:
  void publish(Batch& batch, int n_helpers) {
    {
      const std::lock_guard lock(state_);
      batch_ = &batch;
      asked_ = wanted_ = n_helpers;
      running_ = n_helpers;
      started_ = 0;
    }
    for (int i = 0; i < n_helpers; ++i) {
      calls_[static_cast<std::size_t>(i)].number.fetch_add(1);
      calls_[static_cast<std::size_t>(i)].number.notify_one();
    }
  }

  // Helpers that have not woken yet are no longer needed: the tasks are all handed out.
  void close() {
    const std::lock_guard lock(state_);
    running_ -= wanted_ - started_;
    wanted_ = started_;
  }

  void wait_for_helpers(Cancel* cancel) {
    const Timed timed("wait for the others of a loop");
    const auto all_done = [&] { return running_.load(std::memory_order_acquire) == 0; };
    Patience::of_this_thread().wait(all_done, [&] {
      std::unique_lock lock(done_mutex_);
      if (done_.wait_for(lock, std::chrono::milliseconds(50), all_done) || cancel == nullptr) return;
      lock.unlock();  // asking the host may take a while, and tasks end meanwhile
      if (!cancel->requested() && cancel->ask_host()) cancel->request();
    });
  }

  void ensure_threads(int n) {
    while (static_cast<int>(threads_.size()) < n) {
      try {
        if (calls_.size() == threads_.size()) calls_.emplace_back();
        Calls& calls = calls_[threads_.size()];
        threads_.emplace_back(
            [this, &calls, number = static_cast<int>(threads_.size())] { serve(number, calls); });
        threads_.back().detach();
      } catch (const std::exception&) {  // a limit on threads or memory: work on with fewer
        refused = true;
        break;
      }
    }
  }

  // The calls of a thread: in a line of their own, as it looks at them again and again.
  struct alignas(64) Calls {
    std::atomic<int> number{0};
  };

  void serve(int number, Calls& calls) {
    int seen = 0;
    for (;;) {
      wait_for_call_after(seen, calls);
      seen = calls.number;
      Batch* batch = join(number);
      if (batch == nullptr) continue;  // too late for this one; the next may follow at once
      batch->run(number + 1);
      if (running_.fetch_sub(1) == 1) {
        {
          const std::lock_guard lock(done_mutex_);
        }  // the caller sleeps, or has not looked yet
        done_.notify_all();
      }
    }
  }

  static void wait_for_call_after(int seen, Calls& calls) {
    const Timed timed("wait for a loop");
    Patience::of_this_thread().wait([&] { return calls.number.load(std::memory_order_relaxed) != seen; },
                                    [&] { calls.number.wait(seen); });
  }

  Batch* join(int number) {
    const std::lock_guard lock(state_);
    if (number >= asked_ || started_ >= wanted_) return nullptr;
    ++started_;
    return batch_;
  }

  // What many threads read has a cache line of its own: writing to a neighbour must not take it away from them.
  alignas(64) std::atomic<bool> busy_{false};
  SpinLock state_;  // of the next four
  Batch* batch_ = nullptr;
  int asked_ = 0;   // threads that the batch was published for, the first of the pool
  int wanted_ = 0;  // how many of them there is still work for
  int started_ = 0;
  alignas(64) std::atomic<int> running_{0};
  std::mutex done_mutex_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
  std::deque<Calls> calls_;  // by thread; its members never move
};

std::atomic<Pool*> current_pool{nullptr};

void forget_pool_after_fork() {
  // The parent's threads do not exist in this process, and its locks may be held: leave the old pool as it is and
  // start a new one.
  current_pool.store(nullptr);
  inside_task = false;
}

Pool& pool() {
  Pool* existing = current_pool.load();
  if (existing != nullptr) return *existing;
  static std::once_flag registered;
  std::call_once(registered, [] { on_fork_in_child(forget_pool_after_fork); });
  Pool* fresh = new Pool();  // lives as long as the process: its threads wait on it
  if (current_pool.compare_exchange_strong(existing, fresh)) return *fresh;
  delete fresh;
  return *existing;
}

}  // namespace

bool thread_was_refused() {
  return refused.exchange(false);
}

void parallel_for(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t, int)>& task,
                  Cancel* cancel) {
  if (n_tasks == 0) return;
  if (inside_task) {  // this thread has been set up for tasks already
    for (std::size_t i = 0; i < n_tasks; ++i) {
      task(i, 0);
      if (cancel != nullptr && cancel->requested()) throw Cancelled();
    }
  } else {
    const int useful = static_cast<int>(std::min<std::size_t>(n_tasks, std::max(1, n_threads)));
    Batch batch(n_tasks, useful, task, cancel);
    if (useful == 1 || !pool().try_run(batch, useful, cancel)) batch.run(0);
    if (batch.error) std::rethrow_exception(batch.error);
  }
  if (cancel != nullptr && cancel->requested()) throw Cancelled();
}

}  // namespace hornbeam
