/* SPDX-License-Identifier: Apache-2.0 */

/* Logs whose key has signed what is not there (any more): none goes on before somebody has decided so, and said so in a record. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "checks/text/whole-file.h"
#include "daemon/record/log/log.h"
#include "tests/record/published.h"

#define RECORDS 5
#define NOTE    "the disk was lost, ticket 4711"

static Published published;

static int setup(void **state) {
        published_init(&published);
        (void) snprintf(published.elsewhere, sizeof(published.elsewhere), "%s/elsewhere", published.place.folder);
        return mkdir(published.elsewhere, 0700);
}

static int teardown(void **state) {
        published_done(&published);
        return 0;
}

static RecordLog *open_log(void) {
        RecordLog *log = NULL;
        char *error = NULL;
        int r;

        r = published_open(&published, &log, &error);
        if (r < 0 || error)
                fail_msg("%d: %s", r, error ?: "");
        return log;
}

static void append(unsigned n) {
        RecordLog *log = open_log();

        published_append(&published, log, n);
        published_wait(log, record_log_size(log));
        (void) record_log_free(log);
}

static void execute(const char *sql) {
        sqlite3 *db;

        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_refused(const char *says) {
        for (unsigned i = 0; i < 2; i++) { /* to try is no decision */
                _cleanup_free_ char *error = NULL;
                RecordLog *log = NULL;

                assert_int_equal(published_open(&published, &log, &error), -ENOTRECOVERABLE);
                if (!error || !strstr(error, says) || !strstr(error, "--continue-log"))
                        fail_msg("\"%s\" does not say \"%s\"", error ?: "", says);
        }
}

/* RET is what it said before, or NULL. */
static int decide(const char *note, char **ret) {
        RecordLogOptions options = published_options(&published, published.log_key, published.anchor);

        free(*ret);
        *ret = NULL;
        return record_log_decide(&options, &(RecordDecision) { note, 1007, "ann" }, ret);
}

static json_t *payload_of(RecordLog *log, uint64_t index, const char *reason) {
        RecordKeyring *keyring = place_keyring(&published.place);
        RecordVerified verified;
        json_t *payload, *predicate;

        place_verify(log, keyring, index, &verified);
        assert_string_equal(verified.entry.type, RECORD_TYPE_DECISION);
        assert_string_equal(record_word(&verified.entry), "log continued");
        if (!strstr(verified.reason, reason))
                fail_msg("\"%s\" does not say \"%s\"", verified.reason, reason);
        payload = json_loadb(verified.payload, verified.n_payload, 0, NULL);
        record_verified_done(&verified);
        (void) record_keyring_free(keyring);
        predicate = json_incref(json_object_get(payload, "predicate"));
        json_decref(payload);
        return predicate;
}

/* Whoever audits the log is shown the decision, and that it tells of the records before it. */
static void assert_audited(RecordLog *log) {
        RecordKeyring *keyring = place_keyring(&published.place);
        const RecordAuditReport *report;
        RecordAudit *audit;

        assert_int_equal(record_audit_new(&(RecordAuditOptions) { .keyring = keyring }, &audit), 0);
        for (uint64_t i = 0; i < record_log_size(log); i++) {
                _cleanup_free_ char *line = place_envelope(log, i);

                assert_int_equal(record_audit_take(audit, line, strlen(line)), 0);
        }
        assert_int_equal(record_audit_end(audit, &report), 0);
        assert_int_equal(report->n_verified, record_log_size(log));
        assert_int_equal(report->n_of_kind[RECORD_AUDIT_DECISION], 1);
        assert_int_equal(report->n_of_kind[RECORD_AUDIT_ROOT], 0);
        (void) record_audit_free(audit);
        (void) record_keyring_free(keyring);
}

