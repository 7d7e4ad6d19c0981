// Gradient boosting: an encoded table, a target and parameters in; round by round a tree out.
#include <memory>

#include "boost/booster.h"
#include "boosting.h"
#include "settings.h"

namespace hornbeam::bindings {

using boost::Booster;
using boost::BoostParams;
using boost::compute_derivatives;
using boost::Loss;
using boost::RowsInFile;
using data::Column;
using data::Dataset;
using grow::Growth;
using split::CategoricalSplit;
using tree::Tree;

std::optional<boost::Loss> loss_of(const std::string& name, double parameter) {
  if (name.empty()) return std::nullopt;
  if (const auto kind = boost::loss_named(name)) return boost::Loss{*kind, parameter};
  throw nb::value_error(("the core does not know " + name).c_str());
}

namespace {

const std::map<std::string, Growth> kGrowths = {{"level", Growth::kLevel},
                                                {"best_first", Growth::kBestFirst}};
const std::map<std::string, CategoricalSplit> kCategoricalSplits = {
    {"subset", CategoricalSplit::kSubset}, {"one_vs_rest", CategoricalSplit::kOneVsRest}};

// The settings by name; adding one adds a line here.
const Setters<BoostParams> kSettings = {
    {"learning_rate", set<&BoostParams::learning_rate>},
    {"growth", [](BoostParams& p, nb::handle name) { p.growth = choice(kGrowths, name); }},
    {"symmetric", set<&BoostParams::symmetric>},
    {"max_depth", set<&BoostParams::max_depth>},
    {"max_leaf_nodes", set<&BoostParams::max_leaf_nodes>},
    {"min_samples_leaf", set<&BoostParams::min_samples_leaf>},
    {"min_hessian_leaf", set<&BoostParams::min_hessian_leaf>},
    {"l1_regularization", set<&BoostParams::l1_regularization>},
    {"l2_regularization", set<&BoostParams::l2_regularization>},
    {"min_split_gain", set<&BoostParams::min_split_gain>},
    {"max_features", set<&BoostParams::max_features>},
    {"monotonic", set<&BoostParams::monotonic>},
    {"interactions", set<&BoostParams::interactions>},
    {"categorical_smoothing", set<&BoostParams::categorical_smoothing>},
    {"categorical_split",
     [](BoostParams& p, nb::handle name) { p.categorical_split = choice(kCategoricalSplits, name); }},
    {"n_threads", set<&BoostParams::n_threads>},
};

}  // namespace

BoostParams boost_params_of(const nb::kwargs& settings, int n_features) {
  BoostParams params;
  apply_settings(kSettings, settings, "boosting", params);
  if (!params.monotonic.empty() && params.monotonic.size() != static_cast<std::size_t>(n_features)) {
    throw nb::value_error("there must be one monotonic constraint per feature");
  }
  for (const auto& group : params.interactions) {
    for (const FeatureId feature : group) {
      if (feature < 0 || feature >= n_features) throw nb::value_error("there is no such feature");
    }
  }
  return params;
}

namespace {

// Memory that the booster may write to.
using WritableBytes = InPlace<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Keeps what the booster only refers to.
class BoosterHandle {
 public:
  BoosterHandle(const Dataset& data, Array1<float> y, std::optional<Array1<float>> weights, int n_scores,
                const BoostParams& params, const std::string& loss, double parameter,
                std::optional<WritableBytes> row_memory, bool keeps_derivatives,
                std::optional<Array1<std::uint8_t>> y_codes)
      : y_(std::move(y)),
        weights_(std::move(weights)),
        row_memory_(std::move(row_memory)),
        y_codes_(std::move(y_codes)),
        loss_(loss_of(loss, parameter)),
        n_rows_(data.n_rows()),
        n_features_(data.n_features()) {
    if ((y_codes_ ? y_codes_->size() : y_.size()) != n_rows_ || (weights_ && weights_->size() != n_rows_)) {
      throw nb::value_error("the target and the weights must have one element per row of the table");
    }
    for (int f = 0; f < n_features_; ++f) {
      const Column& column = data.column(f);
      if (column.kind == ColumnKind::kNumeric && column.n_codes > 255) {
        throw nb::value_error("boosting takes numeric columns of at most 255 codes");
      }
    }
    RowsInFile in_file{{}, keeps_derivatives, span_of(y_codes_)};
    if ((!keeps_derivatives && (n_scores != 1 || !loss_)) ||
        (y_codes_ && (keeps_derivatives || loss_->refits_leaves())))
      throw nb::value_error("such a fit keeps its derivatives and takes targets that are numbers");
    if (row_memory_) {
      if (row_memory_->size() < Booster::row_buffer_bytes(n_rows_, n_scores, keeps_derivatives))
        throw nb::value_error("the memory for rows is too small");
      in_file.memory = {reinterpret_cast<std::byte*>(row_memory_->data()), row_memory_->size()};
    }
    booster_ = without_lock([&](Cancel& cancel) {
      return std::make_unique<Booster>(data, params, n_scores, span_of(y_), span_of(weights_), cancel,
                                       in_file);
    });
    n_scores_ = n_scores;
  }

  // [score, row], the booster's own memory.
  auto scores() {
    return nb::ndarray<nb::numpy, double, nb::ndim<2>>(booster_->scores().data(), {shape(), n_rows_},
                                                       nb::find(this));
  }
  auto gradients() {
    refuse_derivatives();
    return nb::ndarray<nb::numpy, float, nb::ndim<2>>(booster_->gradients(0).data(), {shape(), n_rows_},
                                                      nb::find(this));
  }
  auto hessians() {
    refuse_derivatives();
    return nb::ndarray<nb::numpy, float, nb::ndim<2>>(booster_->hessians(0).data(), {shape(), n_rows_},
                                                      nb::find(this));
  }

