/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>

#include "daemon/evidence.h"

#define RUN "0190163d-8694-739b-aea5-966c26f8ad91"

static char folder[64];

static int set_up(void **state) {
        (void) snprintf(folder, sizeof(folder), "/tmp/assay-evidence-XXXXXX");
        return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
        char command[128];

        (void) snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}


static void digest_by_hand(const char *text, char ret[static EVIDENCE_DIGEST_HEX]) {
        char command[256];
        FILE *pipe;

        (void) snprintf(command, sizeof(command), "printf '%s' | sha256sum", text);
        pipe = popen(command, "re");
        assert_non_null(pipe);
        assert_int_equal(fread(ret, 1, EVIDENCE_DIGEST_HEX - 1, pipe), EVIDENCE_DIGEST_HEX - 1);
        ret[EVIDENCE_DIGEST_HEX - 1] = '\0';
        pclose(pipe);
}

static void test_the_digest_is_that_of_what_was_appended(void **state) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        char is[EVIDENCE_DIGEST_HEX], expected[EVIDENCE_DIGEST_HEX];

        assert_int_equal(evidence_create(folder, RUN, &file), 0);
        assert_int_equal(evidence_append(file, "one\n", 4), 0);
        assert_int_equal(evidence_digest(file, is), 0);
        digest_by_hand("one\\n", expected);
        assert_string_equal(is, expected);
        assert_int_equal(evidence_append(file, "two\n", 4), 0);
        assert_int_equal(evidence_digest(file, is), 0);
        digest_by_hand("one\\ntwo\\n", expected);
        assert_string_equal(is, expected);
        assert_int_equal(evidence_clear(file), 0);
        assert_int_equal(evidence_append(file, "two\n", 4), 0);
        assert_int_equal(evidence_digest(file, is), 0);
        digest_by_hand("two\\n", expected);
        assert_string_equal(is, expected);
}

static void test_old_evidence_is_never_overwritten(void **state) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL, *again = NULL;

        assert_int_equal(evidence_create(folder, RUN, &file), 0);
        assert_int_equal(evidence_create(folder, RUN, &again), -EEXIST);
}

static int collect(const char *bytes, size_t n, void *userdata) {
        strncat(userdata, bytes, n);
        return 0;
}

static void test_what_follows_the_mark_is_cut_off_when_it_is_opened_again(void **state) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL, *again = NULL;
        char all[64] = "", is[EVIDENCE_DIGEST_HEX], expected[EVIDENCE_DIGEST_HEX], path[128];
        EvidenceMark mark;
        FILE *left;

        assert_int_equal(evidence_create(folder, RUN, &file), 0);
        assert_int_equal(evidence_append(file, "one\ntwo\n", 8), 0);
        assert_int_equal(evidence_mark(file, &mark), 0);
        assert_int_equal(evidence_append(file, "hal", 3), 0);
        assert_int_equal(evidence_check(folder, RUN, &mark), 0);
        assert_int_equal(evidence_reopen(folder, RUN, &mark, collect, all, &again), 0);
        assert_string_equal(all, "one\ntwo\n");
        assert_int_equal(evidence_size(again), 8);
        assert_int_equal(evidence_append(again, "3\n", 2), 0);
        assert_int_equal(evidence_digest(again, is), 0);
        digest_by_hand("one\\ntwo\\n3\\n", expected);
        assert_string_equal(is, expected);
        (void) snprintf(path, sizeof(path), "%s/%s", folder, evidence_name(again));
        left = fopen(path, "re");
        assert_non_null(left);
        all[fread(all, 1, sizeof(all) - 1, left)] = '\0';
        (void) fclose(left);
        assert_string_equal(all, "one\ntwo\n3\n");
}

static int refuse(const char *bytes, size_t n, void *userdata) {
        return -EUCLEAN;
}

/* Whoever is given what was found, and cannot take it, has gone on with nothing of it. */
static void test_what_nobody_takes_is_not_opened(void **state) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL, *again = NULL;
        EvidenceMark mark;

        assert_int_equal(evidence_create(folder, RUN, &file), 0);
        assert_int_equal(evidence_append(file, "one\n", 4), 0);
        assert_int_equal(evidence_mark(file, &mark), 0);
        assert_int_equal(evidence_reopen(folder, RUN, &mark, refuse, NULL, &again), -EUCLEAN);
        assert_null(again);
}

static void test_what_is_not_what_was_marked_is_told(void **state) {
        static const char *const altered[] = { "one\ntwi\n", "one\n", "", "one\ntwo", NULL };
        EvidenceMark mark, nothing;

        for (size_t i = 0; i < sizeof(altered) / sizeof(*altered); i++) {
                _cleanup_(evidence_freep) EvidenceFile *file = NULL, *again = NULL;
                char path[128], all[64] = "";

                assert_int_equal(evidence_create(folder, RUN, &file), 0);
                assert_int_equal(evidence_mark(file, &nothing), 0);
                assert_int_equal(evidence_append(file, "one\ntwo\n", 8), 0);
                assert_int_equal(evidence_mark(file, &mark), 0);
                (void) snprintf(path, sizeof(path), "%s/%s", folder, evidence_name(file));
                if (altered[i]) {
                        assert_int_equal(evidence_clear(file), 0);
                        assert_int_equal(evidence_append(file, altered[i], strlen(altered[i])), 0);
                } else
                        assert_int_equal(unlink(path), 0);
                assert_int_equal(evidence_check(folder, RUN, &mark), -EBADMSG);
                assert_int_equal(evidence_check(folder, RUN, &nothing), 0);
                assert_int_equal(evidence_reopen(folder, RUN, &mark, collect, all, &again), altered[i] ? -EBADMSG : -ENOENT);
                (void) unlink(path);
        }
}

