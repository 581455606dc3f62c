/* SPDX-License-Identifier: Apache-2.0 */

/* Somebody decides that a log goes on which cannot go on by itself: see record-scrub.h. */

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/holes.h"
#include "daemon/record/statement/statement-read.h"

static void await(RecordLog *log) {
        struct pollfd pollfd = { .fd = record_log_fd(log), .events = POLLIN };

        (void) poll(&pollfd, 1, -1);
}

/* Both are done by the writer, one after the other; the log tells of each. */
static int await_outcome(RecordLog *log) {
        RecordOutcome outcome;
        int r;

        while ((r = record_log_next(log, &outcome)) == -EAGAIN)
                await(log);
        if (r < 0)
                return r;
        r = outcome.error;
        record_outcome_done(&outcome);
        return r;
}

/* Until then the next start finds what it found before. *RET (malloc'd) is what was accepted, or what went wrong. */
static int await_checkpoint(RecordLog *log, char **ret) {
        RecordOutcome outcome;
        uint64_t size;
        int r;

        while ((r = record_log_checkpointed(log, &size)) == 0 && size < record_log_size(log)) {
                await(log);
                (void) record_log_next(log, &outcome); /* none is there: so that it waits again */
        }
        if (r < 0) {
                free(*ret);
                if (asprintf(ret, "the decision is signed, and no checkpoint of it could be written: %s. Decide again when that is mended", strerror(-r)) < 0)
                        *ret = NULL;
        }
        return r;
}

int record_log_decide(const RecordLogOptions *options, const RecordDecision *decision, char **ret) {
        _cleanup_(record_log_freep) RecordLog *log = NULL;
        DraftGroup *group;
        int r;

        assert(options && decision && ret);

        if (!note_text_is_valid(decision->note)) {
                (void) record_key_free(options->key);
                (void) record_key_free(options->log_key);
                *ret = strdup("the note is not one line of 1 to 256 characters. Nothing was decided");
                return -EINVAL;
        }
        r = log_open_as(options, true, &log, ret);
        if (r == 0)
                r = draft_decision(&log->station, &log->publisher.doubt, &log->head.tree, decision, &group);
        if (r == 0)
                r = queue_put(log, group, 1);
        if (r == 0)
                r = await_outcome(log);
        return r < 0 || !log->publisher.key ? r : await_checkpoint(log, ret);
}

/* ---- what was decided ---- */

/* A decision counts, whatever rules of today say of the rest of its record. */
int log_each_decision(RecordLog *log, Store *store, int (*each)(void *userdata, uint64_t index, const json_t *predicate), void *userdata, char **ret_wrong) {
        uint64_t index = 0;
        int r;

        for (; (r = store_index(store, STORE_DECISION, SQL(sql_number(index)), &index)) == 0; index++) {
                _cleanup_(log_record_done) LogRecord record = {};

                r = log_check_record(log, store, index, &record, ret_wrong);
                if (r == -ENODATA)
                        r = holes_lack(index, ret_wrong);
                if (r == 0 && strcmp(record.verified.entry.type, RECORD_TYPE_DECISION) == 0)
                        r = each(userdata, index, json_object_get(record.statement, "predicate"));
                if (r != 0)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}

static uint64_t n_signed(const json_t *predicate) {
        return (uint64_t) json_integer_value(json_object_get(json_object_get(predicate, "signed"), "size"));
}

static int leaves(void *userdata, uint64_t index, const json_t *predicate) {
        const Checkpoint *checkpoint = userdata;
        char hex[DIGEST_HEX];

        return n_signed(predicate) == checkpoint->size &&
               strcmp(text_of(json_object_get(predicate, "signed"), "sha256"), digest_to_hex(checkpoint->root.bytes, hex)) == 0;
}

int log_has_left(void *userdata, const Checkpoint *checkpoint) {
        RecordLog *log = userdata;
        _cleanup_free_ char *wrong = NULL;

        return log_each_decision(log, log->reader, leaves, (void *) checkpoint, &wrong);
}

static void cut(RecordLog *log, uint64_t index, const char *what, uint64_t first, uint64_t end) {
        log->cut = index;
        if (end == first + 1)
                (void) snprintf(log->cut_reason, sizeof(log->cut_reason), "record %" PRIu64 " is %s", first, what);
        else
                (void) snprintf(log->cut_reason, sizeof(log->cut_reason), "records %" PRIu64 "-%" PRIu64 " are %s", first, end - 1, what);
}

/* Of records that lost their envelope alone it is known where they stand. Whatever else is in doubt, any record behind those that were kept may be gone. */
static int take_cut(void *userdata, uint64_t index, const json_t *predicate) {
        RecordLog *log = userdata;

        if (strcmp(text_of(predicate, "cause"), "records-pruned") == 0)
                return 0;
        cut(log, index, "lost", index, n_signed(predicate));
        if (n_signed(predicate) <= index)
                (void) snprintf(log->cut_reason, sizeof(log->cut_reason), "records before record %" PRIu64 " may be lost", index);
        return 0;
}

int log_read_cut(RecordLog *log, char **ret_wrong) {
        const Holes *holes = &log->holes;
        int r;

        r = log_each_decision(log, log->reader, take_cut, log, ret_wrong);
        if (r == 0 && holes->end > log->cut)
                cut(log, holes->end, "without an envelope", holes->first, holes->end);
        return r;
}

const char *record_log_cut(const RecordLog *log, uint64_t *ret) {
        assert(log && ret);

        *ret = log->cut;
        return log->cut > 0 ? log->cut_reason : NULL;
}
