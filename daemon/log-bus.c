/* SPDX-License-Identifier: Apache-2.0 */

/* Log bus: see log-bus.h. */

#include "daemon/log-bus.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/authorize.h"
#include "daemon/bus-errors.h"
#include "daemon/journal.h"
#include "daemon/names.h"

/* ---- checkpoints and proofs ---- */

static int reply_text(sd_bus_message *message, char *text) {
        int r;

        r = sd_bus_reply_method_return(message, "s", text);
        free(text);
        return r;
}

int method_get_checkpoint(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        uint64_t flags;
        char *note;
        size_t n;
        int r;

        r = sd_bus_message_read(message, "t", &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        r = record_log_checkpoint(manager->log, &note, &n);
        if (r == -ENOENT)
                return bus_error_set(error, ASSAY_ERROR_NO_CHECKPOINT, "The log has no checkpoint%s",
                                     *record_log_vkey(manager->log) ? " yet" : ", since it has no key");
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to read the checkpoint: %s", strerror(-r));
        return reply_text(message, note);
}

static int no_such_record(Manager *manager, uint64_t index, sd_bus_error *error) {
        return bus_error_set(error, ASSAY_ERROR_NO_SUCH_RECORD, "No record %" PRIu64 ", the log has %" PRIu64, index,
                             record_log_size(manager->log));
}

int method_get_proof(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        uint64_t index, flags;
        char *proof;
        size_t n;
        int r;

        r = sd_bus_message_read(message, "tt", &index, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        r = record_log_proof(manager->log, index, &proof, &n);
        if (r == -ERANGE)
                return no_such_record(manager, index, error);
        if (r == -ENOENT)
                return bus_error_set(error, ASSAY_ERROR_NO_CHECKPOINT, "No checkpoint covers record %" PRIu64 "%s", index,
                                     *record_log_vkey(manager->log) ? " yet" : ": the log has no key");
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to prove record %" PRIu64 ": %s", index, strerror(-r));
        return reply_text(message, proof);
}

int method_get_companion(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED, "%s", ASSAY_NO_COMPANIONS);
}

int method_get_identity(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        const char *sha256;
        char *document;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "st", &sha256, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        r = record_log_identity(manager->log, sha256, &document);
        if (r == -EINVAL)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "No SHA-256 in hexadecimal digits: '%.80s'", sha256);
        if (r == -ENOENT)
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_RECORD, "No record is about a part of this identity");
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to read the identity: %s", strerror(-r));
        return reply_text(message, document);
}

