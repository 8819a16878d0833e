/* The fast path of the proxy host: waits, and moves the bytes of flows that no fault touches, in one call.

   Python decides. It names the flows whose bytes may be moved here (`relay_begin`), takes them back (`relay_end`), and
   says in the counts of each link whether anything but passing bytes on is to be done (`clear`). Whatever is not a plain
   read followed by a plain write is handed back: an end, an error, a sink without room, and every event of a socket that
   is not known here. What a person reads as evidence is counted here exactly as flow.py counts it.

   Waiting is level-triggered, so that events which are not looked at in one round are told again in the next: a call may
   return at any point and loses nothing.

   The layout of `counts` is that of link.py, that of `event` that of relay.py. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 256
#define PIECE ((size_t)256 * 1024)
#define LARGE ((size_t)16 * 1024) /* from here on moving pages is cheaper than copying bytes */
#define PIPE ((size_t)1024 * 1024)
#define MOST_DESCRIPTORS (1 << 20)
#define SECOND UINT64_C(1000000000)
#define TURN_NS (SECOND / 100) /* then timers and signals of the host have their turn, whatever flows */

struct counts {
  uint64_t received_bytes, delivered_bytes, transit_ns, transits;
  uint64_t clear; /* the link has no fault */
};

/* What a flow needs, at the number of its source. A number is given to another socket once it is closed: `age` counts
   that, and a flow whose sink has another age than when it began has no sink any more. */
struct way {
  struct counts *counts; /* null: bytes that come here are not moved by us */
  int sink;
  uint32_t sink_age;
  uint32_t age;
  uint32_t large; /* the last piece was */
};

enum outcome { PASSED_ON = -1, READY = 0, REST = 1, SOURCE_BROKE = 2, SINK_BROKE = 3 };

struct event {
  int32_t descriptor;
  uint32_t events;
  int32_t outcome;
  uint32_t rest; /* bytes of the buffer that were read and not written */
  uint32_t rest_at;
};

struct relay {
  int queue;
  int out, in; /* of the pipe through which pages move; -1 where there is none */
  struct way *ways;
  size_t known;
  struct epoll_event ready[AT_ONCE];
  char buffer[PIPE];
};

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

struct relay *relay_new(int queue) {
  struct relay *relay = calloc(1, sizeof *relay);
  int ends[2];
  if (relay == NULL) return NULL;
  relay->queue = queue;
  relay->out = relay->in = -1;
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
    relay->out = ends[0];
    relay->in = ends[1];
    fcntl(relay->in, F_SETPIPE_SZ, PIPE);
  }
  return relay;
}

static void close_pipe(struct relay *relay) {
  if (relay->out >= 0) {
    close(relay->out);
    close(relay->in);
  }
  relay->out = relay->in = -1;
}

void relay_free(struct relay *relay) {
  close_pipe(relay);
  free(relay->ways);
  free(relay);
}

const char *relay_buffer(const struct relay *relay) { return relay->buffer; }

static int know(struct relay *relay, int descriptor) {
  size_t wanted = relay->known ? relay->known : 1024;
  if (descriptor < 0 || descriptor >= MOST_DESCRIPTORS) return 0;
  while (wanted <= (size_t)descriptor) wanted *= 2;
  if (wanted != relay->known) {
    struct way *more = realloc(relay->ways, wanted * sizeof *more);
    if (more == NULL) return 0;
    for (size_t i = relay->known; i < wanted; i++) more[i] = (struct way){0};
    relay->ways = more;
    relay->known = wanted;
  }
  return 1;
}

static struct way *way_of(struct relay *relay, int descriptor) {
  return descriptor >= 0 && (size_t)descriptor < relay->known ? &relay->ways[descriptor] : NULL;
}

/* Move what comes from `source` to `sink` from now on; 0 where that cannot be, and Python has to. */
int relay_begin(struct relay *relay, int source, int sink, struct counts *counts) {
  struct way *way;
  if (counts == NULL || !know(relay, source) || !know(relay, sink)) return 0;
  way = &relay->ways[source];
  way->counts = counts;
  way->sink = sink;
  way->sink_age = relay->ways[sink].age;
  way->large = 0;
  return 1;
}

/* Leave what comes from `source` to Python again. */
void relay_end(struct relay *relay, int source) {
  struct way *way = way_of(relay, source);
  if (way != NULL) way->counts = NULL;
}

