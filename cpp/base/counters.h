// Where threads spend their time, for developers: a core built with the option HORNBEAM_COUNTERS measures it and
// prints one line of JSON per thread when the process ends. In other builds all of this compiles to nothing.
#pragma once

#include <cstddef>

namespace hornbeam {

#ifdef HORNBEAM_COUNTERS

// Counts the time of this thread from here to the end of the scope as that of an activity; scopes may be nested, and
// time counts for the innermost.
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

// A constant of the engine that an environment variable may replace, to try values without building anew.
std::size_t tuned(const char* variable, std::size_t constant);

#else

struct Timed {
  explicit Timed(const char* /*activity*/) {}
  ~Timed() {}  // keeps compilers from warning of an unused variable
};
inline void tally(const char* /*what*/, double /*amount*/) {}
constexpr std::size_t tuned(const char* /*variable*/, std::size_t constant) {
  return constant;
}

#endif

}  // namespace hornbeam
