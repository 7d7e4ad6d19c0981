#include "base/wide_loops.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/platform.h"
#include "boost/boost_kernels.h"
#include "explain/explain_kernels.h"
#include "grow/fast/rank_block.h"
#include "grow/fast/value_block.h"
#include "neighbors/distances.h"
#include "predict/predict_kernels.h"

namespace hornbeam {

// Every instruction set has a table of each room's loops, in a namespace of its own within the room's.
#define HORNBEAM_TABLE(set, Kernels, table) \
  namespace set {                           \
  extern const Kernels table;               \
  }
#if defined(HORNBEAM_X86)
#define HORNBEAM_TABLES(Kernels, table)    \
  HORNBEAM_TABLE(baseline, Kernels, table) \
  HORNBEAM_TABLE(avx2, Kernels, table)     \
  HORNBEAM_TABLE(avx512, Kernels, table)
#define HORNBEAM_FORMS(room, table) room::baseline::table, room::avx2::table, room::avx512::table
#else
#define HORNBEAM_TABLES(Kernels, table) HORNBEAM_TABLE(baseline, Kernels, table)
#define HORNBEAM_FORMS(room, table) room::baseline::table, room::baseline::table, room::baseline::table
#endif

HORNBEAM_TABLES(Kernels, table)
namespace boost {
HORNBEAM_TABLES(BoostKernels, boost_table)
}
namespace explain {
HORNBEAM_TABLES(ExplainKernels, explain_table)
}
namespace grow {
HORNBEAM_TABLES(BlockKernels, block_table)
#if defined(HORNBEAM_X86)
HORNBEAM_TABLE(avx512, RankKernels, rank_table)
#endif
}  // namespace grow
namespace neighbors {
HORNBEAM_TABLES(DistanceKernels, distance_table)
}
namespace predict {
HORNBEAM_TABLES(PredictKernels, predict_table)
}

namespace {

InstructionSet choose() {
  InstructionSet set = best_instruction_set();
  // For tests and measurements: HORNBEAM_INSTRUCTIONS=baseline or avx2 keeps to a smaller set.
  if (const char* wish = std::getenv("HORNBEAM_INSTRUCTIONS"); wish != nullptr) {
    if (std::string_view(wish) == "baseline") set = InstructionSet::kBaseline;
    if (std::string_view(wish) == "avx2" && set == InstructionSet::kAvx512) set = InstructionSet::kAvx2;
  }
  return set;
}

// One of three forms of the same table.
template <class Form>
const Form& chosen(const Form& baseline, const Form& avx2, const Form& avx512,
                   InstructionSet at_most = InstructionSet::kAvx512) {
  static const InstructionSet best = choose();
  const InstructionSet set = std::min(best, at_most);
  return set == InstructionSet::kAvx512 ? avx512 : set == InstructionSet::kAvx2 ? avx2 : baseline;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& form = chosen(HORNBEAM_FORMS(hornbeam, table));
  return form;
}

const grow::BlockKernels& grow::block_kernels() {
  static const BlockKernels& form = chosen(HORNBEAM_FORMS(grow, block_table));
  return form;
}

const grow::RankKernels* grow::rank_kernels() {
#if defined(HORNBEAM_X86)
  static const RankKernels none{};
  static const RankKernels& form = chosen(none, none, avx512::rank_table);
  return form.grow_counts == nullptr ? nullptr : &form;
#else
  return nullptr;
#endif
}

const boost::BoostKernels& boost::boost_kernels() {
  static const BoostKernels& form = chosen(HORNBEAM_FORMS(boost, boost_table));
  return form;
}

const explain::ExplainKernels& explain::explain_kernels() {
  static const ExplainKernels& form = chosen(HORNBEAM_FORMS(explain, explain_table));
  return form;
}

const neighbors::DistanceKernels& neighbors::distance_kernels() {
  static const DistanceKernels& form = chosen(HORNBEAM_FORMS(neighbors, distance_table));
  return form;
}

const predict::PredictKernels& predict::predict_kernels(InstructionSet at_most) {
  return chosen(HORNBEAM_FORMS(predict, predict_table), at_most);
}

}  // namespace hornbeam