static int reply_path(sd_bus_message *message, const RecordPath *path) {
        sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; r >= 0 && i < path->n; i++)
                r = sd_bus_message_append(reply, "s", path->hashes[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        sd_bus_message_unref(reply);
        return r;
}

int method_get_consistency(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        uint64_t old, size, flags;
        RecordPath path;
        int r;

        r = sd_bus_message_read(message, "ttt", &old, &size, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        r = record_log_consistency(manager->log, old, size, &path);
        if (r == -ERANGE)
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_RECORD,
                                     "No log of %" PRIu64 " records within one of %" PRIu64 ", the log has %" PRIu64, old, size,
                                     record_log_size(manager->log));
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to prove that the log grew: %s", strerror(-r));
        return reply_path(message, &path);
}

typedef struct Range {
        Manager *manager;
        uint64_t first, count;
} Range;

static int fill_leaves(const void *what, int fd, sd_bus_error *error) {
        const Range *range = what;
        int r;

        r = record_log_leaves(range->manager->log, range->first, range->count, fd);
        if (r == -ERANGE)
                return no_such_record(range->manager, range->first, error);
        return r < 0 ? bus_error_set(error, ASSAY_ERROR_STORE, "Failed to export leaves: %s", strerror(-r)) : 0;
}

int method_open_leaves(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        Range range = { .manager = manager };
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "ttt", &range.first, &range.count, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        if (range.count == 0 || range.count > ASSAY_LEAVES_MAX)
                range.count = ASSAY_LEAVES_MAX;

        return loans_reply(manager->loans, manager->authority, message, "assay-leaves", fill_leaves, &range, error);
}

int property_get_log_key(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                         void *userdata, sd_bus_error *error) {
        const Manager *manager = userdata;

        return sd_bus_message_append(reply, "s", record_log_vkey(manager->log));
}

/* ---- cosignatures ---- */

int log_bus_check_sound(Manager *manager, sd_bus_error *error) {
        return record_log_has_failed(manager->log) ?
                               sd_bus_error_set(error, ASSAY_ERROR_STORE, "The log is not sound, nothing is signed: assayctl status says why") : 0;
}

/* A call that is answered when the log has done what it asks for. */
struct LogCall {
        LogCall *next;
        uint64_t ticket;
        sd_bus_message *message;
};

static LogCall *call_free(LogCall *call) {
        sd_bus_message_unref(call->message);
        free(call);
        return NULL;
}

static int start_cosigning(Manager *manager, sd_bus_message *message, const char *note, sd_bus_error *error) {
        LogCall *call;
        int r;

        r = log_bus_check_sound(manager, error);
        if (r < 0)
                return r;
        call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (LogCall) { manager->log_calls, manager_next_ticket(manager), sd_bus_message_ref(message) };
        r = record_log_cosign(manager->log, note, strlen(note), call->ticket);
        if (r < 0) {
                (void) call_free(call);
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to keep cosignatures: %s", strerror(-r));
        }
        manager->log_calls = call;
        return 1;
}

int method_add_cosignatures(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *const details[] = { NULL };
        Manager *manager = userdata;
        const char *note;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "st", &note, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        /* The message is kept while polkit is asked: whoever may not do this must not fill our memory by trying. */
        if (strlen(note) > RECORD_NOTE_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "That is longer than any note");
        r = authorize(manager->authority, message, ASSAY_ACTION_COSIGN, details, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1; /* polkit is being asked; this handler runs again with the answer */
        return start_cosigning(manager, message, note, error);
}

/* Once: whoever wrote into it must be found, and a restart says what of it is wrong. */
static void alarm_failed(Manager *manager, const char *why) {
        if (!manager->is_log_alarmed)
                journal_alarm(manager->config->store, "The log %s is not sound, nothing is signed: %s", manager->config->store, why);
        manager->is_log_alarmed = true;
}

/* A sentence is there where the note was wrong, or what the log keeps is, and none where the disk was. */
static void reply_cosigned(Manager *manager, sd_bus_message *message, const RecordOutcome *outcome) {
        const char *wrong = outcome->wrong ?: strerror(-outcome->error);

        if (outcome->error == -ENOTUNIQ)
                alarm_failed(manager, wrong);
        if (outcome->error == 0)
                (void) sd_bus_reply_method_return(message, NULL);
        else
                (void) sd_bus_reply_method_errorf(message,
                                                  outcome->error == -ENOENT            ? ASSAY_ERROR_NO_CHECKPOINT
                                                          : outcome->error == -EBADMSG ? SD_BUS_ERROR_INVALID_ARGS
                                                                                       : ASSAY_ERROR_STORE,
                                                  "Cosignatures are not kept: %s", wrong);
}

bool log_bus_take_outcome(Manager *manager, const RecordOutcome *outcome) {
        for (LogCall **at = &manager->log_calls; *at; at = &(*at)->next)
                if ((*at)->ticket == outcome->ticket) {
                        LogCall *call = *at;

                        *at = call->next;
                        reply_cosigned(manager, call->message, outcome);
                        (void) call_free(call);
                        return true;
                }
        return false;
}

void log_bus_done(Manager *manager) {
        while (manager->log_calls) {
                LogCall *call = manager->log_calls;

                manager->log_calls = call->next;
                (void) call_free(call);
        }
}

/* ---- what the log tells by itself ---- */

int property_get_scrub(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        RecordScrub scrub;

        record_log_scrubbed(manager->log, &scrub);
        return sd_bus_message_append(reply, "(tttts)", scrub.n_checked, scrub.whole_usec, scrub.n_pruned, scrub.n_unruled, scrub.error < 0 ? strerror(-scrub.error) : "");
}

int property_get_log_wrong(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;

        return sd_bus_message_append(reply, "s", record_log_wrong(manager->log) ?: "");
}

int property_get_log_lost(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        char text[RECORD_CUT_REASON_MAX + 64] = "";
        Manager *manager = userdata;
        uint64_t cut;
        const char *lost = record_log_cut(manager->log, &cut);

        if (lost)
                (void) snprintf(text, sizeof(text), "%s, so no pass before record %" PRIu64 " counts", lost, cut);
        return sd_bus_message_append(reply, "s", text);
}

void log_bus_tell(Manager *manager) {
        uint64_t size;
        int r;

        r = record_log_checkpointed(manager->log, &size);
        if (record_log_has_failed(manager->log))
                alarm_failed(manager, record_log_wrong(manager->log));
        else if (r < 0 && r != manager->checkpoint_error)
                (void) log_error_errno(r, "Failed to publish a checkpoint of the log, trying again: %m");
        if (r == 0 && manager->checkpoint_error < 0)
                log_info("Checkpoints of the log are published again");
        manager->checkpoint_error = r;

        if (size > manager->checkpointed && manager->bus)
                (void) sd_bus_emit_signal(manager->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "Checkpointed", "t", size);
        manager->checkpointed = size;
}
