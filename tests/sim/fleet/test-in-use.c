/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/chip/chip.h"
#include "sim/hbm/hbm.h"
#include "tests/sim/lone-command.h"

#define HEAD "scenario: t\ntopology: {servers: 1}\noccupied: [trn-0/chip1]\n"
#define USE  HEAD "in-use:\n"
#define ROW  (16u * 2 * 4 * 4 * 32) /* accesses of one row of a SID, all banks */

static const char *attribute(Lone *lone, unsigned chip, const char *path, char text[static 257]) {
        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = (uint32_t) strlen(path), .out_bytes = 256 };
        WireCompletion completion;

        memcpy(lone->window, path, strlen(path));
        completion = lone_run(lone, "trn-0", chip, command);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_true(completion.out_bytes <= 256);
        memcpy(text, lone->window + LONE_OUT, completion.out_bytes);
        text[completion.out_bytes] = '\0';
        return text;
}

static unsigned long trespasses(Lone *lone, unsigned chip) {
        char text[257];

        return strtoul(attribute(lone, chip, "assay/hbm/trespasses", text), NULL, 10);
}

static WireBox rows(unsigned sid, unsigned first, unsigned last) {
        WireBox box = { .last = { 15, 1, 2, 3, 3, 0, 31 } };

        box.first[HBM_SID] = box.last[HBM_SID] = (uint16_t) sid;
        box.first[HBM_ROW] = (uint16_t) first;
        box.last[HBM_ROW] = (uint16_t) last;
        return box;
}

static void march(Lone *lone, unsigned chip, WireBox box, uint8_t op) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .box = box, .n_ops = 1, .ops = { op } } };

        assert_int_equal(lone_run(lone, "trn-0", chip, command).status, STATUS_NRT_SUCCESS);
}

static void by_default_occupancy_tells(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(HEAD, NULL);
        char text[257];

        assert_non_null(lone);
        assert_string_equal(attribute(lone, 0, "assay/hbm/in-use", text), "none");
        assert_string_equal(attribute(lone, 1, "assay/hbm/in-use", text), "0:0-14335,1:0-14335,2:0-14335");
}

static void stacks_are_told_together(void **state) {
        static const char text[] = USE "  - {at: trn-0/chip1, rows: none}\n"
                                       "  - {at: trn-0/chip0/hbm0, rows: \"0:5-9,1:7-7\"}\n"
                                       "  - {at: trn-0/chip0/hbm3, rows: \"0:10-12,0:20-30\"}\n"
                                       "  - {at: trn-0/chip0/hbm1, rows: \"0:8-10\"}\n"
                                       "  - {at: trn-0/chip2, rows: all}\n";
        _cleanup_(lone_freep) Lone *lone = lone_new(text, NULL);
        char got[257];

        assert_non_null(lone);
        assert_string_equal(attribute(lone, 0, "assay/hbm/in-use", got), "0:5-12,0:20-30,1:7-7");
        assert_string_equal(attribute(lone, 1, "assay/hbm/in-use", got), "none");
        assert_string_equal(attribute(lone, 2, "assay/hbm/in-use", got), "0:0-16383,1:0-16383,2:0-16383");
}

/* 32 pieces do not fit an attribute: it says more then, never less. */
static void many_pieces_are_told_as_fewer(void **state) {
        char text[2048] = USE "  - {at: trn-0/chip0, rows: \"", got[257];
        _cleanup_(lone_freep) Lone *lone = NULL;
        bool told[16384] = {};
        unsigned n_told = 0, first, last, sid;

        for (unsigned i = 0; i < 32; i++)
                sprintf(text + strlen(text), "%s2:%u-%u", i > 0 ? "," : "", 10000 + 100 * i, 10000 + 100 * i + i);
        strcat(text, "\"}\n");
        lone = lone_new(text, NULL);
        assert_non_null(lone);

        assert_true(strlen(attribute(lone, 0, "assay/hbm/in-use", got)) < 256);
        for (char *piece = strtok(got, ","); piece; piece = strtok(NULL, ",")) {
                assert_int_equal(sscanf(piece, "%u:%u-%u", &sid, &first, &last), 3);
                assert_int_equal(sid, 2);
                for (unsigned row = first; row <= last; row++, n_told++)
                        told[row] = true;
        }
        for (unsigned i = 0; i < 32; i++)
                for (unsigned row = 10000 + 100 * i; row <= 10000 + 100 * i + i; row++)
                        assert_true(told[row]);
        assert_true(n_told < 3200);
}

