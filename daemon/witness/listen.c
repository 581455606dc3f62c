/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/server.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Who else may have served here is known from the book, which one process has open. */
static int make_room(const char *path) {
        struct stat st;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISSOCK(st.st_mode))
                return -EEXIST;
        return unlink(path) < 0 ? -errno : 0;
}

static int listen_at(int family, const void *address, socklen_t n, int *ret_fd) {
        _cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int yes = 1;

        if (fd < 0)
                return -errno;
        if (family != AF_UNIX && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
                return -errno;
        if (bind(fd, address, n) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int listen_unix(const char *path, int *ret_fd) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int r;

        if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path))
                return -EINVAL;
        (void) strcpy(address.sun_path, path);
        r = make_room(path);
        if (r == 0)
                r = listen_at(AF_UNIX, &address, sizeof(address), ret_fd);
        /* Who asks proves itself by the log's signature; the folder says who may try. */
        return r == 0 && chmod(path, 0666) < 0 ? -errno : r;
}

/* Numbers alone: what a name means is for others to say, and may change. */
static int listen_inet(const char *host, const char *port, int *ret_fd) {
        struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *found;
        int r;

        if (!*host || !*port || getaddrinfo(host, port, &hints, &found) != 0)
                return -EINVAL;
        r = listen_at(found->ai_family, found->ai_addr, found->ai_addrlen, ret_fd);
        freeaddrinfo(found);
        return r;
}

int server_listen(const char *where, int *ret_fd) {
        _cleanup_free_ char *copy = strdup(where);
        char *host = copy, *port, *end;

        if (!copy)
                return -ENOMEM;
        if (strncmp(where, "unix:", 5) == 0)
                return listen_unix(where + 5, ret_fd);
        port = strrchr(copy, ':');
        if (!port)
                return -EINVAL;
        *port++ = '\0';
        end = host + strlen(host);
        if (host[0] == '[' && end[-1] == ']') {
                end[-1] = '\0';
                host++;
        } else if (strchr(host, ':'))
                return -EINVAL;
        return listen_inet(host, port, ret_fd);
}
