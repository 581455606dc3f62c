/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/job-file.h"
#include "daemon/record/log/log.h"
#include "daemon/standing.h"
#include "daemon/unrecorded.h"
#include "tests/daemon/trial.h"
#include "tests/record/place.h"

#define DYING   "[{device: sim:die, servers: [us0-0, us0-1]}]" /* its worker, so that nothing passes however long that takes */
#define LIMITS  "{workers: 1, reconnects: 0}"
#define PASSING "[{device: sim:pass, servers: [us0-0, us0-1]}]"
#define TARGETS "[{device: sim:slow, servers: [us0-0, us0-1]}]"

static bool is_half_done(void *userdata) {
        const Scan *scan = userdata;
        unsigned total;

        return scan->jobs[0]->tally && tally_progress(scan->jobs[0]->tally, &total) >= total / 2;
}

static bool all_finished(void *userdata) {
        const Manager *manager = userdata;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (!scan_is_finished(scan))
                        return false;

        return true;
}

static bool none_unfinished(void *userdata) {
        uint64_t cursor = 0;
        RecordEntry entry;

        return record_log_unfinished(userdata, &cursor, &entry) == -ENOENT;
}

static size_t count_files(const Trial *trial, const char *suffix) {
        char path[128];
        const struct dirent *found;
        size_t n = 0;
        DIR *folder;

        (void) snprintf(path, sizeof(path), "%s/evidence", trial->folder);
        folder = opendir(path);
        assert_non_null(folder);
        while ((found = readdir(folder)))
                if (strstr(found->d_name, suffix))
                        n++;
        closedir(folder);
        return n;
}

/* Steps that had ended count as they ended; the one that was open is lost; the rest is tested by the next daemon. */
static void test_a_scan_goes_on_after_the_step_that_was_open(void **state) {
        unsigned n_passed = 0, n_lost = 0;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX), 1);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        scan = TAILQ_FIRST(&trial.manager->scans);
        assert_non_null(scan);
        assert_int_equal(scan->uid, 1000);
        assert_int_equal(scan->options.seed, 7);
        assert_true(trial_wait(&trial, scan, 60));

        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                Location where = { .server = "us0-0" };
                RecordVerified verified = {};

                assert_int_equal(location_append(&where, LOCATION_CHIP, c), 0);
                assert_int_equal(place_newest_verified(trial.manager->log, &where, "quick", &verified), 0);
                if (verified.entry.result == RESULT_PASSED)
                        n_passed++;
                else if (verified.entry.result == RESULT_INCONCLUSIVE)
                        n_lost++;
                record_verified_done(&verified);
        }
        assert_true(n_passed >= 15);
        assert_int_equal(n_passed + n_lost, 16);
        assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX), 0);
        assert_int_equal(record_log_size(trial.manager->log), 18);
        trial_done(&trial);
}

static void test_a_scan_that_had_not_begun_is_scanned_as_a_whole(void **state) {
        Location where = { .server = "us0-1" };
        RecordEntry entry;
        Trial trial;
        Scan *waiting;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        (void) trial_scan(&trial, 1000, "us0-0");
        waiting = trial_scan(&trial, 1001, "us0-1");
        while (waiting->state == SCAN_STARTING)
                assert_true(sd_event_run(trial.event, UINT64_MAX) >= 0);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 2}"), 0);
        assert_true(trial_run(&trial, all_finished, trial.manager, 60));
        assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
        assert_int_equal(entry.result, RESULT_PASSED);
        assert_true(none_unfinished(trial.manager->log));
        trial_done(&trial);
}

static void test_a_run_of_which_nothing_is_left_is_closed_as_inconclusive(void **state) {
        Location where = { .server = "us0-0" };
        char command[256];
        RecordEntry entry;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        (void) snprintf(command, sizeof(command), "rm %s/evidence/*%s", trial.folder, JOB_FILE_SUFFIX);
        assert_int_equal(system(command), 0);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_true(TAILQ_EMPTY(&trial.manager->scans));
        assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
        assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
        assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
        trial_done(&trial);
}

/* The statement of a record of the log. */
static json_t *statement_of(RecordLog *log, uint64_t index) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        RecordVerified verified = {};
        _cleanup_free_ char *pem = NULL;
        json_t *statement;

        assert_int_equal(record_log_public_keys(log, &pem), 0);
        assert_int_equal(record_keyring_parse(pem, strlen(pem), &keyring), 0);
        place_verify(log, keyring, index, &verified);
        statement = json_loadb(verified.payload, verified.n_payload, 0, NULL);
        assert_non_null(statement);
        record_verified_done(&verified);
        return statement;
}

