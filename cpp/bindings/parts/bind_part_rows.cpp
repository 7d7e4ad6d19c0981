// A part of the rows of a boosting fit: it adds up its rows for trees that grow elsewhere.
#include <memory>
#include <optional>

#include "bindings/boosting.h"
#include "bindings/parts/messages.h"
#include "bindings/parts/part_sums.h"
#include "boost/parts/part_rows.h"

namespace hornbeam::bindings {

using boost::BoostParams;
using boost::Loss;
using boost::PartSpread;
using boost::Spread;
using data::Dataset;
using split::Split;

namespace {

class PartHandle {
 public:
  PartHandle(const Dataset& data, Array1<float> y, std::optional<Array1<float>> weights, int n_scores,
             const std::string& loss, double parameter, std::size_t first_row, std::size_t n_rows_of_all,
             const BoostParams& params)
      : y_(std::move(y)),
        weights_(std::move(weights)),
        loss_(loss_of(loss, parameter)),
        shape_{static_cast<std::size_t>(n_scores), data.n_rows()} {
    if (y_.size() != data.n_rows() || (weights_ && weights_->size() != data.n_rows()))
      throw nb::value_error("the target and the weights must have one element per row of the part");
    if (first_row + data.n_rows() > n_rows_of_all) throw nb::value_error("a part lies beyond all rows");
    part_ = without_lock([&](Cancel& cancel) {
      return std::make_unique<PartRows>(data, params, n_scores, span_of(y_), span_of(weights_), first_row,
                                        n_rows_of_all, cancel);
    });
  }

  auto scores() {
    return nb::ndarray<nb::numpy, double, nb::ndim<2>>(part_->scores().data(), {shape_[0], shape_[1]},
                                                       nb::find(this));
  }
  auto gradients() {
    return nb::ndarray<nb::numpy, float, nb::ndim<2>>(part_->gradients().data(), {shape_[0], shape_[1]},
                                                      nb::find(this));
  }
  auto hessians() {
    return nb::ndarray<nb::numpy, float, nb::ndim<2>>(part_->hessians().data(), {shape_[0], shape_[1]},
                                                      nb::find(this));
  }
  void share_tests(const Array1<std::uint64_t>& keys) {
    without_lock([&](Cancel& cancel) {
      part_->share_tests(span_of(keys), cancel);
      return 0;
    });
  }
  void compute_derivatives(double delta) {
    if (!loss_) throw nb::value_error("a loss from outside gives its own derivatives");
    without_lock([&](Cancel& cancel) {
      part_->compute_derivatives(*loss_, delta, cancel);
      return 0;
    });
  }
  std::size_t choose_rows(std::optional<Array1<RowId>> rows, std::size_t first_place) {
    std::optional<std::vector<RowId>> chosen;
    if (rows) chosen.emplace(rows->data(), rows->data() + rows->size());
    part_->choose_rows(std::move(chosen), first_place);
    return part_->n_chosen();
  }
  nb::tuple spread(int score, bool hessians) const {
    PartSpread spread = part_->spread(score, hessians);
    std::vector<double> pieces;
    for (const Spread& piece : spread.pieces) pieces.insert(pieces.end(), {piece.largest, piece.sum});
    return nb::make_tuple(to_numpy(std::move(spread.before)), to_numpy(std::move(pieces)),
                          to_numpy(std::move(spread.after)));
  }
  // A root is a score, the scale of its tree and whether its sums are wanted.
  nb::tuple begin_trees(const nb::list& roots) {
    struct Root {
      int score;
      Scale scale;
      bool counts;
    };
    std::vector<Root> given;
    for (nb::handle item : roots) {
      const auto root = nb::cast<nb::tuple>(item);
      given.push_back(
          {nb::cast<int>(root[0]), scale_of(nb::cast<nb::tuple>(root[1])), nb::cast<bool>(root[2])});
    }
    return without_lock([&](Cancel& cancel) {
             Outgoing found(buffers_);
             for (const Root& root : given) {
               part_->begin_tree(root.score, root.scale, hessian_is_one(), root.counts, sums_, cancel);
               found.add(sums_);
             }
             return found;
           })
        .tuple();
  }
  // A task is a score, a node, its test and the sums that are wanted.
  nb::tuple divide(const nb::list& tasks) {
    struct Task {
      int score;
      std::size_t node;
      Split split;
      PartRows::Wanted wanted;
    };
    std::vector<Task> given;
    for (nb::handle item : tasks) {
      const auto task = nb::cast<nb::tuple>(item);
      Split split;
      split.feature = nb::cast<FeatureId>(task[2]);
      split.first_right = nb::cast<Code>(task[3]);
      split.missing_branch = nb::cast<int>(task[4]);
      const auto left = nb::cast<Array1<Code>>(task[5]);
      split.left_categories.assign(left.data(), left.data() + left.size());
      const int wanted = nb::cast<int>(task[6]);
      given.push_back({nb::cast<int>(task[0]),
                       nb::cast<std::size_t>(task[1]),
                       std::move(split),
                       {(wanted & 1) != 0, (wanted & 2) != 0, (wanted & 4) != 0}});
    }
    return without_lock([&](Cancel& cancel) {
             Outgoing found(buffers_);
             for (const Task& task : given) {
               part_->divide(task.score, task.node, task.split, task.wanted, sums_, cancel);
               found.add(sums_);
             }
             return found;
           })
        .tuple();
  }
  auto rows_by_code(int score, std::size_t node) const { return to_numpy(part_->rows_by_code(score, node)); }
  nb::tuple sum_leaves(int score, const nb::tuple& leaves) {
    const LeafNodes given = leaf_nodes_of(leaves);
    const auto sums = without_lock(
        [&](Cancel& cancel) { return part_->sum_leaves(score, given, hessian_is_one(), cancel); });
    return nb::make_tuple(array_of(sums.blocks), array_of(sums.open));
  }
  auto end_block(int score, std::size_t n_leaves, const Doubles& lanes) const {
    return array_of(part_->end_block(score, n_leaves, hessian_is_one(), leaf_sums_of(lanes)));
  }
  void add_values(int score, const Doubles& values) {
    without_lock([&](Cancel& cancel) {
      part_->add_values(score, span_of(values), cancel);
      return 0;
    });
  }
  auto leaf_sizes(int score, const nb::tuple& leaves) const {
    return to_numpy(part_->leaf_sizes(score, leaf_nodes_of(leaves)));
  }
  nb::tuple residuals(int score, const nb::tuple& leaves) const {
    PartRows::Residuals residuals = part_->residuals(score, leaf_nodes_of(leaves));
    return nb::make_tuple(to_numpy(std::move(residuals.values)), to_numpy(std::move(residuals.weights)));
  }
  auto sizes() const { return to_numpy(part_->sizes()); }

