// Prediction: the leaves of rows, and sums of the trees' values.
#include "arrays.h"
#include "predict/left_out.h"
#include "predict/predictor.h"

namespace hornbeam::bindings {

using data::Dataset;
using predict::Counting;
using predict::EncodedRows;
using predict::LeftOut;
using predict::Predictor;
using predict::PredictPath;
using predict::RowSource;
using predict::Said;
using predict::Stages;
using predict::TableRows;
using predict::TreeRange;
using predict::Unseen;
using tree::Tree;

namespace {

// These are written to, so they are bound with `noconvert`: sums in a converted copy would be lost.
using Scores = InPlace<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using StageScores = InPlace<double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Columns = std::vector<AnyColumn>;
using Rows = Array1<RowId>;

PredictPath path_named(const std::string& name) {
  if (name == "fastest") return PredictPath::kFastest;
  if (name == "plain") return PredictPath::kPlain;
  if (name == "compact") return PredictPath::kCompact;
  if (name == "sliced") return PredictPath::kSliced;
  if (name == "one_row") return PredictPath::kOneRow;
  throw nb::value_error("no such path");
}

InstructionSet instructions_named(const std::string& name) {
  if (name == "baseline") return InstructionSet::kBaseline;
  if (name == "avx2") return InstructionSet::kAvx2;
  if (name == "avx512") return InstructionSet::kAvx512;
  throw nb::value_error("no such set of instructions");
}

TreeRange checked_range(const Predictor& predictor, std::size_t begin, std::size_t end) {
  if (begin > end || end > predictor.n_trees()) throw nb::index_error("no such range of trees");
  return {begin, end};
}

void check_width(const Predictor& predictor, std::size_t n_features) {
  const auto& features = predictor.features();
  if (!features.empty() && static_cast<std::size_t>(features.back()) >= n_features)
    throw nb::value_error("the table has too few columns");
}

void check_rows(const Dataset& data, std::span<const RowId> rows) {
  for (const RowId row : rows)
    if (row >= data.n_rows()) throw nb::index_error("a row lies outside the data set");
}

// Runs work(cancel) without Python's lock if it takes long enough to matter to other threads. For a few rows
// it does not: getting the lock back may take 5 ms.
template <class Work>
void run(std::size_t n_rows, Work&& work) {
  constexpr std::size_t kFewRows = 8;
  if (n_rows <= kFewRows) {
    const DefaultFloatingPoint floating_point;
    Cancel cancel;
    work(cancel);
    return;
  }
  without_lock([&](Cancel& cancel) {
    work(cancel);
    return 0;
  });
}

nb::ndarray<nb::numpy, NodeId, nb::ndim<2>> leaves_of(const Predictor& predictor, const RowSource& rows,
                                                      TreeRange range, int n_threads) {
  check_width(predictor, rows.n_features());
  std::vector<NodeId> leaves(rows.n_rows() * range.size());
  run(rows.n_rows(), [&](Cancel& cancel) { predictor.leaves(rows, range, n_threads, cancel, leaves); });
  auto* owned = new std::vector<NodeId>(std::move(leaves));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<NodeId>*>(p); });
  return {owned->data(), {rows.n_rows(), range.size()}, owner};
}

Stages checked_stages(const Predictor& predictor, TreeRange range, std::size_t n_rows,
                      std::optional<StageScores>& stages) {
  if (!stages) return {};
  const std::size_t n_stages = stages->shape(0);
  if (n_stages == 0 || range.size() % n_stages != 0 || stages->shape(1) != n_rows ||
      stages->shape(2) != predictor.n_outputs() || stages->shape(3) != predictor.n_values())
    throw nb::value_error("stages must have the shape (stages, rows, outputs, values)");
  return {range.size() / n_stages, {stages->data(), stages->size()}};
}

void add_scores(const Predictor& predictor, const RowSource& rows, TreeRange range, Scores& scores,
                const std::optional<Array1<double>>& weights, bool hard_votes, int n_threads,
                std::optional<StageScores>& stages) {
  check_width(predictor, rows.n_features());
  if (scores.shape(0) != rows.n_rows() || scores.shape(1) != predictor.n_outputs() ||
      scores.shape(2) != predictor.n_values())
    throw nb::value_error("scores must have the shape (rows, outputs, values)");
  if (weights && weights->size() != predictor.n_trees())
    throw nb::value_error("weights must have an entry per tree");
  const Counting counting{hard_votes, span_of(weights)};
  const std::span<double> target(scores.data(), scores.size());
  const Stages on_the_way = checked_stages(predictor, range, rows.n_rows(), stages);
  run(rows.n_rows(),
      [&](Cancel& cancel) { predictor.add(rows, range, counting, n_threads, cancel, target, on_the_way); });
}

using SaidArray = InPlace<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Said said_of(const SaidArray& said) {
  return {{said.data(), said.size()}, said.shape(0), said.shape(1)};
}

