// Refuses the core one request for memory, or that and all that follow: loaded before everything else.
//
// Counted is what hornbeam's core asks for while it works, that is without Python's lock, and only while `refuse` is
// in force. Everybody else gets what they ask for: with the lock held it is mostly nanobind, which ends the process
// if it cannot note down an object.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

std::atomic<std::uintptr_t> core_begin{0}, core_end{0};
std::atomic<long> n_asked{-1};  // -1: nobody counts
std::atomic<long> first_refused{-1};
std::atomic<bool> all_from_there{false};

int (*has_lock)() = nullptr;

int find_core(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "hornbeam/_core") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    core_begin = info->dlpi_addr + part.p_vaddr;
    core_end = info->dlpi_addr + part.p_vaddr + part.p_memsz;
  }
  return 1;
}

bool is_refused(const void* caller) {
  if (n_asked.load(std::memory_order_relaxed) < 0) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  if (at < core_begin || at >= core_end || has_lock() != 0) return false;
  const long number = n_asked.fetch_add(1);
  const long first = first_refused;
  return first >= 0 && (number == first || (number > first && all_from_there));
}

void* given(size_t bytes, size_t alignment, const void* caller) {
  if (is_refused(caller)) return nullptr;
  return alignment == 0 ? __libc_malloc(bytes == 0 ? 1 : bytes) : __libc_memalign(alignment, bytes);
}

void* given_or_thrown(size_t bytes, size_t alignment, const void* caller) {
  void* memory = given(bytes, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Counts from now on; the request with this number, from 0 on, is refused. -1: none is.
extern "C" void refuse(long number, bool and_all_others) {
  has_lock = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  if (core_begin == 0 && has_lock != nullptr) dl_iterate_phdr(find_core, nullptr);
  first_refused = number;
  all_from_there = and_all_others;
  n_asked = 0;
}

// Ends the counting; how many requests there were. -1 if the core was not found.
extern "C" long requests() {
  return core_begin == 0 ? -1 : n_asked.exchange(-1);
}

#define CALLER __builtin_return_address(0)
void* operator new(size_t n) {
  return given_or_thrown(n, 0, CALLER);
}
void* operator new[](size_t n) {
  return given_or_thrown(n, 0, CALLER);
}
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return given(n, 0, CALLER);
}
void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return given(n, 0, CALLER);
}
void* operator new(size_t n, std::align_val_t a) {
  return given_or_thrown(n, static_cast<size_t>(a), CALLER);
}
void* operator new[](size_t n, std::align_val_t a) {
  return given_or_thrown(n, static_cast<size_t>(a), CALLER);
}
void operator delete(void* p) noexcept {
  __libc_free(p);
}
void operator delete[](void* p) noexcept {
  __libc_free(p);
}
void operator delete(void* p, size_t) noexcept {
  __libc_free(p);
}
void operator delete[](void* p, size_t) noexcept {
  __libc_free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  __libc_free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  __libc_free(p);
}
void operator delete(void* p, size_t, std::align_val_t) noexcept {
  __libc_free(p);
}
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  __libc_free(p);
}
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  return given(bytes, alignment, CALLER);
}
extern "C" void* mmap(void* where, size_t bytes, int protection, int flags, int file, off_t offset) {
  static auto* const next = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
  if (is_refused(CALLER)) return MAP_FAILED;
  return next(where, bytes, protection, flags, file, offset);
}
