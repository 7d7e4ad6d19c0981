// What a tree learns from, and the sums over a node's rows with one code (a "cell").
//
// Cells are integers: class counts, or fixed-point weights and sums. Integer sums do not depend on the order
// of addition, on threads or on the path that computed them, and equal partitions tie exactly.
//
//   CountStats   one output of classes, whole-number weights below 256 (unit weights, times drawn)
//   SumStats     one real output, any weights
//   VectorStats  any weights, any number of outputs, classes or reals: the general and slower form
//
// A row travels through the grower as an Entry: its id and, above it, 32 bits its statistics understand.
//
// A row may also travel in portions, one in each of several nodes. Then the 32 bits are the size of the
// portion in units of 2^-kPortionBits rows; the portions of a row always add up to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/platform.h"
#include "base/types.h"

namespace hornbeam::criterion {

struct Entry {
  RowId row;
  std::uint32_t payload;  // CountStats: class * 256 + multiplicity; the others: multiplicity, or portion
};
inline constexpr int kPortionBits = 20;
static_assert(sizeof(Entry) == 8);

// The target as the user gave it; spans stay alive during the fit. Row-major [row, output].
struct Target {
  int n_outputs = 1;
  std::vector<int> n_classes;             // per output; empty for real targets
  std::span<const std::int32_t> classes;  // class codes, or empty
  std::span<const double> reals;          // values, or empty
  std::span<const double> weights;        // per row, or empty for unit weights

  bool is_classification() const { return !n_classes.empty(); }
  double weight(RowId row) const { return weights.empty() ? 1.0 : weights[row]; }
  double real(RowId row, int output = 0) const {
    return reals[static_cast<std::size_t>(row) * n_outputs + output];
  }
  int label(RowId row, int output = 0) const {
    return classes[static_cast<std::size_t>(row) * n_outputs + output];
  }
};

// Which rows a tree sees and how often; an empty `multiplicity` means once each.
struct Sample {
  std::span<const RowId> rows;
  std::span<const std::uint32_t> multiplicity;  // parallel to rows
  std::uint32_t times(std::size_t i) const { return multiplicity.empty() ? 1 : multiplicity[i]; }
};

// The largest power of two 2^s with total * 2^s < 2^bits: the fixed-point scale of a fit.
inline double fixed_point_scale(double total, int bits) {
  int exponent = 0;
  std::frexp(total, &exponent);  // total = f * 2^exponent, f in [0.5, 1)
  return total > 0 ? std::ldexp(1.0, std::clamp(bits - exponent, -1000, 1000)) : 1.0;
}

class CountStats {
 public:
  using Element = std::uint32_t;

  // With `counts_rows`, cells also count rows, each once however often it was drawn: limits on leaf sizes
  // need that number.
  CountStats(const Target& target, const Sample& sample, bool counts_rows = false)
      : n_classes_(target.n_classes[0]),
        counts_rows_(counts_rows),
        unit_(target.weights.empty() ? 1.0 : target.weights[sample.rows[0]]) {}

  static std::uint32_t payload_of(const Target& target, RowId row, std::uint32_t times) {
    return static_cast<std::uint32_t>(target.label(row)) << 8 | times;
  }

