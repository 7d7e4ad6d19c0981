#include "base/counters.h"

#ifdef HORNBEAM_COUNTERS

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hornbeam {

namespace {

using Clock = std::chrono::steady_clock;

struct Thread {
  std::map<const char*, double> seconds;  // by the address of a literal; added up by its text when printed
  std::map<const char*, double> amounts;
  const char* activity = nullptr;
  Clock::time_point since = Clock::now();

  void turn_to(const char* next) {
    const Clock::time_point now = Clock::now();
    if (activity != nullptr) seconds[activity] += std::chrono::duration<double>(now - since).count();
    activity = next;
    since = now;
  }
};

std::mutex all_mutex;
std::vector<Thread*>& all_threads() {
  static auto* threads = new std::vector<Thread*>;  // read at the very end
  return *threads;
}

void print_object(const char* title, const std::map<const char*, double>& numbers) {
  std::map<std::string, double> by_name;
  for (const auto& [name, number] : numbers) by_name[name] += number;
  std::fprintf(stderr, "\"%s\": {", title);
  const char* comma = "";
  for (const auto& [name, number] : by_name) {
    std::fprintf(stderr, "%s\"%s\": %.6f", comma, name.c_str(), number);
    comma = ", ";
  }
  std::fprintf(stderr, "}");
}

void print_all() {
  const std::lock_guard lock(all_mutex);
  for (std::size_t i = 0; i < all_threads().size(); ++i) {
    std::fprintf(stderr, "HORNBEAM_COUNTERS {\"thread\": %zu, ", i);
    print_object("seconds", all_threads()[i]->seconds);
    std::fprintf(stderr, ", ");
    print_object("amounts", all_threads()[i]->amounts);
    std::fprintf(stderr, "}\n");
  }
}

Thread& this_thread() {
  static thread_local Thread* own = [] {
    const std::lock_guard lock(all_mutex);
    if (all_threads().empty()) std::atexit(print_all);
    all_threads().push_back(new Thread);
    return all_threads().back();
  }();
  return *own;
}

}  // namespace

Timed::Timed(const char* activity) : outer_(this_thread().activity) {
  this_thread().turn_to(activity);
}

Timed::~Timed() {
  this_thread().turn_to(outer_);
}

void tally(const char* what, double amount) {
  this_thread().amounts[what] += amount;
}

std::size_t tuned(const char* variable, std::size_t constant) {
  const char* text = std::getenv(variable);
  return text == nullptr ? constant : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

}  // namespace hornbeam

#endif