static void forget_job(const Trial *trial) {
        char command[256];

        (void) snprintf(command, sizeof(command), "rm %s/evidence/*%s", trial->folder, JOB_FILE_SUFFIX);
        assert_int_equal(system(command), 0);
}

static void assert_same(const json_t *a, const json_t *b, const char *key) {
        assert_non_null(json_object_get(a, key));
        assert_true(json_equal(json_object_get(a, key), json_object_get(b, key)));
}

/* It is of the plan, the stage, the seed and the challenge that it was begun with, whatever there is today. */
static void test_a_run_is_closed_with_what_it_was_begun_with(void **state) {
        static const char *const same_of_run[] = { "id", "stage", "challenge", "note", "operator", "startedOn", "seed", "worker" };
        json_t *begun, *closed, *run, *closed_run;
        uint64_t cursor = 0;
        char command[256];
        RecordEntry entry;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        (void) snprintf(command, sizeof(command), "sed -i s/PREFLIGHT/BURNIN/ %s/quick.yaml", trial.folder);
        assert_int_equal(system(command), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        assert_int_equal(record_log_unfinished(trial.manager->log, &cursor, &entry), 0);
        forget_job(&trial);
        (void) snprintf(command, sizeof(command), "rm %s/quick.yaml", trial.folder);
        assert_int_equal(system(command), 0);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
        begun = statement_of(trial.manager->log, entry.index);
        closed = statement_of(trial.manager->log, record_log_size(trial.manager->log) - 1);
        assert_same(begun, closed, "subject");
        run = json_object_get(begun, "predicate");
        closed_run = json_object_get(closed, "predicate");
        assert_same(run, closed_run, "configuration");
        assert_int_equal(json_array_size(json_object_get(run, "configuration")), 2);
        assert_string_equal(json_string_value(json_object_get(closed_run, "result")), "INCONCLUSIVE");
        run = json_object_get(run, "run");
        closed_run = json_object_get(closed_run, "run");
        assert_string_equal(json_string_value(json_object_get(run, "stage")), "BURNIN");
        for (size_t i = 0; i < ELEMENTS(same_of_run); i++)
                assert_same(run, closed_run, same_of_run[i]);
        json_decref(begun);
        json_decref(closed);
        trial_done(&trial);
}

static bool is_through(void *userdata) {
        return !((const Manager *) userdata)->closing;
}

#define MANY 150 /* runs: more than the log of a trial takes at once */

/* However many there are: while the queue has no room the rest waits. */
static void test_all_runs_are_closed(void **state) {
        static const char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        uint64_t turns = 0;
        Trial trial;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        for (unsigned i = 0; i < MANY;) {
                char run[37];
                RecordRun begun = { .id = run, .stage = STAGE_PREFLIGHT, .started_usec = 1795252442000000, .seed = 7, .plan = "quick",
                                    .plan_sha256 = digest, .limits_sha256 = digest, .worker_sha256 = digest, .chips = 1u << (i % TARGET_CHIPS) };
                RecordSubject server = { .where = { .server = "us0-0" }, .serial = "SRV00017", .product = "Trn2" };
                int r;

                (void) snprintf(run, sizeof(run), "01934a6e-5e00-7000-8000-%012u", i);
                r = record_log_start(trial.manager->log, &begun, &server, manager_next_ticket(trial.manager));
                i += r == 0;
                if (r == -EAGAIN)
                        assert_true(sd_event_run(trial.event, UINT64_MAX) >= 0);
                else
                        assert_int_equal(r, 0);
        }
        while (record_log_size(trial.manager->log) < MANY)
                assert_true(turns++ < 1000000 && sd_event_run(trial.event, 1000) >= 0);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
        assert_int_equal(record_log_size(trial.manager->log), 3 * MANY); /* the run-start, its chip and the roll-up */
        assert_true(trial_run(&trial, is_through, trial.manager, 60));
        trial_done(&trial);

        /* And none of them is waited for. */
        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_null(trial.manager->closing);
        trial_done(&trial);
}

static bool is_hidden(const Trial *trial, const char *part) {
        char reason[UNRECORDED_REASON_MAX];
        Location where;

        assert_int_equal(location_parse(part, &where, NULL, NULL), 0);
        return unrecorded_hides(trial->manager, &where, reason);
}

static void edit(const Trial *trial, const char *sql) {
        char path[128];
        sqlite3 *db;

        (void) snprintf(path, sizeof(path), "%s/records.db", trial->folder);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_changes(db), 1);
        (void) sqlite3_close(db);
}

