// What answers questions, measured alone: the walks through trees, the distances between rows.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "grow/grower.h"
#include "measure.h"
#include "neighbors/distances.h"
#include "predict/predictor.h"
#include "predict/rows.h"

namespace hornbeam::bench {
using criterion::criterion_named;
using data::Dataset;
using data::encode_numeric;
using data::TableView;
using grow::grow_tree;
using grow::GrowParams;
using neighbors::distance_kernels;
using neighbors::DistanceKernels;
using predict::Predictor;
using predict::PredictPath;
using predict::TableRows;
using predict::Unseen;
using tree::Tree;

namespace {

void measure_trees(std::mt19937_64& generator) {
  constexpr std::size_t kTableRows = 100'000;
  constexpr std::size_t kTrees = 100;
  std::vector<std::vector<double>> columns;
  Dataset data(kTableRows);
  TableView table{kTableRows, {}};
  for (int j = 0; j < 8; ++j) columns.push_back(normal_values(kTableRows, 0.0, generator));
  for (const auto& column : columns) {
    data.add(encode_numeric(view(column), kTableRows, 255, poller()));
    table.columns.push_back(view(column));
  }
  std::vector<RowId> rows(kTableRows);
  std::iota(rows.begin(), rows.end(), 0);
  GrowParams params;
  params.criterion = *criterion_named("squared_error");
  params.max_leaf_nodes = 31;
  Cancel cancel;
  std::vector<Tree> trees;
  trees.reserve(kTrees);
  std::vector<double> target(kTableRows);
  for (std::size_t t = 0; t < kTrees; ++t) {
    const double mixed = static_cast<double>(t) / kTrees;
    for (std::size_t i = 0; i < kTableRows; ++i)
      target[i] = columns[0][i] * columns[t % 8][i] + mixed * columns[(t + 1) % 8][i];
    trees.push_back(grow_tree(data, {1, {}, {}, target, {}}, {rows, {}}, params, cancel).tree);
  }
  const std::vector<std::pair<PredictPath, std::string>> paths = {{PredictPath::kPlain, "plain"},
                                                                  {PredictPath::kCompact, "compact"},
                                                                  {PredictPath::kSliced, "bit-sliced"}};
  std::vector<const Tree*> members;
  for (const Tree& tree : trees) members.push_back(&tree);
  for (const auto& [path, name] : paths) {
    const Predictor predictor(members, {}, Unseen::kMissing, path);
    std::vector<double> scores(kTableRows, 0.0);
    report("100 trees of 31 leaves, one thread, " + name,
           fastest([] {}, [&] { predictor.add(TableRows(table), {0, kTrees}, {}, 1, cancel, scores); }),
           static_cast<double>(kTableRows) * kTrees, "row and tree");
  }
}

void measure_distances(std::mt19937_64& generator, std::size_t n_features) {
  const DistanceKernels& k = distance_kernels();
  constexpr std::size_t kPanels = 64;
  constexpr std::size_t kTiles = 16;
  const auto drawn = normal_values(8191, 0.0, generator);
  const auto numbers = [&](std::size_t n) {
    std::vector<float> made(n);
    for (std::size_t i = 0; i < n; ++i) made[i] = static_cast<float>(drawn[(i * 17) % drawn.size()]);
    return made;
  };
  const auto panels = numbers(kPanels * k.panel_points * n_features);
  const auto tiles = numbers(kTiles * k.tile_queries * n_features);
  const std::vector<float> half_norms(kPanels * k.panel_points, 0.5f * static_cast<float>(n_features));
  // Limits that almost no point meets: what is measured is the filter.
  const std::vector<float> limits(kTiles * k.tile_queries, -1e9f);
  std::vector<std::uint32_t> survivors(kTiles * k.tile_queries * k.panel_points);
  std::size_t found = 0;
  report("distances to points of " + std::to_string(n_features) + " features, filter",
         fastest([] {},
                 [&] {
                   for (std::size_t p = 0; p < kPanels; ++p)
                     found += k.scan_panel(panels.data() + p * k.panel_points * n_features,
                                           half_norms.data() + p * k.panel_points, n_features, tiles.data(),
                                           kTiles, limits.data(), survivors.data());
                 }),
         static_cast<double>(kPanels * k.panel_points * kTiles * k.tile_queries), "distance");
}

}  // namespace

void measure_answers(std::mt19937_64& generator) {
  measure_trees(generator);
  measure_distances(generator, 16);
  measure_distances(generator, 128);
}

}  // namespace hornbeam::bench
