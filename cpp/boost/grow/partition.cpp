// A node's rows divided between its children: marked first, by their set or by their list, then sent.
#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "boost/boost_kernels.h"
#include "boost/grow/boost_grower.h"
#include "boost/grow/row_marker.h"

namespace hornbeam::boost {

namespace {

constexpr std::size_t kMostWords = 256;  // of a set of rows that a thread takes at once
constexpr std::size_t kFewestWords = 64;
constexpr std::size_t kFewestRows = 1024;      // of a list, where many threads share few
constexpr std::size_t kParallelRows = 12'288;  // rows below which a pass over them is not shared out

}  // namespace

// Scattered rows are looked up in the column if it is in memory; if it may be in a file, in the codes by row.
RowMarker BoostGrower::marker_of_list(FeatureId feature, const Split& split) const {
  const Column& column = data_.column(feature);
  const Digit& digit = tiles_.digit_of(feature);
  if (!params_.columns_in_file || !digit.has_slot()) return {column, split};
  return {column, split, digit, tiles_.codes_of(digit.slot)};
}

BoostGrower::Division BoostGrower::divide(NodeState& node, const Split& split, NodeState* children) {
  if (node.members != nullptr) {
    children[0].members = row_sets_.take(words_of_set(data_.n_rows()));
    children[1].members = std::exchange(node.members, nullptr);
  }
  const bool is_set = children[0].members != nullptr;
  return {.node = node,
          .children = children,
          .marker =
              is_set ? RowMarker(data_.column(split.feature), split) : marker_of_list(split.feature, split)};
}

// Marks the rows of branch 0. The set of a node keeps the rows of branch 1, and a new one gets the others.
void BoostGrower::mark(Division& division, std::size_t piece) {
  const Timed timed("mark rows");
  const std::size_t begin = piece * division.places_per_piece;
  const std::size_t n = std::min(division.places_per_piece, division.n_places - begin);
  const std::size_t word = begin / 64;
  std::uint64_t* left_bits = division.left_bits + word;
  SetCounts counts{n, 0};
  if (division.is_set()) {
    counts = division.marker.divide(word, words_of_set(n), division.children[1].members->data() + word,
                                    division.children[0].members->data() + word, left_bits);
  } else {
    counts.n_left = division.marker.mark(entries_of(division.node).subspan(begin, n), left_bits);
  }
  division.pieces[piece] = {left_bits, counts};
}

// Where the rows of each piece go, and so those of each child.
void BoostGrower::add_up(Division& division) {
  SetCounts sum;
  for (const Piece& piece : division.pieces) {
    division.before.push_back(sum);
    sum.n_rows += piece.counts.n_rows;
    sum.n_left += piece.counts.n_left;
  }
  division.n_left = sum.n_left;
  for (int b = 0; b < 2; ++b) {
    const NodeState& node = division.node;
    NodeState& child = division.children[b];
    child.begin = b == 0 ? node.begin : node.begin + sum.n_left;
    child.end = b == 0 ? node.begin + sum.n_left : node.end;
    child.side = 1 - node.side;
  }
}

// Moves rows of the node into the other list, those of branch 0 first.
void BoostGrower::send(const Division& division, std::size_t piece) {
  const Timed timed("send rows");
  const NodeState& node = division.node;
  BoostEntry* out = entries_[1 - node.side].data() + node.begin;
  const SetCounts& before = division.before[piece];
  const Piece& rows = division.pieces[piece];
  boost_kernels().send(entries_of(node).data() + before.n_rows, rows.counts.n_rows, rows.left_bits,
                       out + before.n_left, rows.counts.n_left,
                       out + division.n_left + (before.n_rows - before.n_left));
}

// Gives the children the rows of their parents, piece by piece of all lists and sets.
void BoostGrower::partition(std::span<Division> divisions, Team team) {
  std::size_t n_rows = 0;
  std::size_t n_words = 0;
  for (Division& division : divisions) {
    division.n_places = division.is_set() ? data_.n_rows() : division.node.n_rows();
    n_rows += division.node.n_rows();
    n_words += words_of_set(division.n_places);
  }
  std::vector<std::uint64_t>& left_bits = first_of(team).left_bits;
  left_bits.resize(n_words);
  // A multiple of 64, so that pieces share no word of bits.
  const std::size_t share = n_rows / (4 * static_cast<std::size_t>(team.size)) / 64 * 64;
  const std::size_t rows_per_piece =
      team.size == 1 ? kRowsPerTask : std::clamp(share, kFewestRows, kRowsPerTask);
  Pieces pieces;
  std::uint64_t* bits = left_bits.data();
  for (Division& division : divisions) {
    const std::size_t words = words_of_set(division.n_places);
    division.places_per_piece =
        division.is_set() ? 64 * std::clamp(words / 8, kFewestWords, kMostWords) : rows_per_piece;
    division.left_bits = std::exchange(bits, bits + words);
    division.pieces.resize((division.n_places + division.places_per_piece - 1) / division.places_per_piece);
    pieces.add(division.pieces.size());
  }
  const Team here = n_rows < kParallelRows ? team.alone() : team;
  here.run(pieces, [&](std::size_t d, std::size_t piece, int) { mark(divisions[d], piece); }, *cancel_);
  for (Division& division : divisions) add_up(division);
  here.run(pieces, [&](std::size_t d, std::size_t piece, int) { send(divisions[d], piece); }, *cancel_);
  for (const Division& division : divisions) {
    for (NodeState* child : {&division.children[0], &division.children[1]}) {
      if (is_sparse(*child)) row_sets_.give_back(std::exchange(child->members, nullptr));
    }
  }
}

}  // namespace hornbeam::boost