/* An old copy of the log is put back while a result waits for room: nobody can sign that, and what passed before counts no more. */
static void test_a_result_without_its_beginning_passes_nothing(void **state) {
        char command[512];
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-0"), 60));
        trial.manager = manager_free(trial.manager);
        (void) snprintf(command, sizeof(command), "cp -a %s %s.old", trial.folder, trial.folder);
        assert_int_equal(system(command), 0);
        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_false(is_hidden(&trial, "us0-0/chip3"));
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        job_file_mark(scan->jobs[0]);
        trial.manager = manager_free(trial.manager);
        (void) snprintf(command, sizeof(command), "cp -a %s/evidence/. %s.old/evidence && rm -r %s && mv %s.old %s", trial.folder, trial.folder,
                        trial.folder, trial.folder, trial.folder);
        assert_int_equal(system(command), 0);

        for (unsigned starts = 0; starts < 2; starts++) {
                assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
                assert_int_equal(count_files(&trial, JOB_FILE_UNRECORDED), 1);
                assert_true(is_hidden(&trial, "us0-0/chip3"));
                assert_true(is_hidden(&trial, "us0-0"));
                assert_false(is_hidden(&trial, "us0-1"));
        }
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-0"), 60));
        assert_false(is_hidden(&trial, "us0-0/chip3"));
        assert_false(is_hidden(&trial, "us0-0"));
        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_int_equal(count_files(&trial, JOB_FILE_UNRECORDED), 0);
        assert_false(is_hidden(&trial, "us0-0/chip3"));
        trial_done(&trial);
}

/* The log has lost the beginning at one of two servers that are scanned together: the other one's run is closed, and neither passes. */
static void test_one_result_of_two_without_its_beginning_passes_nothing(void **state) {
        JobServer lost;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-1"), 60));
        assert_false(is_hidden(&trial, "us0-1/chip3"));
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        lost = scan->jobs[0]->servers[0];
        lost.target = &trial.manager->targets.items[1];
        lost.run[RUN_ID_BYTES - 2] = lost.run[RUN_ID_BYTES - 2] == '0' ? '1' : '0'; /* nobody has begun it */
        scan->jobs[0]->servers[scan->jobs[0]->n_servers++] = lost;
        assert_int_equal(job_file_write(scan->jobs[0]), 0);
        job_file_mark(scan->jobs[0]);
        scan->jobs[0]->n_servers--;

        for (unsigned starts = 0; starts < 2; starts++) {
                assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
                assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
                assert_int_equal(count_files(&trial, JOB_FILE_UNRECORDED), 1);
                assert_true(is_hidden(&trial, "us0-1/chip3"));
        }
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-1"), 60));
        assert_false(is_hidden(&trial, "us0-1/chip3"));
        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_int_equal(count_files(&trial, JOB_FILE_UNRECORDED), 0);
        trial_done(&trial);
}

/* An old copy of the log is put back with the evidence of that time, and somebody goes on with it: what that would pass may have failed since. */
static void test_a_scan_from_before_lost_records_is_closed(void **state) {
        Location where = { .server = "us0-0" };
        RecordEntry entry;
        Trial trial;
        Scan *scan;

        for (int is_due = 0; is_due <= 1; is_due++) {
                assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
                scan = trial_scan(&trial, 1000, "us0-0");
                assert_true(trial_run(&trial, is_half_done, scan, 60));
                if (is_due)
                        job_file_mark(scan->jobs[0]);
                trial.cut = record_log_size(trial.manager->log);
                assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
                assert_true(TAILQ_EMPTY(&trial.manager->scans));
                assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX) + count_files(&trial, JOB_FILE_UNRECORDED), 0);
                assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
                assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
                assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
                trial_done(&trial);
        }
}

/* Whoever has the disk names a run that has ended as one that has not, and brings the job file that it had. */
static void test_a_run_that_has_ended_is_not_ended_again(void **state) {
        char command[256];
        uint64_t size;
        Trial trial;
        Scan *scan;

        for (int has_file = 0; has_file <= 1; has_file++) {
                assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
                scan = trial_scan(&trial, 1000, "us0-0");
                assert_true(trial_run(&trial, is_half_done, scan, 60));
                (void) snprintf(command, sizeof(command), "cp -r %s/evidence %s/old", trial.folder, trial.folder);
                assert_int_equal(system(command), 0);
                assert_true(trial_wait(&trial, scan, 60));
                assert_true(none_unfinished(trial.manager->log));
                trial.manager = manager_free(trial.manager);
                edit(&trial, "INSERT INTO unfinished SELECT idx, run, subject FROM entry WHERE idx = 0");
                (void) snprintf(command, sizeof(command), "rm %s/evidence/*; cp %s/old/* %s/evidence", trial.folder, trial.folder, trial.folder);
                if (has_file)
                        assert_int_equal(system(command), 0);

                assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
                assert_true(TAILQ_EMPTY(&trial.manager->scans) || TAILQ_FIRST(&trial.manager->scans)->past);
                assert_null(trial.manager->closing);
                assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX), 0);
                size = record_log_size(trial.manager->log);
                trial.manager = manager_free(trial.manager);
                assert_int_equal(size, 18);
                trial_done(&trial);
        }
}