  void compute_derivatives() {
    if (!loss_) throw nb::value_error("a loss from outside gives its own derivatives");
    without_lock([&](Cancel& cancel) {
      booster_->compute_derivatives(*loss_, cancel);
      return 0;
    });
  }

  std::vector<Tree> grow(std::optional<Array1<RowId>> rows, std::optional<Array1<std::int8_t>> features,
                         Array1<std::uint64_t> keys, bool shared) {
    if (keys.size() != shape()) throw nb::value_error("there must be one key per score");
    const std::span<const RowId> sample = span_of(rows);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (sample[i] >= n_rows_ || (i > 0 && sample[i] <= sample[i - 1])) {
        throw nb::value_error("rows must be ascending and inside the table");
      }
    }
    std::vector<char> allowed;
    if (features) {
      if (features->size() != static_cast<std::size_t>(n_features_)) {
        throw nb::value_error("there must be one mark per feature");
      }
      for (const std::int8_t mark : span_of(features)) allowed.push_back(mark != 0 ? 1 : 0);
    }
    return without_lock([&](Cancel& cancel) {
      return shared ? booster_->grow_shared(sample, allowed, span_of(keys), loss_, cancel)
                    : booster_->grow(sample, allowed, span_of(keys), loss_, cancel);
    });
  }

  Tree refit(const Tree& tree, Array1<NodeId> leaves, int score, double share) {
    if (leaves.size() != n_rows_) throw nb::value_error("there must be one leaf per row");
    if (score < 0 || score >= n_scores_) throw nb::value_error("there is no such score");
    if (tree.value_size() != 1) throw nb::value_error("a boosted tree has one value per node");
    const std::span<const NodeId> given = span_of(leaves);
    for (const NodeId leaf : given) {
      if (leaf < 0 || static_cast<std::size_t>(leaf) >= tree.n_nodes() || !tree.is_leaf(leaf))
        throw nb::value_error("leaves must be leaves of the tree");
    }
    for (const std::int32_t branches : tree.n_branches) {
      if (branches > 2) throw nb::value_error("a boosted tree has two branches per test");
    }
    return without_lock(
        [&](Cancel& cancel) { return booster_->refit(tree, given, score, share, loss_, cancel); });
  }

 private:
  void refuse_derivatives() const {
    if (!booster_->keeps_derivatives()) throw nb::value_error("derivatives are not kept");
  }
  std::size_t shape() const { return static_cast<std::size_t>(n_scores_); }

  Array1<float> y_;
  std::optional<Array1<float>> weights_;
  std::optional<WritableBytes> row_memory_;
  std::optional<Array1<std::uint8_t>> y_codes_;
  std::size_t n_rows_;
  int n_features_;
  int n_scores_ = 1;
  std::optional<Loss> loss_;
  std::unique_ptr<Booster> booster_;
};

}  // namespace

void bind_boost(nb::module_& module) {
  nb::class_<BoosterHandle>(module, "Booster", "The state of a boosting fit between rounds.")
      .def(
          "__init__",
          [](BoosterHandle* self, const Dataset& data, Array1<float> y, std::optional<Array1<float>> weights,
             int n_scores, const std::string& loss, double loss_parameter,
             std::optional<WritableBytes> row_memory, bool keeps_derivatives,
             std::optional<Array1<std::uint8_t>> y_codes, const nb::kwargs& settings) {
            new (self) BoosterHandle(data, std::move(y), std::move(weights), n_scores,
                                     boost_params_of(settings, data.n_features()), loss, loss_parameter,
                                     std::move(row_memory), keeps_derivatives, std::move(y_codes));
          },
          nb::keep_alive<1, 2>(), nb::arg("data"), nb::kw_only(), nb::arg("y"), nb::arg("weights").none(),
          nb::arg("n_scores"), nb::arg("loss"), nb::arg("loss_parameter"),
          nb::arg("row_memory").none() = nb::none(), nb::arg("keeps_derivatives") = true,
          nb::arg("y_codes").none() = nb::none(), nb::arg("settings"))
      .def_static("row_buffer_bytes", &Booster::row_buffer_bytes, nb::arg("n_rows"), nb::arg("n_scores"),
                  nb::arg("keeps_derivatives"),
                  "How many bytes `row_memory` must have: memory mapped from a file, for what a fit keeps of "
                  "its rows.")
      .def("scores", &BoosterHandle::scores,
           "The scores of all rows, [score, row]: the booster's own memory.")
      .def("gradients", &BoosterHandle::gradients,
           "First derivatives, [score, row]: the booster's own memory.")
      .def("hessians", &BoosterHandle::hessians,
           "Second derivatives, [score, row]: the booster's own memory.")
      .def("compute_derivatives", &BoosterHandle::compute_derivatives,
           "Derivatives of the loss at the scores.")
      .def("grow", &BoosterHandle::grow, nb::arg("rows").none(), nb::arg("features").none(), nb::arg("keys"),
           nb::arg("shared") = false,
           "Grows the trees of a round, one per score, and adds them to the scores of all rows. Trees that "
           "are "
           "shared have the same tests.")
      .def("refit", &BoosterHandle::refit, nb::arg("tree"), nb::arg("leaves"), nb::arg("score"),
           nb::arg("share"),
           "Gives a tree the values that all rows of its leaves ask for, and adds them to the scores.");
}

}  // namespace hornbeam::bindings
