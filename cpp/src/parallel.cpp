#include "hornbeam/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hornbeam/platform.h"

namespace hornbeam {

namespace {

thread_local bool inside_task = false;
std::atomic<bool> refused{false};

struct Batch {
  std::size_t n_tasks;
  const std::function<void(std::size_t, int)>& task;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};
  std::mutex error_mutex{};

  void run(int worker) {
    const DefaultFloatingPoint floating_point;
    inside_task = true;
    for (;;) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= n_tasks || failed.load(std::memory_order_relaxed)) break;
      try {
        task(index, worker);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        failed.store(true, std::memory_order_relaxed);
      }
    }
    inside_task = false;
  }
};

// Threads wait for a batch; `generation` tells a new one from the old. Only one batch runs at a time: a
// second caller finds the pool busy and does its work alone, which is also what keeps concurrent fits from
// oversubscribing.
class Pool {
 public:
  bool try_run(Batch& batch, int n_threads, Cancel* cancel) {
    if (busy_.exchange(true)) return false;
    ensure_threads(n_threads - 1);
    {
      const std::lock_guard lock(mutex_);
      batch_ = &batch;
      wanted_ = std::min(n_threads - 1, static_cast<int>(threads_.size()));
      asked_ = running_ = wanted_;
      started_ = 0;
      generation_.fetch_add(1, std::memory_order_relaxed);
    }
    wake_.notify_all();
    batch.run(0);
    std::unique_lock lock(mutex_);
    // Helpers that have not woken yet are no longer needed: the tasks are all handed out.
    running_ -= wanted_ - started_;
    wanted_ = started_;
    if (running_ > 0) {
      lock.unlock();
      wait_a_little([&] { return running_ == 0; });
      lock.lock();
    }
    while (!done_.wait_for(lock, std::chrono::milliseconds(50), [&] { return running_ == 0; })) {
      if (cancel == nullptr) continue;
      lock.unlock();  // asking the host may take a while, and tasks end meanwhile
      if (!cancel->requested() && cancel->ask_host()) cancel->request();
      lock.lock();
    }
    batch_ = nullptr;
    lock.unlock();
    busy_.store(false);
    return true;
  }

 private:
  void ensure_threads(int n) {
    while (static_cast<int>(threads_.size()) < n) {
      try {
        threads_.emplace_back([this, number = static_cast<int>(threads_.size())] { serve(number); });
        threads_.back().detach();
      } catch (const std::exception&) {  // a limit on threads or memory: work on with fewer
        refused = true;
        break;
      }
    }
  }

  void serve(int number) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_, std::defer_lock);
    for (;;) {
      wait_a_little([&] { return generation_.load(std::memory_order_relaxed) != seen; });
      lock.lock();
      wake_.wait(lock, [&] { return generation_ != seen && number < asked_; });
      seen = generation_;
      if (started_ >= wanted_) {  // too late for this batch; the next one may follow at once
        lock.unlock();
        continue;
      }
      Batch* batch = batch_;
      const int worker = ++started_;
      lock.unlock();
      batch->run(worker);
      lock.lock();
      if (--running_ == 0) done_.notify_all();
      lock.unlock();
    }
  }

  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Batch* batch_ = nullptr;
  std::atomic<std::uint64_t> generation_{0};
  int asked_ = 0;   // threads that the batch was published for, the first of the pool
  int wanted_ = 0;  // those of them that it still has work for
  int started_ = 0;
  std::atomic<int> running_{0};
  std::vector<std::thread> threads_;
};

std::atomic<Pool*> current_pool{nullptr};

void forget_pool_after_fork() {
  // The parent's threads do not exist here and its locks may be held: leave the old pool as it is and start
  // anew.
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
  const bool nested = inside_task;
  Batch batch{n_tasks, task};
  const int useful = static_cast<int>(std::min<std::size_t>(n_tasks, std::max(1, n_threads)));
  if (nested || useful == 1 || !pool().try_run(batch, useful, cancel)) batch.run(0);
  inside_task = nested;
  if (batch.error) std::rethrow_exception(batch.error);
  if (cancel != nullptr && cancel->requested()) throw Cancelled();
}

}  // namespace hornbeam
