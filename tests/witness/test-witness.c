/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>

#include "tests/witness/ask.h"

#define NOW UINT64_C(1790000000000000)

static Ask one;

static int setup(void **state) {
        ask_init(&one);
        for (unsigned i = 0; i < 40; i++)
                ask_grow(&one, 0);
        return 0;
}

static int teardown(void **state) {
        ask_done(&one);
        return 0;
}

static WitnessAnswer answer_of(uint64_t old, uint64_t size, uint64_t usec) {
        WitnessReply reply;
        WitnessAnswer answer = ask(&one, old, size, usec, &reply);

        assert_true((answer == WITNESS_COSIGNED) == !reply.wrong);
        witness_reply_done(&reply);
        return answer;
}

/* Every size after every size, from every size. */
static void test_only_growth_from_what_is_held_is_cosigned(void **state) {
        uint64_t held = 0;

        for (uint64_t size = 0; size <= 40; size += 1 + size / 4)
                for (uint64_t old = 0; old <= 41; old++) {
                        WitnessReply reply;

                        (void) ask(&one, old, size, NOW, &reply);
                        assert_int_equal(reply.answer, old > size ? WITNESS_BACKWARDS : old != held ? WITNESS_OTHER_SIZE : WITNESS_COSIGNED);
                        held = reply.answer == WITNESS_COSIGNED ? size : held;
                        assert_int_equal(reply.held, held);
                        witness_reply_done(&reply);
                }
}

static void test_the_line_is_of_the_witness_and_the_time(void **state) {
        _cleanup_printer_ Printer note = {};
        Note *parsed = calloc(1, sizeof(*parsed));
        WitnessReply reply;
        uint64_t usec;

        assert_int_equal(ask(&one, 0, 9, NOW + 999999, &reply), WITNESS_COSIGNED);
        ask_note(&one, 9, &note);
        printer_raw(&note, reply.body.text, reply.body.n);
        assert_int_equal(note_parse(note.text, note.n, parsed), 0);
        assert_int_equal(note_verify(parsed, &one.witness.key, &usec), 1);
        assert_int_equal(usec, NOW);
        witness_reply_done(&reply);
        free(parsed);
}

static void test_a_clock_that_was_put_back_signs_nothing(void **state) {
        assert_int_equal(answer_of(0, 5, NOW), WITNESS_COSIGNED);
        assert_int_equal(answer_of(5, 6, NOW - RECORD_AHEAD_USEC), WITNESS_COSIGNED);
        assert_int_equal(answer_of(6, 7, NOW + RECORD_AHEAD_USEC), WITNESS_COSIGNED);
        assert_int_equal(answer_of(7, 8, NOW - 1), WITNESS_CLOCK);
        assert_int_equal(answer_of(7, 7, NOW - 1), WITNESS_CLOCK);
        assert_int_equal(answer_of(7, 8, NOW), WITNESS_COSIGNED);
}

/* Its row is held against its own note: a sound log is not accused of what has rotted here. */
static void test_a_row_that_is_not_its_note_accuses_nobody(void **state) {
        static const char *const damages[] = { "root = zeroblob(32)", "size = size - 2", "size = size + 4096", "note = x'00'",
                                               "note = CAST('other.example/log' || substr(note, instr(note, x'0a')) AS BLOB)" /* that of another log */ };

        for (size_t i = 0; i < ELEMENTS(damages); i++) {
                char sql[256], path[128], *wrong = NULL;
                sqlite3 *db;

                assert_int_equal(answer_of(0, 9, NOW), WITNESS_COSIGNED);
                (void) book_close(one.witness.book);
                (void) snprintf(path, sizeof(path), "%s/witness.db", one.place.folder);
                (void) snprintf(sql, sizeof(sql), "UPDATE log SET %s", damages[i]);
                assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
                assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
                assert_int_equal(sqlite3_changes(db), 1);
                assert_int_equal(sqlite3_close(db), SQLITE_OK);
                assert_int_equal(book_open(one.place.folder, NULL, false, &one.witness.book, &wrong), 0);
                assert_int_equal(answer_of(9, 9, NOW), WITNESS_DAMAGED);
                assert_int_equal(answer_of(9, 12, NOW), WITNESS_DAMAGED);
                (void) teardown(state);
                (void) setup(state);
        }
        assert_int_equal(witness_answer_to_level(WITNESS_DAMAGED), LOG_ALERT);
}

/* The second 0 says nothing to a reader. */
static void test_a_clock_that_tells_no_time_signs_nothing(void **state) {
        assert_int_equal(answer_of(0, 5, 999999), WITNESS_CLOCK);
        assert_int_equal(answer_of(0, 5, 1000000), WITNESS_COSIGNED);
}

