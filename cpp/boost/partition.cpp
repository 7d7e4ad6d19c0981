// A node's rows divided between its children: marked first, by their set or by their list, then sent.
#include <algorithm>
#include <utility>

#include "boost/boost_grower.h"
#include "boost/boost_kernels.h"
#include "boost/row_marker.h"

namespace hornbeam::boost {

namespace {

constexpr std::size_t kWordsPerTask = 256;     // of a set of rows that a thread takes at once
constexpr std::size_t kParallelRows = 12'288;  // rows below which a pass over them is not shared out

}  // namespace

Team BoostGrower::team_for(const NodeState& node, Team team) {
  return node.n_rows() < kParallelRows ? team.alone() : team;
}

std::uint64_t* BoostGrower::left_bits_of(Team team, std::size_t n_rows) {
  std::vector<std::uint64_t>& left_bits = first_of(team).left_bits;
  left_bits.resize((n_rows + 63) / 64);
  return left_bits.data();
}

// Marks the rows of branch 0, piece by piece of the node's list.
std::vector<BoostGrower::Piece> BoostGrower::mark_listed(const NodeState& node, const Split& split,
                                                         Team team) {
  const std::span<const BoostEntry> rows = entries_of(node);
  std::uint64_t* left_bits = left_bits_of(team, rows.size());
  std::vector<Piece> pieces(n_tasks(rows.size()));
  const RowMarker marker(data_.column(split.feature), split);
  team_for(node, team)
      .run(
          pieces.size(),
          [&](std::size_t task, int) {
            const std::size_t begin = task * kRowsPerTask;
            const std::size_t n = std::min(kRowsPerTask, rows.size() - begin);
            std::uint64_t* of_piece = left_bits + begin / 64;
            pieces[task] = {of_piece, {n, marker.mark(rows.subspan(begin, n), of_piece)}};
          },
          *cancel_);
  return pieces;
}

// The same by the set of the node's rows, piece by piece of the table. The set keeps the rows of branch 1,
// `left` gets the others.
std::vector<BoostGrower::Piece> BoostGrower::mark_members(const Split& split, RowSet& members, RowSet& left,
                                                          Team team) {
  const std::size_t n_words = words_of_set(data_.n_rows());
  const std::size_t words_per_task = std::clamp<std::size_t>(n_words / 8, 64, kWordsPerTask);
  std::uint64_t* left_bits = left_bits_of(team, data_.n_rows());
  std::vector<Piece> pieces((n_words + words_per_task - 1) / words_per_task);
  const RowMarker marker(data_.column(split.feature), split);
  team.run(
      pieces.size(),
      [&](std::size_t task, int) {
        const std::size_t begin = task * words_per_task;
        const std::size_t n = std::min(words_per_task, n_words - begin);
        pieces[task] = {left_bits + begin, marker.divide(begin, n, members.data() + begin,
                                                         left.data() + begin, left_bits + begin)};
      },
      *cancel_);
  return pieces;
}

// Moves the node's rows into the other list, those of branch 0 first.
void BoostGrower::send(const NodeState& node, std::span<const Piece> pieces, std::size_t n_left, Team team) {
  std::vector<SetCounts> before(pieces.size());
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    before[i].n_rows = before[i - 1].n_rows + pieces[i - 1].counts.n_rows;
    before[i].n_left = before[i - 1].n_left + pieces[i - 1].counts.n_left;
  }
  const BoostEntry* rows = entries_of(node).data();
  BoostEntry* out = entries_[1 - node.side].data() + node.begin;
  team_for(node, team)
      .run(
          pieces.size(),
          [&](std::size_t i, int) {
            BoostEntry* left = out + before[i].n_left;
            BoostEntry* right = out + n_left + (before[i].n_rows - before[i].n_left);
            boost_kernels().send(rows + before[i].n_rows, pieces[i].counts.n_rows, pieces[i].left_bits, left,
                                 pieces[i].counts.n_left, right);
          },
          *cancel_);
}

// Gives the children the node's rows.
void BoostGrower::partition(NodeState& node, const Split& split, NodeState* children, Team team) {
  if (node.members != nullptr) {
    children[0].members = row_sets_.take(words_of_set(data_.n_rows()));
    children[1].members = std::exchange(node.members, nullptr);
  }
  const std::vector<Piece> pieces =
      children[0].members == nullptr
          ? mark_listed(node, split, team)
          : mark_members(split, *children[1].members, *children[0].members, team_for(node, team));
  std::size_t n_left = 0;
  for (const Piece& piece : pieces) n_left += piece.counts.n_left;
  send(node, pieces, n_left, team);
  for (int b = 0; b < 2; ++b) {
    NodeState& child = children[b];
    child.begin = b == 0 ? node.begin : node.begin + n_left;
    child.end = b == 0 ? node.begin + n_left : node.end;
    child.side = 1 - node.side;
    if (is_sparse(child)) row_sets_.give_back(std::exchange(child.members, nullptr));
  }
}

}  // namespace hornbeam::boost
