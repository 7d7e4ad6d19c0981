// Boosting on rows that are in several places: parts that add up their rows, and trees that grow from the sums. What
// goes between them is plain: numbers, arrays, tuples.
#include <memory>

#include "boost/leaf_values.h"
#include "boost/parts/part_rows.h"
#include "boost/parts/tree_of_parts.h"
#include "boosting.h"
#include "part_sums.h"

namespace hornbeam::bindings {

using boost::BoostGrower;
using boost::BoostParams;
using boost::LeafNodes;
using boost::LeafSums;
using boost::Loss;
using boost::PartRows;
using boost::PartSpread;
using boost::Spread;
using boost::TreeOfParts;
using data::Column;
using data::Dataset;
using split::Split;
using tree::Tree;

namespace {

using Scale = BoostGrower::Scale;
using Doubles = Array1<double>;
using NodeArray = Array1<std::uint64_t>;

// ---- what goes between them

nb::tuple tuple_of(const Scale& scale) {
  return nb::make_tuple(scale.packed, scale.constant_hessian, scale.gradient, scale.hessian,
                        scale.largest_hessian, scale.has_hessian);
}

Scale scale_of(const nb::tuple& given) {
  Scale scale;
  scale.packed = nb::cast<bool>(given[0]);
  scale.constant_hessian = nb::cast<bool>(given[1]);
  scale.gradient = nb::cast<double>(given[2]);
  scale.hessian = nb::cast<double>(given[3]);
  scale.largest_hessian = nb::cast<std::int64_t>(given[4]);
  scale.has_hessian = nb::cast<bool>(given[5]);
  return scale;
}

NumpyArray<double> array_of(const std::vector<LeafSums>& sums) {
  std::vector<double> flat;
  for (const LeafSums& leaf : sums) flat.insert(flat.end(), {leaf.gradient, leaf.hessian, leaf.weight});
  return to_numpy(std::move(flat));
}

std::vector<LeafSums> leaf_sums_of(const Doubles& flat) {
  std::vector<LeafSums> sums(flat.size() / 3);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = {flat.data()[3 * i], flat.data()[3 * i + 1], flat.data()[3 * i + 2]};
  return sums;
}

int number_of(PartRows::Wanted wanted) {
  return (wanted.total ? 1 : 0) + (wanted.left ? 2 : 0) + (wanted.right ? 4 : 0);
}

nb::tuple tuple_of(const LeafNodes& leaves) {
  return nb::make_tuple(to_numpy(std::vector<std::uint64_t>(leaves.nodes.begin(), leaves.nodes.end())),
                        to_numpy(leaves.leaf_of), leaves.n_leaves);
}

LeafNodes leaf_nodes_of(const nb::tuple& given) {
  const auto nodes = nb::cast<NodeArray>(given[0]);
  const auto leaf_of = nb::cast<Array1<std::uint32_t>>(given[1]);
  return {{nodes.data(), nodes.data() + nodes.size()},
          {leaf_of.data(), leaf_of.data() + leaf_of.size()},
          nb::cast<std::size_t>(given[2])};
}

// ---- a part

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

// ---- a tree

// Columns without rows: (values, binned, has_missing) of numbers, (n_categories, has_missing) of categories.
Dataset dataset_without_rows(std::size_t n_rows, const nb::list& columns) {
  Dataset data(n_rows);
  for (nb::handle item : columns) {
    const auto given = nb::cast<nb::tuple>(item);
    Column column;
    if (given.size() == 3) {
      const auto values = nb::cast<Doubles>(given[0]);
      column.values.assign(values.data(), values.data() + values.size());
      column.binned = nb::cast<bool>(given[1]);
      column.n_codes = static_cast<Code>(column.values.size()) + (column.binned ? 1 : 0);
    } else {
      column.kind = ColumnKind::kCategorical;
      column.n_codes = nb::cast<Code>(given[0]);
    }
    column.has_missing = nb::cast<bool>(given[given.size() - 1]);
    if (column.missing_code() > 0xffff) {
      column.codes = Buffer<std::uint32_t>(std::size_t{0});
    } else if (column.missing_code() > 0xff) {
      column.codes = Buffer<std::uint16_t>(std::size_t{0});
    }
    data.add(std::move(column));
  }
  return data;
}

class TreeHandle {
 public:
  TreeHandle(std::size_t n_rows, const nb::list& columns, std::vector<std::vector<Code>> categories,
             const std::string& loss, double parameter, const nb::kwargs& settings)
      : data_(dataset_without_rows(n_rows, columns)),
        loss_(loss_of(loss, parameter)),
        tree_(data_, boost_params_of(settings, data_.n_features()), std::move(categories)) {}