 private:
  bool hessian_is_one() const { return loss_ && loss_->hessian_is_one() && !weights_; }

  Array1<float> y_;
  std::optional<Array1<float>> weights_;
  std::optional<Loss> loss_;
  std::size_t shape_[2];
  std::unique_ptr<PartRows> part_;
  PartSums sums_;  // of a node, before they are on their way
  std::shared_ptr<CellBuffers> buffers_ = std::make_shared<CellBuffers>();
};

}  // namespace

void bind_part_rows(nb::module_& module) {
  nb::class_<PartHandle>(module, "PartRows",
                         "Some of the rows of a boosting fit, the others being elsewhere.")
      .def(
          "__init__",
          [](PartHandle* self, const Dataset& data, Array1<float> y, std::optional<Array1<float>> weights,
             int n_scores, const std::string& loss, double loss_parameter, std::size_t first_row,
             std::size_t n_rows_of_all, const nb::kwargs& settings) {
            new (self) PartHandle(data, std::move(y), std::move(weights), n_scores, loss, loss_parameter,
                                  first_row, n_rows_of_all, boost_params_of(settings, data.n_features()));
          },
          nb::keep_alive<1, 2>(), nb::arg("data"), nb::kw_only(), nb::arg("y"), nb::arg("weights").none(),
          nb::arg("n_scores"), nb::arg("loss"), nb::arg("loss_parameter"), nb::arg("first_row"),
          nb::arg("n_rows_of_all"), nb::arg("settings"))
      .def("scores", &PartHandle::scores, "The scores of the rows, [score, row]: the part's own memory.")
      .def("gradients", &PartHandle::gradients, "First derivatives, [score, row]: the part's own memory.")
      .def("hessians", &PartHandle::hessians, "Second derivatives, likewise; not set where every one is 1.")
      .def("compute_derivatives", &PartHandle::compute_derivatives, nb::arg("delta"))
      .def("share_tests", &PartHandle::share_tests, nb::arg("keys"),
           "Grows the next tree on the sum of all scores' derivatives, with signs by the keys.")
      .def("choose_rows", &PartHandle::choose_rows, nb::arg("rows").none(), nb::arg("first_place"),
           "Chooses the rows that trees grow on; returns their number.")
      .def("spread", &PartHandle::spread, nb::arg("score"), nb::arg("hessians"),
           "What the part adds to the spread of derivatives: numbers before, pieces, numbers after.")
      .def("begin_trees", &PartHandle::begin_trees, nb::arg("roots"),
           "Begins trees; returns the sums of their roots. A root is a score, a scale and whether sums are "
           "wanted.")
      .def("divide", &PartHandle::divide, nb::arg("tasks"),
           "Divides the rows of nodes; returns the sums that are wanted of their children. A task is a "
           "score, a "
           "node and what `tasks` says of it.")
      .def("rows_by_code", &PartHandle::rows_by_code, nb::arg("score"), nb::arg("node"),
           "How many rows of a node have each code: 256 numbers for each column of bytes.")
      .def("sum_leaves", &PartHandle::sum_leaves, nb::arg("score"), nb::arg("leaves"),
           "Sums over leaves: of whole blocks, and of a block that ends in a later part.")
      .def("end_block", &PartHandle::end_block, nb::arg("score"), nb::arg("n_leaves"), nb::arg("lanes"),
           "Goes on with a block that an earlier part has begun.")
      .def("add_values", &PartHandle::add_values, nb::arg("score"), nb::arg("values"),
           "Adds the values of the leaves that were summed last to the scores of their rows.")
      .def("leaf_sizes", &PartHandle::leaf_sizes, nb::arg("score"), nb::arg("leaves"))
      .def("residuals", &PartHandle::residuals, nb::arg("score"), nb::arg("leaves"),
           "y - score of the rows of leaves, leaf after leaf, and their weights.")
      .def("sizes", &PartHandle::sizes, "|y - score| of all rows.");
}

}  // namespace hornbeam::bindings
