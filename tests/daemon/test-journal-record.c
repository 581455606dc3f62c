/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon/journal.h"
#include "daemon/names.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define RECORDS (SERVER_CHIPS + 2)

static Place place;
static RecordLog *records;
static RecordEntry entries[RECORDS];
static size_t n_entries;
static int journal = -EBADF; /* where the journal would listen */

/* A datagram of the journal's native protocol: NAME=VALUE lines, as long as no value has a line's end. */
typedef struct Message {
        char text[1 << 16];
} Message;

static void hear(Message *message) {
        ssize_t n = recv(journal, message->text, sizeof(message->text) - 1, MSG_DONTWAIT);

        assert_true(n > 0);
        message->text[n] = '\0';
}

/* The K-th value of a field, or NULL. */
static const char *field(const Message *message, const char *name, unsigned k, char value[static 512]) {
        size_t n = strlen(name);

        for (const char *line = message->text; *line; line += strcspn(line, "\n") + 1)
                if (strncmp(line, name, n) == 0 && line[n] == '=' && k-- == 0) {
                        (void) snprintf(value, 512, "%.*s", (int) strcspn(line + n + 1, "\n"), line + n + 1);
                        return value;
                }
        return NULL;
}

static void assert_field(const Message *message, const char *name, const char *wanted) {
        char value[512];

        if (!wanted)
                assert_null(field(message, name, 0, value));
        else {
                assert_non_null(field(message, name, 0, value));
                assert_string_equal(value, wanted);
        }
}

static void tell(size_t i, bool read_back, Message *message) {
        RecordTold told = {};

        if (read_back)
                assert_int_equal(record_log_told(records, &entries[i], &told), 0);
        journal_record(7, &entries[i], read_back ? &told : NULL);
        record_told_done(&told);
        hear(message);
}

static void test_a_failed_chip_is_told_in_fields(void **state) {
        Message message;
        char value[512];

        tell(1 + SERVER_BAD, true, &message);
        assert_field(&message, "MESSAGE", "Record 4: us0-2/chip3 FAILED, plan preflight");
        assert_field(&message, "MESSAGE_ID", ASSAY_MESSAGE_FAILED);
        assert_field(&message, "PRIORITY", "4");
        assert_field(&message, "ASSAY_SCAN", "7");
        assert_field(&message, "ASSAY_RECORD", "4");
        assert_field(&message, "ASSAY_RECORD_ID", entries[1 + SERVER_BAD].id);
        assert_field(&message, "ASSAY_TYPE", RECORD_TYPE_HEALTH_V2);
        assert_field(&message, "ASSAY_TARGET", "us0-2/chip3");
        assert_field(&message, "ASSAY_RESULT", "FAILED");
        assert_field(&message, "ASSAY_PLAN", "preflight");
        assert_field(&message, "ASSAY_RUN", "01934a6e-5e00-7000-8000-000000000001");
        assert_field(&message, "ASSAY_SUBJECT", "urn:dev:ops:32473-Trainium2-0123456789abc003");
        assert_field(&message, "ASSAY_SERIAL", "0123456789abc003");
        assert_field(&message, "ASSAY_FINDINGS", "1");
        assert_field(&message, "ASSAY_FINDING", "systolic-pe us0-2/chip3/core5/pe17.93");
        assert_field(&message, "ASSAY_CODE", "systolic-pe");
        assert_non_null(field(&message, "ASSAY_REASON", 0, value));
        assert_non_null(strstr(value, "systolic: systolic-pe at core5/pe17.93"));
        assert_null(field(&message, "ASSAY_CODE", 1, value));
        /* Serial numbers are for who asks for the field. */
        assert_null(strstr(field(&message, "MESSAGE", 0, value), "0123456789abc003"));
}

static void test_others_have_the_fields_that_they_have(void **state) {
        Message message;

        tell(0, false, &message);
        assert_field(&message, "MESSAGE_ID", ASSAY_MESSAGE_RUN_STARTED);
        assert_field(&message, "PRIORITY", "6");
        assert_field(&message, "ASSAY_TARGET", "us0-2");
        assert_field(&message, "ASSAY_FINDINGS", NULL);
        tell(1, true, &message);
        assert_field(&message, "MESSAGE_ID", ASSAY_MESSAGE_PASSED);
        assert_field(&message, "ASSAY_FINDINGS", "0");
        assert_field(&message, "ASSAY_CODE", NULL);
        tell(RECORDS - 1, true, &message);
        assert_field(&message, "MESSAGE_ID", ASSAY_MESSAGE_FAILED);
        assert_field(&message, "ASSAY_SERIAL", "SRV00017");
        tell(1 + SERVER_BAD, false, &message); /* it could not be read back */
        assert_field(&message, "MESSAGE_ID", ASSAY_MESSAGE_FAILED);
        assert_field(&message, "ASSAY_REASON", NULL);
}

