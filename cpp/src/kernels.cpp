#include "hornbeam/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "hornbeam/boost/kernels.h"
#include "hornbeam/distances.h"
#include "hornbeam/platform.h"
#include "hornbeam/predict/kernels.h"
#include "hornbeam/rank_block.h"
#include "hornbeam/value_block.h"

namespace hornbeam {

namespace baseline {
extern const Kernels table;
extern const BlockKernels block_table;
extern const BoostKernels boost_table;
extern const DistanceKernels distance_table;
extern const predict::PredictKernels predict_table;
}  // namespace baseline
#if defined(HORNBEAM_X86)
namespace avx2 {
extern const Kernels table;
extern const BlockKernels block_table;
extern const BoostKernels boost_table;
extern const DistanceKernels distance_table;
extern const predict::PredictKernels predict_table;
}  // namespace avx2
namespace avx512 {
extern const Kernels table;
extern const BlockKernels block_table;
extern const BoostKernels boost_table;
extern const DistanceKernels distance_table;
extern const predict::PredictKernels predict_table;
extern const RankKernels rank_table;
}  // namespace avx512
#endif

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

// One of three forms of the same thing.
template <class Form>
const Form& chosen(const Form& baseline, const Form& avx2, const Form& avx512,
                   InstructionSet at_most = InstructionSet::kAvx512) {
  static const InstructionSet best = choose();
  const InstructionSet set = std::min(best, at_most);
  return set == InstructionSet::kAvx512 ? avx512 : set == InstructionSet::kAvx2 ? avx2 : baseline;
}

}  // namespace

#if defined(HORNBEAM_X86)
#define HORNBEAM_FORMS(table) baseline::table, avx2::table, avx512::table
#else
#define HORNBEAM_FORMS(table) baseline::table, baseline::table, baseline::table
#endif

const Kernels& kernels() {
  static const Kernels& form = chosen(HORNBEAM_FORMS(table));
  return form;
}

const BlockKernels& block_kernels() {
  static const BlockKernels& form = chosen(HORNBEAM_FORMS(block_table));
  return form;
}

const RankKernels* rank_kernels() {
#if defined(HORNBEAM_X86)
  static const RankKernels none{};
  static const RankKernels& form = chosen(none, none, avx512::rank_table);
  return form.grow == nullptr ? nullptr : &form;
#else
  return nullptr;
#endif
}

const BoostKernels& boost_kernels() {
  static const BoostKernels& form = chosen(HORNBEAM_FORMS(boost_table));
  return form;
}

const DistanceKernels& distance_kernels() {
  static const DistanceKernels& form = chosen(HORNBEAM_FORMS(distance_table));
  return form;
}

const predict::PredictKernels& predict::predict_kernels(InstructionSet at_most) {
  return chosen(HORNBEAM_FORMS(predict_table), at_most);
}

}  // namespace hornbeam
