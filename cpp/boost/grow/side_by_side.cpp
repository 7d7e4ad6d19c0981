// Prepares several nodes of one tree at a time. A small node does not keep several threads busy, so each thread
// prepares a node of its own: the next one that no thread has taken yet, in the order in which they will probably
// be carried out. A thread that finds the next node prepared carries it out. A thread that finds no node left to
// take joins another thread's loops over rows. The tree is the one that a single thread would grow.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/counters.h"
#include "base/parallel.h"
#include "base/patience.h"
#include "boost/grow/boost_grower.h"

namespace hornbeam::boost {

namespace {

// How many of the next nodes to consider for preparing; as many as there are threads, if those are more.
constexpr std::size_t kNodesAhead = 8;
// Rows from which on it matters whose cache they are in; smaller nodes are taken in the order of their turns.
constexpr std::size_t kHomeRows = 8192;

}  // namespace

class SideBySide {
 public:
  SideBySide(BoostGrower& grower, Frontier& frontier)
      : grower_(grower), frontier_(frontier), loops_([this] { tell_others(); }) {}

  // The work of one thread until the tree is finished, or until its next node needs all threads. If it fails, a node
  // may be left half prepared or half carried out, so the other threads must not go on with this tree.
  void work(int worker) {
    try {
      work_until_over(worker);
    } catch (...) {
      const std::lock_guard lock(lock_);
      failed_ = true;
      ++n_tree_changes_;
      tell_others();
      throw;
    }
  }

 private:
  void work_until_over(int worker) {
    CancelPoller poller(*grower_.cancel_, worker == 0);
    const Timed timed("side by side");
    std::unique_lock lock(lock_);
    while (!is_over()) {
      if (next_is_prepared()) {
        carry_out_prepared();
      } else if (const OpenNode* sure = node_to_take((grower_.n_splits_left() + 1) / 2, worker)) {
        prepare(*sure, worker, poller, lock);
      } else if (loops_.has_tasks()) {
        help(worker, lock);
      } else if (const OpenNode* likely = node_to_take(grower_.n_splits_left(), worker)) {
        prepare(*likely, worker, poller, lock);
      } else {
        wait_for_others(worker, lock);
      }
    }
    ++n_tree_changes_;
    tell_others();
  }

  bool is_over() const {
    return failed_ || grower_.n_splits_left() == 0 || frontier_.size() == 0 ||
           grower_.takes_everyone(frontier_);
  }

  bool next_is_prepared() const { return stage_of(frontier_.peek()) == Stage::kPrepared; }

  void carry_out_prepared() {
    while (grower_.n_splits_left() > 0 && frontier_.size() > 0 && next_is_prepared()) {
      OpenNode next = *frontier_.next();
      grower_.carry_out(frontier_, next);
    }
    ++n_tree_changes_;
    tell_others();
  }

  // Takes one of the next `n_turns` nodes, if possible one whose rows are in this worker's cache. Children of nodes
  // before it may come first; if there are too many of them, it is prepared in vain.
  const OpenNode* node_to_take(std::size_t n_turns, int worker) {
    frontier_.foresee(std::min(std::max(kNodesAhead, grower_.workers_.size()), n_turns), soon_);
    const OpenNode* first = nullptr;
    for (const OpenNode* node : soon_) {
      if (stage_of(*node) != Stage::kWaiting || grower_.is_large(*node)) continue;
      if (is_in_cache(*node, worker)) return node;
      if (first == nullptr) first = node;
    }
    return first;
  }

  // Whether the node is large and this worker has written its rows. Then they may be in its cache, and the cache
  // lines for the children's rows need not come from another cache, which takes long if the caches are far apart.
  bool is_in_cache(const OpenNode& node, int worker) const {
    const BoostGrower::NodeState& state = grower_.state_of(node.id);
    return state.home == worker && state.n_rows() >= kHomeRows;
  }

  void prepare(OpenNode node, int worker, CancelPoller& poller, std::unique_lock<SpinLock>& lock) {
    BoostGrower::NodeState& state = grower_.state_of(node.id);
    state.stage = Stage::kTaken;
    const bool is_last = grower_.n_splits_left() == 1;
    lock.unlock();
    poller.poll(state.n_rows() * grower_.feature_groups_.size());
    grower_.prepare(node, state, Team{worker, 1, &loops_}, is_last);
    lock.lock();
    state.stage = Stage::kPrepared;  // if its turn has come, this thread carries it out next
  }

  void tell_others() {
    ++n_changes_;
    n_changes_.notify_all();
  }

  void help(int worker, std::unique_lock<SpinLock>& lock) {
    lock.unlock();
    loops_.join(worker);
    lock.lock();
  }

  // Waits until the tree has changed, because then there may be a node to take. Joins loops that open meanwhile
  // without checking the tree: all waiting threads join at the same time, and would compete for the tree's lock.
  void wait_for_others(int worker, std::unique_lock<SpinLock>& lock) {
    const Timed timed("wait for a node");
    const int tree = n_tree_changes_;
    int seen = n_changes_;
    lock.unlock();
    do {
      Patience::of_this_thread().wait([&] { return n_changes_ != seen; }, [&] { n_changes_.wait(seen); });
      seen = n_changes_;
      loops_.join(worker);
    } while (n_tree_changes_ == tree);
    lock.lock();
  }

  using Stage = BoostGrower::Stage;
  Stage stage_of(const OpenNode& node) const { return grower_.state_of(node.id).stage; }

  BoostGrower& grower_;
  Frontier& frontier_;
  SpinLock lock_;  // of the tree, its frontier, the stages of its nodes, and of what follows
  std::atomic<int> n_tree_changes_{0};  // also that it is over
  std::atomic<int> n_changes_{0};       // those and loops that were opened
  OpenLoops loops_;
  std::vector<const OpenNode*> soon_;
  bool failed_ = false;
};

void BoostGrower::grow_side_by_side(Frontier& frontier) {
  tally("times side by side", 1);
  SideBySide side_by_side(*this, frontier);
  parallel_for(
      workers_.size(), everyone().size, [&](std::size_t, int worker) { side_by_side.work(worker); }, cancel_);
}

}  // namespace hornbeam::boost
