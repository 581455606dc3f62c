/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/port/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "checks/text/cleanup.h"

#define BACKLOG 4096

static int address_of(const char *path, struct sockaddr_un *ret) {
        *ret = (struct sockaddr_un) { .sun_family = AF_UNIX };
        if (strlen(path) >= sizeof(ret->sun_path))
                return -ENAMETOOLONG;
        memcpy(ret->sun_path, path, strlen(path));
        return 0;
}

int packet_connect(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        struct sockaddr_un address;
        int r;

        r = address_of(path, &address);
        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* A socket file that nobody listens on any more; never another kind of file. */
static void remove_dead(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
                return;
        fd = packet_connect(path);
        if (fd == -ECONNREFUSED)
                (void) unlink(path);
}

int packet_listen(const char *path, unsigned mode) {
        _cleanup_close_ int fd = -EBADF;
        struct sockaddr_un address;
        int r;

        r = address_of(path, &address);
        if (r < 0)
                return r;
        remove_dead(path);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        if ((mode != 0 && chmod(path, mode) < 0) || listen(fd, BACKLOG) < 0) {
                r = -errno;
                (void) unlink(path);
                return r;
        }
        return TAKE_FD(fd);
}

/* Room for one descriptor, aligned as the kernel wants it. */
typedef union PassedFd {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
} PassedFd;

int packet_send(int fd, const void *bytes, size_t n, int passed_fd) {
        PassedFd passed = {};
        struct iovec vector = { (void *) bytes, n };
        struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
        ssize_t sent;

        if (passed_fd >= 0) {
                struct cmsghdr *header;

                message.msg_control = &passed;
                message.msg_controllen = sizeof(passed);
                header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(header), &passed_fd, sizeof(int));
        }
        sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
                return -errno;
        return (size_t) sent == n ? 0 : -EIO;
}

ssize_t packet_receive(int fd, void *bytes, size_t n, int *ret_fd) {
        PassedFd passed = {};
        struct iovec vector = { bytes, n };
        struct msghdr message = {
                .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof(passed),
        };
        _cleanup_close_ int got = -EBADF;
        struct cmsghdr *header;
        ssize_t received;

        received = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        if (received < 0)
                return -errno;
        header = CMSG_FIRSTHDR(&message);
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
            header->cmsg_len == CMSG_LEN(sizeof(int)))
                memcpy(&got, CMSG_DATA(header), sizeof(int));
        if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
                return -EMSGSIZE;

        *ret_fd = TAKE_FD(got);
        return received;
}