/* Whoever has the disk says of a run that was interrupted that it has ended: by a row that is gone, or by one of a record that is no roll-up. */
static void test_a_run_has_ended_by_its_rollup_alone(void **state) {
        static const char *const edits[] = {
                "DELETE FROM unfinished",
                "UPDATE entry SET type = '" RECORD_TYPE_SUMMARY "', run = (SELECT run FROM entry WHERE idx = 18), subject = 'us0-0' WHERE idx = 19",
        };
        Location where = { .server = "us0-0" };
        RecordEntry entry;
        Trial trial;

        for (size_t i = 0; i < ELEMENTS(edits); i++) {
                Scan *scan;

                assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
                assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-0"), 60));
                scan = trial_scan(&trial, 1000, "us0-0");
                assert_true(trial_run(&trial, is_half_done, scan, 60));
                forget_job(&trial);
                assert_int_equal(record_log_heartbeat(trial.manager->log, RECORD_HEARTBEAT_START, manager_next_ticket(trial.manager)), 0);
                trial.manager = manager_free(trial.manager);
                edit(&trial, edits[i]);

                assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
                assert_non_null(trial.manager->closing);
                assert_true(is_hidden(&trial, "us0-0/chip0"));
                assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
                assert_int_equal(record_log_size(trial.manager->log), 18 + 2 + 17);
                assert_int_equal(record_log_newest(trial.manager->log, &where, NULL, &entry), 0);
                assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
                trial_done(&trial);
        }
}

/* What cannot be believed is not said again under a new signature. */
static void test_a_run_whose_beginning_cannot_be_read_stays_unfinished(void **state) {
        char path[128];
        uint64_t size;
        sqlite3 *db;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        forget_job(&trial);
        assert_int_equal(record_log_heartbeat(trial.manager->log, RECORD_HEARTBEAT_START, manager_next_ticket(trial.manager)), 0);
        trial.manager = manager_free(trial.manager);
        (void) snprintf(path, sizeof(path), "%s/records.db", trial.folder);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "UPDATE record SET signature = zeroblob(64) WHERE idx = 0",
                                      NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_changes(db), 1);
        (void) sqlite3_close(db);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        size = record_log_size(trial.manager->log);
        assert_true(is_hidden(&trial, "us0-0/chip3"));
        assert_false(trial_run(&trial, none_unfinished, trial.manager->log, 0));
        assert_int_equal(record_log_size(trial.manager->log), size);
        trial_done(&trial);
}

/* Any of them may have been of any server. */
static void assert_runs_unknown(const Trial *trial) {
        char reason[UNRECORDED_REASON_MAX];
        Location where = { .server = "us0-1" };

        assert_true(unrecorded_hides(trial->manager, &where, reason));
        assert_string_equal(reason, "whether a scan was interrupted could not be found out. The next start of assayd tries again");
}

/* What is not known to be unfinished would be taken for finished, and its file thrown away. */
static void test_a_table_that_cannot_be_read_costs_no_scan(void **state) {
        char path[128];
        sqlite3 *db;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        trial.manager = manager_free(trial.manager);
        (void) snprintf(path, sizeof(path), "%s/records.db", trial.folder);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "UPDATE entry SET subject = '?' || subject WHERE idx = 0", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0); /* which the scrub will stop */
        assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX), 1);
        assert_runs_unknown(&trial);

        trial.manager = manager_free(trial.manager);
        assert_int_equal(sqlite3_exec(db, "UPDATE entry SET subject = substr(subject, 2) WHERE idx = 0", NULL, NULL, NULL), SQLITE_OK);
        (void) sqlite3_close(db);
        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_true(trial_run(&trial, all_finished, trial.manager, 60));
        assert_true(none_unfinished(trial.manager->log));
        trial_done(&trial);
}

static void test_evidence_that_does_not_parse_is_not_built_on(void **state) {
        Location where = { .server = "us0-0" };
        char command[256];
        RecordEntry entry;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        (void) snprintf(command, sizeof(command), "sed -i 3s/./x/ %s/evidence/*.ocp.jsonl", trial.folder);
        assert_int_equal(system(command), 0);

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
        assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
        assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
        trial_done(&trial);
}

static void test_a_server_that_is_no_longer_configured_is_closed_too(void **state) {
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        assert_int_equal(trial_restart(&trial, "[{device: sim:pass, servers: [trn-0]}]", "{}"), 0);
        assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
        trial_done(&trial);
}

