/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/server.h"

#include <assert.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>

#include <systemd/sd-journal.h>

#include "daemon/witness/request.h"
#include "daemon/witness/tell.h"

#define SUBMIT_PATH "/add-checkpoint"
#define HELD_PATH   "/checkpoint" /* below the hash of an origin */

typedef struct Connection {
        LIST_ENTRY(Connection) entry;
        int fd;
        uint64_t deadline_usec; /* CLOCK_MONOTONIC */
} Connection;

/* A request as it comes in, and what is answered. */
typedef struct Upload {
        LIST_ENTRY(Upload) entry; /* while it waits */
        struct MHD_Connection *connection;
        Printer body;
        bool is_too_large, is_judged;
        char hash[DIGEST_HEX]; /* of the log whose checkpoint is asked for; "": one is brought */
        unsigned status;       /* of the answer to that */
        WitnessReply reply;
} Upload;

struct Server {
        Witness *witness;
        struct MHD_Daemon *http;
        sd_event_source *io, *again, *tick;
        LIST_HEAD(, Connection) connections;
        LIST_HEAD(, Upload) waiting; /* for what is in the book to be on the disk; suspended */
};

static uint64_t now_usec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* ---- answers ---- */

/* ALLOWED: the method that there is, of what answers that it is another. */
static enum MHD_Result send_with(struct MHD_Connection *connection, unsigned status, const char *type, const char *allowed, const void *text, size_t n) {
        struct MHD_Response *response = MHD_create_response_from_buffer(n, (void *) (uintptr_t) text, MHD_RESPMEM_MUST_COPY);
        enum MHD_Result r;

        if (!response)
                return MHD_NO;
        r = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        if (r == MHD_YES && allowed)
                r = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
        if (r == MHD_YES)
                r = MHD_queue_response(connection, status, response);
        MHD_destroy_response(response);
        return r;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, const char *type, const void *text, size_t n) {
        return send_with(connection, status, type, NULL, text, n);
}

static enum MHD_Result send_sentence(struct MHD_Connection *connection, unsigned status, const char *sentence) {
        return send_text(connection, status, "text/plain", sentence, strlen(sentence));
}

static enum MHD_Result refuse_method(struct MHD_Connection *connection, const char *allowed) {
        static const char sentence[] = "there is only POST add-checkpoint, and GET HASH/checkpoint\n";

        return send_with(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", allowed, sentence, strlen(sentence));
}

/* The journal keeps the whole request: what a known log has signed and should not have is evidence. */
static void tell_of(const WitnessReply *reply, const Printer *body) {
        int level = witness_answer_to_level(reply->answer);
        char text[512];

        if (level < 0)
                return;
        (void) snprintf(text, sizeof(text), "%sLog %s, checkpoint of %" PRIu64 ", %" PRIu64 " held: %s%s%s", level == LOG_ALERT ? "ALARM: " : "",
                        reply->origin, reply->size, reply->held, reply->wrong, reply->error ? ": " : "", reply->error ? strerror(-reply->error) : "");
        if (!getenv("JOURNAL_STREAM") ||
            sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", level, "ASSAY_LOG=%s", reply->origin, "ASSAY_LOG_SIZE=%" PRIu64, reply->size,
                            "ASSAY_WITNESSED_SIZE=%" PRIu64, reply->held, "ASSAY_REQUEST=%.*s", (int) body->n, body->text, NULL) < 0)
                tell(level, "%s", text);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, const Upload *upload) {
        const WitnessReply *reply = &upload->reply;
        unsigned status = *upload->hash ? upload->status : witness_answer_to_status(reply->answer);

        if (!*upload->hash)
                tell_of(reply, &upload->body);
        return reply->body.error < 0 ? MHD_NO : send_text(connection, status, status == MHD_HTTP_CONFLICT ? "text/x.tlog.size" : "text/plain", reply->body.text, reply->body.n);
}

/* The library asks once more where the connection was suspended, and goes on. */
static enum MHD_Result answer(Server *server, struct MHD_Connection *connection, Upload *upload) {
        if (!upload->is_judged && !*upload->hash) {
                witness_judge(server->witness, upload->body.text, upload->body.n, now_usec(CLOCK_REALTIME), &upload->reply);
                upload->is_judged = true;
        }
        if (upload->reply.is_due)
                return send_reply(connection, upload);
        upload->connection = connection;
        LIST_INSERT_HEAD(&server->waiting, upload, entry);
        MHD_suspend_connection(connection);
        return MHD_YES;
}

/* The checkpoint that is held is read once all that waits is on the disk, too. */
static void conclude(Server *server, Upload *upload, int committed) {
        if (!*upload->hash)
                return witness_conclude(server->witness, &upload->reply, committed);
        upload->status = witness_checkpoint(server->witness, upload->hash, &upload->reply.body);
        upload->reply.is_due = true;
}

