#include "bindings/parts/part_sums.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace hornbeam::bindings {

namespace {

constexpr std::size_t kHead = 5;

NumpyArray<std::int64_t> array_of(const std::vector<WideCell>& cells) {
  std::vector<std::int64_t> flat;
  for (const WideCell& cell : cells) flat.insert(flat.end(), {cell.gradient, cell.hessian});
  return to_numpy(std::move(flat));
}

// Sums in as few bits as hold them: most fit 32.
bool is_narrow(const std::vector<WideCell>& cells) {
  constexpr auto fits = [](std::int64_t sum) { return sum == static_cast<std::int32_t>(sum); };
  bool narrow = true;
  for (const WideCell& cell : cells) narrow = narrow & fits(cell.gradient) & fits(cell.hessian);
  return narrow;
}

template <class Number>
void write_cells(const std::vector<WideCell>& cells, std::uint8_t* out) {
  for (const WideCell& cell : cells) {
    const Number numbers[2] = {static_cast<Number>(cell.gradient), static_cast<Number>(cell.hessian)};
    std::memcpy(out, numbers, sizeof(numbers));
    out += sizeof(numbers);
  }
}

std::size_t bytes_per_cell(bool narrow) {
  return 2 * (narrow ? sizeof(std::int32_t) : sizeof(std::int64_t));
}

std::vector<WideCell> cells_of(const Array1<std::int64_t>& flat) {
  std::vector<WideCell> cells(flat.size() / 2);
  static_assert(sizeof(WideCell) == 2 * sizeof(std::int64_t));
  std::memcpy(cells.data(), flat.data(), cells.size() * sizeof(WideCell));
  return cells;
}

template <class Number>
void add_cells(const char* from, std::vector<WideCell>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    Number cell[2];
    std::memcpy(cell, from + i * sizeof(cell), sizeof(cell));
    to[i] += WideCell{cell[0], cell[1]};
  }
}

std::vector<CategorySums> categories_of(const nb::list& columns) {
  std::vector<CategorySums> found;
  for (nb::handle item : columns) {
    const auto column = nb::cast<nb::tuple>(item);
    const auto codes = nb::cast<Array1<Code>>(column[0]);
    const auto rows = nb::cast<Array1<std::int64_t>>(column[2]);
    found.push_back({{codes.data(), codes.data() + codes.size()},
                     cells_of(nb::cast<Array1<std::int64_t>>(column[1])),
                     {rows.data(), rows.data() + rows.size()}});
  }
  return found;
}

}  // namespace

Outgoing::Outgoing(std::shared_ptr<CellBuffers> buffers)
    : buffers_(std::move(buffers)), cells_(buffers_->take()) {
  cells_->clear();
}

Outgoing::Outgoing(Outgoing&& other) noexcept
    : heads_(std::move(other.heads_)),
      buffers_(std::move(other.buffers_)),
      cells_(std::exchange(other.cells_, nullptr)),
      categories_(std::move(other.categories_)) {}

Outgoing::~Outgoing() {
  if (buffers_) buffers_->give_back(cells_);
}

void Outgoing::add(PartSums& node) {
  const bool narrow = is_narrow(node.cells);
  heads_.insert(heads_.end(),
                {static_cast<std::int64_t>(node.n_left), node.total.gradient, node.total.hessian,
                 static_cast<std::int64_t>(node.cells.size()), narrow ? 1 : 0});
  const std::size_t begin = cells_->size();
  cells_->resize(begin + node.cells.size() * bytes_per_cell(narrow));
  narrow ? write_cells<std::int32_t>(node.cells, cells_->data() + begin)
         : write_cells<std::int64_t>(node.cells, cells_->data() + begin);
  categories_.push_back(std::move(node.categories));
}

nb::tuple Outgoing::tuple() && {
  nb::list categories;
  for (std::vector<CategorySums>& columns : categories_) {
    nb::list own;
    for (CategorySums& column : columns) {
      own.append(nb::make_tuple(to_numpy(std::move(column.codes)), array_of(column.cells),
                                to_numpy(std::move(column.rows))));
    }
    categories.append(own);
  }
  auto* owned = new Outgoing(std::move(*this));  // gives the bytes back once Python has let go of them
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Outgoing*>(p); });
  NumpyArray<std::uint8_t> cells(owned->cells_->data(), {owned->cells_->size()}, owner);
  return nb::make_tuple(to_numpy(std::move(owned->heads_)), cells, categories);
}

PartSums added(std::span<const Incoming> parts) {
  PartSums sums;
  if (parts.empty()) return sums;
  sums.cells.resize(parts[0].n_cells);
  sums.categories.resize(parts[0].categories.size());
  for (const Incoming& part : parts) {
    if (part.n_cells != sums.cells.size() || part.categories.size() != sums.categories.size())
      throw std::invalid_argument("parts have sums of different nodes");
    sums.n_left += part.n_left;
    sums.total += part.total;
    part.narrow ? add_cells<std::int32_t>(part.cells, sums.cells)
                : add_cells<std::int64_t>(part.cells, sums.cells);
  }
  for (std::size_t column = 0; column < sums.categories.size(); ++column) {
    std::map<Code, std::pair<WideCell, std::int64_t>> by_code;
    for (const Incoming& part : parts) {
      const CategorySums& own = part.categories[column];
      for (std::size_t i = 0; i < own.codes.size(); ++i) {
        auto& [cell, rows] = by_code[own.codes[i]];
        cell += own.cells[i];
        rows += own.rows[i];
      }
    }
    for (const auto& [code, sum] : by_code) {
      sums.categories[column].codes.push_back(code);
      sums.categories[column].cells.push_back(sum.first);
      sums.categories[column].rows.push_back(sum.second);
    }
  }
  return sums;
}

std::size_t n_nodes(const nb::list& parts) {
  return parts.size() == 0 ? 0 : nb::len(nb::handle(nb::cast<nb::tuple>(parts[0])[2]));
}

std::vector<std::vector<Incoming>> by_node(const nb::list& parts, std::size_t first, std::size_t count) {
  std::vector<std::vector<Incoming>> nodes(count);
  for (nb::handle item : parts) {
    const auto part = nb::cast<nb::tuple>(item);
    const auto heads = nb::cast<Array1<std::int64_t>>(part[0]);
    const auto cells = nb::cast<Array1<std::uint8_t>>(part[1]);
    const auto categories = nb::cast<nb::list>(part[2]);
    if (heads.size() != kHead * categories.size() || first + count > categories.size())
      throw std::invalid_argument("a part speaks of too few nodes");
    std::size_t begin = 0;
    for (std::size_t i = 0; i < first + count; ++i) {
      std::int64_t head[kHead];
      std::memcpy(head, reinterpret_cast<const char*>(heads.data()) + i * sizeof(head), sizeof(head));
      const auto n_cells = static_cast<std::size_t>(head[3]);
      const std::size_t end = begin + n_cells * bytes_per_cell(head[4] != 0);
      if (end > cells.size()) throw std::invalid_argument("cells of a part are missing");
      if (i >= first) {
        nodes[i - first].push_back({static_cast<std::size_t>(head[0]),
                                    {head[1], head[2]},
                                    reinterpret_cast<const char*>(cells.data()) + begin,
                                    n_cells,
                                    head[4] != 0,
                                    categories_of(nb::cast<nb::list>(categories[i]))});
      }
      begin = end;
    }
  }
  return nodes;
}

}  // namespace hornbeam::bindings
