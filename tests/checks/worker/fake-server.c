/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/checks/worker/fake-server.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "checks/text/cleanup.h"
#include "checks/wire/wire.h"

#define CONNECTIONS_MAX 64

typedef struct Connection {
        int fd;
        uint32_t chip;
        uint8_t *window;
        size_t window_bytes;
} Connection;

typedef struct Server {
        FakeOptions options;
        int listener;
        bool stricken; /* the chip of the fault was spoken to */
        uint16_t spoken; /* chips that were, over their own connections */
        unsigned n_asked; /* questions to it over the connections of the server */
        unsigned n_refused[16]; /* claims of each chip */
        unsigned n_commands[16]; /* to each chip, attributes not counted */
        uint16_t said; /* chips that have told of the job of FakeOptions.begun since their last command */
        size_t n;
        Connection connections[CONNECTIONS_MAX];
} Server;

/* ---- connections ---- */

static void welcome(Server *server) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC), memory;
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = {};
        WireWelcome answer = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };
        struct iovec part = { &answer, sizeof(answer) };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        struct cmsghdr *rights;
        WireHello hello;

        if (recv(fd, &hello, sizeof(hello), 0) != sizeof(hello) || server->n == CONNECTIONS_MAX)
                abort();

        if (strcmp(hello.server, "us0-1") != 0) {
                answer.status = ENOENT;
                (void) sendmsg(fd, &message, 0);
                close(fd);
                return;
        }

        memory = memfd_create("window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (ftruncate(memory, hello.window_bytes) < 0 ||
            fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                abort();

        answer.window_bytes = hello.window_bytes;
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &memory, sizeof(int));
        server->connections[server->n++] = (Connection) {
                .fd = fd,
                .chip = hello.chip,
                .window = mmap(NULL, hello.window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0),
                .window_bytes = hello.window_bytes,
        };
        (void) sendmsg(fd, &message, MSG_NOSIGNAL);
        close(memory);
}

static void part(Server *server, size_t index) {
        Connection *connection = &server->connections[index];

        close(connection->fd);
        munmap(connection->window, connection->window_bytes);
        *connection = server->connections[--server->n];
}

/* ---- commands ---- */

static bool has_begun(Server *server, unsigned chip) {
        const FakeOptions *options = &server->options;

        if (!(options->begun >> chip & 1u) || server->n_commands[chip] < options->begun_with)
                return false;
        if (options->leaves && (server->said >> chip & 1u))
                return false;
        server->said |= (uint16_t) (1u << chip);
        return true;
}

static bool is_in_use(Server *server, unsigned chip) {
        return (((server->options.in_use | (server->options.taken & server->spoken)) >> chip) & 1u) || has_begun(server, chip);
}

/* By the path, so that each kind meets each reader in one of the chips. */
static void talk_nonsense(unsigned chip, const char *path, char text[static 64]) {
        static const char *const texts[] = {
                "", " ", "nan", "-1e300", "\x01", "a\tb", "<\"{\\", "0x", "POWER_STATUS_VALID", "POWER_STATUS_VALID,", "POWER_STATUS_VALID,1,2,3,inf", "\x80", "1e999",
                "0123456789012345678901234567890123456789012345678901234567890",
        };
        static const char *const beginnings[] = { "assay/hbm/", "assay/tray_", "efa/", "assay/link/", "assay/software/", "assay/server_p", "assay/inlet_", "assay/clock", "stats/power/" };
        unsigned sum = chip;
        bool meant = false;

        for (size_t i = 0; i < ELEMENTS(beginnings); i++)
                meant = meant || strncmp(path, beginnings[i], strlen(beginnings[i])) == 0;
        if (!meant)
                return;
        for (; *path; path++)
                sum += (uint8_t) *path;
        (void) snprintf(text, 64, "%s", texts[sum % ELEMENTS(texts)]);
}

static void read_attribute(Server *server, unsigned chip, const char *path, char text[static 64]) {
        text[0] = '\0';
        if (server->options.nonsense)
                talk_nonsense(chip, path, text);
        if (strcmp(path, "info/serial_number") == 0)
                (void) snprintf(text, 64, "%016x", 0x1234u + chip);
        else if (strcmp(path, "assay/tray") == 0)
                (void) snprintf(text, 64, "%u", chip / 2);
        else if (strcmp(path, "assay/occupied") == 0)
                (void) snprintf(text, 64, "%u\n", (server->options.occupied >> chip) & 1u);
        else if (strcmp(path, "assay/hbm/in-use") == 0)
                (void) snprintf(text, 64, "%s", is_in_use(server, chip) ? "0:0-8191" : "none");
        else if (strcmp(path, "assay/server_serial") == 0)
                (void) snprintf(text, 64, "fake");
}