  // `roots` is what each part says of all roots, this tree's being number `place`.
  void begin(const nb::tuple& scale, std::size_t n_rows, const nb::list& roots, std::size_t place,
             std::optional<Array1<std::int8_t>> features, std::uint64_t key) {
    std::vector<char> allowed;
    if (features) {
      for (const std::int8_t mark : span_of(features)) allowed.push_back(mark != 0 ? 1 : 0);
    }
    const std::vector<Incoming> root = by_node(roots, place, 1)[0];
    const Scale given = scale_of(scale);
    without_lock([&](Cancel&) {
      tree_.begin(given, n_rows, added(root), std::move(allowed), key);
      return 0;
    });
  }
  nb::list tasks(std::size_t most) {
    nb::list tasks;
    for (TreeOfParts::Task& task : tree_.tasks(most)) {
      const Split& split = task.split;
      tasks.append(nb::make_tuple(task.node, split.feature, split.first_right, split.missing_branch,
                                  to_numpy(split.left_categories), number_of(task.wanted)));
    }
    return tasks;
  }
  void answer(const nb::list& parts, std::size_t first, std::size_t count) {
    const std::vector<std::vector<Incoming>> nodes = by_node(parts, first, count);
    without_lock([&](Cancel&) {
      tree_.answer(count, [&](std::size_t i) { return added(nodes[i]); });
      return 0;
    });
  }
  std::vector<std::size_t> questions() { return tree_.questions(); }
  void answer_question(const Array1<std::uint32_t>& rows_by_code) {
    tree_.answer_question(span_of(rows_by_code));
  }
  nb::tuple leaves() const { return tuple_of(tree_.leaves()); }
  auto leaf_values() const { return to_numpy(tree_.leaf_values()); }
  // Sums are those of whole blocks in their order, [block, leaf]; hessians of 1 and weights of 1 are `sizes`.
  Tree finish(const Doubles& blocks, const Array1<std::int64_t>& sizes, bool weighted) {
    const std::vector<LeafSums> sums = sums_of_leaves(leaf_sums_of(blocks), sizes, weighted);
    std::vector<double> values;
    for (std::size_t leaf = 0; leaf < sums.size(); ++leaf)
      values.push_back(boost::newton_value(tree_.params(), sums[leaf], tree_.bounds_of_leaf(leaf), loss_));
    return tree_.finish(values, weights_of(sums));
  }
  // Leaves are found from residuals, leaf after leaf.
  Tree finish_residuals(const Doubles& blocks, const Array1<std::int64_t>& sizes, bool weighted,
                        const Doubles& residuals, const Doubles& weights, double delta) {
    if (!loss_) throw nb::value_error("a loss from outside has no residuals");
    const std::vector<LeafSums> sums = sums_of_leaves(leaf_sums_of(blocks), sizes, weighted);
    std::vector<double> values;
    std::size_t begin = 0;
    for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const auto n = static_cast<std::size_t>(sizes.data()[leaf]);
      std::vector<double> own(residuals.data() + begin, residuals.data() + begin + n);
      std::vector<double> own_weights;
      if (weighted) own_weights.assign(weights.data() + begin, weights.data() + begin + n);
      const BoostGrower::Bounds bounds = tree_.bounds_of_leaf(leaf);
      values.push_back(
          std::clamp(refitted_value(*loss_, delta, own, own_weights), bounds.lower, bounds.upper));
      begin += n;
    }
    return tree_.finish(values, weights_of(sums));
  }
  // Sums, sizes and residuals are those of the rows that lie in each leaf now, by node.
  Tree refit(const Tree& tree, const Doubles& sums, const Array1<std::int64_t>& sizes,
             const Doubles& residuals, const Doubles& weights, double delta) const {
    const std::vector<LeafSums> by_node = leaf_sums_of(sums);
    std::vector<std::size_t> begins(sizes.size() + 1);
    for (std::size_t node = 0; node < sizes.size(); ++node)
      begins[node + 1] = begins[node] + static_cast<std::size_t>(sizes.data()[node]);
    const auto of_node = [&](const Doubles& values, std::size_t node) {
      if (values.size() == 0) return std::vector<double>();
      return std::vector<double>(values.data() + begins[node], values.data() + begins[node + 1]);
    };
    return boost::refitted(
        tree, by_node, {sizes.data(), sizes.size()}, tree_.params().learning_rate, [&](std::size_t node) {
          if (!loss_ || !loss_->refits_leaves()) {
            return boost::newton_value(tree_.params(), by_node[node], {-kInfinity, kInfinity}, loss_);
          }
          std::vector<double> own = of_node(residuals, node);
          std::vector<double> own_weights = of_node(weights, node);
          return refitted_value(*loss_, delta, own, own_weights);
        });
  }

