#include "part_sums.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace hornbeam::bindings {

namespace {

template <class Number>
std::vector<Number> flat_of(const std::vector<WideCell>& cells) {
  std::vector<Number> flat(2 * cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    flat[2 * i] = static_cast<Number>(cells[i].gradient);
    flat[2 * i + 1] = static_cast<Number>(cells[i].hessian);
  }
  return flat;
}

NumpyArray<std::int64_t> array_of(const std::vector<WideCell>& cells) {
  return to_numpy(flat_of<std::int64_t>(cells));
}

// Sums in as few bits as hold them: most fit 32.
bool is_narrow(const std::vector<WideCell>& cells) {
  constexpr auto fits = [](std::int64_t sum) { return sum == static_cast<std::int32_t>(sum); };
  bool narrow = true;
  for (const WideCell& cell : cells) narrow = narrow & fits(cell.gradient) & fits(cell.hessian);
  return narrow;
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

}  // namespace

Outgoing::Outgoing(PartSums given) : sums(std::move(given)) {
  if (is_narrow(sums.cells)) {
    narrow = flat_of<std::int32_t>(sums.cells);
  } else {
    wide = flat_of<std::int64_t>(sums.cells);
  }
}

nb::tuple tuple_of(Outgoing out) {
  nb::list categories;
  for (CategorySums& column : out.sums.categories) {
    categories.append(nb::make_tuple(to_numpy(std::move(column.codes)), array_of(column.cells),
                                     to_numpy(std::move(column.rows))));
  }
  const std::vector<WideCell> total{out.sums.total};
  const std::size_t n_left = out.sums.n_left;
  if (out.wide.empty())
    return nb::make_tuple(n_left, array_of(total), to_numpy(std::move(out.narrow)), categories);
  return nb::make_tuple(n_left, array_of(total), to_numpy(std::move(out.wide)), categories);
}

Incoming incoming(const nb::tuple& given) {
  Incoming sums{nb::cast<std::size_t>(given[0]),
                cells_of(nb::cast<Array1<std::int64_t>>(given[1])).at(0),
                nullptr,
                0,
                nb::isinstance<Array1<std::int32_t>>(given[2]),
                {}};
  const auto take = [&](const auto& cells) {
    sums.cells = reinterpret_cast<const char*>(cells.data());
    sums.n_cells = cells.size() / 2;
  };
  sums.narrow ? take(nb::cast<Array1<std::int32_t>>(given[2]))
              : take(nb::cast<Array1<std::int64_t>>(given[2]));
  for (nb::handle item : nb::cast<nb::list>(given[3])) {
    const auto column = nb::cast<nb::tuple>(item);
    const auto codes = nb::cast<Array1<Code>>(column[0]);
    const auto rows = nb::cast<Array1<std::int64_t>>(column[2]);
    sums.categories.push_back({{codes.data(), codes.data() + codes.size()},
                               cells_of(nb::cast<Array1<std::int64_t>>(column[1])),
                               {rows.data(), rows.data() + rows.size()}});
  }
  return sums;
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

std::vector<std::vector<Incoming>> by_node(const nb::list& parts) {
  std::vector<std::vector<Incoming>> nodes;
  for (nb::handle part : parts) {
    const auto own = nb::cast<nb::list>(part);
    nodes.resize(std::max(nodes.size(), own.size()));
    for (std::size_t node = 0; node < own.size(); ++node)
      nodes[node].push_back(incoming(nb::cast<nb::tuple>(own[node])));
  }
  return nodes;
}

}  // namespace hornbeam::bindings