  int n_classes() const { return n_classes_; }
  bool counts_rows() const { return counts_rows_; }
  int cell_size() const { return n_classes_ + (counts_rows_ ? 1 : 0); }  // the rows come last
  double weight_unit() const { return unit_; }                           // real weight of one count
  void load(std::span<const Entry>) {}
  std::uint32_t sort_payload(const Entry& entry, std::size_t) const { return entry.payload; }
  void add(Element* cell, std::uint32_t payload) const {
    cell[payload >> 8] += payload & 0xff;
    if (counts_rows_) ++cell[n_classes_];
  }
  void add_all(Element* cell, std::span<const Entry> entries) const {
    if (n_classes_ != 2) {
      for (const Entry& entry : entries) add(cell, entry.payload);
      return;
    }
    Element count = 0;  // in registers: adding to the same cell again and again would wait for memory
    Element ones = 0;
    for (const Entry& entry : entries) {
      const Element times = entry.payload & 0xff;
      count += times;
      ones += times & -(entry.payload >> 8);
    }
    cell[0] += count - ones;
    cell[1] += ones;
    if (counts_rows_) cell[2] += static_cast<Element>(entries.size());
  }
  // The same as words that can be summed over any set of rows: a row is a few words of 64 bits, `stride` apart, each
  // with four counts, which do not overflow for sums of so many rows.
  int n_words() const { return (n_classes_ + kCountsPerWord - 1) / kCountsPerWord; }
  static constexpr std::size_t kRowsPerSum = 256;
  void write_words(std::span<const Entry> entries, std::int64_t* words, std::size_t stride) const {
    for (int w = 0; w < n_words(); ++w)
      std::fill_n(words + static_cast<std::size_t>(w) * stride, entries.size(), 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::uint32_t k = entries[i].payload >> 8;
      words[k / kCountsPerWord * stride + i] = std::int64_t{entries[i].payload & 0xff}
                                               << (k % kCountsPerWord * 16);
    }
  }
  void add_words(Element* cell, const std::int64_t* sums, std::size_t n_rows) const {
    for (int k = 0; k < n_classes_; ++k)
      cell[k] += static_cast<std::uint16_t>(sums[k / kCountsPerWord] >> (k % kCountsPerWord * 16));
    if (counts_rows_) cell[n_classes_] += static_cast<Element>(n_rows);
  }

  std::int64_t weight(const Element* cell) const {
    std::int64_t sum = 0;
    for (int k = 0; k < n_classes_; ++k) sum += cell[k];
    return sum;
  }
  std::int64_t rows(const Element* cell) const { return counts_rows_ ? cell[n_classes_] : weight(cell); }
  bool empty(const Element* cell) const { return weight(cell) == 0; }
  std::int64_t entry_weight(const Entry& entry) const { return entry.payload & 0xff; }

 private:
  static constexpr int kCountsPerWord = 4;

  int n_classes_;
  bool counts_rows_;
  double unit_;
};

// Fixed-point weights, and sums of weighted targets centred on their mean.
class SumStats {
 public:
  using Element = std::int64_t;
  static constexpr int kSum = 0;
  static constexpr int kWeight = 1;
  static constexpr int kRows = 2;
  struct Moments {
    std::int64_t sum;
    std::int64_t weight;
  };

  SumStats(const Target& target, const Sample& sample, bool centre) {
    double total_weight = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < sample.rows.size(); ++i) {
      const double w = target.weight(sample.rows[i]) * sample.times(i);
      total_weight += w;
      total += w * target.real(sample.rows[i]);
    }
    centre_ = centre && std::isfinite(total) ? total / total_weight : 0.0;
    double spread = 0.0;
    for (std::size_t i = 0; i < sample.rows.size(); ++i) {
      const RowId row = sample.rows[i];
      spread += target.weight(row) * sample.times(i) * std::abs(target.real(row) - centre_);
    }
    weight_scale_ = fixed_point_scale(total_weight, 52);
    sum_scale_ = fixed_point_scale(spread, 61);
    auto per_row = std::make_shared<Buffer<Moments>>(*std::ranges::max_element(sample.rows) + std::size_t{1});
    for (const RowId row : sample.rows) {
      const double w = target.weight(row);
      (*per_row)[row] = {std::llround(w * (target.real(row) - centre_) * sum_scale_),
                         std::llround(w * weight_scale_)};
    }
    moments_of_row_ = per_row->data();
    per_row_ = std::move(per_row);
  }

  static std::uint32_t payload_of(const Target&, RowId, std::uint32_t times) { return times; }

