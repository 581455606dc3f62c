/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The device port over a socket of assay-sim: one SOCK_SEQPACKET connection and one sealed memfd. Deadlines
 * are the kernel's (SO_RCVTIMEO): a round trip is two system calls. A chip that has not answered after a
 * quarter of its deadline is waited for with a control (device-control.h). A whole server has none and is
 * waited for as long as the patience lasts. After anything but a proper answer the connection is given up,
 * because what still comes on it belongs to no question any more.
 */

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "checks/port/device-control.h"
#include "checks/port/device.h"

#define CONNECT_DEADLINE_USEC 10000000u /* the patience with a server, by the default deadline */
#define SEALS                 (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

typedef struct Socket {
        int fd;
        char path[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
        char server[WIRE_SERVER_MAX];
        unsigned chip;
        uint32_t sequence;
        uint64_t deadline_usec, send_usec, receive_usec; /* the last two as the kernel knows them */
        void *window;
        size_t window_bytes;
        int failure;
} Socket;

static Socket *socket_free(Socket *socket) {
        if (!socket)
                return NULL;

        if (socket->window)
                (void) munmap(socket->window, socket->window_bytes);
        socket->fd = close_fd(socket->fd);
        free(socket);
        return NULL;
}
DEFINE_CLEANUP(Socket *, socket_free);

static int set_option(int fd, int option, uint64_t usec, uint64_t *known) {
        struct timeval timeout = { .tv_sec = (time_t) (usec / 1000000),
                                   .tv_usec = (suseconds_t) (usec % 1000000) };

        if (*known == usec)
                return 0;
        if (setsockopt(fd, SOL_SOCKET, option, &timeout, sizeof(timeout)) < 0)
                return -errno;

        *known = usec;
        return 0;
}

/* How long a call may wait for the server to take a packet, and for one of its own. */
static int set_patience(Socket *socket, uint64_t send_usec, uint64_t receive_usec) {
        int r = set_option(socket->fd, SO_SNDTIMEO, send_usec, &socket->send_usec);

        return r < 0 ? r : set_option(socket->fd, SO_RCVTIMEO, MAX(receive_usec, UINT64_C(1)), &socket->receive_usec);
}

static int set_deadline(Socket *socket, uint64_t usec) {
        uint64_t patience = usec * CONTROL_PATIENCE;

        socket->deadline_usec = usec;
        return set_patience(socket, patience, socket->chip == WIRE_CHIP_ALL ? patience : usec / 4);
}

/* What errno of a socket call means for the port. */
static int port_error(int error) {
        switch (error) {
        case EAGAIN:
                return -EHOSTDOWN;
        case EPIPE:
        case ECONNRESET:
        case ENOTCONN:
                return -ENODEV;
        default:
                return -error;
        }
}

static int send_packet(Socket *socket, struct iovec *parts, size_t n_parts) {
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = n_parts };
        ssize_t n;

        do
                n = sendmsg(socket->fd, &message, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);

        return n < 0 ? port_error(errno) : 0;
}

/* Returns the bytes received; MESSAGE tells of truncation. The end of the connection is -ENODEV. */
static ssize_t receive_packet(Socket *socket, struct msghdr *message) {
        ssize_t n;

        do
                n = recvmsg(socket->fd, message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);

        if (n < 0)
                return port_error(errno);
        return n == 0 ? -ENODEV : n;
}

/* As receive_packet(), where a chip is waited for as long as its neighbours do not answer. */
static ssize_t receive_answer(Socket *socket, struct msghdr *message) {
        ControlOrder order = { socket->path, socket->server, socket->chip, socket->deadline_usec };
        ssize_t n = receive_packet(socket, message);
        int r;

        if (n != -EHOSTDOWN || socket->chip == WIRE_CHIP_ALL)
                return n;

        r = control_wait(&order, socket->fd);
        return r < 0 ? r : receive_packet(socket, message);
}

static int exchange(Socket *socket, const WireCommand *commands, size_t n, WireCompletion *completions) {
        WireBatch batch = { .magic = WIRE_MAGIC, .sequence = ++socket->sequence, .n = (uint32_t) n }, answer;
        struct iovec question[] = {
                {&batch,             sizeof(batch)        },
                { (void *) commands, n * sizeof(*commands)}
        };
        struct iovec reply[] = { { &answer, sizeof(answer) }, { completions, n * sizeof(*completions) } };
        struct msghdr message = { .msg_iov = reply, .msg_iovlen = ELEMENTS(reply) };
        ssize_t received;
        int r;

        r = send_packet(socket, question, ELEMENTS(question));
        if (r < 0)
                return r;

        received = receive_answer(socket, &message);
        if (received < 0)
                return (int) received;

        if ((size_t) received != sizeof(answer) + n * sizeof(*completions) ||
            (message.msg_flags & MSG_TRUNC) || answer.magic != WIRE_MAGIC ||
            answer.sequence != batch.sequence || answer.n != n)
                return -EPROTO;

        return 0;
}

