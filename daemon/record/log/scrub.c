/* SPDX-License-Identifier: Apache-2.0 */

/* One pass: see scrub.h. */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/keys/note.h"
#include "daemon/record/log/holes.h"
#include "daemon/record/log/log.h"

#define TELL_USEC (UINT64_C(10) * 1000000)
#define SLICE 64 /* records and checkpoints between two looks at what else there is to do */
#define REST  9  /* so many times as long as it worked a daily pass rests */

typedef struct Pass {
        RecordLog *log;
        Store *store;
        Store *derived;
        Archives archives; /* of the records that were committed when an envelope was last missed, so many: */
        uint64_t n_archived;
        uint64_t compared; /* where the bundle ends whose entries were held against its archive */
        Holes holes; /* in none of them */
        Frontier tree; /* of what was checked */
        uint8_t last[DIGEST_BYTES];
        uint64_t checkpoint; /* as far as checkpoints were checked */
        uint64_t n_pruned, n_unruled;
        uint64_t told_usec;
        char *wrong;
} Pass;

/* Of record INDEX. The first sentence is the one that counts. */
static int differs(Pass *pass, uint64_t index, const char *what) {
        if (!pass->wrong && asprintf(&pass->wrong, "record %llu: %s", (unsigned long long) index, what) < 0) {
                pass->wrong = NULL;
                return -ENOMEM;
        }
        return -EBADMSG;
}

static int pass_open(RecordLog *log, Pass *pass) {
        int r;

        *pass = (Pass) { .log = log };
        r = store_open(log->path, log->station.origin, &pass->store, &pass->wrong);
        return r < 0 ? r : store_open_derived(&pass->derived);
}

static void pass_done(Pass *pass) {
        (void) store_close(pass->derived);
        archives_done(&pass->archives);
        (void) store_close(pass->store);
        free(pass->wrong);
}

/* ---- a record ---- */

/* A part of a server has an identity, which its digest must lead to. */
static int check_identity(Pass *pass, uint64_t index, const LogRecord *record) {
        const json_t *subject = json_array_get(json_object_get(record->statement, "subject"), 0);
        _cleanup_free_ char *document = NULL;
        uint8_t wanted[DIGEST_BYTES], digest[DIGEST_BYTES];
        int r;

        if (!*record->verified.entry.subject.server)
                return 0;
        r = digest_from_hex(text_of(json_object_get(subject, "digest"), "sha256"), wanted);
        if (r == 0)
                r = store_identity(pass->store, wanted, &document);
        if (r == 0)
                r = digest_sha256(document, strlen(document), digest);
        if (r == -ENOENT || r == -EBADMSG || r == -EINVAL || (r == 0 && memcmp(wanted, digest, DIGEST_BYTES) != 0))
                return differs(pass, index, "the identity document of its subject is lost, or another one stands there");
        return r;
}

/* A record that tells of an archive may have been committed since they were read. */
static int read_archives(Pass *pass) {
        uint64_t size;
        int r;

        r = store_size(pass->store, &size);
        if (r < 0 || size == pass->n_archived)
                return r;
        archives_done(&pass->archives);
        pass->n_archived = size;
        return archives_read(pass->log, pass->store, &pass->archives, &pass->wrong);
}

/* The envelope of ENTRY is gone: an archive has it, or it is one of those that somebody answers for. */
static int check_hole(Pass *pass, const RecordEntry *entry) {
        const Archive *archive = archives_find(&pass->archives, entry->index);
        const Holes *holes = &pass->log->holes;
        int r;

        if (!archive) {
                r = read_archives(pass);
                if (r < 0)
                        return r;
                archive = archives_find(&pass->archives, entry->index);
        }
        if (archive && entry->index >= pass->compared) {
                pass->compared = archive->first + RECORD_ARCHIVE_RECORDS;
                return archive_check(archive, pass->store, &pass->wrong);
        }
        if (archive)
                return 0;
        if (entry->index < holes->first || entry->index >= holes->end)
                return differs(pass, entry->index, "has no envelope, and no record says which archive has it");
        return holes_take(&pass->holes, entry);
}

