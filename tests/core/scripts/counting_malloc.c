/* Counts what a process asks of the allocator: loaded before everything else, it stands in front of glibc's. */
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_size_t n_requests;

size_t requests_so_far(void) { return atomic_load(&n_requests); }

void *malloc(size_t size) {
  atomic_fetch_add(&n_requests, 1);
  return __libc_malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&n_requests, 1);
  return __libc_memalign(alignment, size);
}