/* No pass before record CUT counts, since those from FIRST to before END are lost, or any may be. */
static void assert_cut(RecordLog *log, uint64_t cut, uint64_t first, uint64_t end) {
        char reason[RECORD_CUT_REASON_MAX];
        const char *why;
        uint64_t found;

        if (end > first + 1)
                (void) snprintf(reason, sizeof(reason), "records %llu-%llu are lost", (unsigned long long) first, (unsigned long long) end - 1);
        else if (end > first)
                (void) snprintf(reason, sizeof(reason), "record %llu is lost", (unsigned long long) first);
        else
                (void) snprintf(reason, sizeof(reason), "records before record %llu may be lost", (unsigned long long) cut);
        why = record_log_cut(log, &found);
        assert_int_equal(found, cut);
        if (cut > 0)
                assert_string_equal(why, reason);
        else
                assert_null(why);
}

/* The decision is record INDEX, and the log goes on after it, scrubbed and published. */
static void assert_decided(uint64_t index, const char *cause, uint64_t n_signed) {
        _cleanup_free_ char *text = NULL, *wrong = NULL;
        char reason[256], after[48] = "";
        json_t *said;
        RecordLog *log;
        int r;

        if (n_signed > 0)
                (void) snprintf(after, sizeof(after), " after %llu were signed", (unsigned long long) n_signed);
        (void) snprintf(reason, sizeof(reason), ": went on from %llu records%s, %s, as uid 1007 decided: " NOTE, (unsigned long long) index, after, cause);
        r = decide(NOTE, &text);
        if (r < 0)
                fail_msg("%d: %s", r, text ?: "");
        assert_null(strstr(text, "--continue-log"));
        log = open_log();
        assert_cut(log, index, index, n_signed);
        assert_int_equal(record_log_size(log), index + 1);
        said = payload_of(log, index, reason);
        assert_string_equal(json_string_value(json_object_get(said, "cause")), cause);
        assert_string_equal(json_string_value(json_object_get(said, "note")), NOTE);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "operator"), "uid")), 1007);
        assert_string_equal(json_string_value(json_object_get(json_object_get(said, "operator"), "name")), "ann");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "kept"), "size")), index);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "signed"), "size")), n_signed);
        json_decref(said);
        published_append(&published, log, 2);
        published_wait(log, index + 3);
        assert_int_equal(record_log_check(log, &wrong), 0);
        assert_audited(log);
        (void) record_log_free(log);
        (void) record_log_free(open_log());
        assert_int_equal(decide(NOTE, &text), -EALREADY);
        log = open_log();
        assert_int_equal(record_log_size(log), index + 3);
        (void) record_log_free(log);
}

/* Whoever has the record key may have signed any of these records: nothing is left that the log key has. */
static void test_checkpoints_that_are_gone_stop_the_log(void **state) {
        append(RECORDS);
        execute("DELETE FROM checkpoint");
        assert_int_equal(unlink(published.anchor), 0);
        assert_refused("5 records and no checkpoint");
        assert_decided(RECORDS, "checkpoints-lost", 0);
}

static void remove_state(void) {
        char path[128];

        assert_int_equal(unlink(published.place.log), 0);
        (void) unlink(published.anchor);
        (void) snprintf(path, sizeof(path), "%s.lock", published.place.log);
        assert_int_equal(unlink(path), 0);
}

static void test_an_empty_state_with_old_keys_stops_the_log(void **state) {
        append(RECORDS - 1);
        append(1); /* each process says first where it is */
        remove_state();
        assert_refused("its key has signed 5 records of this log");
        assert_decided(0, "records-lost", RECORDS);
}

/* What is kept elsewhere is written when the log has doubled, not at each checkpoint: the rest the anchor tells. */
static void test_the_first_record_is_remembered_already(void **state) {
        RecordLog *log = open_log();

        published_append(&published, log, 1);
        published_wait(log, 1);
        published_append(&published, log, 1);
        published_wait(log, 2);
        published_append(&published, log, 1);
        published_wait(log, 3);
        (void) record_log_free(log);
        remove_state();
        assert_refused("its key has signed 2 records");
}