 private:
  std::vector<LeafSums> sums_of_leaves(const std::vector<LeafSums>& blocks, const Array1<std::int64_t>& sizes,
                                       bool weighted) const {
    std::vector<LeafSums> sums(sizes.size());
    for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const auto n = static_cast<double>(sizes.data()[leaf]);
      const bool counts = loss_ && loss_->hessian_is_one() && !weighted;
      sums[leaf] = {0.0, counts ? n : 0.0, weighted ? 0.0 : n};
      for (std::size_t i = leaf; i < blocks.size(); i += sums.size()) {
        sums[leaf].gradient += blocks[i].gradient;
        sums[leaf].hessian += blocks[i].hessian;
        sums[leaf].weight += blocks[i].weight;
      }
    }
    return sums;
  }
  static std::vector<double> weights_of(const std::vector<LeafSums>& sums) {
    std::vector<double> weights;
    for (const LeafSums& leaf : sums) weights.push_back(leaf.weight);
    return weights;
  }

  Dataset data_;
  std::optional<Loss> loss_;
  TreeOfParts tree_;
};

// The spread of numbers that lie in several parts, from what `spread` says of each, in their order.
nb::tuple spread_of_parts(const nb::list& parts, bool listed) {
  constexpr std::size_t kPiece = BoostGrower::kRowsPerPiece;
  Spread all;
  std::vector<float> open;
  const auto add = [&](const Array1<float>& values) {
    open.insert(open.end(), values.data(), values.data() + values.size());
    if (open.size() < kPiece) return;
    if (open.size() > kPiece) throw nb::value_error("parts do not fit each other");
    boost::operator+=(all, boost::spread_of(open, listed));
    open.clear();
  };
  for (nb::handle item : parts) {
    const auto part = nb::cast<nb::tuple>(item);
    add(nb::cast<Array1<float>>(part[0]));
    const auto pieces = nb::cast<Doubles>(part[1]);
    for (std::size_t i = 0; i + 1 < pieces.size(); i += 2)
      boost::operator+=(all, Spread{pieces.data()[i], pieces.data()[i + 1]});
    add(nb::cast<Array1<float>>(part[2]));
  }
  if (!open.empty()) boost::operator+=(all, boost::spread_of(open, listed));
  return nb::make_tuple(all.largest, all.sum);
}

Spread spread_from(const nb::tuple& given) {
  return {nb::cast<double>(given[0]), nb::cast<double>(given[1])};
}

}  // namespace

