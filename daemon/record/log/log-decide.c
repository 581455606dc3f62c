/* SPDX-License-Identifier: Apache-2.0 */

/* Somebody decides that a log goes on which cannot go on by itself: see record-scrub.h. */

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

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

        r = log_open_as(options, true, &log, ret);
        if (r == 0)
                r = draft_decision(&log->station, &log->publisher.doubt, &log->head.tree, decision, &group);
        if (r == 0)
                r = queue_put(log, group, 1);
        if (r == 0)
                r = await_outcome(log);
        return r < 0 ? r : await_checkpoint(log, ret);
}

static int read_left(RecordLog *log, uint64_t index, uint64_t *left) {
        _cleanup_json_ json_t *statement = NULL;
        RecordVerified verified;
        json_int_t size = 0;
        int r;

        r = log_read_record(log, index, &verified);
        if (r < 0)
                return r == -ENODATA ? -EBADMSG : r;
        r = record_statement_read(verified.payload, verified.n_payload, &statement);
        if (r == 0)
                size = json_integer_value(json_object_get(json_object_get(json_object_get(statement, "predicate"), "signed"), "size"));
        record_verified_done(&verified);
        *left = MAX(*left, (uint64_t) MAX(size, 0));
        return r;
}

int log_read_left(RecordLog *log, uint64_t *ret) {
        uint64_t index = 0, left = 0;
        int r;

        while ((r = store_index(log->reader, STORE_DECISION, SQL(sql_number(index)), &index)) == 0) {
                r = read_left(log, index++, &left);
                if (r < 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        *ret = left;
        return 0;
}