/* All that came in while the disk was busy with those before. */
static void conclude_waiting(Server *server) {
        int committed = book_commit(server->witness->book);
        Upload *upload;

        while ((upload = LIST_FIRST(&server->waiting))) {
                LIST_REMOVE(upload, entry);
                conclude(server, upload, committed);
                MHD_resume_connection(upload->connection);
        }
}

/* ---- requests ---- */

/* The prefix is whatever a proxy in front leaves of it. */
static const char *find_end(const char *path, const char *end) {
        size_t n = strlen(path), n_end = strlen(end);

        return n >= n_end && strcmp(path + n - n_end, end) == 0 ? path + n - n_end : NULL;
}

/* A path is what was sent: decoded, it would end at the first %00. */
static size_t keep_escaped(void *userdata, struct MHD_Connection *connection, char *text) {
        return strlen(text);
}

static enum MHD_Result count_length(void *userdata, enum MHD_ValueKind kind, const char *key, const char *value) {
        unsigned *n = userdata;

        *n += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 || strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
        return MHD_YES;
}

/* A proxy in front may go by another length than this one, and take the rest of a body for somebody's request. */
static bool has_two_lengths(struct MHD_Connection *connection) {
        unsigned n = 0;

        (void) MHD_get_connection_values(connection, MHD_HEADER_KIND, count_length, &n);
        return n > 1;
}

static enum MHD_Result begin_upload(const char *hash, void **ret) {
        Upload *upload = calloc(1, sizeof(*upload));

        if (!upload)
                return MHD_NO;
        (void) strcpy(upload->hash, hash);
        *ret = upload;
        return MHD_YES;
}

/* It waits like what is brought: nobody who asks makes the disk busy. */
static enum MHD_Result begin_held(Server *server, struct MHD_Connection *connection, const char *path, void **upload) {
        const char *end = find_end(path, HELD_PATH);
        _cleanup_printer_ Printer body = {};
        char hash[DIGEST_HEX] = "";
        unsigned status;

        if (end - path > DIGEST_HEX - 1 && end[-DIGEST_HEX] == '/')
                (void) snprintf(hash, sizeof(hash), "%.*s", DIGEST_HEX - 1, end - (DIGEST_HEX - 1));
        if (witness_knows(server->witness, hash))
                return begin_upload(hash, upload);
        status = witness_checkpoint(server->witness, hash, &body);
        return body.error < 0 ? MHD_NO : send_text(connection, status, "text/plain", body.text, body.n);
}

/* What is wrong with a request is said as soon as its head is there. */
static enum MHD_Result begin(Server *server, struct MHD_Connection *connection, const char *path, const char *method, void **upload) {
        const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

        if (find_end(path, HELD_PATH))
                return strcmp(method, MHD_HTTP_METHOD_GET) == 0 ? begin_held(server, connection, path, upload) : refuse_method(connection, MHD_HTTP_METHOD_GET);
        if (!find_end(path, SUBMIT_PATH))
                return send_sentence(connection, MHD_HTTP_NOT_FOUND, "there is only POST add-checkpoint, and GET HASH/checkpoint\n");
        if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
                return refuse_method(connection, MHD_HTTP_METHOD_POST);
        if (length && strtoull(length, NULL, 10) > REQUEST_MAX)
                return send_sentence(connection, MHD_HTTP_CONTENT_TOO_LARGE, "too large\n");
        if (has_two_lengths(connection))
                return send_sentence(connection, MHD_HTTP_BAD_REQUEST, "it has two lengths\n");
        return begin_upload("", upload);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
                                  const char *data, size_t *n_data, void **state) {
        Upload *upload = *state;

        if (!upload)
                return begin(userdata, connection, path, method, state);
        if (*n_data == 0)
                return upload->is_too_large ? send_sentence(connection, MHD_HTTP_CONTENT_TOO_LARGE, "too large\n") :
                                              answer(userdata, connection, upload);
        upload->is_too_large = upload->is_too_large || *n_data > REQUEST_MAX - upload->body.n;
        if (!upload->is_too_large)
                printer_raw(&upload->body, data, *n_data);
        *n_data = 0;
        return upload->body.error < 0 ? MHD_NO : MHD_YES;
}

/* ---- connections ---- */