  int cell_size() const { return 3; }
  double weight_unit() const { return 1 / weight_scale_; }
  double sum_unit() const { return 1 / sum_scale_; }
  double centre() const { return centre_; }
  std::int64_t fixed_weight(RowId row) const { return moments_of_row_[row].weight; }
  // In the user's units; of the targets less their centre.
  double real_weight(const Element* cell) const { return static_cast<double>(cell[kWeight]) * weight_unit(); }
  double centred_mean(const Element* cell) const {
    return static_cast<double>(cell[kSum]) / static_cast<double>(cell[kWeight]) *
           (sum_unit() / weight_unit());
  }

  void load(std::span<const Entry> entries) {
    if (items_.size() < entries.size()) items_.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Moments& m = moments_of_row_[entries[i].row];
      const std::int64_t times = entries[i].payload;
      items_[i] = {m.sum * times, m.weight * times};
    }
  }
  const Moments* loaded() const { return items_.data(); }  // by position in the node
  std::uint32_t sort_payload(const Entry&, std::size_t position) const {
    return static_cast<std::uint32_t>(position);
  }
  void add(Element* cell, std::uint32_t position) const {
    cell[kSum] += items_[position].sum;
    cell[kWeight] += items_[position].weight;
    cell[kRows] += 1;
  }
  void add_all(Element* cell, std::span<const Entry> loaded) const {
    for (std::size_t i = 0; i < loaded.size(); ++i) add(cell, static_cast<std::uint32_t>(i));
  }
  // The same as words that can be summed over any set of rows: a row is a few words of 64 bits, `stride` apart.
  int n_words() const { return 2; }
  static constexpr std::size_t kRowsPerSum = kMaxRows;
  void write_words(std::span<const Entry> loaded, std::int64_t* words, std::size_t stride) const {
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      words[i] = items_[i].sum;
      words[stride + i] = items_[i].weight;
    }
  }
  void add_words(Element* cell, const std::int64_t* sums, std::size_t n_rows) const {
    cell[kSum] += sums[0];
    cell[kWeight] += sums[1];
    cell[kRows] += static_cast<std::int64_t>(n_rows);
  }

  std::int64_t weight(const Element* cell) const { return cell[kWeight]; }
  std::int64_t rows(const Element* cell) const { return cell[kRows]; }
  bool empty(const Element* cell) const { return cell[kRows] == 0; }
  std::int64_t entry_weight(const Entry& entry) const {
    return moments_of_row_[entry.row].weight * entry.payload;
  }

 private:
  double centre_ = 0.0;
  double weight_scale_ = 1.0;
  double sum_scale_ = 1.0;
  std::shared_ptr<const Buffer<Moments>> per_row_;  // shared by the copies that worker threads hold
  const Moments* moments_of_row_ = nullptr;
  std::vector<Moments> items_;  // of the loaded node, in its row order
};

// Channels: classification, the class weights of every output in turn; real targets, the sum of every output
// and then the weight. The last channel counts rows.
class VectorStats {
 public:
  using Element = std::int64_t;

  // With `in_portions` a row's multiplicity must be 1. Sums of reals are centred on their mean, unless a
  // criterion needs them as they are.
  VectorStats(const Target& target, const Sample& sample, bool in_portions = false, bool centre = true)
      : n_outputs_(target.n_outputs), in_portions_(in_portions), centre_(centre) {
    double total_weight = 0.0;
    for (std::size_t i = 0; i < sample.rows.size(); ++i) {
      total_weight += target.weight(sample.rows[i]) * sample.times(i);
    }
    // Whole rows are multiples of the smallest portion, which takes some of the bits.
    weight_scale_ = fixed_point_scale(total_weight, in_portions ? 61 : 52);
    n_rows_ = *std::ranges::max_element(sample.rows) + std::size_t{1};
    rows_ = std::make_shared<PerRow>();
    rows_->weight = Buffer<std::int64_t>(n_rows_);
    for (const RowId row : sample.rows)
      rows_->weight[row] = std::llround(target.weight(row) * weight_scale_ * portion_unit());
    if (target.is_classification()) {
      set_up_classes(target, sample);
    } else {
      set_up_reals(target, sample, total_weight);
    }
  }