LeftOut checked_left_out(const Said& said, const Array1<std::int64_t>& begin,
                         const Array1<std::uint32_t>& members, const Array1<double>& errors) {
  const LeftOut left_out{span_of(begin), span_of(members), span_of(errors)};
  if (errors.size() == 0 || begin.size() != errors.size() + 1 || left_out.begin.front() != 0 ||
      left_out.begin.back() != static_cast<std::int64_t>(members.size()))
    throw nb::value_error("begin must lead from 0 to the number of members, past every training row");
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (left_out.begin[i] >= left_out.begin[i + 1])
      throw nb::value_error("a training row has been seen by all members");
  for (const std::uint32_t member : left_out.members)
    if (member >= said.n_members) throw nb::index_error("there is no such member");
  return left_out;
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> bounds_without(const SaidArray& array,
                                                           const Array1<std::int64_t>& begin,
                                                           const Array1<std::uint32_t>& members,
                                                           const Array1<double>& errors, std::size_t low_rank,
                                                           std::size_t high_rank, int n_threads) {
  const Said said = said_of(array);
  const LeftOut left_out = checked_left_out(said, begin, members, errors);
  const auto is_rank = [&](std::size_t rank) { return rank >= 1 && rank <= errors.size(); };
  if (!is_rank(low_rank) || !is_rank(high_rank) || n_threads < 1) throw nb::value_error("no such rank");
  auto* owned = new std::vector<double>(without_lock([&](Cancel& cancel) {
    return predict::ranked_bounds(said, left_out, low_rank, high_rank, n_threads, cancel);
  }));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return {owned->data(), {said.n_rows, 2}, owner};
}

}  // namespace