/* A worker of several servers, one of which has its records already: that one is free afterwards too. */
static void test_a_server_that_has_its_records_is_free_when_the_others_have_theirs(void **state) {
        JobServer recorded;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_wait(&trial, scan, 60));
        recorded = scan->jobs[0]->servers[0];
        scan = trial_scan(&trial, 1000, "us0-1");
        assert_true(trial_run(&trial, is_half_done, scan, 60));
        scan->jobs[0]->servers[scan->jobs[0]->n_servers++] = recorded;
        assert_int_equal(job_file_write(scan->jobs[0]), 0);
        job_file_seal(scan->jobs[0]);
        scan->jobs[0]->n_servers--;

        assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 1}"), 0);
        scan = manager_find_scan(trial.manager, 2); /* its number of before */
        assert_non_null(scan);
        assert_int_equal(scan->jobs[0]->n_servers, 2);
        assert_true(trial_wait(&trial, scan, 60));
        for (size_t i = 0; i < trial.manager->targets.n_items; i++) {
                assert_null(trial.manager->targets.items[i].job);
                assert_int_equal(trial.manager->targets.items[i].n_waiting, 0);
        }
        trial_done(&trial);
}

/* Neither has ended then, as one may have when the other is half done. */
static bool both_run(void *userdata) {
        const Scan *scan = userdata;

        return scan->jobs[0]->state == JOB_RUNNING && scan->jobs[1]->state == JOB_RUNNING;
}

/* Each server has a worker of its own: together they are the scan that they were, and its number names no other one. */
static void test_a_scan_of_several_workers_is_one_scan_afterwards(void **state) {
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, "{workers: 2}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0");
        assert_int_equal(scan->n_jobs, 2);
        assert_true(trial_run(&trial, both_run, scan, 60));
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(trial_restart(&trial, TARGETS, "{workers: 2}"), 0);
                scan = TAILQ_FIRST(&trial.manager->scans);
                assert_non_null(scan);
                assert_null(TAILQ_NEXT(scan, entry));
                assert_int_equal(scan->id, 1);
                assert_int_equal(scan->n_jobs, 2);
                assert_int_equal(scan->n_selected, 2);
                assert_int_equal(trial.manager->last_scan, 1);
        }
        assert_true(trial_wait(&trial, scan, 60));
        assert_true(none_unfinished(trial.manager->log));
        assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX), 0);
        assert_int_equal(trial_scan(&trial, 1000, "us0-0")->id, 2);
        trial_done(&trial);
}

static bool is_refused(void *userdata) {
        return ((const Scan *) userdata)->jobs[0]->servers[0].is_unrecorded;
}

