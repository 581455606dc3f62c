/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/names.h"
#include "tests/daemon/trial.h"

#define TARGETS "[{device: sim:pass, servers: [us0-0]}]"
#define CHIP    1 /* a record that is a verdict; 0 is the run-start */

/* Who asks next, whoever it is: on a direct connection everybody is the owner of the socket. */
static uid_t asker;

int sd_bus_creds_get_euid(sd_bus_creds *creds, uid_t *ret) {
        *ret = asker;
        return 0;
}

/* A daemon and its client in one event loop. */
typedef struct Fixture {
        Trial trial;
        sd_bus *server, *client;
        sqlite3 *db;
        unsigned n_answers;
} Fixture;

/* What came of a call. */
typedef struct Answer {
        Fixture *fixture;
        bool is_there;
        char *envelope, error[128], text[256];
} Answer;

static sd_bus *connect_to(Trial *trial, int fd, bool is_server) {
        sd_bus *bus = NULL;
        sd_id128_t id;

        assert_true(sd_id128_randomize(&id) >= 0);
        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_fd(bus, fd, fd) >= 0);
        if (is_server)
                assert_true(sd_bus_set_server(bus, true, id) >= 0);
        assert_true(sd_bus_start(bus) >= 0);
        assert_true(sd_bus_attach_event(bus, trial->event, 0) >= 0);
        return bus;
}

static int set_up(void **state) {
        static Fixture fixture;
        char path[128];
        Scan *scan;
        int pair[2];

        asker = 0;
        fixture = (Fixture) {};
        assert_int_equal(trial_new(TARGETS, "{}", &fixture.trial), 0);
        scan = trial_scan(&fixture.trial, 0, "us0-0");
        assert_non_null(scan);
        assert_true(trial_wait(&fixture.trial, scan, 60));
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        fixture.server = connect_to(&fixture.trial, pair[0], true);
        fixture.client = connect_to(&fixture.trial, pair[1], false);
        assert_true(manager_attach(fixture.trial.manager, fixture.server) >= 0);
        (void) snprintf(path, sizeof(path), "%s/records.db", fixture.trial.folder);
        assert_int_equal(sqlite3_open(path, &fixture.db), SQLITE_OK);
        *state = &fixture;
        return 0;
}

static int tear_down(void **state) {
        Fixture *fixture = *state;

        fixture->client = sd_bus_flush_close_unref(fixture->client);
        fixture->server = sd_bus_flush_close_unref(fixture->server);
        assert_int_equal(sqlite3_close(fixture->db), SQLITE_OK);
        trial_done(&fixture->trial);
        return 0;
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);
        Answer *answer = userdata;
        const char *envelope;

        answer->is_there = true;
        answer->fixture->n_answers++;
        if (error) {
                (void) snprintf(answer->error, sizeof(answer->error), "%s", error->name);
                (void) snprintf(answer->text, sizeof(answer->text), "%s", error->message);
        } else if (sd_bus_message_read(reply, "s", &envelope) > 0)
                answer->envelope = strdup(envelope);
        return 0;
}

static void ask(Fixture *fixture, uint64_t index, uint64_t flags, Answer *answer) {
        *answer = (Answer) { .fixture = fixture };
        assert_true(sd_bus_call_method_async(fixture->client, NULL, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "GetCompanion", on_answer,
                                             answer, "tt", index, flags) >= 0);
}

static bool is_answered(void *userdata) {
        return ((Answer *) userdata)->is_there;
}

static void await(Answer *answer) {
        assert_true(trial_run(&answer->fixture->trial, is_answered, answer, 20));
}

static void expect_error(Answer *answer, const char *name, const char *says) {
        await(answer);
        if (strcmp(answer->error, name) != 0 || !strstr(answer->text, says))
                fail_msg("expected %s with '%s', is %s: %s", name, says, answer->error, answer->text);
        assert_null(answer->envelope);
}

static void refused(Fixture *fixture, uint64_t index, uint64_t flags, const char *name, const char *says) {
        Answer answer;

        ask(fixture, index, flags, &answer);
        expect_error(&answer, name, says);
}

