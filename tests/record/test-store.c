/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <sqlite3.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "daemon/record/store/store.h"
#include "tests/record/payload.h"

/* What becomes of a log that someone else wrote in. */

static void execute(const char *sql) {
        char *error = NULL;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(payloads.place.log, &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
                fail_msg("%s: %s", sql, error);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_refused(const char *sql, const char *reason) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log = NULL;

        execute(sql);
        assert_int_equal(place_open(&payloads.place, &log, &error), -EBADMSG);
        assert_non_null(error);
        if (!strstr(error, reason))
                fail_msg("%s: \"%s\" does not say \"%s\"", sql, error, reason);
}

/* To count them all an opening would read them all: the scrub does. */
static void test_a_record_that_is_gone_is_found(void **state) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log;

        execute("DELETE FROM record WHERE idx = 5");
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_check(log, &error), -EBADMSG);
        assert_non_null(strstr(error, "record 5: "));
        (void) record_log_free(log);
}

static void test_a_log_with_a_gap_is_refused(void **state) {
        assert_refused("DELETE FROM record WHERE idx = 5; DELETE FROM entry WHERE idx = 5", "does not follow from its leaves");
}

static void test_a_log_that_begins_late_is_refused(void **state) {
        assert_refused("DELETE FROM record WHERE idx = 0; DELETE FROM entry WHERE idx = 0", "does not follow from its leaves");
}

static void test_a_log_without_its_tree_is_refused(void **state) {
        assert_refused("UPDATE entry SET nodes = zeroblob(32) WHERE idx = 17", "gap");
}

static void test_an_index_moved_is_refused(void **state) {
        assert_refused("UPDATE record SET idx = 99 WHERE idx = 17", "gap");
}

static void test_the_last_envelope_edited_is_refused(void **state) {
        assert_refused("UPDATE record SET (signature, payload) = (SELECT signature, payload FROM record WHERE idx = 16) WHERE idx = 17", "has another index");
}

static void test_the_last_id_edited_is_refused(void **state) {
        assert_refused("UPDATE record SET id = zeroblob(32) WHERE idx = 17", "is stored under another ID");
}

