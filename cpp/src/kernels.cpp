#include "hornbeam/kernels.h"

#include <cstdlib>
#include <string_view>

#include "hornbeam/platform.h"

namespace hornbeam {

namespace baseline {
extern const Kernels table;
}
#if defined(HORNBEAM_X86)
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

namespace {

const Kernels& choose() {
#if defined(HORNBEAM_X86)
  InstructionSet set = best_instruction_set();
  // For tests and measurements: HORNBEAM_INSTRUCTIONS=baseline or avx2 keeps to a smaller set.
  if (const char* wish = std::getenv("HORNBEAM_INSTRUCTIONS"); wish != nullptr) {
    if (std::string_view(wish) == "baseline") set = InstructionSet::kBaseline;
    if (std::string_view(wish) == "avx2" && set == InstructionSet::kAvx512) set = InstructionSet::kAvx2;
  }
  if (set == InstructionSet::kAvx512) return avx512::table;
  if (set == InstructionSet::kAvx2) return avx2::table;
#endif
  return baseline::table;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace hornbeam