/* Whether another client has the chip. */
static bool is_claimed(const Server *server, unsigned chip) {
        return (server->options.claimed >> chip & 1u) &&
               (server->options.n_refusals == 0 || server->n_refused[chip] < server->options.n_refusals);
}

/* A server that nobody else scans knows no claims. */
static void claim(Server *server, const Connection *connection, const WireCommand *command, WireCompletion *completion) {
        if (server->options.claimed == 0) {
                completion->status = STATUS_NRT_QUEUE_EMPTY;
        } else if (command->type == COMMAND_ATTRIBUTE_WRITE) {
                completion->status = is_claimed(server, command->chip) ? STATUS_NRT_INVALID : STATUS_NRT_SUCCESS;
        } else {
                connection->window[command->out_offset] = is_claimed(server, command->chip) ? '1' : '0';
                completion->out_bytes = 1;
                server->n_refused[command->chip]++;
        }
}

/* Whether CHIP does not tell whether it is occupied. */
static bool keeps_quiet(const Server *server, const Connection *connection, unsigned chip) {
        uint16_t quiet = server->options.secretive | (connection->chip == chip ? server->options.reticent : 0);

        return (quiet >> chip & 1u) && server->n_commands[chip] > 0;
}

static bool is_late(const Server *server, FakeFault fault) {
        return server->options.fault == fault && server->n_commands[server->options.chip] > 0;
}

static bool is_work(const WireCommand *command) {
        return command->type == COMMAND_HBM_PAUSE;
}

/* Whether a command to a chip gets no answer from it, over a connection of the server. */
static bool is_silent(Server *server, const WireCommand *command) {
        FakeFault fault = server->options.fault;

        if (fault == FAKE_SILENT_IN_TURN)
                return is_work(command) && command->chip == server->options.chip + (server->n_commands[0] - 1) / 2;
        if (command->chip != server->options.chip)
                return fault == FAKE_HANG_ALONE || fault == FAKE_SILENT_ALONE;
        if (fault == FAKE_SILENT_AT_WORK)
                return is_work(command);
        if (fault == FAKE_SILENT_ONCE)
                return server->n_asked++ == 0;
        if (fault == FAKE_SILENT_LATER)
                return server->n_commands[command->chip] > 0 && server->n_asked++ == 0;
        if (fault == FAKE_SILENT_AT_TIMES || fault == FAKE_SILENT_ALONE)
                return server->n_asked++ % 20 == 0;
        return (fault == FAKE_HANG && server->stricken) || fault == FAKE_HANG_FROM_START || is_late(server, FAKE_HANG_LATER);
}

static void execute(Server *server, const Connection *connection, const WireCommand *command, WireCompletion *completion) {
        char path[128] = "", text[64];
        FakeFault fault = server->options.fault;

        *completion = (WireCompletion) { .device_nsec = 1000 };
        if (connection->chip == WIRE_CHIP_ALL && is_silent(server, command)) {
                completion->status = STATUS_NRT_TIMEOUT;
                return;
        }
        if (command->type == COMMAND_HBM_PAUSE)
                completion->device_nsec = command->pause.nsec;
        if (fault == FAKE_REFUSES_ALL && connection->chip == WIRE_CHIP_ALL && command->chip == server->options.chip) {
                completion->status = STATUS_NRT_INVALID;
                return;
        }
        if (command->type != COMMAND_ATTRIBUTE && command->type != COMMAND_ATTRIBUTE_WRITE && command->chip < 16) {
                server->n_commands[command->chip]++;
                server->said &= (uint16_t) ~(1u << command->chip);
        }
        if ((command->type != COMMAND_ATTRIBUTE && command->type != COMMAND_ATTRIBUTE_WRITE) || command->in_bytes >= sizeof(path))
                return;

        memcpy(path, connection->window + command->in_offset, command->in_bytes);
        if (strcmp(path, "assay/claim") == 0) {
                claim(server, connection, command, completion);
                return;
        }
        if (command->type == COMMAND_ATTRIBUTE_WRITE)
                return;
        if (strcmp(path, "assay/occupied") == 0 && keeps_quiet(server, connection, command->chip)) {
                completion->status = STATUS_NRT_HW_ERROR;
                return;
        }
        read_attribute(server, command->chip, path, text);
        if (fault == FAKE_SAYS_NOTHING_ALL || (fault == FAKE_SAYS_NOTHING && command->chip == server->options.chip))
                return;
        if (text[0] == '\0')
                completion->status = STATUS_NRT_QUEUE_EMPTY;
        completion->out_bytes = (uint32_t) strlen(text);
        memcpy(connection->window + command->out_offset, text, completion->out_bytes);
        if (fault == FAKE_TOO_MANY_BYTES && connection->chip == server->options.chip)
                completion->out_bytes = command->out_bytes + 1;
}