/* The socket is about to be closed: nothing is read from its number, nor sent to it, until a flow begins there anew. */
void relay_forget(struct relay *relay, int descriptor) {
  struct way *way = way_of(relay, descriptor);
  if (way == NULL) return;
  way->counts = NULL;
  way->age++;
}

static enum outcome pass_on(struct relay *relay, struct way *way, int source, struct event *told) {
  struct counts *counts = way->counts;
  ssize_t size = recv(source, relay->buffer, PIECE, MSG_DONTWAIT), sent;
  uint64_t began;
  if (size < 0) return errno == EAGAIN || errno == EINTR ? PASSED_ON : SOURCE_BROKE;
  if (size == 0) return READY; /* the end is read again by Python, as often as it likes */
  counts->received_bytes += (uint64_t)size;
  way->large = relay->out >= 0 && (size_t)size >= LARGE;
  began = now_ns();
  sent = send(way->sink, relay->buffer, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) return SINK_BROKE;
    sent = 0;
  }
  counts->delivered_bytes += (uint64_t)sent;
  counts->transit_ns += now_ns() - began;
  counts->transits++;
  if (sent == size) return PASSED_ON;
  told->rest_at = (uint32_t)sent;
  told->rest = (uint32_t)(size - sent);
  return REST;
}

/* As `pass_on`, for a large piece: by way of the pipe, which is empty before and after. */
static enum outcome pass_on_pages(struct relay *relay, struct way *way, int source, struct event *told) {
  struct counts *counts = way->counts;
  uint64_t began = now_ns();
  ssize_t size = splice(source, NULL, relay->in, NULL, PIPE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK), sent;
  size_t rest = 0, left;
  int broke = 0;
  if (size < 0 && errno != EAGAIN && errno != EINTR && errno != EINVAL) return SOURCE_BROKE; /* it is told once only */
  if (size <= 0) return pass_on(relay, way, source, told);
  counts->received_bytes += (uint64_t)size;
  way->large = (size_t)size >= LARGE;
  sent = splice(relay->out, NULL, way->sink, NULL, (size_t)size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (sent < 0) {
    broke = errno != EAGAIN && errno != EINTR;
    sent = 0;
  }
  left = (size_t)(size - sent);
  while (rest < left) {
    ssize_t took = read(relay->out, relay->buffer + rest, left - rest);
    if (took < 0 && errno == EINTR) continue;
    if (took <= 0) { /* cannot be; a byte that is lost must not look like one that was delivered */
      close_pipe(relay);
      broke = 1;
      break;
    }
    rest += (size_t)took;
  }
  counts->delivered_bytes += (uint64_t)sent;
  counts->transit_ns += now_ns() - began;
  counts->transits++;
  if (broke) return SINK_BROKE;
  if (rest == 0) return PASSED_ON;
  told->rest_at = 0;
  told->rest = (uint32_t)rest;
  return REST;
}

static int moves(struct relay *relay, const struct way *way) {
  return way != NULL && way->counts != NULL && way->counts->clear && relay->ways[way->sink].age == way->sink_age;
}

/* Wait, and move what may be moved, until Python has something to do or so long has passed; how many events it has to
   look at, or -errno. `events` has room for AT_ONCE. At most one of them has a rest, the last one: the buffer is its. */
int relay_wait(struct relay *relay, int wait_ms, struct event *events) {
  uint64_t began = now_ns(), until = began + (uint64_t)(wait_ms > 0 ? wait_ms : 0) * (SECOND / 1000);
  int count = epoll_wait(relay->queue, relay->ready, AT_ONCE, wait_ms > 0 ? wait_ms : 0), told = 0;
  for (;;) {
    uint64_t now;
    if (count <= 0) return count == 0 || errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
      int descriptor = relay->ready[i].data.fd;
      struct way *way = way_of(relay, descriptor);
      struct event *event = &events[told];
      *event = (struct event){descriptor, relay->ready[i].events, READY, 0, 0};
      if (event->events == EPOLLIN && moves(relay, way))
        event->outcome = way->large && relay->out >= 0 ? pass_on_pages(relay, way, descriptor, event)
                                                       : pass_on(relay, way, descriptor, event);
      if (event->outcome == PASSED_ON) continue;
      told++;
      if (event->outcome == REST) break;
    }
    now = now_ns();
    if (told || now >= until || now - began >= TURN_NS) return told;
    count = epoll_wait(relay->queue, relay->ready, AT_ONCE, (int)((until - now + SECOND / 1000 - 1) / (SECOND / 1000)));
  }
}