static void watch_connections(Server *server) {
        if (!LIST_EMPTY(&server->connections))
                (void) sd_event_source_set_time_relative(server->tick, 1000000);
        (void) sd_event_source_set_enabled(server->tick, LIST_EMPTY(&server->connections) ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static void on_connection(void *userdata, struct MHD_Connection *http, void **state, enum MHD_ConnectionNotificationCode code) {
        Connection *connection = *state;
        Server *server = userdata;

        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                const union MHD_ConnectionInfo *info = MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
                bool is_first = LIST_EMPTY(&server->connections);

                connection = calloc(1, sizeof(*connection));
                if (!info || !connection) {
                        free(connection);
                        return; /* without a deadline, but for the one of idleness */
                }
                *connection = (Connection) { .fd = info->connect_fd, .deadline_usec = now_usec(CLOCK_MONOTONIC) + SERVER_REQUEST_SEC * UINT64_C(1000000) };
                LIST_INSERT_HEAD(&server->connections, connection, entry);
                *state = connection;
                if (is_first)
                        watch_connections(server);
        } else if (connection) {
                LIST_REMOVE(connection, entry);
                free(connection);
                *state = NULL;
        }
        /* Where connections had run out the library listens again in its next run only, and nothing else may wake it. */
        if (code == MHD_CONNECTION_NOTIFY_CLOSED)
                (void) sd_event_source_set_enabled(server->again, SD_EVENT_ONESHOT);
}

/* None of those that wait: the library completes no connection that is suspended. */
static void release(Upload *upload) {
        witness_reply_done(&upload->reply);
        printer_done(&upload->body);
        free(upload);
}

static void on_completed(void *userdata, struct MHD_Connection *http, void **state, enum MHD_RequestTerminationCode code) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        Connection *connection = info ? info->socket_context : NULL;
        Upload *upload = *state;

        if (connection)
                connection->deadline_usec = now_usec(CLOCK_MONOTONIC) + SERVER_REQUEST_SEC * UINT64_C(1000000);
        if (upload)
                release(upload);
        *state = NULL;
}

/* ---- the loop ---- */

/* The library may have work left that no descriptor tells of. */
static int serve(Server *server) {
        MHD_UNSIGNED_LONG_LONG msec;

        (void) MHD_run(server->http);
        if (!LIST_EMPTY(&server->waiting)) {
                conclude_waiting(server);
                (void) MHD_run(server->http);
        }
        if (!LIST_EMPTY(&server->waiting))
                (void) sd_event_source_set_enabled(server->again, SD_EVENT_ONESHOT);
        if (MHD_get_timeout(server->http, &msec) == MHD_YES && msec == 0)
                (void) sd_event_source_set_enabled(server->again, SD_EVENT_ONESHOT);
        return 0;
}

/* A socket that was shut down is the library's to close. */
static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        uint64_t now = now_usec(CLOCK_MONOTONIC);
        Server *server = userdata;
        Connection *connection;

        LIST_FOREACH(connection, &server->connections, entry)
                if (connection->deadline_usec < now)
                        (void) shutdown(connection->fd, SHUT_RDWR);
        watch_connections(server);
        return serve(server);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        return serve(userdata);
}

static int on_again(sd_event_source *source, void *userdata) {
        return serve(userdata);
}

static int attach(Server *server, sd_event *event) {
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->http, MHD_DAEMON_INFO_EPOLL_FD);
        int r;

        if (!info || info->epoll_fd < 0)
                return -EIO;
        r = sd_event_add_io(event, &server->io, info->epoll_fd, EPOLLIN, on_io, server);
        if (r >= 0)
                r = sd_event_add_defer(event, &server->again, on_again, server);
        if (r >= 0)
                r = sd_event_source_set_enabled(server->again, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &server->tick, CLOCK_MONOTONIC, 1000000, 100000, on_tick, server);
        if (r >= 0)
                r = sd_event_source_set_enabled(server->tick, SD_EVENT_OFF);
        return r < 0 ? r : 0;
}

int server_new(sd_event *event, Witness *witness, int listen_fd, Server **ret) {
        _cleanup_(server_freep) Server *server = NULL;
        int r;

        server = calloc(1, sizeof(*server));
        if (!server)
                return -ENOMEM;
        server->witness = witness;
        LIST_INIT(&server->connections);
        LIST_INIT(&server->waiting);
        server->http = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, listen_fd,
                                        MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL,
                                        MHD_OPTION_CONNECTION_LIMIT, (unsigned) SERVER_CONNECTIONS_MAX,
                                        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned) SERVER_ADDRESS_MAX,
                                        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) SERVER_HEAD_MAX,
                                        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) SERVER_REQUEST_SEC * 2, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                                        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
                                        MHD_OPTION_END);
        if (!server->http)
                return -EIO;
        r = attach(server, event);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(server);
        return 0;
}

Server *server_free(Server *server) {
        if (!server)
                return NULL;
        sd_event_source_disable_unref(server->io);
        if (server->http) {
                conclude_waiting(server);
                MHD_stop_daemon(server->http);
        }
        sd_event_source_disable_unref(server->again);
        sd_event_source_disable_unref(server->tick);
        free(server);
        return NULL;
}
