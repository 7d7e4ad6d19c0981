// Large nodes of one tree prepared in step: all threads divide their rows, then count those of the smaller
// children, then search. The rows of all nodes are shared out as one list, so that no thread is without work, and
// most nodes are counted by one or two threads, whose sums are soon added up. The tree is the one that a single
// thread would grow.
#include <algorithm>
#include <atomic>

#include "base/counters.h"
#include "base/parallel.h"
#include "base/sampler.h"
#include "boost/grow/boost_grower.h"

namespace hornbeam::boost {

namespace {

// Updates of a histogram above which all threads work on one node, if there are enough columns for each
// thread to have its own: then fewer sums must stay in the caches than with a node per thread.
constexpr std::size_t kTeamUpdates = 500'000;
// A few threads are better used with a node each, since nobody waits for the slowest; many threads find too
// few nodes. For them, a node is large if each thread gets this many updates.
constexpr std::size_t kFewThreads = 4;
constexpr std::size_t kUpdatesPerThread = 25'000;

}  // namespace

bool BoostGrower::is_large(const OpenNode& node) const {
  const std::size_t n_updates = state_of(node.id).n_rows() * feature_groups_.size();
  if (builder_.divides_columns(everyone())) return n_updates > kTeamUpdates;
  static const std::size_t updates_per_thread = tuned("HORNBEAM_TOGETHER", kUpdatesPerThread);
  return workers_.size() > kFewThreads && updates_per_thread > 0 && state_of(node.id).histogram != nullptr &&
         n_updates > updates_per_thread * workers_.size();
}

bool BoostGrower::takes_everyone(const Frontier& frontier) const {
  const OpenNode& next = frontier.peek();
  if (state_of(next.id).stage != Stage::kWaiting) return false;
  return workers_.size() == 1 || frontier.size() == 1 || is_large(next);
}

// The next node and others that are almost certain to be split, whatever children come first.
std::vector<const OpenNode*> BoostGrower::next_in_step(const Frontier& frontier) const {
  std::vector<const OpenNode*> nodes{&frontier.peek()};
  if (workers_.size() <= kFewThreads || builder_.divides_columns(everyone()) || frontier.size() == 1)
    return nodes;
  std::vector<const OpenNode*> soon;
  frontier.foresee(std::min(workers_.size(), (n_splits_left() + 1) / 2), soon);
  for (const OpenNode* node : soon) {
    const NodeState& state = state_of(node->id);
    if (node != nodes[0] && state.stage == Stage::kWaiting && state.histogram != nullptr)
      nodes.push_back(node);
  }
  return nodes;
}

void BoostGrower::prepare_in_step(std::span<const OpenNode* const> nodes) {
  tally("steps", 1);
  tally("nodes in step", static_cast<double>(nodes.size()));
  const bool is_last = n_splits_left() == 1;
  if (nodes.size() == 1) {
    prepare(*nodes[0], state_of(nodes[0]->id), everyone(), is_last);
  } else {
    std::vector<Division> divisions;
    for (const OpenNode* node : nodes) {
      NodeState& state = state_of(node->id);
      state.prepared = std::make_unique<Prepared>();
      divisions.push_back(divide(state, node->split, state.prepared->children));
    }
    partition(divisions, everyone());
    std::vector<const OpenNode*> parents;
    for (const OpenNode* node : nodes) {
      NodeState& state = state_of(node->id);
      if (name_children(*node, state, everyone(), is_last)) {
        parents.push_back(node);
      } else {
        pool_.give_back(state.histogram);
      }
    }
    find_tests_in_step(parents);
  }
  for (const OpenNode* node : nodes) state_of(node->id).stage = Stage::kPrepared;
}

// As in `find_tests`, for parents that have histograms.
void BoostGrower::find_tests_in_step(std::span<const OpenNode* const> nodes) {
  struct Family {
    NodeState& parent;
    Prepared& out;
    Search searches[2];
    Histogram* used_up = nullptr;
    NodeState& small() const { return out.children[out.smaller()]; }
    NodeState& large() const { return out.children[1 - out.smaller()]; }
  };
  std::vector<Family> families;
  std::vector<HistogramBuilder::Count> counts;
  for (const OpenNode* node : nodes) {
    NodeState& parent = state_of(node->id);
    Prepared& out = *parent.prepared;
    families.push_back({parent,
                        out,
                        {start_search(out.children[0], node->depth + 1, child_path(node->path, 0)),
                         start_search(out.children[1], node->depth + 1, child_path(node->path, 1))}});
    NodeState& small = families.back().small();
    NodeState& large = families.back().large();
    small.histogram = pool_.take(needs_wide(small));
    const bool same_kind = parent.histogram->is_wide() == needs_wide(large);
    large.histogram = same_kind ? parent.histogram : pool_.take(needs_wide(large));
    families.back().used_up = same_kind ? nullptr : parent.histogram;
    counts.push_back({rows_of(small)});
  }
  builder_.add_rows(counts, everyone(), *cancel_);
  const std::size_t n_groups = feature_groups_.size();
  const std::size_t step = std::max<std::size_t>(1, nodes.size() * n_groups / (8 * workers_.size()));
  const std::size_t n_steps = (n_groups + step - 1) / step;
  std::vector<std::atomic<std::size_t>> n_steps_left(families.size());
  Pieces pieces;
  for (std::size_t i = 0; i < families.size(); ++i) {
    n_steps_left[i] = n_steps;
    pieces.add(n_steps);
  }
  everyone().run(
      pieces,
      [&](std::size_t i, std::size_t piece, int w) {
        const Timed timed("search");
        Family& family = families[i];
        Worker& worker = workers_[static_cast<std::size_t>(w)];
        for (std::size_t g = piece * step; g < std::min((piece + 1) * step, n_groups); ++g) {
          const FeatureGroup& group = feature_groups_[g];
          if (group.slot != Digit::kNoSlot) {
            builder_.finish_slot(group.slot, *family.small().histogram, counts[i].parts);
            builder_.subtract(group.slot, *family.parent.histogram, *family.small().histogram,
                              *family.large().histogram);
          }
          for (Search& search : family.searches) search_feature_group(search, group, worker);
        }
        if (n_steps_left[i].fetch_sub(1) > 1) return;
        for (int b = 0; b < 2; ++b) family.out.open[b] = settle(family.searches[b], worker);
      },
      *cancel_);
  for (std::size_t i = 0; i < families.size(); ++i) {
    builder_.give_back(counts[i].parts);
    pool_.give_back(families[i].used_up);
  }
}

}  // namespace hornbeam::boost