/* Its name is that of the log, so another one begins as ever; and where nothing could be kept nothing is asked. */
static void test_another_log_is_another_log(void **state) {
        RecordLogOptions options;
        RecordLog *log;

        append(1);
        remove_state();
        options = published_options(&published, published.log_key, published.anchor);
        options.origin = "fleet.example/stations/st-018";
        assert_int_equal(record_log_open(&options, &log, NULL), 0);
        (void) record_log_free(log);
        remove_state();
        *published.elsewhere = '\0';
        append(1);
}

/* Killed before the first checkpoint, it goes on: the anchor of no records is there from the first moment. Once there was one, that anchor is an old one. */
static void test_a_log_that_dies_before_its_first_checkpoint_goes_on(void **state) {
        char *first;
        size_t n;

        (void) record_log_free(open_log());
        assert_int_equal(whole_file_read(AT_FDCWD, published.anchor, 4096, &first, &n), 0);
        append(RECORDS);
        execute("DELETE FROM checkpoint");
        assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, first, n), 0);
        assert_refused("5 records and no checkpoint");
        *published.elsewhere = '\0';
        append(1);
        free(first);
}

static char *remembered(void) {
        glob_t found;
        char *path;

        assert_true(asprintf(&path, "%s/*.checkpoint", published.elsewhere) > 0);
        assert_int_equal(glob(path, 0, NULL, &found), 0);
        assert_int_equal(found.gl_pathc, 1);
        free(path);
        path = strdup(found.gl_pathv[0]);
        globfree(&found);
        return path;
}

static void put(const char *path, const char *text, size_t n) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, n, file), n);
        assert_int_equal(fclose(file), 0);
}

/* Wherever one character of the file has rotted: a log that is whole is not lost with it. */
static void decide_about_damage(const char *path, size_t step) {
        char *text;
        size_t n;

        assert_int_equal(whole_file_read(AT_FDCWD, path, NOTE_MAX, &text, &n), 0);
        for (size_t i = 0; i < n; i += step) {
                text[i] ^= 1;
                put(path, text, n);
                assert_refused("holds no checkpoint of this log");
                text[i] ^= 1;
        }
        put(path, "", 0);
        assert_refused("it is no signed note");
        assert_decided(RECORDS, "anchor-damaged", 0);
        free(text);
}

static void test_a_rotten_anchor_stops_the_log(void **state) {
        append(RECORDS);
        decide_about_damage(published.anchor, 1);
}

static void test_what_has_rotted_elsewhere_stops_the_log(void **state) {
        _cleanup_free_ char *path = NULL;

        append(RECORDS);
        path = remembered();
        decide_about_damage(path, 13);
}

/* Whoever puts an old copy back takes the anchor away with it: what is remembered elsewhere is older, or of just so many records. */
static void test_no_anchor_stops_the_log(void **state) {
        append(RECORDS);
        assert_int_equal(unlink(published.anchor), 0);
        assert_refused("it is not told whether this is an old copy");
        assert_decided(RECORDS, "anchor-damaged", 0);
}

/* It may have been of more records, and the other one tells: that is the cause. Before the first record there is nothing else. */
static void test_rot_hides_no_other_cause(void **state) {
        _cleanup_free_ char *path = NULL;

        append(RECORDS - 1);
        append(1);
        remove_state();
        put(published.anchor, "rot\n", 4);
        assert_refused("its key has signed 5 records of this log");
        path = remembered();
        put(path, "rot\n", 4);
        assert_refused("holds no checkpoint of this log");
        assert_decided(0, "anchor-damaged", 0);
}