/* What is told is what was signed, whatever stands in the store by now. */
static void test_another_record_in_its_place_is_not_told(void **state) {
        RecordEntry entry = entries[1];
        RecordTold told;

        memcpy(entry.id, entries[2].id, sizeof(entry.id));
        assert_int_equal(record_log_told(records, &entry, &told), -EBADMSG);
        entry = entries[1];
        entry.index = RECORDS;
        assert_int_equal(record_log_told(records, &entry, &told), -EBADMSG);
}

/* The line of text is that of who verifies the record. */
static void test_the_reason_is_that_of_a_reader(void **state) {
        for (size_t i = 1; i < RECORDS; i++) {
                RecordVerified verified = {};
                RecordTold told = {};

                assert_int_equal(record_log_verified(records, &entries[i].subject, &entries[i], &verified), 0);
                assert_int_equal(record_log_told(records, &entries[i], &told), 0);
                assert_string_equal(told.reason, verified.reason);
                record_verified_done(&verified);
                record_told_done(&told);
        }
}

static void test_an_alarm_is_told_too(void **state) {
        Message message;

        journal_alarm("fleet.example/x", "The log is %s", "old");
        hear(&message);
        assert_field(&message, "MESSAGE", "The log is old");
        assert_field(&message, "MESSAGE_ID", ASSAY_MESSAGE_ALARM);
        assert_field(&message, "ASSAY_ALARM", "fleet.example/x");
        assert_field(&message, "PRIORITY", "1");
}

/* Each has one text, and names no field that there is not. */
static void test_the_catalog_explains_every_message(void **state) {
        static const char *const ids[] = { ASSAY_MESSAGE_PASSED,    ASSAY_MESSAGE_WARNED,      ASSAY_MESSAGE_FAILED,
                                           ASSAY_MESSAGE_INCONCLUSIVE, ASSAY_MESSAGE_RUN_STARTED, ASSAY_MESSAGE_HEARTBEAT,
                                           ASSAY_MESSAGE_KEY_ROTATED, ASSAY_MESSAGE_ALARM };
        static const char *const fields[] = { "@ASSAY_TARGET@", "@ASSAY_PLAN@", "@ASSAY_RECORD@", "@ASSAY_REASON@", "@ASSAY_RUN@", "@ASSAY_ALARM@" };
        const char *path = getenv("ASSAY_CATALOG");
        char text[1 << 14] = "";
        size_t n_texts = 0;
        FILE *file;

        assert_non_null(path);
        file = fopen(path, "re");
        assert_non_null(file);
        assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
        (void) fclose(file);
        for (size_t i = 0; i < ELEMENTS(ids); i++) {
                char head[64];

                (void) snprintf(head, sizeof(head), "\n-- %s\nSubject: ", ids[i]);
                assert_non_null(strstr(text, head));
        }
        for (const char *at = text; (at = strstr(at, "\n-- ")); at++)
                n_texts++;
        assert_int_equal(n_texts, ELEMENTS(ids));
        for (const char *at = text; (at = strchr(at, '@')); at = strchr(at + 1, '@') + 1) {
                bool known = false;

                for (size_t i = 0; i < ELEMENTS(fields); i++)
                        known = known || strncmp(at, fields[i], strlen(fields[i])) == 0;
                assert_true(known);
        }
}

/* A private /run, so that the place where the journal listens is ours. */
static int listen_there(void) {
        static const struct sockaddr_un address = { AF_UNIX, "/run/systemd/journal/socket" };

        if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return -errno;
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0 ||
            mkdir("/run/systemd", 0755) < 0 || mkdir("/run/systemd/journal", 0755) < 0)
                return -errno;
        journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return bind(journal, (const struct sockaddr *) &address, sizeof(address)) < 0 ? -errno : 0;
}

static int setup(void **state) {
        Server server;

        place_init(&place);
        server_init(&server);
        assert_int_equal(place_open(&place, &records, NULL), 0);
        assert_int_equal(record_log_start(records, &server.scan.run, &server.scan.server, 1), 0);
        assert_int_equal(record_log_scan(records, &server.scan, 2), 0);
        while (n_entries < RECORDS) {
                RecordOutcome outcome;

                place_wait(records, &outcome);
                assert_int_equal(outcome.error, 0);
                memcpy(&entries[n_entries], outcome.entries, outcome.n_entries * sizeof(*entries));
                n_entries += outcome.n_entries;
                record_outcome_done(&outcome);
        }
        return 0;
}

static int teardown(void **state) {
        (void) record_log_free(records);
        place_done(&place);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_failed_chip_is_told_in_fields),
                cmocka_unit_test(test_others_have_the_fields_that_they_have),
                cmocka_unit_test(test_another_record_in_its_place_is_not_told),
                cmocka_unit_test(test_the_reason_is_that_of_a_reader),
                cmocka_unit_test(test_an_alarm_is_told_too),
                cmocka_unit_test(test_the_catalog_explains_every_message),
        };

        if (listen_there() < 0) {
                puts("1..0 # SKIP no mount namespace can be had here");
                return 0;
        }
        return cmocka_run_group_tests(tests, setup, teardown);
}