void bind_parts(nb::module_& module) {
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
  nb::class_<TreeHandle>(module, "TreeOfParts", "A boosted tree that grows from sums of rows in parts.")
      .def(nb::init<std::size_t, nb::list, std::vector<std::vector<Code>>, std::string, double, nb::kwargs>(),
           nb::arg("n_rows"), nb::arg("columns"), nb::arg("categories"), nb::arg("loss"),
           nb::arg("loss_parameter"), nb::arg("settings"))
      .def("begin", &TreeHandle::begin, nb::arg("scale"), nb::arg("n_rows"), nb::arg("roots"),
           nb::arg("place"), nb::arg("features").none(), nb::arg("key"))
      .def("tasks", &TreeHandle::tasks, nb::arg("most"),
           "Nodes to divide next: node, feature, first_right, missing_branch, left_categories, wanted.")
      .def("answer", &TreeHandle::answer, nb::arg("parts"), nb::arg("first"), nb::arg("count"),
           "What each part says: sums of all tasks, those of this tree beginning with number `first`.")
      .def("questions", &TreeHandle::questions, "Nodes whose rows must be counted by code.")
      .def("answer_question", &TreeHandle::answer_question, nb::arg("rows_by_code"))
      .def("leaves", &TreeHandle::leaves,
           "The leaves in the parts: nodes, the leaf of each, how many leaves.")
      .def("leaf_values", &TreeHandle::leaf_values, "What leaves add to scores, after `finish`.")
      .def("finish", &TreeHandle::finish, nb::arg("blocks"), nb::arg("sizes"), nb::arg("weighted"))
      .def("finish_residuals", &TreeHandle::finish_residuals, nb::arg("blocks"), nb::arg("sizes"),
           nb::arg("weighted"), nb::arg("residuals"), nb::arg("weights"), nb::arg("delta"))
      .def("refit", &TreeHandle::refit, nb::arg("tree"), nb::arg("sums"), nb::arg("sizes"),
           nb::arg("residuals"), nb::arg("weights"), nb::arg("delta"),
           "The tree with values from other rows, by what they add up to.");
  module.attr("rows_per_refit_block") = boost::kRowsPerRefitBlock;
  module.def(
      "added_sums",
      [](const nb::list& parts) {
        const std::vector<std::vector<Incoming>> nodes = by_node(parts, 0, n_nodes(parts));
        return without_lock([&](Cancel&) {
                 Outgoing sums;
                 for (const std::vector<Incoming>& node : nodes) {
                   PartSums of_all = added(node);
                   sums.add(of_all);
                 }
                 return sums;
               })
            .tuple();
      },
      nb::arg("parts"), "What several parts say of the same nodes, added up.");
  module.def("spread_of_parts", &spread_of_parts, nb::arg("parts"), nb::arg("listed"),
             "The largest size and the sum of sizes of numbers that lie in several parts.");
  module.def(
      "scale_of_parts",
      [](const nb::tuple& gradients, const std::optional<nb::tuple>& hessians, std::size_t n_rows,
         bool weighted) {
        std::optional<Spread> second;
        if (hessians) second = spread_from(*hessians);
        return tuple_of(TreeOfParts::scale_of(spread_from(gradients), second, n_rows, weighted));
      },
      nb::arg("gradients"), nb::arg("hessians").none(), nb::arg("n_rows"), nb::arg("weighted"),
      "How a tree turns derivatives into fixed point.");
  module.def(
      "sum_of_lanes", [](const Doubles& lanes) { return array_of(boost::sum_of_lanes(leaf_sums_of(lanes))); },
      nb::arg("lanes"), "The sums of a block from those of its lanes.");
  module.def(
      "facts_of_loss",
      [](const std::string& name) {
        const std::optional<Loss> loss = loss_of(name, 0.0);
        return nb::make_tuple(loss && loss->hessian_is_one(), loss && loss->refits_leaves());
      },
      nb::arg("name"), "Whether every hessian is 1, and whether leaves are found from residuals.");
  module.def(
      "rows_per_leaf_block",
      [](std::size_t n_rows, std::size_t n_leaves) {
        return boost::LeafBlocks(n_rows, n_leaves).rows_per_block;
      },
      nb::arg("n_rows"), nb::arg("n_leaves"), "The rows whose sums over leaves are made together.");
  module.def(
      "boosting_quantile",
      [](const Doubles& values, const Doubles& weights, double alpha) {
        std::vector<double> own(values.data(), values.data() + values.size());
        std::vector<double> own_weights(weights.data(), weights.data() + weights.size());
        return boost::weighted_quantile(own, own_weights, alpha);
      },
      nb::arg("values"), nb::arg("weights"), nb::arg("alpha"),
      "The value below which lies a share of the weight, as boosting counts it.");
}

}  // namespace hornbeam::bindings