/* Of another key, and of another log of the same key. */
static void test_a_checkpoint_of_another_is_no_damage(void **state) {
        static const char *const origins[] = { PLACE_ORIGIN, "fleet.example/stations/st-018" };
        char other_key[128];

        append(RECORDS);
        (void) snprintf(other_key, sizeof(other_key), "%s/w1", published.place.folder);
        for (size_t i = 0; i < ELEMENTS(origins); i++) {
                RecordLogOptions options = published_options(&published, i == 0 ? other_key : published.log_key, NULL);
                _cleanup_free_ char *store = NULL, *anchor = NULL, *error = NULL, *text = NULL;
                RecordLog *log;
                size_t n;

                assert_true(asprintf(&store, "%s/other%zu.db", published.place.folder, i) > 0);
                assert_true(asprintf(&anchor, "%s/other%zu.anchor", published.place.folder, i) > 0);
                options.path = store;
                options.anchor = anchor;
                options.origin = origins[i];
                options.signed_in = NULL;
                options.n_witnesses = 0;
                assert_int_equal(record_log_open(&options, &log, &error), 0);
                (void) record_log_free(log);
                assert_int_equal(whole_file_read(AT_FDCWD, anchor, NOTE_MAX, &text, &n), 0);
                put(published.anchor, text, n);
                assert_int_equal(published_open(&published, &log, &error), -EBADMSG);
                assert_non_null(strstr(error, "Use the log and key it belongs to"));
                assert_int_equal(decide(NOTE, &error), -EBADMSG);
        }
}

/* The next start would ask again, and the next answer be one more fork under the key. */
static void test_nothing_is_decided_that_cannot_be_told(void **state) {
        char elsewhere[96], anchor[96];

        append(RECORDS);
        execute("DELETE FROM checkpoint");
        assert_int_equal(unlink(published.anchor), 0);
        (void) memcpy(elsewhere, published.elsewhere, sizeof(elsewhere));
        (void) memcpy(anchor, published.anchor, sizeof(anchor));
        for (unsigned i = 0; i < 3; i++) {
                _cleanup_free_ char *text = NULL;

                if (i == 0)
                        (void) strcpy(strrchr(published.elsewhere, '/'), "/none");
                if (i == 1)
                        (void) strcpy(strrchr(published.anchor, '/'), "/none/anchor");
                if (i == 2)
                        assert_int_equal(mkdir(published.anchor, 0700), 0);
                assert_int_equal(decide(NOTE, &text), i == 2 ? -EISDIR : -ENOENT);
                if (!text || !strstr(text, " cannot be written: ") || !strstr(text, i == 0 ? published.elsewhere : published.anchor))
                        fail_msg("%s", text ?: "");
                (void) memcpy(published.elsewhere, elsewhere, sizeof(elsewhere));
                (void) memcpy(published.anchor, anchor, sizeof(anchor));
        }
        assert_int_equal(rmdir(published.anchor), 0);
        assert_refused("5 records and no checkpoint");
        assert_decided(RECORDS, "checkpoints-lost", 0);
}

/* A checkpoint of what is in doubt would settle it without a word. */
static void test_nothing_is_published_before_the_decision(void **state) {
        _cleanup_free_ char *text = NULL;

        append(RECORDS);
        execute("DELETE FROM checkpoint");
        assert_int_equal(unlink(published.anchor), 0);
        assert_int_equal(decide("two\nlines", &text), -EINVAL);
        assert_refused("5 records and no checkpoint");
}

/* Two checkpoints of one log that its own key has signed, as a witness may show the other one: whoever brings it need not be believed. */
static void take_anchor(char note[static 4096]) {
        FILE *file = fopen(published.anchor, "re");

        assert_non_null(file);
        note[fread(note, 1, 4095, file)] = '\0';
        assert_int_not_equal(note[0], '\0');
        (void) fclose(file);
}

static void assert_cosign(RecordLog *log, const char *note, int error, const char *says) {
        RecordOutcome outcome;

        assert_int_equal(record_log_cosign(log, note, strlen(note), 1), 0);
        place_wait(log, &outcome);
        assert_int_equal(outcome.error, error);
        if (!outcome.wrong || !strstr(outcome.wrong, says))
                fail_msg("\"%s\" does not say \"%s\"", outcome.wrong ?: "", says);
        assert_int_equal(record_log_has_failed(log), error == -ENOTUNIQ);
        record_outcome_done(&outcome);
}