/* Files may be as long as SQLite needs to open the log, and no longer. */
static void limit_files(rlim_t bytes) {
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The log takes nothing: a scan that did not pass hides what was known, here and in the next daemon, and is recorded once there is room. */
static void test_what_cannot_be_recorded_hides_what_was_known(void **state) {
        Trial trial;
        Scan *scan;

        Location where = { .server = "us0-0" };
        RecordEntry entry;

        (void) signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(trial_new(DYING, LIMITS, &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0/chip3");
        while (scan->state == SCAN_STARTING)
                assert_true(sd_event_run(trial.event, UINT64_MAX) >= 0);
        assert_false(is_hidden(&trial, "us0-0"));
        limit_files(32768);
        for (unsigned i = 0; i < 3; i++) {
                assert_true(trial_run(&trial, is_refused, scan, 60));
                assert_int_equal(scan->state, SCAN_SIGNING);
                assert_true(is_hidden(&trial, "us0-0"));
                assert_true(is_hidden(&trial, "us0-0/chip3"));
                assert_false(is_hidden(&trial, "us0-0/chip4"));
                assert_false(is_hidden(&trial, "us0-1"));
                assert_int_equal(count_files(&trial, JOB_FILE_UNRECORDED), 1);
                assert_int_equal(count_files(&trial, EVIDENCE_SUFFIX ".zst"), 0);
                if (i == 2)
                        break;
                assert_int_equal(trial_restart(&trial, DYING, LIMITS), 0);
                scan = TAILQ_FIRST(&trial.manager->scans);
                assert_non_null(scan);
                assert_true(is_hidden(&trial, "us0-0/chip3")); /* before the log was asked again */
        }

        limit_files(RLIM_INFINITY);
        assert_true(trial_wait(&trial, scan, 60));
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
        assert_false(is_hidden(&trial, "us0-0"));
        assert_int_equal(location_append(&where, LOCATION_CHIP, 3), 0);
        assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
        assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
        assert_true(none_unfinished(trial.manager->log));
        assert_int_equal(record_log_size(trial.manager->log), 3); /* once */
        assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX) + count_files(&trial, JOB_FILE_UNRECORDED), 0);
        trial_done(&trial);
}

static RecordPart stand_of(const Trial *trial, const char *part, const char *plan) {
        Location where;
        RecordPart stand;

        assert_int_equal(location_parse(part, &where, NULL, NULL), 0);
        (void) standing_read(trial->manager, &where, plan, 0, &stand);
        return stand;
}

/* A chip passed; then a scan of it ends, and the log does not take what it found. Beside the folder of evidence is the job file of before that. */
static void leave_waiting(Trial *trial) {
        char command[256];
        Scan *scan;

        assert_int_equal(trial_new(PASSING, LIMITS, trial), 0);
        assert_true(trial_wait(trial, trial_scan(trial, 1000, "us0-0"), 60));
        assert_int_equal(trial_restart(trial, DYING, LIMITS), 0);
        assert_int_equal(stand_of(trial, "us0-0/chip3", NULL).result, RESULT_PASSED);
        scan = trial_scan(trial, 1000, "us0-0/chip3");
        while (scan->state == SCAN_STARTING)
                assert_true(sd_event_run(trial->event, UINT64_MAX) >= 0);
        (void) snprintf(command, sizeof(command), "cp %s/evidence/*.job.json %s", trial->folder, trial->folder);
        assert_int_equal(system(command), 0);
        limit_files(32768);
        assert_true(trial_run(trial, is_refused, scan, 60));
        assert_true(is_hidden(trial, "us0-0/chip3"));
        trial->manager = manager_free(trial->manager);
        limit_files(RLIM_INFINITY);
}

/* A scan of a whole server that nobody can go on with: each chip of it is unknown, and what lies between them, under every plan that does not look again. */
static void test_a_lost_scan_of_a_server_leaves_nothing_of_it_known(void **state) {
        RecordPart parts[STANDING_PARTS];
        Location server = { .server = "us0-0" };
        char command[256];
        Trial trial;

        assert_int_equal(trial_new(PASSING, LIMITS, &trial), 0);
        (void) snprintf(command, sizeof(command), "cd %s && sed s/quick/other/ quick.yaml >other.yaml", trial.folder);
        assert_int_equal(system(command), 0);
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-0"), 60));
        assert_true(trial_wait(&trial, trial_scan_by(&trial, 1000, "us0-0", "other"), 60));
        assert_int_equal(trial_restart(&trial, TARGETS, LIMITS), 0);
        assert_true(trial_run(&trial, is_half_done, trial_scan(&trial, 1000, "us0-0"), 60));
        forget_job(&trial);
        assert_int_equal(trial_restart(&trial, PASSING, LIMITS), 0);
        assert_true(trial_run(&trial, is_through, trial.manager, 60));
        for (size_t plan = 0; plan < 3; plan++) {
                static const char *const plans[] = { NULL, "quick", "other" };

                (void) standing_parts(trial.manager, &server, plans[plan], 0, parts);
                for (size_t i = 0; i < STANDING_PARTS; i++)
                        assert_int_equal(parts[i].result, RESULT_INCONCLUSIVE);
        }
        assert_true(trial_wait(&trial, trial_scan_by(&trial, 1000, "us0-0", "other"), 60));
        assert_int_equal(stand_of(&trial, "us0-0", "other").result, RESULT_PASSED);
        assert_int_equal(stand_of(&trial, "us0-0", NULL).result, RESULT_PASSED);
        assert_int_equal(stand_of(&trial, "us0-0", "quick").result, RESULT_INCONCLUSIVE);
        trial_done(&trial);
}

/* Whatever became of the files beside the log, which knows by itself that a run was begun: no pass of before counts, before its end is recorded or afterwards. */
static void test_what_waited_and_was_changed_passes_nothing(void **state) {
        static const struct {
                const char *change; /* a command in the evidence folder */
                bool is_believed;
        } rows[] = {
                { "true", true },
                { "rm *.due.json", false },
                { "rm *", false },
                { "for f in *.due.json; do printf '\\001' | dd of=$f bs=1 seek=5 conv=notrunc status=none; done", false },
                { "for f in *.due.json; do truncate -s -1 $f; done", false },
                { "truncate -s 0 *.due.json", false },
                { "sed -i 's/\"chips\":8}/\"chips\":4}/' *.due.json", false },
                { "sed -i 's/^{\"seal\":\"[^\"]*\",/{/' *.due.json", false },                      /* as an assayd of before wrote it */
                { "for f in *.due.json; do mv $f ${f%.due.json}.job.json; done", true },         /* the seal says so, too */
                { "for f in *.due.json; do cp $f ${f%.due.json}.job.json; done", true },         /* and yet it is signed once */
                { "cp ../*.job.json .", true },                                                  /* an older copy takes nothing back */
                { "for f in *.due.json; do cp ../*.job.json $f; done", true },                   /* the name says so before the seal does */
                { "rm *.ocp.jsonl", false },
                { "truncate -s -2 *.ocp.jsonl", false },
                { "sed -i 2s/[0-9]/9/ *.ocp.jsonl", false },
                { "for f in *.ocp.jsonl; do echo half >>$f; done", true }, /* appended, and no seal told of it any more */
                { "for f in *.due.json; do mv $f 1${f#?}; done", false },
        };

        (void) signal(SIGXFSZ, SIG_IGN);
        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                char command[512];
                RecordPart stand;
                Trial trial;

                leave_waiting(&trial);
                (void) snprintf(command, sizeof(command), "cd %s/evidence && %s", trial.folder, rows[i].change);
                assert_int_equal(system(command), 0);
                assert_int_equal(trial_restart(&trial, DYING, LIMITS), 0);
                assert_int_equal(!all_finished(trial.manager), rows[i].is_believed);
                assert_true(is_hidden(&trial, "us0-0/chip3"));
                assert_int_equal(stand_of(&trial, "us0-0/chip3", NULL).result, RESULT_INCONCLUSIVE);
                assert_true(trial_run(&trial, none_unfinished, trial.manager->log, 60));
                assert_true(trial_run(&trial, is_through, trial.manager, 60));
                assert_true(trial_run(&trial, all_finished, trial.manager, 60));
                stand = stand_of(&trial, "us0-0/chip3", NULL);
                assert_int_equal(stand.result, RESULT_INCONCLUSIVE);
                assert_int_equal(stand_of(&trial, "us0-0/chip4", NULL).result, RESULT_PASSED);
                if (!rows[i].is_believed)
                        assert_string_equal(stand.reason, "us0-0/chip3: a scan was interrupted, and what it had found is lost");
                assert_int_equal(count_files(&trial, JOB_FILE_SUFFIX) + count_files(&trial, JOB_FILE_UNRECORDED), 0);
                assert_int_equal(record_log_size(trial.manager->log), 18 + 3); /* each run has its start, its chips and its roll-up */
                trial_done(&trial);
        }
}