/* ---- rows under test ---- */

static uint32_t say(Lone *lone, const char *text) {
        static const char path[] = "assay/hbm/under-test";
        WireCommand command = { .type = COMMAND_ATTRIBUTE_WRITE, .in_bytes = (uint32_t) (sizeof(path) + strlen(text)) };

        memcpy(lone->window, path, sizeof(path));
        memcpy(lone->window + sizeof(path), text, strlen(text));
        return lone_run(lone, "trn-0", 0, command).status;
}

#define assert_under_test(lone, text)                                                                          \
        do {                                                                                                   \
                char got_[257];                                                                                \
                assert_string_equal(attribute(lone, 0, "assay/hbm/under-test", got_), text);                   \
        } while (0)

static void rows_are_under_test_until_somebody_says_otherwise(void **state) {
        static const char *const wrong[] = { "", "begin", "begin ", "none", "begin 3:0-1", "begin 0:0-16384", "begin 0:5-4", "begin 0:5-6,", "begin 0:1-2,1:1-2", "end  0:0-1", "start 0:0-1" };
        _cleanup_(lone_freep) Lone *lone = lone_new(HEAD, NULL);

        assert_non_null(lone);
        assert_under_test(lone, "none");
        assert_int_equal(say(lone, "begin 0:100-199"), STATUS_NRT_SUCCESS);
        assert_int_equal(say(lone, "begin 2:5-5"), STATUS_NRT_SUCCESS);
        assert_int_equal(say(lone, "begin 0:200-299"), STATUS_NRT_SUCCESS);
        assert_under_test(lone, "0:100-299,2:5-5");
        for (size_t i = 0; i < ELEMENTS(wrong); i++)
                assert_int_equal(say(lone, wrong[i]), STATUS_NRT_INVALID);

        /* Neither the end of the client nor a reset ends the test; and a march says nothing of it. */
        chip_release(server_chip(hall_server(lone->scenario->hall, "trn-0"), 0), lone);
        assert_int_equal(lone_run(lone, "trn-0", 0, (WireCommand) { .type = COMMAND_RESET, .unit = WIRE_CHIP_ALL }).status, STATUS_NRT_SUCCESS);
        march(lone, 0, rows(0, 0, 16383), MARCH_WRITE);
        assert_under_test(lone, "0:100-299,2:5-5");

        assert_int_equal(say(lone, "end 0:150-249"), STATUS_NRT_SUCCESS);
        assert_int_equal(say(lone, "end 1:0-16383"), STATUS_NRT_SUCCESS);
        assert_under_test(lone, "0:100-149,0:250-299,2:5-5");
        assert_int_equal(say(lone, "end 0:0-16383"), STATUS_NRT_SUCCESS);
        assert_int_equal(say(lone, "end 2:5-5"), STATUS_NRT_SUCCESS);
        assert_under_test(lone, "none");
}

