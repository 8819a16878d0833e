/* The preload shim of files: inside a node's process, it makes writes into and syncs of the files below the node's data
   directory fail or wait.

   What it has to do stands in a page that it shares with refute (a file, mapped; REFUTE_FILE_CALLS_PAGE names it), so that
   a fault is switched on and off while the node runs. It counts, for each process and each call, what it has struck.
   Descriptors of anything else (sockets, pipes, logs elsewhere) are left alone, and so is everything while no fault is on.

   The layout of the page is that of file_calls_page.py; a change here is a change there, and of MAGIC. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x3130636966666572) /* "reffic01" as bytes */
#define SETTINGS 2
#define HELD 256
#define SLOTS 1024
#define SECOND INT64_C(1000000000)
#define LONGEST_SLEEP (SECOND / 2) /* a healed fault lets go within this time */

enum call { WRITE, PWRITE, WRITEV, PWRITEV, FSYNC, FDATASYNC, SYNC_FILE_RANGE, MSYNC, CALLS };

/* The calls in the mask `calls` fail with `error`, each `every`th of a thread from its first on; where it is 0 they wait
   for `delay` ns first, and are then done. */
struct setting {
  uint32_t on, calls, every;
  int32_t error;
  int64_t delay;
};

struct slot {
  _Atomic uint32_t pid;
  uint32_t unused;
  _Atomic uint64_t struck[CALLS]; /* calls that failed or waited */
  _Atomic uint64_t spared;        /* calls on the same files that were let through while a fault was on */
};

struct page {
  uint64_t magic;
  _Atomic uint8_t turn;
  uint8_t unused[7];
  struct setting settings[SETTINGS];
  _Atomic uint32_t held[HELD]; /* the threads that wait now */
  char directory[PATH_MAX];    /* the data directory, as the node names it; absolute */
  struct slot slots[SLOTS];
};

#include "shared_page.h"

typedef ssize_t (*write_function)(int, const void *, size_t);

static _Atomic(write_function) true_write;
static __thread uint64_t seen; /* calls of this thread under the setting of `under` */
static __thread uint8_t under;

__attribute__((constructor)) static void at_load(void) {
  int saved = errno;
  atomic_store(&true_write, (write_function)dlsym(RTLD_NEXT, "write"));
  map_page("REFUTE_FILE_CALLS_PAGE");
  errno = saved;
}

/* -- whose file it is --------------------------------------------------------------------------------------------------

   By the kernel's own name of an open file, so that neither links nor relative paths matter. No memory is allocated: a
   signal handler may write. */

static int name_of(int file, char into[PATH_MAX]) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, into, PATH_MAX - 1);
  if (length < 0) return 0;
  into[length] = '\0';
  return 1;
}

static int below_the_data_directory(const char *path) {
  char directory[PATH_MAX];
  int file = (int)syscall(SYS_openat, AT_FDCWD, page->directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) return 0;
  int named = name_of(file, directory);
  syscall(SYS_close, file);
  size_t length = named ? strlen(directory) : 0;
  return length > 1 && !strncmp(path, directory, length) && (path[length] == '/' || path[length] == '\0');
}

static int file_is_ours(int file) {
  char path[PATH_MAX];
  struct stat status;
  if (fstat(file, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
  return name_of(file, path) && below_the_data_directory(path);
}

/* Whether a line of /proc/self/maps, such as `7f00-7f01 rw-s 00000000 fe:00 123   /data/file`, is of a file of ours that
   is mapped at this address. */
static int line_is_ours(const char *line, uintptr_t address) {
  char *rest;
  uintptr_t begin = strtoul(line, &rest, 16);
  if (*rest != '-' || address < begin || address >= strtoul(rest + 1, &rest, 16)) return 0;
  const char *path = strchr(rest, '/');
  return path && below_the_data_directory(path);
}

static int mapping_is_ours(const void *address) {
  char line[PATH_MAX + 128], read_in[512];
  size_t length = 0;
  ssize_t got;
  int ours = 0, file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return 0;
  while (!ours && (got = syscall(SYS_read, file, read_in, sizeof read_in)) > 0)
    for (ssize_t at = 0; at < got && !ours; at++) {
      if (read_in[at] != '\n') {
        if (length < sizeof line - 1) line[length++] = read_in[at];
        continue;
      }
      line[length] = '\0';
      length = 0;
      ours = line_is_ours(line, (uintptr_t)address);
    }
  syscall(SYS_close, file);
  return ours;
}

/* -- what is done to a call -------------------------------------------------------------------------------------------- */

static void sleep_for(int64_t ns) {
  struct timespec left = {ns / SECOND, ns % SECOND};
  while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, &left) && errno == EINTR) continue;
}

