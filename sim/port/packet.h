/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packet
 *
 * SOCK_SEQPACKET sockets: addresses, and packets that carry a descriptor.
 */

#include <stddef.h>
#include <sys/types.h>

/* A socket bound to PATH and listening, or connected to it. Return a descriptor. -ENAMETOOLONG, -EADDRINUSE where
 * somebody listens there already (what a dead one left is removed). */
int packet_listen(const char *path, unsigned mode);
int packet_connect(const char *path);

/* Sends N bytes whole, without waiting, with PASSED_FD where that is not negative. 0 or a negative errno. */
int packet_send(int fd, const void *bytes, size_t n, int passed_fd);
/* Receives one packet of at most N bytes, waiting; -EMSGSIZE for a longer one. *ret_fd is -EBADF where none came. */
ssize_t packet_receive(int fd, void *bytes, size_t n, int *ret_fd);
