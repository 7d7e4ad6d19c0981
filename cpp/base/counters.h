// Where threads spend their time, for whoever works on that: a core built with the option HORNBEAM_COUNTERS
// counts it, and prints one line of JSON per thread when the process ends. Otherwise nothing of it is compiled.
#pragma once

#include <cstddef>

namespace hornbeam {

#ifdef HORNBEAM_COUNTERS

// An activity of this thread, from here to the end of the scope. Time belongs to the innermost one.
class Timed {
 public:
  explicit Timed(const char* activity);
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const char* outer_;
};

// Adds to a number of this thread.
void tally(const char* what, double amount);

// A constant of the engine, or what a variable of the environment says instead: to try several without a build.
std::size_t tuned(const char* variable, std::size_t constant);

#else

struct Timed {
  explicit Timed(const char* /*activity*/) {}
  ~Timed() {}  // so that nobody warns of a variable that is not used
};
inline void tally(const char* /*what*/, double /*amount*/) {}
constexpr std::size_t tuned(const char* /*variable*/, std::size_t constant) {
  return constant;
}

#endif

}  // namespace hornbeam
