// A boosted tree that grows from what the parts of its rows add up.
#include <optional>

#include "bindings/boosting.h"
#include "bindings/parts/messages.h"
#include "bindings/parts/part_sums.h"
#include "boost/leaf_values.h"
#include "boost/parts/tree_of_parts.h"

namespace hornbeam::bindings {

using boost::BoostGrower;
using boost::Loss;
using boost::Spread;
using boost::TreeOfParts;
using data::Column;
using data::Dataset;
using split::Split;
using tree::Tree;

namespace {

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

void bind_tree_of_parts(nb::module_& module) {
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