  static std::uint32_t payload_of(const Target&, RowId, std::uint32_t times) { return times; }

  int cell_size() const { return n_channels_ + 1; }
  int n_outputs() const { return n_outputs_; }
  bool is_classification() const { return is_classification_; }
  double portion_unit() const { return in_portions_ ? std::ldexp(1.0, -kPortionBits) : 1.0; }
  // Classification: the channels of output o are [offset(o), offset(o + 1)).
  int offset(int output) const { return offsets_[static_cast<std::size_t>(output)]; }
  double weight_unit() const { return 1 / weight_scale_; }
  double sum_unit(int output) const { return sum_unit_[static_cast<std::size_t>(output)]; }
  // The factor of an output's squared sum; outputs have different scales.
  double squared_sum_factor(int output) const {
    return squared_sum_factor_[static_cast<std::size_t>(output)];
  }
  std::int64_t fixed_weight(RowId row) const { return rows_->weight[row]; }
  // Real targets, in the user's units.
  double real_weight(const Element* cell) const { return static_cast<double>(weight(cell)) * weight_unit(); }
  double sum(const Element* cell, int output) const {
    const auto o = static_cast<std::size_t>(output);
    return static_cast<double>(cell[output]) * sum_unit_[o] + centres_[o] * real_weight(cell);
  }
  // Of the first output, less its centre.
  double centred_mean(const Element* cell) const {
    return static_cast<double>(cell[0]) / static_cast<double>(weight(cell)) * (sum_unit(0) / weight_unit());
  }

  void load(std::span<const Entry> entries) { entries_ = entries; }
  std::uint32_t sort_payload(const Entry&, std::size_t position) const {
    return static_cast<std::uint32_t>(position);
  }
  // Calls with each channel that a row adds to, and what it adds.
  template <class Add>
  void each_channel(std::uint32_t position, const Add& add) const {
    const Entry entry = entries_[position];
    const std::int64_t times = entry.payload;
    const std::int64_t weight = rows_->weight[entry.row] * times;
    if (is_classification_) {
      const std::int32_t* channels = &rows_->channel[static_cast<std::size_t>(entry.row) * n_outputs_];
      for (int o = 0; o < n_outputs_; ++o) add(static_cast<std::size_t>(channels[o]), weight);
    } else {
      const std::int64_t* sums = &rows_->sum[static_cast<std::size_t>(entry.row) * n_outputs_];
      for (int o = 0; o < n_outputs_; ++o) add(static_cast<std::size_t>(o), sums[o] * times);
      add(static_cast<std::size_t>(n_outputs_), weight);
    }
    add(static_cast<std::size_t>(n_channels_), in_portions_ ? times : 1);
  }
  void add(Element* cell, std::uint32_t position) const {
    each_channel(position, [cell](std::size_t channel, Element amount) { cell[channel] += amount; });
  }
  void add_all(Element* cell, std::span<const Entry> loaded) const {
    for (std::size_t i = 0; i < loaded.size(); ++i) add(cell, static_cast<std::uint32_t>(i));
  }