/* It is the companion of INDEX. */
static void expect_companion(Answer *answer, uint64_t index) {
        const char *pem = answer->fixture->trial.manager->public_key;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        RecordVerified verified;
        RecordTrust trust;

        await(answer);
        if (!answer->envelope)
                fail_msg("%s: %s", answer->error, answer->text);
        assert_int_equal(record_keyring_parse(pem, strlen(pem), &keyring), 0);
        assert_int_equal(record_verify(keyring, answer->envelope, strlen(answer->envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_COMPANION);
        assert_int_equal(verified.entry.index, index);
        record_verified_done(&verified);
        free(answer->envelope);
}

static void signed_for(Fixture *fixture, uid_t uid, uint64_t index) {
        Answer answer;

        asker = uid;
        ask(fixture, index, 0, &answer);
        expect_companion(&answer, index);
}

static void run_a_while(Fixture *fixture) {
        for (unsigned i = 0; i < 10; i++)
                (void) sd_event_run(fixture->trial.event, 20000);
}

/* Writers wait from here on, and whoever stands behind them in the queue. */
static void hold(Fixture *fixture) {
        assert_int_equal(sqlite3_exec(fixture->db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(record_log_heartbeat(fixture->trial.manager->log, RECORD_HEARTBEAT_INTERVAL, manager_next_ticket(fixture->trial.manager)), 0);
        run_a_while(fixture);
}

static void release(Fixture *fixture) {
        assert_int_equal(sqlite3_exec(fixture->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
}

static void test_everybody_gets_what_the_log_says_of_a_verdict(void **state) {
        Fixture *fixture = *state;
        uint64_t size = record_log_size(fixture->trial.manager->log);

        signed_for(fixture, 0, CHIP);
        signed_for(fixture, 65534, size - 1);
        refused(fixture, 0, 0, SD_BUS_ERROR_INVALID_ARGS, "record 0: the record is no verdict");
        refused(fixture, size, 0, ASSAY_ERROR_NO_SUCH_RECORD, "no such record");
        refused(fixture, UINT64_MAX, 0, ASSAY_ERROR_NO_SUCH_RECORD, "no such record");
        refused(fixture, CHIP, 1, SD_BUS_ERROR_INVALID_ARGS, "0x1");
        assert_int_equal(sqlite3_exec(fixture->db, "UPDATE record SET payload = NULL WHERE idx = 2; "
                                                   "UPDATE record SET payload = (SELECT payload FROM record WHERE idx = 1) WHERE idx = 3",
                                      NULL, NULL, NULL), SQLITE_OK);
        refused(fixture, 2, 0, ASSAY_ERROR_NO_SUCH_RECORD, "pruned");
        refused(fixture, 3, 0, ASSAY_ERROR_STORE, "does not verify");
        assert_int_equal(record_log_size(fixture->trial.manager->log), size);
}

/* One user has one in work, all users together four; an answer makes room. */
static void test_few_are_in_work_at_once(void **state) {
        Answer answers[ASSAY_COMPANIONS_MAX];
        Fixture *fixture = *state;

        hold(fixture);
        for (unsigned i = 0; i < ELEMENTS(answers); i++) {
                asker = 1000 + i;
                ask(fixture, CHIP + i, 0, &answers[i]);
                refused(fixture, CHIP, 0, SD_BUS_ERROR_LIMITS_EXCEEDED, "try again");
        }
        asker = 2000;
        refused(fixture, CHIP, 0, SD_BUS_ERROR_LIMITS_EXCEEDED, "try again");
        for (unsigned i = 0; i < ELEMENTS(answers); i++)
                assert_false(answers[i].is_there);
        release(fixture);
        for (unsigned i = 0; i < ELEMENTS(answers); i++)
                expect_companion(&answers[i], CHIP + i);
        for (unsigned i = 0; i < 3 * ASSAY_COMPANIONS_MAX; i++)
                signed_for(fixture, 1000, CHIP + i);
}

/* Who asked has gone when it is signed: nobody gets it, and there is room again. */
static void test_who_leaves_meanwhile_is_forgotten(void **state) {
        sd_bus_slot *slot = NULL;
        Fixture *fixture = *state;
        Answer answer = { .fixture = fixture };

        hold(fixture);
        assert_true(sd_bus_call_method_async(fixture->client, &slot, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "GetCompanion", on_answer, &answer,
                                             "tt", (uint64_t) CHIP, (uint64_t) 0) >= 0);
        run_a_while(fixture);
        (void) sd_bus_slot_unref(slot);
        refused(fixture, CHIP, 0, SD_BUS_ERROR_LIMITS_EXCEEDED, "try again");
        release(fixture);
        run_a_while(fixture);
        assert_false(answer.is_there);
        signed_for(fixture, 0, CHIP);

        hold(fixture);
        ask(fixture, CHIP, 0, &answer);
        run_a_while(fixture);
        fixture->client = sd_bus_flush_close_unref(fixture->client);
        run_a_while(fixture);
        release(fixture);
        run_a_while(fixture);
        assert_false(answer.is_there);
}

/* Nobody is answered any more, and nothing is left. */
static void test_a_daemon_that_ends_meanwhile_ends(void **state) {
        Fixture *fixture = *state;
        Answer answers[ASSAY_COMPANIONS_MAX];

        hold(fixture);
        for (unsigned i = 0; i < ELEMENTS(answers); i++) {
                asker = i;
                ask(fixture, CHIP, 0, &answers[i]);
                run_a_while(fixture);
        }
        release(fixture);
        fixture->trial.manager = manager_free(fixture->trial.manager);
        for (unsigned i = 0; i < ELEMENTS(answers); i++)
                assert_false(answers[i].is_there);
}

static int on_rotated(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Answer *answer = userdata;

        assert_false(sd_bus_message_is_method_error(reply, NULL));
        answer->is_there = true;
        return 0;
}

/* Neither while that is committed nor then. */
static void test_a_key_that_named_its_successor_signs_none(void **state) {
        Fixture *fixture = *state;
        Answer rotation = { .fixture = fixture };
        RecordKey *key;
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/next", fixture->trial.folder);
        assert_int_equal(record_key_generate(path, RECORD_ED25519), 0);
        assert_int_equal(record_key_load(path, &key), 0);
        hold(fixture);
        assert_true(sd_bus_call_method_async(fixture->client, NULL, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "RotateKey", on_rotated, &rotation,
                                             "st", record_key_public_pem(key), (uint64_t) 0) >= 0);
        refused(fixture, CHIP, 0, ASSAY_ERROR_OCCUPIED, "being changed");
        release(fixture);
        await(&rotation);
        refused(fixture, CHIP, 0, ASSAY_ERROR_KEY_CHANGED, record_key_id(key));
        (void) record_key_free(key);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_everybody_gets_what_the_log_says_of_a_verdict),
                TEST(test_few_are_in_work_at_once),
                TEST(test_who_leaves_meanwhile_is_forgotten),
                TEST(test_a_daemon_that_ends_meanwhile_ends),
                TEST(test_a_key_that_named_its_successor_signs_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