static void test_what_does_not_fit_leaves_what_was_there(void **state) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        struct rlimit before, small = { 16, RLIM_INFINITY };
        char is[EVIDENCE_DIGEST_HEX], expected[EVIDENCE_DIGEST_HEX], path[128];
        struct stat status;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small.rlim_max = before.rlim_max;
        (void) signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(evidence_create(folder, RUN, &file), 0);
        assert_int_equal(evidence_append(file, "one\ntwo\n", 8), 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_equal(evidence_append(file, "much too long for it\n", 21), -EFBIG);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

        (void) snprintf(path, sizeof(path), "%s/%s", folder, evidence_name(file));
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_size, 8);
        assert_int_equal(evidence_digest(file, is), 0);
        digest_by_hand("one\\ntwo\\n", expected);
        assert_string_equal(is, expected);
}

static void test_packed_evidence_reads_as_it_was(void **state) {
        _cleanup_(evidence_packer_freep) EvidencePacker *packer = NULL;
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        char plain[128], packed[160], command[256], line[32];
        sd_event *event = NULL;
        size_t n_lines = 0;
        FILE *copy;

        assert_true(sd_event_new(&event) >= 0);
        assert_int_equal(evidence_packer_new(event, folder, &packer), 0);
        assert_int_equal(evidence_create(folder, RUN, &file), 0);
        for (unsigned i = 0; i < 50000; i++) {
                (void) snprintf(line, sizeof(line), "line %u\n", i);
                assert_int_equal(evidence_append(file, line, strlen(line)), 0);
        }
        (void) snprintf(plain, sizeof(plain), "%s/%s", folder, evidence_name(file));
        (void) snprintf(packed, sizeof(packed), "%s.zst", plain);
        assert_int_equal(evidence_packer_add(packer, evidence_name(file)), 0);
        for (unsigned i = 0; i < 1000 && access(plain, F_OK) == 0; i++)
                assert_true(sd_event_run(event, 1000000) >= 0);
        assert_int_equal(access(packed, F_OK), 0);

        /* by us, and by the program that everybody has */
        copy = tmpfile();
        assert_int_equal(evidence_copy(folder, evidence_name(file), fileno(copy)), 0);
        rewind(copy);
        while (fgets(line, sizeof(line), copy)) {
                char expected[32];

                (void) snprintf(expected, sizeof(expected), "line %zu\n", n_lines++);
                assert_string_equal(line, expected);
        }
        assert_int_equal(n_lines, 50000);
        fclose(copy);
        (void) snprintf(command, sizeof(command), "! command -v zstd >/dev/null || zstd -qt '%s'", packed);
        assert_int_equal(system(command), 0);

        /* cut off: not all of it, and said so */
        assert_int_equal(truncate(packed, 1000), 0);
        copy = tmpfile();
        assert_int_equal(evidence_copy(folder, evidence_name(file), fileno(copy)), -EBADMSG);
        fclose(copy);
        packer = evidence_packer_free(packer);
        sd_event_unref(event);
}

/* Nobody writes into them or reads from them, for ever: whoever waits is ended by the alarm. */
static void test_a_pipe_is_not_waited_for(void **state) {
        _cleanup_(evidence_packer_freep) EvidencePacker *packer = NULL;
        char plain[128], packed[160];
        sd_event *event = NULL;
        FILE *copy = tmpfile();

        (void) snprintf(plain, sizeof(plain), "%s/" RUN ".ocp.jsonl", folder);
        (void) snprintf(packed, sizeof(packed), "%s.zst", plain);
        (void) alarm(20);
        assert_int_equal(mkfifo(packed, 0600), 0);
        assert_int_equal(evidence_copy(folder, RUN ".ocp.jsonl", fileno(copy)), -EBADMSG);
        assert_int_equal(mkfifo(plain, 0600), 0);
        assert_int_equal(evidence_copy(folder, RUN ".ocp.jsonl", fileno(copy)), -EBADMSG);
        assert_int_equal(unlink(packed), 0);

        assert_true(sd_event_new(&event) >= 0);
        assert_int_equal(evidence_packer_new(event, folder, &packer), 0);
        assert_int_equal(evidence_packer_add(packer, RUN ".ocp.jsonl"), 0);
        assert_true(sd_event_run(event, 0) >= 0);
        assert_int_equal(access(packed, F_OK), -1);
        assert_int_equal(access(plain, F_OK), 0);
        (void) alarm(0);
        fclose(copy);
        packer = evidence_packer_free(packer);
        sd_event_unref(event);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_the_digest_is_that_of_what_was_appended),
                TEST(test_old_evidence_is_never_overwritten),
                TEST(test_what_follows_the_mark_is_cut_off_when_it_is_opened_again),
                TEST(test_what_nobody_takes_is_not_opened),
                TEST(test_what_is_not_what_was_marked_is_told),
                TEST(test_what_does_not_fit_leaves_what_was_there),
                TEST(test_packed_evidence_reads_as_it_was),
                TEST(test_a_pipe_is_not_waited_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