static void read_leaf(unsigned index, unsigned char hash[static 32]) {
        sqlite3_stmt *statement;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(payloads.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT nodes FROM entry WHERE idx = ?1", -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_bind_int(statement, 1, (int) index), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        memcpy(hash, sqlite3_column_blob(statement, 0), 32);
        (void) sqlite3_finalize(statement);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A tree that follows from its leaves, of which the last is of no record. */
static void test_the_last_leaf_edited_is_refused(void **state) {
        unsigned char node[65] = { 1 }, digest[32];
        char sql[256], hex[65];

        read_leaf(16, node + 1);
        assert_int_equal(EVP_Digest(node, sizeof(node), digest, NULL, EVP_sha256(), NULL), 1);
        for (unsigned i = 0; i < 32; i++)
                (void) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
        (void) snprintf(sql, sizeof(sql), "UPDATE entry SET nodes = x'%064d%s' WHERE idx = 17", 0, hex);
        assert_refused(sql, "is not the one that is in the tree");
}

static void test_an_earlier_leaf_edited_is_refused(void **state) {
        assert_refused("UPDATE entry SET nodes = zeroblob(32) WHERE idx = 4", "hashes were changed");
}

static void test_a_leaf_of_another_length_is_refused(void **state) {
        assert_refused("UPDATE entry SET nodes = zeroblob(64) WHERE idx = 4", "hashes were changed");
}

static void test_the_last_envelope_damaged_is_refused(void **state) {
        assert_refused("UPDATE record SET signature = zeroblob(64) WHERE idx = 17", "the last record, 17");
        assert_refused("UPDATE record SET envelope = CAST('{}' AS BLOB) WHERE idx = 17", "the last record, 17");
}

static void test_the_last_envelope_taken_away_is_refused(void **state) {
        assert_refused("UPDATE record SET payload = NULL WHERE idx = 17", "the last record, 17: has no envelope");
}

static void test_a_log_without_a_table_is_refused(void **state) {
        assert_refused("DROP TABLE checkpoint", "no such table");
}

static void test_a_log_without_its_origin_is_refused(void **state) {
        assert_refused("DROP TABLE log", "no such table");
}

static void test_an_envelope_of_megabytes_is_refused_unread(void **state) {
        assert_refused("UPDATE record SET payload = zeroblob(4000000) WHERE idx = 17", "no envelope that can be read");
}

static void test_a_log_cut_short_goes_on_where_it_ends(void **state) {
        RecordLog *log;

        /* Nobody can tell from the log alone; that is what witnesses are for. */
        execute("DELETE FROM record WHERE idx = 17; DELETE FROM entry WHERE idx = 17; DELETE FROM newest WHERE idx = 17;"
                "INSERT INTO unfinished SELECT idx, run, subject FROM entry WHERE idx = 0");
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_size(log), 17);
        (void) record_log_free(log);
}

static void test_a_trigger_that_takes_records_away_is_refused(void **state) {
        assert_refused("CREATE TRIGGER thief AFTER INSERT ON record BEGIN DELETE FROM record WHERE idx = new.idx; END",
                       "trigger");
}

static void test_a_view_in_place_of_a_table_is_refused(void **state) {
        assert_refused("DROP TABLE newest; CREATE VIEW newest AS SELECT 'trn-0' AS subject, 'quick' AS plan, 3 AS idx", "view");
}

static void test_a_database_of_another_program_is_refused(void **state) {
        assert_refused("PRAGMA application_id=7", "belongs to another program");
}

static void test_what_is_no_database_is_refused_and_left_as_it_is(void **state) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log = NULL;
        char text[32] = "";
        FILE *file;

        file = fopen(payloads.place.log, "w");
        assert_true(fputs("my favourite file, not a database\n", file) > 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(place_open(&payloads.place, &log, &error), -EBADMSG);
        file = fopen(payloads.place.log, "r");
        assert_non_null(fgets(text, 18, file));
        assert_string_equal(text, "my favourite file");
        (void) fclose(file);
}

/* While the log runs; when it is opened it is refused, see test-log-tables.c. */
static void test_a_table_that_leads_to_another_record_is_not_believed(void **state) {
        Location chip = server_location("us0-2/chip3");
        RecordVerified verified;
        RecordLog *log;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        execute("UPDATE newest SET idx = 1 WHERE subject = 'us0-2/chip3'");
        assert_int_equal(place_newest_verified(log, &chip, "preflight", &verified), -EBADMSG);

        execute("UPDATE newest SET idx = 4 WHERE subject = 'us0-2/chip3';"
                "UPDATE record SET keyid = NULL WHERE idx = 4");
        assert_int_equal(place_newest_verified(log, &chip, "preflight", &verified), 0); /* nothing signed changed */
        record_verified_done(&verified);

        execute("UPDATE record SET signature = zeroblob(64) WHERE idx = 4");
        assert_int_equal(place_newest_verified(log, &chip, "preflight", &verified), -EBADMSG);
        (void) record_log_free(log);
}

/* While the log runs: what is handed out is whole, or nothing is. */
static void test_records_that_were_taken_away_are_no_shorter_answer(void **state) {
        static const char *const rows[] = { "idx = 5", "idx = (SELECT max(idx) FROM record)", "1" };
        FILE *file = tmpfile();
        RecordLog *log;
        int n;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        n = record_log_export(log, 0, UINT64_MAX, fileno(file));
        assert_int_equal(n, record_log_size(log));
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char sql[128];

                (void) snprintf(sql, sizeof(sql), "CREATE TABLE kept AS SELECT * FROM record; DELETE FROM record WHERE %s", rows[i]);
                execute(sql);
                assert_int_equal(record_log_export(log, 0, UINT64_MAX, fileno(file)), -EBADMSG);
                execute("INSERT OR IGNORE INTO record SELECT * FROM kept; DROP TABLE kept");
        }
        assert_int_equal(record_log_export(log, 0, UINT64_MAX, fileno(file)), n);
        (void) record_log_free(log);
        (void) fclose(file);
}

static void test_every_subject_has_its_identity_document(void **state) {
        _cleanup_free_ char *document = NULL;
        RecordLog *log;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_identity(log, "26f39bfbbba6805e725327c3094c387c400e90d4be189130a0aee3580117ab87", &document), 0);
        assert_string_equal(document, "assay-identity/v1\nkind: accelerator\nmanufacturer: Amazon\nproduct: Trainium2\n"
                                      "serial: 0123456789abc003\n");
        document[0] = '\0';
        assert_int_equal(record_log_identity(log, "26f39bfbbba6805e725327c3094c387c400e90d4be189130a0aee3580117ab88", &document), -ENOENT);
        assert_int_equal(record_log_identity(log, "26F3", &document), -EINVAL);
        (void) record_log_free(log);
}

static void base64(const unsigned char *data, int n, char *text) {
        (void) EVP_EncodeBlock((unsigned char *) text, data, n);
}