  // The same as words that can be summed over any set of rows: a word of 64 bits per channel, `stride` apart.
  int n_words() const { return n_channels_; }
  static constexpr std::size_t kRowsPerSum = kMaxRows;
  void write_words(std::span<const Entry> loaded, std::int64_t* words, std::size_t stride) const {
    const auto n_words = static_cast<std::size_t>(n_channels_);
    for (std::size_t w = 0; w < n_words; ++w) std::fill_n(words + w * stride, loaded.size(), 0);
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      each_channel(static_cast<std::uint32_t>(i), [&](std::size_t channel, Element amount) {
        if (channel < n_words) words[channel * stride + i] = amount;
      });
    }
  }
  void add_words(Element* cell, const std::int64_t* sums, std::size_t n_rows) const {
    for (int w = 0; w < n_channels_; ++w) cell[w] += sums[w];
    cell[n_channels_] += static_cast<std::int64_t>(n_rows);
  }

  std::int64_t weight(const Element* cell) const {
    if (!is_classification_) return cell[n_outputs_];
    std::int64_t sum = 0;
    for (int k = offset(0); k < offset(1); ++k) sum += cell[k];
    return sum;
  }
  std::int64_t rows(const Element* cell) const { return cell[n_channels_]; }
  bool empty(const Element* cell) const { return rows(cell) == 0; }
  std::int64_t entry_weight(const Entry& entry) const { return rows_->weight[entry.row] * entry.payload; }

 private:
  void set_up_classes(const Target& target, const Sample& sample) {
    is_classification_ = true;
    offsets_ = {0};
    for (const int k : target.n_classes) offsets_.push_back(offsets_.back() + k);
    n_channels_ = offsets_.back();
    rows_->channel = Buffer<std::int32_t>(n_rows_ * n_outputs_);
    for (const RowId row : sample.rows) {
      for (int o = 0; o < n_outputs_; ++o) {
        rows_->channel[static_cast<std::size_t>(row) * n_outputs_ + o] = offset(o) + target.label(row, o);
      }
    }
  }

  void set_up_reals(const Target& target, const Sample& sample, double total_weight) {
    n_channels_ = n_outputs_ + 1;
    rows_->sum = Buffer<std::int64_t>(n_rows_ * n_outputs_);
    for (int o = 0; o < n_outputs_; ++o) {
      double total = 0.0;
      for (std::size_t i = 0; i < sample.rows.size(); ++i) {
        total += target.weight(sample.rows[i]) * sample.times(i) * target.real(sample.rows[i], o);
      }
      const double centre = centre_ && std::isfinite(total) ? total / total_weight : 0.0;
      double spread = 0.0;
      for (std::size_t i = 0; i < sample.rows.size(); ++i) {
        const RowId row = sample.rows[i];
        spread += target.weight(row) * sample.times(i) * std::abs(target.real(row, o) - centre);
      }
      const double scale = fixed_point_scale(spread, 61);
      centres_.push_back(centre);
      sum_unit_.push_back(1 / scale);
      squared_sum_factor_.push_back((1 / scale) * (1 / scale) * weight_scale_);
      for (const RowId row : sample.rows) {
        rows_->sum[static_cast<std::size_t>(row) * n_outputs_ + o] =
            std::llround(target.weight(row) * (target.real(row, o) - centre) * scale * portion_unit());
      }
    }
  }

  int n_outputs_;
  bool in_portions_;
  bool centre_;
  int n_channels_ = 0;
  bool is_classification_ = false;
  std::size_t n_rows_ = 0;
  double weight_scale_ = 1.0;
  std::vector<int> offsets_;
  std::vector<double> centres_;   // real targets, per output: what sums leave out,
  std::vector<double> sum_unit_;  // and what one of their units is
  std::vector<double> squared_sum_factor_;
  struct PerRow {
    Buffer<std::int64_t> weight;
    Buffer<std::int32_t> channel;  // classification: [row, output]
    Buffer<std::int64_t> sum;      // real targets: [row, output]
  };
  std::shared_ptr<PerRow> rows_;  // shared by the copies that worker threads hold
  std::span<const Entry> entries_;
};

// Statistics that know means.
template <class Stats>
concept HasRealCells = requires(const Stats& stats, const typename Stats::Element* cell) {
  stats.real_weight(cell);
  stats.centred_mean(cell);
};

}  // namespace hornbeam::criterion
