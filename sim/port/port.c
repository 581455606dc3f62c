/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/port/port.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "sim/port/batch.h"
#include "sim/port/control.h"
#include "sim/port/packet.h"
#include "sim/port/window.h"

#define EVENTS_MAX 64

typedef struct Connection Connection;
typedef struct Thread Thread;

struct Connection {
        Connection *previous, *next; /* of its thread, or of those that have said nothing yet */
        int fd;
        time_t accepted_sec;
        Window window;
        Reach reach;
};

/* A ring of connections without beginning: removal needs no list. */
typedef struct ConnectionList {
        Connection head;
} ConnectionList;

struct Thread {
        Port *port;
        pthread_t id;
        bool started;
        int epoll_fd;
        pthread_mutex_t list_mutex;  /* acceptor adds, thread removes */
        ConnectionList connections;
        pthread_mutex_t still_mutex; /* held while a batch runs: whoever has all of them has the hall to himself */
        alignas(WireCommand) uint8_t packet[BATCH_PACKET_MAX + 1];
        alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
};

struct Port {
        Hall *hall;
        char *path;
        int listen_fd, epoll_fd, stop_fd;
        unsigned n_threads;
        Thread *threads;
        ConnectionList pending; /* the acceptor's own */
        atomic_size_t n_connections, n_window_bytes;
};

static void list_init(ConnectionList *list) {
        list->head.next = list->head.previous = &list->head;
}

static void list_add(ConnectionList *list, Connection *connection) {
        connection->next = &list->head;
        connection->previous = list->head.previous;
        connection->previous->next = connection->next->previous = connection;
}

static void list_remove(Connection *connection) {
        connection->previous->next = connection->next;
        connection->next->previous = connection->previous;
}

static int watch(int epoll_fd, int fd, void *data) {
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

        return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static time_t now_sec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        return now.tv_sec;
}

/* It is in no list any more. */
static void connection_free(Port *port, Connection *connection) {
        atomic_fetch_sub(&port->n_window_bytes, connection->window.n);
        atomic_fetch_sub(&port->n_connections, 1);
        window_done(&connection->window);
        (void) close_fd(connection->fd);
        free(connection);
}

/* ---- the threads ---- */

static void thread_drop(Thread *thread, Connection *connection) {
        (void) pthread_mutex_lock(&thread->list_mutex);
        list_remove(connection);
        (void) pthread_mutex_unlock(&thread->list_mutex);
        (void) pthread_mutex_lock(&thread->still_mutex);
        batch_close(&connection->reach);
        (void) pthread_mutex_unlock(&thread->still_mutex);
        connection_free(thread->port, connection);
}

static void hold_still(Port *port, int (*operation)(pthread_mutex_t *mutex)) {
        for (unsigned i = 0; i < port->n_threads; i++)
                (void) operation(&port->threads[i].still_mutex);
}

/*
 * Adapters send to each other across the whole hall, which other threads own the rest of. A batch that does so waits until no other one
 * runs: all take the mutexes in the same order, so nobody waits for one who waits for him; and what a batch needs is known before it
 * begins, so none is taken while another is held out of order. What it leads to depends on no thread: draws are hashes of the
 * sender's commands, clocks only move to the later of two times, and what arrives is queued in the order in which the
 * workers sent it.
 */
static ssize_t thread_run(Thread *thread, const Reach *reach, size_t n) {
        bool leaves = batch_leaves(reach, thread->packet, n);

        if (leaves)
                hold_still(thread->port, pthread_mutex_lock);
        else
                (void) pthread_mutex_lock(&thread->still_mutex);
        n = (size_t) batch_run(reach, thread->packet, n, thread->answer);
        if (leaves)
                hold_still(thread->port, pthread_mutex_unlock);
        else
                (void) pthread_mutex_unlock(&thread->still_mutex);
        return (ssize_t) n;
}

/* One packet. Returns false where the connection is over. */
static bool thread_serve(Thread *thread, Connection *connection) {
        ssize_t n;

        n = recv(connection->fd, thread->packet, sizeof(thread->packet), MSG_DONTWAIT);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        if (n == 0 || (size_t) n > BATCH_PACKET_MAX)
                return false;

        n = thread_run(thread, &connection->reach, (size_t) n);
        if (n <= 0)
                return n == 0;
        /* Who asks without reading the answers has no room for them: that is its end, not ours. */
        return packet_send(connection->fd, thread->answer, (size_t) n, -EBADF) == 0;
}

