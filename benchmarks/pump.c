/* The least that a TCP proxy in user space can do: one thread, epoll, a read and a write a piece; no counters,
 * no faults. What it reaches is what the kernel leaves to any such proxy on this machine.
 *
 *     pump TARGET_PORT    prints the port that it listens at; both on 127.0.0.1
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 65536, AT_ONCE = 256 };
static int peer[MOST];
static char buffer[256 * 1024];

static void watch(int queue, int fd, int other) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    peer[fd] = other;
    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
}

static void pass_on(int fd) {
    int other = peer[fd];
    ssize_t size = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT), sent = 0;
    while (sent < size) {
        ssize_t now = send(other, buffer + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (now < 0) {
            struct pollfd room = {.fd = other, .events = POLLOUT};
            if (poll(&room, 1, 1000) <= 0 || room.revents & (POLLERR | POLLHUP)) {
                size = 0;
                break;
            }
            continue;
        }
        sent += now;
    }
    if (size <= 0) { /* the other side is told, and its own end comes back here for it to be closed */
        shutdown(other, SHUT_RDWR);
        close(fd);
        if (peer[other] == fd) peer[other] = other;
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, there = here;
    struct epoll_event ready[AT_ONCE];
    socklen_t length = sizeof here;
    int queue = epoll_create1(0), listening = socket(AF_INET, SOCK_STREAM, 0);
    there.sin_port = htons(atoi(argv[1]));
    bind(listening, (struct sockaddr *)&here, sizeof here);
    listen(listening, 1024);
    getsockname(listening, (struct sockaddr *)&here, &length);
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    watch(queue, listening, -1);
    for (;;) {
        int count = epoll_wait(queue, ready, AT_ONCE, -1);
        for (int i = 0; i < count; i++) {
            if (ready[i].data.fd != listening) { pass_on(ready[i].data.fd); continue; }
            int near = accept(listening, 0, 0), far = socket(AF_INET, SOCK_STREAM, 0);
            connect(far, (struct sockaddr *)&there, sizeof there);
            watch(queue, near, far);
            watch(queue, far, near);
        }
    }
}
