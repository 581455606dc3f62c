/* SPDX-License-Identifier: Apache-2.0 */

/* Somebody decides that a log goes on which cannot go on by itself: see record-scrub.h. */

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"
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

/* Whether the decision at INDEX leaves CHECKPOINT, whatever rules of today say of the rest of it. What is no record of ours leaves nothing. */
static int leaves(RecordLog *log, uint64_t index, const Checkpoint *checkpoint) {
        _cleanup_(log_record_done) LogRecord record = {};
        _cleanup_free_ char *wrong = NULL;
        const json_t *left;
        char hex[DIGEST_HEX];
        int r;

        r = log_check_record(log, log->reader, index, &record, &wrong);
        if (r < 0)
                return r == -EBADMSG ? 0 : r;
        left = json_object_get(json_object_get(record.statement, "predicate"), "signed");
        return strcmp(record.verified.entry.type, RECORD_TYPE_DECISION) == 0 && json_integer_value(json_object_get(left, "size")) == (json_int_t) checkpoint->size &&
               strcmp(text_of(left, "sha256"), digest_to_hex(checkpoint->root.bytes, hex)) == 0;
}

int log_has_left(void *userdata, const Checkpoint *checkpoint) {
        RecordLog *log = userdata;
        uint64_t index = 0;
        int r;

        while ((r = store_index(log->reader, STORE_DECISION, SQL(sql_number(index)), &index)) == 0) {
                r = leaves(log, index++, checkpoint);
                if (r != 0)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}