/* An accident takes no result away: what cannot be read now is there for the next start, and so is its run. */
static void test_a_file_that_cannot_be_read_now_is_left(void **state) {
        char command[256];
        Trial trial;

        (void) signal(SIGXFSZ, SIG_IGN);
        leave_waiting(&trial);
        (void) snprintf(command, sizeof(command), "cd %s/evidence && for f in *.due.json; do mv $f .. && ln -s $f $f; done", trial.folder); /* -ELOOP */
        assert_int_equal(system(command), 0);
        assert_int_equal(trial_restart(&trial, DYING, LIMITS), 0);
        assert_runs_unknown(&trial);
        assert_null(trial.manager->closing);
        assert_int_equal(count_files(&trial, JOB_FILE_UNRECORDED), 1);

        (void) snprintf(command, sizeof(command), "mv %s/*.due.json %s/evidence", trial.folder, trial.folder);
        assert_int_equal(system(command), 0);
        assert_int_equal(trial_restart(&trial, DYING, LIMITS), 0);
        assert_false(is_hidden(&trial, "us0-1"));
        assert_true(is_hidden(&trial, "us0-0/chip3"));
        assert_false(all_finished(trial.manager));
        assert_true(trial_run(&trial, all_finished, trial.manager, 60));
        assert_true(none_unfinished(trial.manager->log));
        trial_done(&trial);
}

/* The beginning of a run of the server NAME as a program of other rules signed it: behind AT stands an x, which is in no digest. */
static void begin_loosely(Trial *trial, const char *name, const char *id, const char *at) {
        static const char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        RecordRun run = { .id = id, .stage = STAGE_PREFLIGHT, .started_usec = 1795252442000000, .seed = 7, .plan = "quick", .plan_sha256 = digest,
                          .limits_sha256 = digest, .worker_sha256 = digest };
        RecordSubject server = { .serial = "SRV00017", .product = "Trn2" };
        RecordLog *log = trial->manager->log;
        uint64_t turns = 0, size = record_log_size(log);
        DraftGroup *group;
        Printer *parts[2];
        char *found = NULL;

        (void) snprintf(server.where.server, sizeof(server.where.server), "%s", name);
        assert_int_equal(draft_start(&log->station, &run, &server, &group), 0);
        parts[0] = &group->drafts[0].head;
        parts[1] = &group->drafts[0].tail;
        for (size_t i = 0; i < ELEMENTS(parts) && !found; i++)
                found = memmem(parts[i]->text, parts[i]->n, at, strlen(at));
        assert_non_null(found);
        found[strlen(at)] = 'x';
        assert_int_equal(queue_put(log, group, manager_next_ticket(trial->manager)), 0);
        while (record_log_size(log) == size)
                assert_true(turns++ < 1000000 && sd_event_run(trial->event, 1000) >= 0);
}