/* Returns whether there is an answer at all, and garbles it. */
static bool misbehave(Server *server, const Connection *connection, WireBatch *answer, size_t *n_bytes) {
        FakeFault fault = server->options.fault;
        bool own = connection->chip == server->options.chip;

        if (own && server->options.n_stalls > 0) {
                server->options.n_stalls--;
                (void) usleep(server->options.stall_msec * 1000);
        }
        if (own && (fault == FAKE_GONE || is_late(server, FAKE_GONE_LATER)))
                _exit(0);
        if (own)
                server->stricken = true;
        if (connection->chip < 16)
                server->spoken |= (uint16_t) (1u << connection->chip);

        if (own && (fault == FAKE_HANG || fault == FAKE_HANG_PARTLY || fault == FAKE_HANG_FROM_START || fault == FAKE_HANG_ALONE))
                return false;
        if ((fault == FAKE_HANG_ALL && server->spoken != 0) || (own && is_late(server, FAKE_HANG_LATER)))
                return false;
        if (own && is_late(server, FAKE_GARBLED_LATER))
                answer->sequence++;
        if ((own && fault == FAKE_WRONG_SEQUENCE) || (fault == FAKE_GARBLED_ALL && server->spoken != 0))
                answer->sequence++;
        if (own && fault == FAKE_SHORT_ANSWER)
                *n_bytes -= 8;
        return true;
}

static bool serve(Server *server, Connection *connection) {
        static struct {
                WireBatch head;
                WireCommand commands[WIRE_BATCH_MAX];
        } question;
        static struct {
                WireBatch head;
                WireCompletion completions[WIRE_BATCH_MAX];
        } answer;
        ssize_t n = recv(connection->fd, &question, sizeof(question), 0);
        size_t n_bytes;

        if (n <= 0)
                return false;
        if ((size_t) n < sizeof(question.head) || question.head.magic != WIRE_MAGIC ||
            question.head.n > WIRE_BATCH_MAX)
                return true; /* a check that writes into every descriptor it finds */

        answer.head = question.head;
        n_bytes = sizeof(answer.head) + question.head.n * sizeof(WireCompletion);
        if (!misbehave(server, connection, &answer.head, &n_bytes))
                return true;

        for (uint32_t i = 0; i < question.head.n; i++)
                execute(server, connection, &question.commands[i], &answer.completions[i]);
        return send(connection->fd, &answer, n_bytes, MSG_NOSIGNAL) >= 0;
}

static void serve_all(Server *server) {
        for (;;) {
                struct pollfd polled[CONNECTIONS_MAX + 1] = { { .fd = server->listener, .events = POLLIN } };
                size_t n = server->n;

                for (size_t i = 0; i < n; i++)
                        polled[i + 1] = (struct pollfd){ .fd = server->connections[i].fd, .events = POLLIN };
                if (poll(polled, n + 1, -1) < 0)
                        abort();

                for (size_t i = n; i-- > 0;)
                        if (polled[i + 1].revents != 0 && !serve(server, &server->connections[i]))
                                part(server, i);
                if (polled[0].revents != 0)
                        welcome(server);
        }
}

/* ---- the process ---- */

pid_t fake_server_start(const FakeOptions *options) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        static Server server;
        pid_t pid, parent = getpid();

        server = (Server) { .options = *options };
        server.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert(strlen(options->path) < sizeof(address.sun_path));
        memcpy(address.sun_path, options->path, strlen(options->path));
        (void) unlink(options->path);
        if (bind(server.listener, (struct sockaddr *) &address, sizeof(address)) < 0 ||
            listen(server.listener, CONNECTIONS_MAX) < 0)
                abort();

        pid = fork();
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent)
                        _exit(1);
                serve_all(&server);
        }

        close(server.listener);
        return pid;
}

void fake_server_stop(pid_t pid) {
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
}