/* The hash of the Merkle leaf, built from the envelope with other means than the log's. */
static void test_a_leaf_is_the_hash_of_its_hashedrekord(void **state) {
        char id_text[64], spki_text[80], sig_text[128], leaf[600];
        unsigned char digest[32], spki[64];
        json_t *envelope = json_loads(payloads.envelope, 0, NULL);
        sqlite3_stmt *statement;
        size_t n_raw = 32;
        sqlite3 *db;
        int n;

        assert_int_equal(sqlite3_open(payloads.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT id, nodes FROM record JOIN entry USING (idx) WHERE idx = 4", -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        base64(sqlite3_column_blob(statement, 0), 32, id_text);
        (void) snprintf(sig_text, sizeof(sig_text), "%s",
                        json_string_value(json_object_get(json_array_get(json_object_get(envelope, "signatures"), 0), "sig")));
        memcpy(spki, "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
        assert_int_equal(EVP_PKEY_get_raw_public_key(key_public(payloads.key)->pkey, spki + 12, &n_raw), 1);
        base64(spki, 44, spki_text);
        n = snprintf(leaf, sizeof(leaf),
                     "%c{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{\"hashedRekordV002\":{\"data\":{"
                     "\"algorithm\":\"SHA2_256\",\"digest\":\"%s\"},\"signature\":{\"content\":\"%s\",\"verifier\":{"
                     "\"keyDetails\":\"PKIX_ED25519\",\"publicKey\":{\"rawBytes\":\"%s\"}}}}}}",
                     0, id_text, sig_text, spki_text);
        assert_int_equal(n, 407); /* 406 bytes of body, and the prefix */
        assert_int_equal(EVP_Digest(leaf, (size_t) n, digest, NULL, EVP_sha256(), NULL), 1);
        assert_int_equal(sqlite3_column_bytes(statement, 1), 32);
        assert_memory_equal(sqlite3_column_blob(statement, 1), digest, 32);
        (void) sqlite3_finalize(statement);
        (void) sqlite3_close(db);
        json_decref(envelope);
}

typedef struct Asker {
        Store *store;
        void (*ask)(Store *store);
        atomic_bool is_answered;
} Asker;

static void ask_size(Store *store) {
        uint64_t size;

        assert_int_equal(store_size(store, &size), 0);
}

static void ask_text(Store *store) {
        _cleanup_free_ char *origin = NULL;

        assert_int_equal(store_text(store, "SELECT origin FROM log", &origin), 0);
}

static void ask_nothing(Store *store) {
        assert_int_equal(store_execute(store, "SELECT 1"), 0);
}

static void *ask(void *userdata) {
        Asker *asker = userdata;

        asker->ask(asker->store);
        atomic_store(&asker->is_answered, true);
        return NULL;
}

/* The connection itself has no mutex. */
static void test_threads_ask_one_at_a_time(void **state) {
        void (*const asks[])(Store *store) = { ask_size, ask_text, ask_nothing };
        _cleanup_free_ char *wrong = NULL;
        Store *store;

        assert_int_equal(store_open(payloads.place.log, PLACE_ORIGIN, &store, &wrong), 0);
        for (size_t i = 0; i < ELEMENTS(asks); i++) {
                sqlite3_stmt *statement = store_ask(store, STORE_LAST, SQL());
                Asker asker = { .store = store, .ask = asks[i] };
                pthread_t thread;

                assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
                (void) poll(NULL, 0, 50);
                assert_false(atomic_load(&asker.is_answered));
                assert_int_equal(store_answered(store, statement, 0), 0);
                assert_int_equal(pthread_join(thread, NULL), 0);
                assert_true(atomic_load(&asker.is_answered));
        }
        (void) store_close(store);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_log_with_a_gap_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_record_that_is_gone_is_found, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_begins_late_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_log_without_its_tree_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_index_moved_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_the_last_envelope_edited_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_the_last_id_edited_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_the_last_leaf_edited_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_earlier_leaf_edited_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_leaf_of_another_length_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_the_last_envelope_damaged_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_the_last_envelope_taken_away_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_log_without_a_table_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_log_without_its_origin_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_envelope_of_megabytes_is_refused_unread, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_log_cut_short_goes_on_where_it_ends, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_trigger_that_takes_records_away_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_view_in_place_of_a_table_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_database_of_another_program_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_what_is_no_database_is_refused_and_left_as_it_is, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_table_that_leads_to_another_record_is_not_believed, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_records_that_were_taken_away_are_no_shorter_answer, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_every_subject_has_its_identity_document, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_threads_ask_one_at_a_time, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_leaf_is_the_hash_of_its_hashedrekord, payloads_setup, payloads_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