/* Against a flag for each row: never less, and no more where the text has room. */
static void rows_under_test_are_never_told_as_fewer(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(HEAD, NULL);
        static bool begun[3][16384];
        uint64_t random = 4711;

        assert_non_null(lone);
        for (unsigned n = 0; n < 600; n++) {
                unsigned sid, first, last, n_pieces = 0;
                char text[64], got[257];
                bool begin, told[3][16384] = {};

                random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                sid = (unsigned) (random >> 33) % 3;
                first = (unsigned) (random >> 35) % 16384;
                last = first + (unsigned) (random >> 50) % (16384 - first);
                begin = n % 200 < 100 ? random >> 63 : 0;
                (void) snprintf(text, sizeof(text), "%s %u:%u-%u", begin ? "begin" : "end", sid, first, last);
                assert_int_equal(say(lone, text), STATUS_NRT_SUCCESS);
                for (unsigned row = first; row <= last; row++)
                        begun[sid][row] = begin;

                (void) attribute(lone, 0, "assay/hbm/under-test", got);
                for (char *piece = strcmp(got, "none") == 0 ? NULL : strtok(got, ","); piece; piece = strtok(NULL, ",")) {
                        assert_int_equal(sscanf(piece, "%u:%u-%u", &sid, &first, &last), 3);
                        memset(&told[sid][first], true, last - first + 1);
                        n_pieces++;
                }
                for (sid = 0; sid < 3; sid++)
                        for (unsigned row = 0; row < 16384; row++)
                                if (begun[sid][row] ? !told[sid][row] : told[sid][row] && n_pieces < 11)
                                        fail_msg("after %u: sid%u row%u", n, sid, row);
        }
}

static void writes_into_live_rows_are_counted(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(USE "  - {at: trn-0/chip0/hbm0, rows: \"1:100-199\"}\n", NULL);
        WireCommand copy = { .type = COMMAND_HBM_COPY_IN, .in_bytes = MEMORY_ACCESS_BYTES };

        assert_non_null(lone);
        march(lone, 0, rows(1, 0, 99), MARCH_WRITE);
        march(lone, 0, rows(1, 200, 16383), MARCH_WRITE);
        march(lone, 0, rows(0, 0, 16383), MARCH_WRITE);
        march(lone, 0, rows(1, 100, 199), 0);
        march(lone, 1, rows(1, 16000, 16383), MARCH_WRITE);
        assert_int_equal(trespasses(lone, 0), 0);
        assert_int_equal(trespasses(lone, 1), 0);

        march(lone, 0, rows(1, 199, 205), MARCH_WRITE);
        assert_int_equal(trespasses(lone, 0), ROW);
        march(lone, 0, rows(1, 98, 101), MARCH_WRITE);
        assert_int_equal(trespasses(lone, 0), 3 * ROW);

        copy.copy.box = (WireBox) { .first = { 3, 0, 1, 0, 0, 150, 4 }, .last = { 3, 0, 1, 0, 0, 150, 4 } };
        assert_int_equal(lone_run(lone, "trn-0", 0, copy).status, STATUS_NRT_SUCCESS);
        assert_int_equal(trespasses(lone, 0), 3 * ROW + 1);
        copy.copy.box.first[HBM_SID] = copy.copy.box.last[HBM_SID] = 0;
        assert_int_equal(lone_run(lone, "trn-0", 0, copy).status, STATUS_NRT_SUCCESS);
        assert_int_equal(trespasses(lone, 0), 3 * ROW + 1);
}

/* ---- rows that reach others ---- */

#define BANK_AT "trn-0/chip0/hbm0/ch3/pc1/sid0/bg2/ba1"
#define LIVE    8192u /* rows 0 … of SID 0 */

static const WireBox bank = { .first = { 3, 1, 0, 2, 1, 0, 0 }, .last = { 3, 1, 0, 2, 1, 0, 31 } };

/* The data that the live rows of the bank give back, access by access. */
static void read_live(Lone *lone, uint8_t (*ret)[32 * MEMORY_ACCESS_BYTES]) {
        WireCommand copy = { .type = COMMAND_HBM_COPY_OUT, .out_bytes = sizeof(*ret) };

        for (unsigned row = 0; row < LIVE; row++) {
                copy.copy.box = bank;
                copy.copy.box.first[HBM_ROW] = copy.copy.box.last[HBM_ROW] = (uint16_t) row;
                assert_int_equal(lone_run(lone, "trn-0", 0, copy).status, STATUS_NRT_SUCCESS);
                memcpy(ret[row], lone->window + LONE_OUT, sizeof(*ret));
        }
}