/* Nobody knows any more what its envelope said: `entry` and its ID are taken, as they were when it went. */
static int take_pruned(Pass *pass, uint64_t index) {
        RecordEntry entry;
        int r;

        r = store_entry(pass->store, index, &entry);
        if (r == 0)
                r = check_hole(pass, &entry);
        if (r == 0)
                r = digest_from_hex(entry.id, pass->last);
        if (r == 0)
                r = store_derive_signed(pass->derived, &entry, NULL);
        pass->n_pruned++;
        return r == -EBADMSG || r == -ENOENT ? differs(pass, index, "what its tables say cannot be read") : r;
}

static int check_signed(Pass *pass, uint64_t index, const LogRecord *record) {
        RecordEntry entry;
        int r;

        if (index > 0 && !log_record_follows(record, pass->last))
                return differs(pass, index, "does not follow the one that stands before it");
        r = store_entry(pass->store, index, &entry);
        if (r == -EBADMSG || r == -ENOENT || (r == 0 && !store_entry_is_of(&entry, &record->verified.entry)))
                return differs(pass, index, "what its tables say is not what it says itself");
        if (r == 0)
                r = check_identity(pass, index, record);
        return r;
}

static int check_record(Pass *pass, uint64_t index) {
        _cleanup_(log_record_done) LogRecord record = {};
        int r;

        r = store_check_tree(pass->store, &pass->tree, index + 1);
        if (r == -EBADMSG)
                return differs(pass, index, "the hashes beside it are not those of the tree");
        if (r == 0)
                r = log_check_record(pass->log, pass->store, index, &record, &pass->wrong);
        if (r == -ENODATA)
                return take_pruned(pass, index);
        if (r == 0)
                r = check_signed(pass, index, &record);
        if (r < 0)
                return r;
        memcpy(pass->last, record.id, DIGEST_BYTES);
        pass->n_unruled += record.verified.is_older;
        r = store_derive_signed(pass->derived, &record.verified.entry, record.statement);
        return r > 0 ? store_note_unread(pass->derived, &record.verified.entry) : r; /* the tables go by what an older assayd read from it */
}

/* ---- a checkpoint ---- */

static int check_note(Pass *pass, const char *text, size_t n, uint64_t size, unsigned n_witnesses) {
        _cleanup_free_ Note *note = malloc(sizeof(Note));
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong;
        bool is_equal;
        int r;

        if (!note)
                return -ENOMEM;
        r = checkpoint_verify(text, n, &pass->log->publisher.policy, &checkpoint, &seen, &wrong);
        if (r == 0)
                r = note_parse(text, n, note);
        if (r == 0)
                r = checkpoint.size != size ? -EBADMSG : publisher_compare(pass->store, &checkpoint, &is_equal);
        return r < 0 ? r : is_equal && note->n_signatures == n_witnesses + 1 ? 0 : -EBADMSG;
}

/* The next one of records that were checked. 1: there are no more. */
static int check_checkpoint(Pass *pass) {
        _cleanup_free_ char *note = NULL;
        unsigned n_witnesses;
        uint64_t size;
        size_t n;
        int r;

        if (!pass->log->publisher.key)
                return 1;
        r = store_next_checkpoint(pass->store, pass->checkpoint, &size, &note, &n, &n_witnesses);
        if (r == -ENOENT || (r == 0 && size > pass->tree.size))
                return 1;
        if (r == 0)
                r = check_note(pass, note, n, size, n_witnesses);
        if (r == 0)
                pass->checkpoint = size;
        return r == -EBADMSG ? differs(pass, size - 1, "the checkpoint that ends with it is not one that this log has signed") : r;
}

/* ---- a pass ---- */

/* Of an index whoever reads a record by itself sees nothing. It is a hundredth of the work of a pass, and one statement. 1: there is no more. */
static int check_pages(Pass *pass) {
        int r = store_check_pages(pass->store, &pass->wrong);

        return r < 0 ? r : 1;
}