static int socket_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                          uint64_t deadline_usec) {
        Socket *socket = userdata;
        int r;

        assert(n > 0 && n <= WIRE_BATCH_MAX);

        if (socket->failure < 0)
                return socket->failure;

        r = set_deadline(socket, deadline_usec);
        if (r >= 0)
                r = exchange(socket, commands, n, completions);
        socket->failure = r;
        return r;
}

static void socket_close(void *userdata) {
        (void) socket_free(userdata);
}

static const DeviceTransport transport = {
        .execute = socket_execute,
        .close   = socket_close,
};

/* The window may not change its size under our feet, or touching it would be a SIGBUS. */
static int map_window(Socket *socket, int fd, uint32_t bytes) {
        struct stat st;
        int seals;
        void *window;

        seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size != (off_t) bytes)
                return -EPROTO;

        window = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (window == MAP_FAILED)
                return -errno;

        socket->window = window;
        socket->window_bytes = bytes;
        return 0;
}

static int receive_welcome(Socket *socket, WireWelcome *ret, int *ret_fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control;
        struct iovec part = { ret, sizeof(*ret) };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        ssize_t n;

        n = receive_packet(socket, &message);
        if (n < 0)
                return (int) n;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
                    c->cmsg_len == CMSG_LEN(sizeof(int)))
                        memcpy(ret_fd, CMSG_DATA(c), sizeof(int));

        if (n != sizeof(*ret) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || ret->magic != WIRE_MAGIC)
                return -EPROTO;
        return 0;
}

static int shake_hands(Socket *socket, const char *server, unsigned chip, size_t window_bytes) {
        WireHello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .chip = chip,
                            .window_bytes = (uint32_t) window_bytes };
        struct iovec part = { &hello, sizeof(hello) };
        _cleanup_close_ int fd = -EBADF;
        WireWelcome welcome;
        int r;

        (void) strncpy(hello.server, server, sizeof(hello.server) - 1);
        r = send_packet(socket, &part, 1);
        if (r < 0)
                return r;

        r = receive_welcome(socket, &welcome, &fd);
        if (r < 0)
                return r;
        if (welcome.status == ENOENT)
                return -ENOENT;
        if (welcome.status == ENOMEM)
                return -ENOMEM;
        if (welcome.status != 0 || welcome.version != WIRE_VERSION || welcome.window_bytes != window_bytes ||
            fd < 0)
                return -EPROTO;

        return map_window(socket, fd, welcome.window_bytes);
}

static int connect_socket(const char *path, const char *server, unsigned chip, Socket **ret) {
        _cleanup_(socket_freep) Socket *new = NULL;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        size_t n = strlen(path);
        int r;

        if (n == 0 || n >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, n);

        new = calloc(1, sizeof(*new));
        if (!new)
                return -ENOMEM;

        memcpy(new->path, path, n);
        memcpy(new->server, server, strlen(server));
        new->chip = chip;
        new->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (new->fd < 0)
                return -errno;

        /* A full backlog of a busy simulator blocks here, for as long as a send may take. */
        r = set_patience(new, CONNECT_DEADLINE_USEC, CONNECT_DEADLINE_USEC);
        if (r < 0)
                return r;
        do
                r = connect(new->fd, (struct sockaddr *) &address, sizeof(address)) < 0 ? -errno : 0;
        while (r == -EINTR);
        if (r < 0)
                return r == -EAGAIN ? -EHOSTDOWN : r;

        *ret = TAKE_PTR(new);
        return 0;
}

int device_open_socket(const char *path, const char *server, unsigned chip, size_t window_bytes,
                       Device **ret) {
        _cleanup_(socket_freep) Socket *connection = NULL;
        int r;

        assert(path);
        assert(server);
        assert(ret);

        if (window_bytes < WIRE_WINDOW_MIN || window_bytes > WIRE_WINDOW_MAX || window_bytes % 4096 != 0 ||
            strlen(server) >= WIRE_SERVER_MAX)
                return -EINVAL;

        r = connect_socket(path, server, chip, &connection);
        if (r < 0)
                return r;

        r = shake_hands(connection, server, chip, window_bytes);
        if (r < 0)
                return r;

        r = device_new(&transport, connection, server, chip, connection->window, connection->window_bytes,
                       ret);
        if (r < 0)
                return r;

        TAKE_PTR(connection);
        return 0;
}