/* Sleeps under its name in the page: refute asks the kernel whether this thread really stands still. */
static void hold(int64_t delay, uint8_t turn) {
  uint32_t me = (uint32_t)syscall(SYS_gettid);
  _Atomic uint32_t *entry = NULL;
  for (int place = 0; place < HELD && !entry; place++) {
    uint32_t nobody = 0;
    if (atomic_compare_exchange_strong(&page->held[place], &nobody, me)) entry = &page->held[place];
  }
  for (int64_t left = delay; left > 0 && atomic_load(&page->turn) == turn; left -= LONGEST_SLEEP)
    sleep_for(left < LONGEST_SLEEP ? left : LONGEST_SLEEP);
  if (entry) atomic_store(entry, 0);
}

/* Whether the call has to fail, with errno set; a call that has to wait has done so. `address` is for MSYNC only. */
static int struck(enum call call, int file, const void *address) {
  if (!page) return 0;
  uint8_t turn;
  struct setting now = setting_now(&turn);
  if (!now.on || !(now.calls & (1u << call))) return 0;
  int saved = errno;
  int ours = call == MSYNC ? mapping_is_ours(address) : file_is_ours(file);
  errno = saved;
  if (!ours) return 0;
  if (under != turn) seen = 0;
  under = turn;
  struct slot *slot = own_slot();
  if (seen++ % now.every) {
    atomic_fetch_add_explicit(&slot->spared, 1, memory_order_relaxed);
    return 0;
  }
  atomic_fetch_add_explicit(&slot->struck[call], 1, memory_order_relaxed);
  if (!now.error) hold(now.delay, turn);
  errno = now.error ? now.error : saved;
  return now.error != 0;
}

/* -- what is asked of the C library ------------------------------------------------------------------------------------ */

/* The next `write` is looked up when the library is loaded, the others at their first call: looking up may allocate, and an
   allocator may write. Until then the kernel is asked directly. */
ssize_t write(int file, const void *data, size_t size) {
  if (struck(WRITE, file, NULL)) return -1;
  write_function pass = atomic_load_explicit(&true_write, memory_order_relaxed);
  return pass ? pass(file, data, size) : syscall(SYS_write, file, data, size);
}

#define PASSED_ON(result, name, call, file, address, parameters, arguments) \
  result name parameters {                                                  \
    static _Atomic(void *) next;                                            \
    if (struck(call, file, address)) return -1;                             \
    if (!next) next = dlsym(RTLD_NEXT, #name);                              \
    result(*pass) parameters = (result(*) parameters)atomic_load(&next);    \
    if (pass) return pass arguments;                                        \
    errno = ENOSYS;                                                         \
    return -1;                                                              \
  }

#define VECTORS int file, const struct iovec *vectors, int count

PASSED_ON(ssize_t, pwrite, PWRITE, file, NULL, (int file, const void *data, size_t size, off_t at), (file, data, size, at))
PASSED_ON(ssize_t, pwrite64, PWRITE, file, NULL, (int file, const void *data, size_t size, off64_t at), (file, data, size, at))
PASSED_ON(ssize_t, writev, WRITEV, file, NULL, (VECTORS), (file, vectors, count))
PASSED_ON(ssize_t, pwritev, PWRITEV, file, NULL, (VECTORS, off_t at), (file, vectors, count, at))
PASSED_ON(ssize_t, pwritev64, PWRITEV, file, NULL, (VECTORS, off64_t at), (file, vectors, count, at))
PASSED_ON(ssize_t, pwritev2, PWRITEV, file, NULL, (VECTORS, off_t at, int flags), (file, vectors, count, at, flags))
PASSED_ON(ssize_t, pwritev64v2, PWRITEV, file, NULL, (VECTORS, off64_t at, int flags), (file, vectors, count, at, flags))
PASSED_ON(int, fsync, FSYNC, file, NULL, (int file), (file))
PASSED_ON(int, fdatasync, FDATASYNC, file, NULL, (int file), (file))
PASSED_ON(int, sync_file_range, SYNC_FILE_RANGE, file, NULL, (int file, off64_t at, off64_t size, unsigned int flags),
          (file, at, size, flags))
PASSED_ON(int, msync, MSYNC, -1, address, (void *address, size_t size, int flags), (address, size, flags))