/* Each fault leads writes of rows that no job uses into live ones; what live rows read as before and after tells how many. */
static void aliases_are_counted_by_cells(void **state) {
        static const struct {
                const char *fault;
                unsigned long changed; /* accesses that read otherwise */
                unsigned long cells;   /* written, of those with live data: in accesses */
        } cases[] = {
                /* Both rows of a pair hold what was written to either. */
                { BANK_AT "/row8191, kind: wordline-short", 32, 64 },
                { BANK_AT "/row8192, kind: wordline-short, with: previous, reads: or", 32, 64 },
                { BANK_AT "/row9000, kind: decoder, class: a", 0, 0 },
                { BANK_AT "/row9000, kind: decoder, class: b, partner: row100", 0, 0 },
                /* Row 100 reads as nothing before and after, but what a job wrote there before the fault came was in its cells. */
                { BANK_AT "/row100, kind: decoder, class: b, partner: row9000", 0, 32 },
                { BANK_AT "/row9000, kind: decoder, class: c, partner: row100", 32, 32 },
                { BANK_AT "/row100, kind: decoder, class: c, partner: row9000", 32, 32 },
                { BANK_AT "/row9000, kind: decoder, class: d, partner: row100", 32, 32 },
                { BANK_AT "/row100, kind: decoder, class: d, partner: row9000", 32, 32 },
                { BANK_AT "/row9000, kind: decoder, class: c, partner: row9500", 0, 0 },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row13, value: 0", LIVE * 32, LIVE * 32 },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row13, value: 1", LIVE * 32, LIVE * 32 },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row3, value: 1", 0, 0 },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: ba0, value: 1", 0, 0 },
        };
        static uint8_t before[LIVE][32 * MEMORY_ACCESS_BYTES], after[LIVE][32 * MEMORY_ACCESS_BYTES];

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char text[512];
                unsigned long changed = 0;
                WireBox box = bank;
                Lone *lone;

                (void) snprintf(text, sizeof(text), USE "  - {at: trn-0/chip0/hbm0, rows: \"0:0-8191\"}\nfaults:\n  - {at: %s}\n",
                                cases[i].fault);
                lone = lone_new(text, NULL);
                assert_non_null(lone);
                /* Own-address data in all columns, so that whatever is written shows. */
                ((Hbm *) chip_part(lone_chip(lone, "trn-0", 0), &model_hbm, 0))->memory.content.n_layers = 1;
                read_live(lone, before);
                assert_int_equal(trespasses(lone, 0), 0);

                box.first[HBM_ROW] = LIVE;
                box.last[HBM_ROW] = 16383;
                march(lone, 0, box, MARCH_WRITE);
                read_live(lone, after);
                for (unsigned row = 0; row < LIVE; row++)
                        for (unsigned column = 0; column < 32; column++)
                                changed += memcmp(before[row] + column * MEMORY_ACCESS_BYTES, after[row] + column * MEMORY_ACCESS_BYTES,
                                                  MEMORY_ACCESS_BYTES) != 0;

                assert_int_equal(trespasses(lone, 0), cases[i].cells);
                assert_int_equal(changed, cases[i].changed);
                lone_free(lone);
        }
}

/* A cell that writes of another turn over is no access that was written, and is counted for itself. */
static void cells_that_are_disturbed_are_counted(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(
                        USE "  - {at: trn-0/chip0/hbm0, rows: \"0:0-8191\"}\nfaults:\n"
                            "  - {at: " BANK_AT "/row8191/col3/bit7, kind: coupling-inversion, primitive: \"<0w1;x/!x/->\", "
                            "aggressor: row8192/col3/bit7}\n", NULL);
        WireBox box = bank;

        assert_non_null(lone);
        box.first[HBM_ROW] = box.last[HBM_ROW] = 8192;
        for (unsigned i = 0; i < 3; i++)
                march(lone, 0, box, i % 2 ? MARCH_WRITE | MARCH_DATA : MARCH_WRITE);
        assert_int_equal(trespasses(lone, 0), 0);
        assert_int_equal(((const Hbm *) chip_part(lone_chip(lone, "trn-0", 0), &model_hbm, 0))->live.disturbed, 1);
}