static void *thread_main(void *userdata) {
        struct epoll_event events[EVENTS_MAX];
        Thread *thread = userdata;

        for (;;) {
                int n = epoll_wait(thread->epoll_fd, events, EVENTS_MAX, -1);

                for (int i = 0; i < n; i++) {
                        if (!events[i].data.ptr)
                                return NULL; /* told to stop */
                        if (!thread_serve(thread, events[i].data.ptr))
                                thread_drop(thread, events[i].data.ptr);
                }
                if (n < 0 && errno != EINTR)
                        return NULL;
        }
}

static Thread *thread_of(Port *port, const Server *server) {
        return &port->threads[server->ultraserver->index % port->n_threads];
}

/* ---- the acceptor ---- */

/* Gives the connection its window and its thread. Negative: it must go, and is still the acceptor's. */
static int welcome(Port *port, Connection *connection, const WireHello *hello) {
        WireWelcome answer = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };
        Server *server = hall_server(port->hall, hello->server);
        Thread *thread;
        _cleanup_close_ int fd = -EBADF;

        if (hello->version != WIRE_VERSION || hello->window_bytes < WIRE_WINDOW_MIN ||
            hello->window_bytes > WIRE_WINDOW_MAX || hello->window_bytes % 4096 != 0)
                answer.status = EPROTO;
        else if (!server || (hello->chip >= CHIPS && hello->chip != WIRE_CHIP_ALL))
                answer.status = ENOENT;
        else if (atomic_load(&port->n_window_bytes) + hello->window_bytes > PORT_WINDOWS_MAX ||
                 window_init(&connection->window, hello->window_bytes, &fd) < 0)
                answer.status = ENOMEM;
        answer.window_bytes = (uint32_t) connection->window.n;
        atomic_fetch_add(&port->n_window_bytes, connection->window.n);
        if (packet_send(connection->fd, &answer, sizeof(answer), fd) < 0 || answer.status != 0)
                return -EPROTO;

        connection->reach = (Reach) { server, hello->chip, connection->window.bytes, connection->window.n };
        thread = thread_of(port, server);
        (void) epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
        list_remove(connection);
        (void) pthread_mutex_lock(&thread->list_mutex);
        list_add(&thread->connections, connection);
        (void) pthread_mutex_unlock(&thread->list_mutex);
        /* From here on it is the thread's, which may already have freed it when this returns. */
        if (watch(thread->epoll_fd, connection->fd, connection) < 0)
                thread_drop(thread, connection);
        return 0;
}

/* The first packet says what a connection is for. Returns false where it is over. */
static bool first_packet(Port *port, Connection *connection) {
        alignas(WireHello) uint8_t packet[sizeof(ControlHeader) + FAULT_TEXT_MAX + 1];
        WireHello hello;
        ssize_t n;

        n = recv(connection->fd, packet, sizeof(packet), MSG_DONTWAIT);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        memcpy(&hello, packet, sizeof(hello));
        if ((size_t) n == sizeof(hello) && hello.magic == WIRE_MAGIC &&
            memchr(hello.server, '\0', sizeof(hello.server)))
                return welcome(port, connection, &hello) == 0;

        hold_still(port, pthread_mutex_lock);
        (void) control_serve(port->hall, connection->fd, packet, (size_t) n);
        hold_still(port, pthread_mutex_unlock);
        return false;
}

static void pending_serve(Port *port, Connection *connection) {
        if (first_packet(port, connection))
                return;
        list_remove(connection);
        connection_free(port, connection);
}

static void accept_one(Port *port) {
        Connection *connection;
        int fd;

        fd = accept4(port->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
                /* Out of descriptors: the queue stays readable, so give the threads time to close some. */
                if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
                        (void) nanosleep(&(struct timespec) { .tv_nsec = 10000000 }, NULL);
                return;
        }
        connection = atomic_load(&port->n_connections) < PORT_CONNECTIONS_MAX ? calloc(1, sizeof(*connection)) : NULL;
        if (!connection) {
                (void) close_fd(fd);
                return;
        }
        atomic_fetch_add(&port->n_connections, 1);
        connection->fd = fd;
        connection->accepted_sec = now_sec();
        list_add(&port->pending, connection);
        if (watch(port->epoll_fd, fd, connection) < 0) {
                list_remove(connection);
                connection_free(port, connection);
                return;
        }
        pending_serve(port, connection); /* mostly it has already said what it wants */
}

