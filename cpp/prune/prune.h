// Pruning: a grown Tree in, a smaller Tree out, and a log of what was cut, in which order, at which cost.
// Nothing here looks at rows. All of it works for any number of branches, takes O(n log n) for n nodes
// however deep the tree, and never recurses. Write R(t) for the cost of node t as a leaf, and T_t for the
// subtree below and including t.
//
// Cost complexity (Breiman, Friedman, Olshen and Stone 1984, chapter 3). A tree costs the sum of R over its
// leaves plus alpha per leaf. As alpha rises, the best subtree shrinks, always by its weakest links: the
// inner nodes with the least
//     g(t) = (R(t) - R(T_t)) / (leaves of T_t - 1).
//   R(t) = weight_t / weight_root * impurity_t, as in scikit-learn, or the same with the training error,
//   1 - largest class share (mean over outputs), in place of the impurity.
//
// Reduced error (Quinlan 1987, greedy). R(t) is the validation error of t as a leaf. Cut the node with the
// largest drop R(T_t) - R(t), anywhere in the tree, until no cut lowers the error. Ties: the larger subtree,
// then the lower node.
//
// Pessimistic (Quinlan 1993, C4.5). With N the weight of t, E the part of it that t misclassifies and CF the
// confidence factor, R(t) = N * U(E, N), where U is the upper limit of the error rate: the p that solves
//     sum over i <= E of Binom(N, i) p^i (1-p)^(N-i)  =  I_{1-p}(N - E, E + 1)  =  CF.
// The incomplete beta function I defines the sum when weights make N and E fractional. As in C4.5, U(0, N) =
// 1 - CF^(1/N), and for 0 < E < 1 it is interpolated: U(0, N) + E (U(1, N) - U(0, N)); U = 1 from E = N on.
// (From E = 1 on, C4.5's program uses a normal approximation, which lies a little below: 0.157 for U(1, 16)
// at CF = 0.25 instead of 0.160.) Bottom-up, a node becomes a leaf where R(t) <= R(T_t). Subtree raising,
// C4.5's other operation, would need the rows again and is not implemented.
//
// Sums of floats that are equal on paper may differ in their last bits, so costs are compared with a slack of
// 2^-40 of the numbers they were computed from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "tree/tree.h"

namespace hornbeam::prune {

using tree::Tree;

// Cuts in the order they were made, as parallel arrays. Nodes are numbered as in the tree before pruning.
struct PruningLog {
  std::vector<NodeId> node;
  std::vector<NodeId> nodes_removed;  // how many nodes were still below it when it was cut
  std::vector<double> error_before;   // of the whole tree: the sum of R over its leaves
  std::vector<double> error_after;

  void add(NodeId cut, NodeId removed, double before, double after);
};

struct PrunedTree {
  Tree tree;
  PruningLog log;
};

enum class PruneCost : std::uint8_t {
  kImpurity,
  kError,  // training error; for real targets (n_values = 1) the same as kImpurity
};

// The nested sequence of trees. Step 0 is the whole tree, the last step the root alone. Step s is best for
// alpha[s] <= alpha <= alpha[s + 1]; alpha[1] is 0 too if some splits gain nothing.
struct CostComplexityPath {
  std::vector<double> alpha;  // ascending; alpha[0] = 0
  std::vector<double> cost;   // sum of R over the leaves
  std::vector<std::int64_t> n_leaves;
  std::vector<std::int32_t>
      removed_at;  // per node: the step that made it a leaf, or removed it; 0 for leaves
  PruningLog log;  // one entry per cut; its step is removed_at[node]
};

// Links that are equally weak on paper are cut in the same step. (scikit-learn lists them one by one, with
// alphas that differ by rounding; the last entry of such a run corresponds to the step here.)
CostComplexityPath cost_complexity_path(const Tree& tree, PruneCost cost, Cancel& cancel);

// The smallest tree of the sequence whose alpha is at most ccp_alpha; at 0 nothing is cut, as in
// scikit-learn.
Tree prune_cost_complexity(const Tree& tree, double ccp_alpha, PruneCost cost, Cancel& cancel);

// `cost_as_leaf[node]`: the weighted validation error that the rows reaching the node would have if it were a
// leaf.
PrunedTree prune_reduced_error(const Tree& tree, std::span<const double> cost_as_leaf, Cancel& cancel);

// The values must be class shares. `confidence` is CF, between 0 and 1; smaller values cut more. Errors in
// the log are expected errors, in units of weight.
PrunedTree prune_pessimistic(const Tree& tree, double confidence, Cancel& cancel);

}  // namespace hornbeam::prune