static void test_a_proven_alarm_stops_the_log(void **state) {
        char other[4096], longer[4096];
        RecordLog *log;

        append(RECORDS);
        take_anchor(other);
        append(2);
        take_anchor(longer);
        remove_state();
        *published.elsewhere = '\0'; /* a copy elsewhere, which knows nothing of the first */
        published.server.run[35] = '9';
        append(RECORDS + 1);

        log = open_log();
        assert_cosign(log, other, -ENOTUNIQ, "has signed a checkpoint of another one");
        assert_non_null(strstr(record_log_wrong(log), "has signed a checkpoint of another one"));
        (void) record_log_free(log);
        assert_refused("its first 5 records are not those that were published");
        assert_decided(RECORDS + 1, "forked", RECORDS);

        /* What was decided is decided, whoever tells of it again; that the other one has gone on is new. */
        log = open_log();
        assert_cosign(log, other, -ENOENT, "which somebody has decided to leave");
        assert_cosign(log, longer, -ENOTUNIQ, "has signed a checkpoint of another one");
        (void) record_log_free(log);
        assert_refused("its first 7 records are not those that were published");
}

/* A rule of today refuses the decision; it was signed, and counts. */
static void test_a_rule_that_changes_takes_no_decision_back(void **state) {
        LogDoubt doubt = { "forked" };
        CheckpointSeen seen;
        Checkpoint other;
        DraftGroup *group;
        char note[4096];
        const char *wrong;
        RecordLog *log;
        char *cause;

        append(RECORDS);
        take_anchor(note);
        assert_int_equal(checkpoint_verify(note, strlen(note), &published.policy, &other, &seen, &wrong), 0);
        doubt.size = other.size;
        doubt.root = other.root;
        remove_state();
        *published.elsewhere = '\0';
        published.server.run[35] = '9';
        append(RECORDS + 1);
        log = open_log();
        assert_int_equal(draft_decision(&log->station, &doubt, &log->head.tree, &(RecordDecision) { NOTE, 1007, "ann" }, &group), 0);
        cause = memmem(group->drafts[0].tail.text, group->drafts[0].tail.n, "\"forked\"", 8);
        assert_non_null(cause);
        memcpy(cause, "\"spoons\"", 8);
        assert_int_equal(queue_put(log, group, 1), 0);
        (void) place_take(log);
        assert_cosign(log, note, -ENOENT, "which somebody has decided to leave");
        (void) record_log_free(log);
}

/* No decision makes what is damaged whole; and one needs a reason. */
static void test_what_cannot_be_decided(void **state) {
        _cleanup_free_ char *text = NULL;

        append(RECORDS);
        assert_int_equal(decide(NOTE, &text), -EALREADY);
        assert_int_equal(unlink(published.anchor), 0);
        execute("DELETE FROM checkpoint; UPDATE record SET signature = zeroblob(64) WHERE idx = 4");
        assert_int_equal(decide(NOTE, &text), -EBADMSG);
        assert_non_null(strstr(text, "the last record, 4"));
        remove_state();
        assert_int_equal(decide("", &text), -EINVAL);
        assert_non_null(strstr(text, "the note is not one line"));
        assert_int_equal(decide("two\nlines", &text), -EINVAL);
        assert_refused("its key has signed");
}

/* ---- envelopes that are gone ---- */

static void beat(unsigned n) {
        RecordLog *log = open_log();

        for (unsigned i = 0; i < n; i++) {
                assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 1), 0);
                (void) place_take(log);
        }
        published_wait(log, record_log_size(log));
        (void) record_log_free(log);
}