/* Those that never said anything. */
static void expire(Port *port) {
        time_t limit = now_sec() - PORT_HELLO_SEC;
        Connection *next;

        for (Connection *c = port->pending.head.next; c != &port->pending.head; c = next) {
                next = c->next;
                if (c->accepted_sec < limit) {
                        list_remove(c);
                        connection_free(port, c);
                }
        }
}

int port_run(Port *port, int stop_fd) {
        struct epoll_event event;
        int r;

        r = watch(port->epoll_fd, stop_fd, &port->stop_fd);
        if (r < 0)
                return r;
        for (;;) {
                bool waiting = port->pending.head.next != &port->pending.head;
                /* One at a time: what it does may free the connection of another event. */
                int n = epoll_wait(port->epoll_fd, &event, 1, waiting ? 1000 : -1);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 1) {
                        if (event.data.ptr == &port->stop_fd)
                                return 0;
                        if (event.data.ptr == &port->listen_fd)
                                accept_one(port);
                        else
                                pending_serve(port, event.data.ptr);
                }
                if (waiting)
                        expire(port);
        }
}

/* ---- beginning and end ---- */

static int thread_start(Port *port, Thread *thread) {
        int r;

        thread->port = port;
        thread->epoll_fd = -EBADF;
        list_init(&thread->connections);
        (void) pthread_mutex_init(&thread->list_mutex, NULL);
        (void) pthread_mutex_init(&thread->still_mutex, NULL);
        thread->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (thread->epoll_fd < 0)
                return -errno;
        r = watch(thread->epoll_fd, port->stop_fd, NULL);
        if (r < 0)
                return r;
        r = -pthread_create(&thread->id, NULL, thread_main, thread);
        thread->started = r == 0;
        return r;
}

static unsigned threads_wanted(const Hall *hall, unsigned threads) {
        long n = threads > 0 ? (long) threads : sysconf(_SC_NPROCESSORS_ONLN);

        if (n < 1)
                n = 1;
        return (size_t) n > hall->n_ultraservers ? (unsigned) hall->n_ultraservers : (unsigned) n;
}

int port_new(Scenario *scenario, const char *path, unsigned mode, unsigned threads, Port **ret) {
        _cleanup_(port_freep) Port *port = NULL;
        int r;

        port = calloc(1, sizeof(*port));
        if (!port)
                return -ENOMEM;
        port->hall = scenario->hall;
        port->listen_fd = port->epoll_fd = port->stop_fd = -EBADF;
        list_init(&port->pending);
        port->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        port->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (port->epoll_fd < 0 || port->stop_fd < 0)
                return -errno;

        port->n_threads = threads_wanted(port->hall, threads);
        port->threads = aligned_alloc(alignof(Thread), port->n_threads * sizeof(*port->threads));
        if (!port->threads)
                return -ENOMEM;
        memset(port->threads, 0, port->n_threads * sizeof(*port->threads));
        for (unsigned i = 0; i < port->n_threads; i++) {
                r = thread_start(port, &port->threads[i]);
                if (r < 0)
                        return r;
        }

        port->listen_fd = packet_listen(path, mode);
        if (port->listen_fd < 0)
                return port->listen_fd;
        port->path = strdup(path);
        if (!port->path)
                return -ENOMEM;
        r = watch(port->epoll_fd, port->listen_fd, &port->listen_fd);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(port);
        return 0;
}

static void list_free(Port *port, ConnectionList *list) {
        while (list->head.next && list->head.next != &list->head) {
                Connection *connection = list->head.next;

                list_remove(connection);
                connection_free(port, connection);
        }
}

Port *port_free(Port *port) {
        if (!port)
                return NULL;
        if (port->path)
                (void) unlink(port->path);
        (void) close_fd(port->listen_fd);
        if (port->stop_fd >= 0)
                (void) eventfd_write(port->stop_fd, 1);
        for (unsigned i = 0; port->threads && i < port->n_threads; i++) {
                Thread *thread = &port->threads[i];

                if (!thread->port)
                        continue; /* never came so far */
                if (thread->started)
                        (void) pthread_join(thread->id, NULL);
                list_free(port, &thread->connections);
                (void) close_fd(thread->epoll_fd);
        }
        list_free(port, &port->pending);
        free(port->threads);
        (void) close_fd(port->stop_fd);
        (void) close_fd(port->epoll_fd);
        free(port->path);
        free(port);
        return NULL;
}
