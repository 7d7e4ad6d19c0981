// A node's rows divided between its children: marked first, by their set or by their list, then sent.
#include <algorithm>
#include <utility>

#include "hornbeam/boost/grower.h"
#include "hornbeam/boost/kernels.h"
#include "hornbeam/boost/marks.h"

namespace hornbeam {

namespace {

constexpr std::size_t kWordsPerTask = 256;     // of a set of rows that a thread takes at once
constexpr std::size_t kParallelRows = 12'288;  // rows below which a pass over them is not shared out

}  // namespace

Team BoostGrower::team_for(const NodeState& node, Team team) {
  return node.n_rows() < kParallelRows ? team.alone() : team;
}

std::uint64_t* BoostGrower::marks_of(Team team, std::size_t n_rows) {
  std::vector<std::uint64_t>& marks = first_of(team).marks;
  marks.resize((n_rows + 63) / 64);
  return marks.data();
}

// Marks the rows of branch 0, piece by piece of the node's list.
std::vector<BoostGrower::Piece> BoostGrower::mark_listed(const NodeState& node, const Split& split,
                                                         Team team) {
  const std::span<const BoostEntry> rows = entries_of(node);
  std::uint64_t* marks = marks_of(team, rows.size());
  std::vector<Piece> pieces(n_tasks(rows.size()));
  const RowMarker marker(data_.column(split.feature), split);
  team_for(node, team)
      .run(
          pieces.size(),
          [&](std::size_t task, int) {
            const std::size_t begin = task * kRowsPerTask;
            const std::size_t n = std::min(kRowsPerTask, rows.size() - begin);
            std::uint64_t* of_piece = marks + begin / 64;
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
  std::uint64_t* marks = marks_of(team, data_.n_rows());
  std::vector<Piece> pieces((n_words + words_per_task - 1) / words_per_task);
  const RowMarker marker(data_.column(split.feature), split);
  team.run(
      pieces.size(),
      [&](std::size_t task, int) {
        const std::size_t begin = task * words_per_task;
        const std::size_t n = std::min(words_per_task, n_words - begin);
        pieces[task] = {marks + begin,
                        marker.divide(begin, n, members.data() + begin, left.data() + begin, marks + begin)};
      },
      *cancel_);
  return pieces;
}

// Moves the node's rows, those of branch 0 to `left` and the others to `right`. Either may be where the
// node's rows are, if one thread goes through them in order.
void BoostGrower::send(const NodeState& node, std::span<const Piece> pieces, BoostEntry* left,
                       BoostEntry* right, Team team) {
  std::vector<SetCounts> before(pieces.size());
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    before[i].n_rows = before[i - 1].n_rows + pieces[i - 1].counts.n_rows;
    before[i].n_left = before[i - 1].n_left + pieces[i - 1].counts.n_left;
  }
  const BoostEntry* rows = entries_of(node).data();
  team.run(
      pieces.size(),
      [&](std::size_t i, int) {
        const auto [n_rows, n_left] = before[i];
        boost_kernels().send(rows + n_rows, pieces[i].counts.n_rows, pieces[i].marks, left + n_left,
                             pieces[i].counts.n_left, right + (n_rows - n_left));
      },
      *cancel_);
}

// Gives the children the node's rows. A thread by itself leaves those of the larger child where they are,
// less the gaps, and moves the others behind them in the other list: most of what it writes it has just read.
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
  const int larger = 2 * n_left >= node.n_rows() ? 0 : 1;
  NodeState& first = children[larger];
  NodeState& second = children[1 - larger];
  first.begin = node.begin;
  first.end = second.begin = node.begin + (larger == 0 ? n_left : node.n_rows() - n_left);
  second.end = node.end;
  const bool stays = team.size == 1;
  first.side = stays ? node.side : 1 - node.side;
  second.side = 1 - node.side;
  BoostEntry* to[2];
  for (int b = 0; b < 2; ++b) to[b] = entries_[children[b].side].data() + children[b].begin;
  send(node, pieces, to[0], to[1], stays ? team.alone() : team_for(node, team));
  for (int b = 0; b < 2; ++b) {
    if (is_sparse(children[b])) row_sets_.give_back(std::exchange(children[b].members, nullptr));
  }
}

// Puts a prepared node's rows back where they were: those of the child that stayed, and those of the other
// between them, from the last to the first; both are in the order of the table.
void BoostGrower::take_back(NodeState& node) {
  const auto* children = node.prepared->children;
  const NodeState& first = children[children[0].begin == node.begin ? 0 : 1];
  if (first.side != node.side) return;  // both were moved, and the node has its list
  const std::span<const BoostEntry> staying = entries_of(first);
  const std::span<const BoostEntry> moved = {entries_[1 - node.side].data() + first.end,
                                             node.end - first.end};
  BoostEntry* const here = entries_[node.side].data() + node.begin;
  std::size_t i = staying.size();
  std::size_t j = moved.size();
  while (j > 0) {
    const bool takes_staying = i > 0 && row_of(staying[i - 1]) > row_of(moved[j - 1]);
    here[i + j - 1] = takes_staying ? staying[i - 1] : moved[j - 1];
    --(takes_staying ? i : j);
  }
}

}  // namespace hornbeam