/* A rule that changes takes no server out of service: what can be told is told, and the rest hides a pass until its plan has looked again. */
static void test_a_run_that_older_rules_began_hides_nothing_for_ever(void **state) {
        uint64_t cursor = 0;
        char command[256];
        RecordEntry entry;
        Trial trial;

        assert_int_equal(trial_new(PASSING, LIMITS, &trial), 0);
        (void) snprintf(command, sizeof(command), "cd %s && sed s/quick/other/ quick.yaml >other.yaml", trial.folder);
        assert_int_equal(system(command), 0);
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0"), 60));
        begin_loosely(&trial, "us0-0", "01934a6e-5e00-7000-8000-000000000001", "\"sha256\":\""); /* the digest of who the server is: it can be closed */
        begin_loosely(&trial, "us0-1", "01934a6e-5e00-7000-8000-000000000002", "\"quick\",\"digest\":{\"sha256\":\""); /* that of its plan: a record of today needs one */
        assert_int_equal(trial_restart(&trial, PASSING, LIMITS), 0);
        assert_true(is_hidden(&trial, "us0-0"));
        assert_false(trial_run(&trial, none_unfinished, trial.manager->log, 1));
        assert_int_equal(record_log_unfinished(trial.manager->log, &cursor, &entry), 0);
        assert_string_equal(entry.subject.server, "us0-1");
        assert_int_equal(record_log_unfinished(trial.manager->log, &cursor, &entry), -ENOENT);
        assert_int_equal(stand_of(&trial, "us0-0/chip3", NULL).result, RESULT_INCONCLUSIVE);
        assert_false(is_hidden(&trial, "us0-0"));

        assert_true(trial_wait(&trial, trial_scan_by(&trial, 1000, "us0-1", "other"), 60));
        assert_true(is_hidden(&trial, "us0-1"));
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-1/chip3"), 60));
        assert_true(is_hidden(&trial, "us0-1"));
        assert_true(is_hidden(&trial, "us0-1/chip4"));
        assert_false(is_hidden(&trial, "us0-1/chip3"));
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-1"), 60));
        for (unsigned i = 0; i < 2; i++) {
                assert_false(is_hidden(&trial, "us0-1"));
                assert_false(is_hidden(&trial, "us0-1/chip4"));
                assert_int_equal(stand_of(&trial, "us0-1", NULL).result, RESULT_PASSED);
                assert_int_equal(trial_restart(&trial, DYING, LIMITS), 0);
        }
        assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-1"), 60));
        assert_false(is_hidden(&trial, "us0-1"));
        trial_done(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_scan_goes_on_after_the_step_that_was_open),
                cmocka_unit_test(test_a_scan_that_had_not_begun_is_scanned_as_a_whole),
                cmocka_unit_test(test_a_run_of_which_nothing_is_left_is_closed_as_inconclusive),
                cmocka_unit_test(test_a_run_is_closed_with_what_it_was_begun_with),
                cmocka_unit_test(test_all_runs_are_closed),
                cmocka_unit_test(test_a_result_without_its_beginning_passes_nothing),
                cmocka_unit_test(test_one_result_of_two_without_its_beginning_passes_nothing),
                cmocka_unit_test(test_a_scan_from_before_lost_records_is_closed),
                cmocka_unit_test(test_a_run_that_has_ended_is_not_ended_again),
                cmocka_unit_test(test_a_run_has_ended_by_its_rollup_alone),
                cmocka_unit_test(test_a_run_whose_beginning_cannot_be_read_stays_unfinished),
                cmocka_unit_test(test_a_table_that_cannot_be_read_costs_no_scan),
                cmocka_unit_test(test_evidence_that_does_not_parse_is_not_built_on),
                cmocka_unit_test(test_a_server_that_is_no_longer_configured_is_closed_too),
                cmocka_unit_test(test_what_cannot_be_recorded_hides_what_was_known),
                cmocka_unit_test(test_a_lost_scan_of_a_server_leaves_nothing_of_it_known),
                cmocka_unit_test(test_what_waited_and_was_changed_passes_nothing),
                cmocka_unit_test(test_a_file_that_cannot_be_read_now_is_left),
                cmocka_unit_test(test_a_run_that_older_rules_began_hides_nothing_for_ever),
                cmocka_unit_test(test_a_scan_of_several_workers_is_one_scan_afterwards),
                cmocka_unit_test(test_a_server_that_has_its_records_is_free_when_the_others_have_theirs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