/* SHA-256 over what it was before and the line of each, which SQL writes here. */
static void digest_of(const char *which, char hex[static DIGEST_HEX]) {
        _cleanup_free_ char *sql = NULL;
        uint8_t digest[DIGEST_BYTES] = {};
        sqlite3_stmt *statement;
        sqlite3 *db;

        assert_true(asprintf(&sql, "SELECT idx || ' ' || lower(hex(id)) || ' ' || type || ' ' || subject || ' ' || result || ' ' || plan || ' ' || run || ' ' || finished || char(10)"
                                   " FROM entry JOIN record USING (idx) WHERE idx IN (%s) ORDER BY idx", which) > 0);
        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
                char text[1024];
                int n;

                memcpy(text, digest, sizeof(digest));
                n = snprintf(text + sizeof(digest), sizeof(text) - sizeof(digest), "%s", (const char *) sqlite3_column_text(statement, 0));
                assert_int_equal(digest_sha256(text, sizeof(digest) + (size_t) n, digest), 0);
        }
        (void) digest_to_hex(digest, hex);
        (void) sqlite3_finalize(statement);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Records 1 and 3, which nothing refers to, as SQL finds them; the decision is record 6. */
static void assert_told(void) {
        _cleanup_free_ char *text = NULL, *wrong = NULL;
        char reason[128], hex[DIGEST_HEX];
        json_t *predicate;
        const json_t *said;
        uint64_t cut;
        RecordLog *log;
        int r;

        r = decide(NOTE, &text);
        if (r < 0)
                fail_msg("%d: %s", r, text ?: "");
        log = open_log();
        (void) snprintf(reason, sizeof(reason), ": went on from 6 records, records-pruned, as uid 1007 decided: " NOTE);
        predicate = payload_of(log, 6, reason);
        said = json_object_get(predicate, "pruned");
        assert_int_equal(json_integer_value(json_object_get(said, "records")), 2);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "range"), "first")), 1);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "range"), "end")), 4);
        digest_of("1, 3", hex);
        assert_string_equal(json_string_value(json_object_get(said, "sha256")), hex);
        json_decref(predicate);
        assert_string_equal(record_log_cut(log, &cut), "records 1-3 are without an envelope");
        assert_int_equal(cut, 4);
        r = record_log_check(log, &wrong);
        if (r < 0)
                fail_msg("%d: %s", r, wrong ?: "");
        (void) record_log_free(log);
        beat(2);
        assert_int_equal(decide(NOTE, &text), -EALREADY);
}

/* Neither the opening nor, where the log is open, the scrub takes it for what was decided: somebody has to decide again. */
static void assert_no_other(const char *sql) {
        _cleanup_free_ char *copy = NULL, *wrong = NULL;
        RecordLog *log;
        size_t n;

        assert_int_equal(whole_file_read(AT_FDCWD, published.place.log, 1 << 24, &copy, &n), 0);
        execute(sql);
        assert_refused("record 1 has no envelope");
        put(published.place.log, copy, n);
        log = open_log();
        execute(sql);
        assert_int_equal(record_log_check(log, &wrong), -EBADMSG);
        assert_non_null(strstr(wrong, "has no envelope"));
        (void) record_log_free(log);
        put(published.place.log, copy, n);
}

#define GONE(keyid) "UPDATE record SET payload = NULL, signature = NULL, keyid = " keyid " WHERE idx IN (1, 3);"

/* Envelopes that earlier assayds have pruned, and those that somebody has taken away, look alike: the mark is nobody's signature, nor is the version of the tables. */
static void test_envelopes_that_are_gone_stop_the_log(void **state) {
        static const char *const gone[] = {
                GONE("''"),
                GONE("NULL"),
                GONE("NULL") "DROP INDEX archive; DROP INDEX decision; DROP INDEX hole; PRAGMA user_version = 10",
                GONE("NULL") "PRAGMA user_version = 10",
                GONE("''") "DROP INDEX decision; DROP INDEX hole; PRAGMA user_version = 11; CREATE INDEX hole ON record (idx) WHERE"
                           " envelope IS NULL AND (payload IS NULL OR signature IS NULL OR keyid IS NULL) AND keyid IS NOT ''",
        };

        for (size_t i = 0; i < ELEMENTS(gone); i++) {
                beat(6);
                execute(gone[i]);
                assert_refused("record 1 has no envelope");
                assert_refused("So it is with 2, up to record 3");
                assert_told();
                assert_no_other("UPDATE record SET payload = NULL, signature = NULL, keyid = '' WHERE idx = 2");
                assert_no_other("UPDATE entry SET finished = finished - 1 WHERE idx = 3");
                teardown(NULL);
                setup(NULL);
        }
}

