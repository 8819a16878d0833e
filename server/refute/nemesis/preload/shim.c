/* The preload shim: inside a node's process, it changes what the C library says about the wall clock.

   What it has to do stands in a page that it shares with refute (a file, mapped; REFUTE_SHIM_PAGE names it), so that a
   fault is switched on and off while the node runs. It counts what it did there, for each process: a process that never
   asked the C library for the time has no count, and then nothing has landed.

   The layout of the page is that of page.py; a change here is a change there, and of MAGIC. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x3130656d69666572) /* "refime01" as bytes */
#define SETTINGS 2
#define SLOTS 1024
#define SECOND INT64_C(1000000000)

/* At the true time `since` the clock said `said`, and from then on runs at `rate` billionths of the true speed. */
struct setting {
  int64_t since, said, rate, on;
};

struct slot {
  _Atomic uint32_t pid;
  uint32_t unused;
  _Atomic uint64_t asked;   /* how often the process asked for the wall clock */
  _Atomic uint64_t altered; /* how often it was told something else than the truth */
  uint64_t reserved;
};

struct page {
  uint64_t magic;
  _Atomic uint8_t turn;
  uint8_t unused[7];
  struct setting settings[SETTINGS];
  uint8_t reserved[48];
  struct slot slots[SLOTS];
};

#include "shared_page.h"

typedef int (*clock_function)(clockid_t, struct timespec *);

static _Atomic(clock_function) true_clock;

/* Until the constructor has run, and where there is nothing to be found, the kernel is asked directly: looking a symbol up
   may allocate, an allocator may ask for the time, and that would be for ever. */
static int truth(clockid_t which, struct timespec *into) {
  clock_function ask = atomic_load_explicit(&true_clock, memory_order_relaxed);
  return ask ? ask(which, into) : (int)syscall(SYS_clock_gettime, which, into);
}

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec as_timespec(int64_t ns) {
  struct timespec time = {ns / SECOND, ns % SECOND};
  if (time.tv_nsec < 0) time = (struct timespec){time.tv_sec - 1, time.tv_nsec + SECOND};
  return time;
}

/* The wall clock as this process is to see it; `into` is left alone where it is to see the truth. */
static void alter(struct timespec *into) {
  if (!page) return;
  struct slot *slot = own_slot();
  atomic_fetch_add_explicit(&slot->asked, 1, memory_order_relaxed);
  uint8_t turn;
  struct setting now = setting_now(&turn);
  if (!now.on) return;
  __int128 passed = (__int128)(nanoseconds(into) - now.since) * now.rate / SECOND;
  *into = as_timespec(now.said + (int64_t)passed);
  atomic_fetch_add_explicit(&slot->altered, 1, memory_order_relaxed);
}

/* The true moment at which this process's clock will show `deadline`; a frozen clock is taken to go on from now. */
static struct timespec true_moment(const struct timespec *deadline) {
  if (!page) return *deadline;
  uint8_t turn;
  struct setting now = setting_now(&turn);
  if (!now.on) return *deadline;
  if (now.rate == 0) {
    struct timespec true_now;
    truth(CLOCK_REALTIME, &true_now);
    return as_timespec(nanoseconds(&true_now) + nanoseconds(deadline) - now.said);
  }
  __int128 until = (__int128)(nanoseconds(deadline) - now.said) * SECOND / now.rate;
  return as_timespec(now.since + (int64_t)until);
}

__attribute__((constructor)) static void at_load(void) {
  int saved = errno;
  atomic_store(&true_clock, (clock_function)dlsym(RTLD_NEXT, "clock_gettime"));
  map_page("REFUTE_SHIM_PAGE");
  errno = saved;
}

/* -- what is asked of the C library ------------------------------------------------------------------------------------

   CLOCK_MONOTONIC and CLOCK_BOOTTIME stay true: they may never go back, and a heal would have to set them back. */

int clock_gettime(clockid_t which, struct timespec *into) {
  int result = truth(which, into);
  if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) alter(into);
  return result;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
  struct timespec now;
  if (zone) memset(zone, 0, sizeof(struct timezone));
  if (!into) return 0;
  if (truth(CLOCK_REALTIME, &now)) return -1;
  alter(&now);
  *into = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *into) {
  struct timespec now;
  if (truth(CLOCK_REALTIME, &now)) return -1;
  alter(&now);
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}

int timespec_get(struct timespec *into, int base) {
  if (base != TIME_UTC || truth(CLOCK_REALTIME, into)) return 0;
  alter(into);
  return base;
}

/* -- waits until a moment of the wall clock ----------------------------------------------------------------------------

   The caller has made its deadline from the altered clock; the kernel waits by the true one. Times before 1986 are of a
   condition that was set to the monotonic clock, which is counted from the start of the machine. */

#define OF_A_WALL_CLOCK(deadline) ((deadline)->tv_sec > 500000000)

static void *next_of(const char *name) {
  static const char *const versions[] = {"GLIBC_2.3.2", "GLIBC_2.17", NULL}; /* the oldest of a name may be another */
  for (int each = 0; versions[each]; each++) {
    void *found = dlvsym(RTLD_NEXT, name, versions[each]);
    if (found) return found;
  }
  return dlsym(RTLD_NEXT, name);
}

#define WAIT_UNTIL(name, thing, failed)                                \
  int name(thing, const struct timespec *restrict deadline) {          \
    static _Atomic(void *) next;                                       \
    if (!next) next = next_of(#name);                                  \
    if (!next) { failed; }                                             \
    int (*call)(thing, const struct timespec *) = atomic_load(&next);  \
    if (!OF_A_WALL_CLOCK(deadline)) return call(waited, deadline);     \
    struct timespec moment = true_moment(deadline);                    \
    return call(waited, &moment);                                      \
  }

WAIT_UNTIL(sem_timedwait, sem_t *restrict waited, errno = ENOSYS; return -1)
WAIT_UNTIL(pthread_mutex_timedlock, pthread_mutex_t *restrict waited, return ENOSYS)

int pthread_cond_timedwait(pthread_cond_t *restrict waited, pthread_mutex_t *restrict lock,
                           const struct timespec *restrict deadline) {
  static _Atomic(void *) next;
  if (!next) next = next_of("pthread_cond_timedwait");
  if (!next) return ENOSYS;
  int (*call)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = atomic_load(&next);
  if (!OF_A_WALL_CLOCK(deadline)) return call(waited, lock, deadline);
  struct timespec moment = true_moment(deadline);
  return call(waited, lock, &moment);
}

int clock_nanosleep(clockid_t which, int flags, const struct timespec *request, struct timespec *left) {
  static _Atomic(void *) next;
  if (!next) next = next_of("clock_nanosleep");
  if (!next) return ENOSYS;
  int (*call)(clockid_t, int, const struct timespec *, struct timespec *) = atomic_load(&next);
  if (which != CLOCK_REALTIME || !(flags & TIMER_ABSTIME)) return call(which, flags, request, left);
  struct timespec moment = true_moment(request);
  return call(which, flags, &moment, left);
}