/* Four that come in together: two growths of one log, its newest tree again, and an older one, which are all judged by what is not on the disk yet. */
static void test_nothing_is_told_before_it_is_committed(void **state) {
        static const struct {
                uint64_t old, size;
                WitnessAnswer answer;
        } asked[] = { { 0, 5, WITNESS_COSIGNED }, { 5, 9, WITNESS_COSIGNED }, { 9, 9, WITNESS_COSIGNED }, { 0, 5, WITNESS_OTHER_SIZE } };

        for (unsigned fails = 0; fails < 2; fails++) {
                Printer bodies[ELEMENTS(asked)] = {};
                WitnessReply replies[ELEMENTS(asked)];
                uint64_t base = fails ? 9 : 0;
                int committed;

                for (size_t i = 0; i < ELEMENTS(asked); i++) {
                        ask_print(&one, asked[i].old + base, asked[i].size + base, &bodies[i]);
                        witness_judge(&one.witness, bodies[i].text, bodies[i].n, NOW, &replies[i]);
                        assert_true(!replies[i].is_due && replies[i].body.n == 0);
                }
                committed = fails ? -ENOSPC : book_commit(one.witness.book);
                for (size_t i = 0; i < ELEMENTS(asked); i++) {
                        witness_conclude(&one.witness, &replies[i], committed);
                        assert_true(replies[i].is_due && replies[i].body.n > 0);
                        assert_int_equal(replies[i].answer, fails ? WITNESS_FAILED : asked[i].answer);
                        assert_int_equal(memmem(replies[i].body.text, replies[i].body.n, "fleet.example/witness", 21) != NULL, replies[i].answer == WITNESS_COSIGNED);
                        witness_reply_done(&replies[i]);
                        printer_done(&bodies[i]);
                }
        }
}

/* Any of the keys of a log, and none of another log. */
static void test_a_log_may_have_two_keys(void **state) {
        NoteKey keys[3];
        SettingsLog known[3];
        uint8_t public[NOTE_PUBLIC_BYTES] = { 1 };

        assert_int_equal(note_key_init(&keys[0], PLACE_ORIGIN, NOTE_LOG, public), 0);
        keys[1] = one.key;
        assert_int_equal(note_key_init(&keys[2], PLACE_ORIGIN "/2", NOTE_LOG, public), 0);
        for (unsigned i = 0; i < 3; i++)
                known[i] = ask_known(&keys[i]);
        one.settings = (Settings) { .n_logs = 3, .logs = known };
        assert_int_equal(answer_of(0, 5, NOW), WITNESS_COSIGNED);
        one.settings.n_logs = 1;
        assert_int_equal(answer_of(5, 6, NOW), WITNESS_NOT_SIGNED);
        one.settings = (Settings) { .n_logs = 1, .logs = known + 2 };
        assert_int_equal(answer_of(5, 6, NOW), WITNESS_UNKNOWN_LOG);
}

/* Whatever bit of a request is another: nothing is cosigned but what was asked for. */
static void test_no_flipped_bit_is_cosigned(void **state) {
        _cleanup_printer_ Printer body = {};
        Held held;

        assert_int_equal(answer_of(0, 5, NOW), WITNESS_COSIGNED);
        ask_print(&one, 5, 21, &body);
        for (size_t i = 0; i < 8 * body.n; i++) {
                WitnessReply reply;

                body.text[i / 8] ^= (char) (1 << i % 8);
                witness_add_checkpoint(&one.witness, body.text, body.n, NOW, &reply);
                assert_int_not_equal(reply.answer, WITNESS_COSIGNED);
                assert_int_not_equal(reply.answer, WITNESS_FAILED);
                assert_true(reply.body.n > 0 && reply.body.n < 200);
                witness_reply_done(&reply);
                body.text[i / 8] ^= (char) (1 << i % 8);
        }
        assert_int_equal(book_read(one.witness.book, PLACE_ORIGIN, &held), 0);
        assert_int_equal(held.size, 5);
        assert_int_equal(answer_of(5, 21, NOW), WITNESS_COSIGNED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_only_growth_from_what_is_held_is_cosigned),
                TEST(test_the_line_is_of_the_witness_and_the_time),
                TEST(test_a_clock_that_was_put_back_signs_nothing),
                TEST(test_a_clock_that_tells_no_time_signs_nothing),
                TEST(test_a_row_that_is_not_its_note_accuses_nobody),
                TEST(test_nothing_is_told_before_it_is_committed),
                TEST(test_a_log_may_have_two_keys),
                TEST(test_no_flipped_bit_is_cosigned),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