/* Fewer than were decided about, for one was put back: its envelope fits, and what is still gone is decided about alone. */
static void test_an_envelope_that_is_put_back_is_no_damage(void **state) {
        _cleanup_free_ char *text = NULL, *wrong = NULL, *copy = NULL, *back = NULL;
        uint64_t cut;
        RecordLog *log;
        json_t *said;

        assert_true(asprintf(&copy, "VACUUM INTO '%s.copy'", published.place.log) > 0);
        assert_true(asprintf(&back, "ATTACH '%s.copy' AS copy; UPDATE record SET (payload, signature, keyid) ="
                                    " (SELECT payload, signature, keyid FROM copy.record WHERE idx = 1) WHERE idx = 1", published.place.log) > 0);
        beat(6);
        execute(copy);
        execute(GONE("''"));
        assert_int_equal(decide(NOTE, &text), 0);
        if (strstr(text, "backup"))
                fail_msg("a decision that was taken asks for another: %s", text);
        execute(back);
        assert_refused("record 3 has no envelope");
        assert_refused("Put the newest backup back. Whoever answers for it");
        assert_int_equal(decide(NOTE, &text), 0);
        log = open_log();
        said = payload_of(log, 7, "records-pruned");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "pruned"), "records")), 1);
        json_decref(said);
        assert_string_equal(record_log_cut(log, &cut), "record 3 is without an envelope");
        assert_int_equal(cut, 4);
        if (record_log_check(log, &wrong) < 0)
                fail_msg("%s", wrong ?: "");
        (void) record_log_free(log);
}

/* Whatever else is decided names them as well; and where half of one is left it is damaged. */
static void test_a_decision_names_all_that_is_gone(void **state) {
        _cleanup_free_ char *text = NULL;
        RecordLog *log;
        json_t *said;

        beat(6);
        execute(GONE("NULL") "UPDATE record SET signature = NULL WHERE idx = 2");
        assert_int_equal(decide(NOTE, &text), -EBADMSG);
        assert_non_null(strstr(text, "record 2 has no envelope"));
        execute("UPDATE record SET payload = NULL, keyid = NULL WHERE idx = 2; DELETE FROM checkpoint");
        assert_int_equal(unlink(published.anchor), 0);
        assert_refused("6 records and no checkpoint");
        assert_int_equal(decide(NOTE, &text), 0);
        log = open_log();
        assert_cut(log, 6, 6, 0);
        said = payload_of(log, 6, "checkpoints-lost");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(said, "pruned"), "records")), 3);
        json_decref(said);
        (void) record_log_free(log);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_checkpoints_that_are_gone_stop_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_empty_state_with_old_keys_stops_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_first_record_is_remembered_already, setup, teardown),
                cmocka_unit_test_setup_teardown(test_another_log_is_another_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_dies_before_its_first_checkpoint_goes_on, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_rotten_anchor_stops_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_anchor_stops_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_has_rotted_elsewhere_stops_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_rot_hides_no_other_cause, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_checkpoint_of_another_is_no_damage, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_is_decided_that_cannot_be_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_is_published_before_the_decision, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_proven_alarm_stops_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_rule_that_changes_takes_no_decision_back, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_cannot_be_decided, setup, teardown),
                cmocka_unit_test_setup_teardown(test_envelopes_that_are_gone_stop_the_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_envelope_that_is_put_back_is_no_damage, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_decision_names_all_that_is_gone, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
