/* SPDX-License-Identifier: Apache-2.0 */

/* WorkerConnection: see worker-connection.h. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "daemon/journal.h"
#include "daemon/worker-connection.h"

/* One slice is what is read before other clients of the event loop have their turn; a line always fits. */
#define BUFFER_BYTES (64u << 10)

struct WorkerConnection {
        int fd;
        pid_t pid; /* 0: not ours */
        sd_event_source *io;
        sd_event_source *exit;
        char *header;
        size_t n_header, n_sent;
        WorkerBytes bytes;
        WorkerGone gone;
        void *userdata;
        size_t n_buffer;
        char buffer[BUFFER_BYTES];
};

static int connect_socket(const char *path, int *ret_fd) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path) + 1);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;

        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* A new environment: neither the notify socket nor the credentials of the daemon travel. */
static int spawn(const char *program, int fd, pid_t *ret_pid) {
        static const char *const kept[] = { "PATH", "LANG", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS" };
        char *const argv[] = { (char *) program, NULL }; /* no options: it is asked over its stdin */
        char values[ELEMENTS(kept)][512], *environment[ELEMENTS(kept) + 1] = {};
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;
        size_t n = 0;
        int r;

        for (size_t i = 0; i < ELEMENTS(kept); i++) {
                const char *value = getenv(kept[i]);

                if (value && (size_t) snprintf(values[n], sizeof(values[n]), "%s=%s", kept[i], value) <
                                             sizeof(values[n]))
                        environment[n] = values[n], n++;
        }

        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attributes) != 0) {
                (void) posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }

        (void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        (void) posix_spawnattr_setsigmask(&attributes, &none);
        (void) posix_spawnattr_setsigdefault(&attributes, &all);
        r = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn(ret_pid, program, &actions, &attributes, argv, environment);

        (void) posix_spawnattr_destroy(&attributes);
        (void) posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int execute(const char *program, int *ret_fd, pid_t *ret_pid) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];

        /* Only our end: the flag belongs to the open file, and the worker's is its own. */
        if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        r = spawn(program, theirs, ret_pid);
        if (r < 0)
                return r;

        *ret_fd = TAKE_FD(ours);
        return 0;
}

/* Opens the descriptor: non-blocking, close on exec. *ret_pid is 0 where no process is ours. */
static int worker_open(const WorkerPlace *place, int *ret_fd, pid_t *ret_pid) {
        *ret_pid = 0;
        if (place->socket_path)
                return connect_socket(place->socket_path, ret_fd);

        return execute(place->run_path, ret_fd, ret_pid);
}

static int send_header(WorkerConnection *connection) {
        while (connection->n_sent < connection->n_header) {
                ssize_t n = send(connection->fd, connection->header + connection->n_sent,
                                 connection->n_header - connection->n_sent, MSG_NOSIGNAL);

                if (n < 0 && errno == EAGAIN)
                        return 0;
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0)
                        connection->n_sent += (size_t) n;
        }

        free(connection->header);
        connection->header = NULL;
        return sd_event_source_set_io_events(connection->io, EPOLLIN);
}

/* Reads one slice and hands it on. Returns 1 when there was one, 0 when nothing waits, -ENODATA at the end
 * of file. */
static int receive(WorkerConnection *connection) {
        ssize_t n, used;

        n = recv(connection->fd, connection->buffer + connection->n_buffer,
                 BUFFER_BYTES - connection->n_buffer, 0);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : errno == ECONNRESET ? -ENODATA : -errno;
        if (n == 0)
                return -ENODATA;

        connection->n_buffer += (size_t) n;
        used = connection->bytes(connection->buffer, connection->n_buffer, connection->userdata);
        if (used < 0)
                return (int) used;

        connection->n_buffer -= (size_t) used;
        memmove(connection->buffer, connection->buffer + used, connection->n_buffer);
        return connection->n_buffer == BUFFER_BYTES ? -EPROTO : 1;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        WorkerConnection *connection = userdata;
        int r = 1;

        /* A worker that is gone before it has read all may still have said something. */
        if ((events & EPOLLOUT) && connection->header && send_header(connection) < 0)
                (void) sd_event_source_set_io_events(connection->io, EPOLLIN);
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                r = receive(connection);
        if (r < 0)
                connection->gone(r == -ENODATA ? 0 : r, connection->userdata);

        return 0;
}

/* The exit comes after what was said before it; a child that it left behind may still hold the other end. */
static int on_exit_of_worker(sd_event_source *source, const siginfo_t *info, void *userdata) {
        WorkerConnection *connection = userdata;
        int r;

        connection->pid = 0;
        do
                r = receive(connection);
        while (r > 0);

        connection->gone(r == 0 || r == -ENODATA ? 0 : r, connection->userdata);
        return 0;
}

static int watch_exit(sd_event *event, WorkerConnection *connection) {
        int r;

        if (connection->pid == 0)
                return 0;

        r = sd_event_add_child(event, &connection->exit, connection->pid, WEXITED, on_exit_of_worker,
                               connection);
        if (r < 0)
                return r;

        return sd_event_source_set_priority(connection->exit, SD_EVENT_PRIORITY_NORMAL + 1);
}

int worker_connection_new(sd_event *event, const WorkerPlace *place, const void *header, size_t n_header,
                          WorkerBytes bytes, WorkerGone gone, void *userdata, WorkerConnection **ret) {
        _cleanup_(worker_connection_freep) WorkerConnection *connection = NULL;
        int r;

        connection = calloc(1, sizeof(*connection));
        if (!connection)
                return -ENOMEM;

        connection->fd = -EBADF;
        connection->bytes = bytes;
        connection->gone = gone;
        connection->userdata = userdata;
        connection->header = malloc(n_header);
        if (!connection->header)
                return -ENOMEM;
        memcpy(connection->header, header, n_header);
        connection->n_header = n_header;

        r = worker_open(place, &connection->fd, &connection->pid);
        if (r < 0)
                return r;
        r = watch_exit(event, connection);
        if (r < 0)
                return r;
        r = sd_event_add_io(event, &connection->io, connection->fd, EPOLLIN | EPOLLOUT, on_io, connection);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(connection);
        return 0;
}

WorkerConnection *worker_connection_free(WorkerConnection *connection) {
        if (!connection)
                return NULL;

        sd_event_source_disable_unref(connection->io);
        sd_event_source_disable_unref(connection->exit);
        close_fd(connection->fd);

        /* It would end by itself on the end of file; one that does not listen must not stay. */
        if (connection->pid > 0) {
                (void) kill(connection->pid, SIGKILL);
                (void) waitpid(connection->pid, NULL, 0);
        }

        free(connection->header);
        free(connection);
        return NULL;
}