void bind_predict(nb::module_& module) {
  nb::class_<Predictor> predictor(module, "Predictor", "Answers of many trees for many rows.");
  predictor
      .def(
          "__init__",
          [](Predictor* self, nb::typed<nb::tuple, Tree, nb::ellipsis> trees,
             const std::optional<Array1<std::int32_t>>& adds_to, bool unseen_to_majority,
             const std::string& path, const std::string& instructions) {
            std::vector<const Tree*> found;
            for (nb::handle tree : trees) found.push_back(&nb::cast<const Tree&>(tree));
            const auto columns = span_of(adds_to);
            new (self) Predictor(std::move(found), {columns.begin(), columns.end()},
                                 unseen_to_majority ? Unseen::kMajority : Unseen::kMissing, path_named(path),
                                 instructions_named(instructions));
          },
          nb::keep_alive<1, 2>(), nb::arg("trees"), nb::arg("adds_to").none(), nb::arg("unseen_to_majority"),
          nb::arg("path") = "fastest", nb::arg("instructions") = "avx512",
          "`adds_to` names, for trees of one value, the column of the score that each tree adds to.\n\n"
          "`path` is for tests: \"fastest\", \"plain\", \"compact\", \"sliced\" or \"one_row\" where that "
          "can hold "
          "the trees; so is `instructions`, the widest set to use: \"baseline\", \"avx2\" or \"avx512\".")
      .def(
          "can_take",
          [](const Predictor& self, const std::string& path) { return self.can_take(path_named(path)); },
          nb::arg("path"), "Whether a path can serve these trees at all; \"plain\" serves every tree.")
      .def_prop_ro("n_trees", &Predictor::n_trees)
      .def_prop_ro("n_outputs", &Predictor::n_outputs)
      .def_prop_ro("n_values", &Predictor::n_values, "Columns of the score, per output.")
      .def_prop_ro(
          "features", [](const Predictor& self) { return to_numpy(self.features()); },
          nb::rv_policy::automatic, "The features that the trees test, ascending.")
      .def(
          "leaves",
          [](const Predictor& self, const Columns& columns, std::size_t n_rows, std::size_t begin,
             std::size_t end, int n_threads) {
            const TableView table = view_of(columns, n_rows);
            return leaves_of(self, TableRows(table), checked_range(self, begin, end), n_threads);
          },
          nb::arg("columns"), nb::arg("n_rows"), nb::arg("begin"), nb::arg("end"), nb::arg("n_threads"),
          "The leaf of every row in every tree from `begin` to `end`.")
      .def(
          "leaves_of_array",
          [](const Predictor& self, const AnyTable& array, std::size_t begin, std::size_t end,
             int n_threads) {
            const TableView table = view_of(array);
            return leaves_of(self, TableRows(table), checked_range(self, begin, end), n_threads);
          },
          nb::arg("array"), nb::arg("begin"), nb::arg("end"), nb::arg("n_threads"),
          "The same for the rows of a 2-D array of numbers.")
      .def(
          "leaves_of_encoded",
          [](const Predictor& self, const Dataset& data, const Rows& rows, std::size_t begin, std::size_t end,
             int n_threads) {
            check_rows(data, span_of(rows));
            return leaves_of(self, EncodedRows(data, span_of(rows)), checked_range(self, begin, end),
                             n_threads);
          },
          nb::arg("data"), nb::arg("rows"), nb::arg("begin"), nb::arg("end"), nb::arg("n_threads"),
          "The same for rows of the data set that the trees were grown on.")
      .def(
          "add",
          [](const Predictor& self, const Columns& columns, std::size_t n_rows, std::size_t begin,
             std::size_t end, Scores scores, const std::optional<Array1<double>>& weights, bool hard_votes,
             int n_threads, std::optional<StageScores> stages) {
            const TableView table = view_of(columns, n_rows);
            add_scores(self, TableRows(table), checked_range(self, begin, end), scores, weights, hard_votes,
                       n_threads, stages);
          },
          nb::arg("columns"), nb::arg("n_rows"), nb::arg("begin"), nb::arg("end"),
          nb::arg("scores").noconvert(), nb::arg("weights").none(), nb::arg("hard_votes"),
          nb::arg("n_threads"), nb::arg("stages").none().noconvert() = nb::none(),
          "Adds what the trees say to scores[row, output, value], one tree after the other, in float64.\n\n"
          "`stages` takes the scores on the way: [stage, row, output, value], after equal numbers of trees.")
      .def(
          "add_array",
          [](const Predictor& self, const AnyTable& array, std::size_t begin, std::size_t end, Scores scores,
             const std::optional<Array1<double>>& weights, bool hard_votes, int n_threads,
             std::optional<StageScores> stages) {
            const TableView table = view_of(array);
            add_scores(self, TableRows(table), checked_range(self, begin, end), scores, weights, hard_votes,
                       n_threads, stages);
          },
          nb::arg("array"), nb::arg("begin"), nb::arg("end"), nb::arg("scores").noconvert(),
          nb::arg("weights").none(), nb::arg("hard_votes"), nb::arg("n_threads"),
          nb::arg("stages").none().noconvert() = nb::none(),
          "The same for the rows of a 2-D array of numbers.")
      .def(
          "add_encoded",
          [](const Predictor& self, const Dataset& data, const Rows& rows, std::size_t begin, std::size_t end,
             Scores scores, const std::optional<Array1<double>>& weights, bool hard_votes, int n_threads,
             std::optional<StageScores> stages) {
            check_rows(data, span_of(rows));
            add_scores(self, EncodedRows(data, span_of(rows)), checked_range(self, begin, end), scores,
                       weights, hard_votes, n_threads, stages);
          },
          nb::arg("data"), nb::arg("rows"), nb::arg("begin"), nb::arg("end"), nb::arg("scores").noconvert(),
          nb::arg("weights").none(), nb::arg("hard_votes"), nb::arg("n_threads"),
          nb::arg("stages").none().noconvert() = nb::none(),
          "The same for rows of the data set that the trees were grown on.");

  module.def(
      "find_leaves",
      [](const Tree& tree, const Columns& columns, std::size_t n_rows, bool unseen_to_majority,
         int n_threads) {
        const TableView table = view_of(columns, n_rows);
        const Unseen unseen = unseen_to_majority ? Unseen::kMajority : Unseen::kMissing;
        const Predictor plain({&tree}, {}, unseen, PredictPath::kPlain);
        check_width(plain, table.columns.size());
        std::vector<NodeId> leaves(n_rows);
        without_lock([&](Cancel& cancel) {
          plain.leaves(TableRows(table), {0, 1}, n_threads, cancel, leaves);
          return 0;
        });
        return to_numpy(std::move(leaves));
      },
      nb::arg("tree"), nb::arg("columns"), nb::arg("n_rows"), nb::arg("unseen_to_majority"),
      nb::arg("n_threads"), "The leaf of every row, by the plain walk.");
  module.def(
      "bounds_without", &bounds_without, nb::arg("said"), nb::arg("begin"), nb::arg("members"),
      nb::arg("errors"), nb::arg("low_rank"), nb::arg("high_rank"), nb::arg("n_threads"),
      "Of the mean answers to each row by the members that have not seen a training row, less and plus the "
      "error of that row, over all training rows: the values of two ranks.\n\n"
      "`said` is rows x members; the members without training row i are those from begin[i] to begin[i + "
      "1].");
  module.def(
      "smaller_errors_without",
      [](const SaidArray& array, const Array1<std::int64_t>& begin, const Array1<std::uint32_t>& members,
         const Array1<double>& errors, double tolerance, int n_threads) {
        const Said said = said_of(array);
        const LeftOut left_out = checked_left_out(said, begin, members, errors);
        if (n_threads < 1) throw nb::value_error("there must be a thread");
        return to_numpy(without_lock([&](Cancel& cancel) {
          return predict::count_smaller_errors(said, left_out, tolerance, n_threads, cancel);
        }));
      },
      nb::arg("said"), nb::arg("begin"), nb::arg("members"), nb::arg("errors"), nb::arg("tolerance"),
      nb::arg("n_threads"),
      "For each row, how many training rows have an error below 1 less the mean answer of the members that "
      "have not seen it, and less a tolerance.");
}

}  // namespace hornbeam::bindings