/* Each time the same snapshot, in which tables and records belong together; so this is short. */
static int check_end(Pass *pass) {
        uint64_t known = atomic_load(&pass->log->size), published = atomic_load(&pass->log->published), size = 0, newest = 0;
        Store *store = pass->store;
        _cleanup_free_ char *note = NULL;
        size_t n;
        int r;

        r = store_execute(store, "BEGIN");
        if (r == 0)
                r = store_size(store, &size);
        while (r == 0 && pass->tree.size < size)
                r = check_record(pass, pass->tree.size);
        if (r == 0 && size < known)
                r = differs(pass, size, "it was committed, and is gone");
        if (r == 0 && !holes_equal(&pass->holes, &pass->log->holes))
                r = differs(pass, pass->log->holes.first, "has no envelope, as others, and these are not the ones that somebody has decided about");
        if (r == 0)
                r = store_compare_derived(store, pass->derived, &pass->wrong);
        while (r == 0)
                r = check_checkpoint(pass);
        if (r == 1)
                r = store_newest_checkpoint(store, INT64_MAX, &newest, &note, &n);
        if (r == 0 || r == -ENOENT)
                r = newest < published || newest > size ? differs(pass, newest, "the newest checkpoint ends before it, which is not the one that was published") : 0;
        (void) store_execute(store, "ROLLBACK");
        return r;
}

static uint64_t rest_of(uint64_t usec) {
        return usec * REST < 1000000 ? usec * REST : 1000000;
}

/* Between slices: tells how far it is, and rests. */
static void pause_pass(Pass *pass, uint64_t began_usec, bool rests) {
        const uint64_t usec = rest_of(monotonic_usec() - began_usec);
        const struct timespec rest = { (time_t) (usec / 1000000), (long) (usec % 1000000 * 1000) };

        atomic_store(&pass->log->scrubber.n_checked, pass->tree.size);
        if (began_usec > pass->told_usec + TELL_USEC) {
                pass->told_usec = began_usec;
                log_tell(pass->log);
        }
        if (rests)
                (void) nanosleep(&rest, NULL);
}

/* The next record. 1: those that are left are checked together with what follows from all of them. */
static int check_next(Pass *pass) {
        return pass->tree.size + SLICE < atomic_load(&pass->log->size) ? check_record(pass, pass->tree.size) : 1;
}

/* Until EACH says that there are no more. */
static int run_slices(Pass *pass, bool rests, int (*each)(Pass *pass)) {
        int r = 0;

        while (r == 0) {
                uint64_t began = monotonic_usec();

                for (unsigned i = 0; i < SLICE && r == 0; i++)
                        r = each(pass);
                pause_pass(pass, began, rests);
                if (log_is_closing(pass->log) || atomic_load(&pass->log->has_failed))
                        return -ECANCELED;
        }
        return r == 1 ? 0 : r;
}

int scrub_pass(RecordLog *log, bool rests, char **ret_wrong) {
        Pass pass;
        int r;

        r = pass_open(log, &pass);
        if (r == 0)
                r = run_slices(&pass, rests, check_next);
        if (r == 0)
                r = run_slices(&pass, rests, check_checkpoint);
        if (r == 0)
                r = run_slices(&pass, rests, check_pages);
        if (r == 0)
                r = check_end(&pass);
        if (r == 0) {
                struct timespec now;

                (void) clock_gettime(CLOCK_REALTIME, &now);
                atomic_store(&log->scrubber.n_pruned, pass.n_pruned);
                atomic_store(&log->scrubber.n_unruled, pass.n_unruled);
                atomic_store(&log->scrubber.whole_usec, (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000);
        }
        if (r == -EBADMSG && !pass.wrong && pass.store)
                (void) differs(&pass, pass.tree.size, sqlite3_errmsg(pass.store->db));
        atomic_store(&log->scrubber.n_checked, 0);
        *ret_wrong = r == -EBADMSG ? TAKE_PTR(pass.wrong) : NULL;
        pass_done(&pass);
        return r;
}