static void other_dangers_are_counted(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(USE "  - {at: trn-0/chip0/hbm0, rows: \"1:100-199\"}\n", NULL);
        WireCommand pause = { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = 1000 } };
        WireCommand hammer = { .type = COMMAND_HBM_HAMMER, .hammer = { .activations = 1, .step = 1 } };
        WireCommand repair = { .type = COMMAND_HBM_REPAIR };
        unsigned long before;

        assert_non_null(lone);
        hammer.hammer.box = (WireBox) { .first = { 0, 0, 1, 0, 0, 90, 0 }, .last = { 0, 0, 1, 0, 0, 96, 31 } };
        (void) lone_run(lone, "trn-0", 0, hammer);
        assert_int_equal(trespasses(lone, 0), 0);
        hammer.hammer.box.last[HBM_ROW] = 97;
        (void) lone_run(lone, "trn-0", 0, hammer);
        assert_int_equal(trespasses(lone, 0), 32);

        repair.repair.box = (WireBox) { .first = { 0, 0, 1, 0, 0, 120, 0 }, .last = { 0, 0, 1, 0, 0, 120, 31 } };
        assert_int_equal(lone_run(lone, "trn-0", 0, repair).status, STATUS_NRT_SUCCESS);
        assert_int_equal(trespasses(lone, 0), 64);

        before = trespasses(lone, 0);
        assert_int_equal(lone_run(lone, "trn-0", 0, pause).status, STATUS_NRT_SUCCESS);
        assert_int_equal(trespasses(lone, 0), before + 100 * ROW);
        pause.unit = 1; /* a stack without live data */
        assert_int_equal(lone_run(lone, "trn-0", 0, pause).status, STATUS_NRT_SUCCESS);
        assert_int_equal(trespasses(lone, 0), before + 100 * ROW);
}

static void bad_rows_are_refused(void **state) {
        static const char *const texts[] = {
                "{rows: all}", "{at: trn-0/chip0}", "{at: trn-1/chip0, rows: all}", "{at: trn-0/chip0/core0, rows: all}",
                "{at: trn-0/chip0/hbm4, rows: all}", "{at: trn-0/chip0, rows: some}", "{at: trn-0/chip0, rows: \"\"}",
                "{at: trn-0/chip0, rows: \"3:0-1\"}", "{at: trn-0/chip0, rows: \"0:0-16384\"}",
                "{at: trn-0/chip0, rows: \"0:9-8\"}", "{at: trn-0/chip0, rows: \"0:0-5,0:5-6\"}",
                "{at: trn-0/chip0, rows: \"1:0-5,0:5-6\"}", "{at: trn-0/chip0, rows: \"0:0-5,\"}",
                "{at: trn-0/chip0, rows: \"0:-5\"}", "{at: trn-0/chip0, rows: \"0:1-5 \"}",
                "{at: trn-0/chip0, rows: \"0:99999999999-5\"}", "{at: trn-0/chip0, rows: all, more: 1}", "7",
        };

        for (size_t i = 0; i < ELEMENTS(texts); i++) {
                _cleanup_free_ char *error = NULL;
                char text[512];

                (void) snprintf(text, sizeof(text), USE "  - %s\n", texts[i]);
                if (lone_new(text, &error))
                        fail_msg("%s was taken", texts[i]);
                assert_non_null(error);
                assert_int_equal(strncmp(error, "test:5:", 7), 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_default_occupancy_tells),
                cmocka_unit_test(stacks_are_told_together),
                cmocka_unit_test(many_pieces_are_told_as_fewer),
                cmocka_unit_test(rows_are_under_test_until_somebody_says_otherwise),
                cmocka_unit_test(rows_under_test_are_never_told_as_fewer),
                cmocka_unit_test(writes_into_live_rows_are_counted),
                cmocka_unit_test(aliases_are_counted_by_cells),
                cmocka_unit_test(cells_that_are_disturbed_are_counted),
                cmocka_unit_test(other_dangers_are_counted),
                cmocka_unit_test(bad_rows_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
