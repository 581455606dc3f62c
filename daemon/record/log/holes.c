/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The mark in the place of an envelope is nobody's signature, so it says nothing: a record tells which archive has the envelope, or, where an assayd that knew of
 * none has pruned it, which such records there were when somebody decided to go on with the log.
 */

#include "daemon/record/log/holes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int holes_lack(uint64_t index, char **ret_wrong) {
        return asprintf(ret_wrong, "record %" PRIu64 " has no envelope, and no record says which archive has it: put the newest backup back", index) < 0 ? -ENOMEM : -EBADMSG;
}

/* ---- archives ---- */

static int compare(const void *a, const void *b) {
        const Archive *x = a, *y = b;

        return (x->first > y->first) - (x->first < y->first);
}

static int add_archive(RecordLog *log, Store *store, uint64_t index, Archives *archives, char **ret_wrong) {
        _cleanup_(log_record_done) LogRecord record = {};
        Archive *items;
        int r;

        r = log_check_record(log, store, index, &record, ret_wrong);
        if (r < 0)
                return r == -ENODATA ? holes_lack(index, ret_wrong) : r;
        items = reallocarray(archives->items, archives->n + 1, sizeof(*items));
        if (!items)
                return -ENOMEM;
        archives->items = items;
        /* A rule of today that refuses what our own key has signed takes nothing away from what it tells. */
        if (strcmp(record.verified.entry.type, RECORD_TYPE_ARCHIVE) == 0 && archive_parse(json_object_get(record.statement, "predicate"), &items[archives->n]) == 0)
                archives->n++;
        return 0;
}

int archives_read(RecordLog *log, Store *store, Archives *ret, char **ret_wrong) {
        Archives archives = {};
        uint64_t index = 0;
        int r;

        while ((r = store_index(store, STORE_ARCHIVE, SQL(sql_number(index)), &index)) == 0) {
                r = add_archive(log, store, index++, &archives, ret_wrong);
                if (r < 0)
                        break;
        }
        if (r < 0 && r != -ENOENT) {
                archives_done(&archives);
                return r;
        }
        if (archives.n > 0)
                qsort(archives.items, archives.n, sizeof(Archive), compare);
        *ret = archives;
        return 0;
}

void archives_done(Archives *archives) {
        free(archives->items);
        *archives = (Archives) {};
}

const Archive *archives_find(const Archives *archives, uint64_t index) {
        const Archive wanted = { .first = index - index % RECORD_ARCHIVE_RECORDS };
        const Archive *found = archives->n == 0 ? NULL : bsearch(&wanted, archives->items, archives->n, sizeof(Archive), compare);

        return found && region_set_has(&found->dropped, (unsigned) (index - found->first)) ? found : NULL;
}

int archive_check(const Archive *archive, Store *store, char **ret_wrong) {
        Holes pruned = {};
        int r = 0;

        if (archive->pruned.n == 0)
                return 0;
        for (unsigned i = 0; i < RECORD_ARCHIVE_RECORDS && r == 0; i++) {
                RecordEntry entry;

                if (!region_set_has(&archive->dropped, i))
                        continue;
                r = store_entry(store, archive->first + i, &entry);
                if (r == 0)
                        r = holes_take(&pruned, &entry);
        }
        if (r == 0 && holes_equal(&pruned, &archive->pruned))
                return 0;
        if (r < 0 && r != -EBADMSG && r != -ENOENT)
                return r;
        return asprintf(ret_wrong, "what its tables say of records %" PRIu64 "-%" PRIu64 ", which are in an archive, is not what they said when these were dropped: put the newest backup back",
                        archive->first, archive->first + RECORD_ARCHIVE_RECORDS - 1) < 0 ? -ENOMEM : -EBADMSG;
}

/* ---- holes ---- */

/* Record INDEX, of which nothing may be left but what its tables say. */
static int take_hole(Store *store, uint64_t index, Holes *holes, char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        uint8_t id[DIGEST_BYTES];
        RecordEntry entry;
        int r;

        r = store_parsed(store, index, &envelope, id);
        if (r == -ENODATA)
                r = store_entry(store, index, &entry);
        else if (r == 0)
                r = -EBADMSG;
        if (r == -EBADMSG || r == -ENOENT)
                return holes_lack(index, ret_wrong);
        return r < 0 ? r : holes_take(holes, &entry);
}

static int tells(void *userdata, uint64_t index, const json_t *predicate) {
        Holes told;

        return holes_parse(predicate, &told) == 0 && holes_equal(&told, userdata);
}

int log_check_holes(RecordLog *log, Store *store, char **ret_wrong) {
        _cleanup_(archives_done) Archives archives = {};
        Holes holes = {};
        uint64_t index = 0;
        int r;

        r = archives_read(log, store, &archives, ret_wrong);
        for (; r == 0 && (r = store_next_hole(store, index, &index)) == 0; index++)
                if (!archives_find(&archives, index))
                        r = take_hole(store, index, &holes, ret_wrong);
        if (r != -ENOENT)
                return r;
        if (holes.n == 0)
                return 0;
        r = log_each_decision(log, store, tells, &holes, ret_wrong); /* 0: envelopes have gone or come back since, or nobody has decided */
        if (r == 0)
                log->publisher.doubt.holes = holes;
        log->holes = holes;
        return r < 0 ? r : 0;
}
