/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/keys/leaf.h"
#include "tests/record/audited.h"

#define SCANS (RECORD_ARCHIVE_RECORDS / LEDGER_SCAN + 1)

static Printer entries[LEDGER_MAX]; /* as an export writes them; none where it is empty */
static TreeHash top;                /* hash 0 of tile/1 */
static bool tells_top;

static int tell_entry(void *userdata, uint64_t index, const void **ret, size_t *ret_n) {
        if (index >= LEDGER_MAX || entries[index].n == 0)
                return -ENOENT;
        *ret = entries[index].text;
        *ret_n = entries[index].n;
        return 0;
}

static int tell_any_hash(void *userdata, unsigned level, uint64_t index, uint8_t ret[static 32]) {
        if (level == 0)
                return tell_hash(userdata, level, index, ret);
        if (!tells_top || level != 8 || index > 0)
                return -ENOENT;
        memcpy(ret, top.bytes, DIGEST_BYTES);
        return 0;
}

/* A full bundle and one that has begun. The top of the first is worked out by the plain tree of tests. */
static void begin(Trial *trial) {
        trial_init(trial);
        trial->tells_leaves = true;
        trial->asks = (RecordAuditOptions) { .hash = tell_any_hash, .entry = tell_entry };
        for (unsigned i = 0; i < SCANS; i++)
                ledger_scan(&trial->ledger, true);
        trial_sign(trial);
        for (uint64_t i = 0; i < trial->ledger.size; i++) {
                _cleanup_(leaf_done) Leaf leaf = {};
                const char *wrong;

                assert_int_equal(leaf_make(trial->keyring, trial->ledger.lines[i], strlen(trial->ledger.lines[i]), &leaf, &wrong), 0);
                entries[i] = leaf.body;
                leaf.body = (Printer) {};
        }
        top = plain_root(trial->ledger.leaves, RECORD_ARCHIVE_RECORDS);
        tells_top = true;
}

static void end(Trial *trial) {
        for (size_t i = 0; i < LEDGER_MAX; i++) {
                printer_done(&entries[i]);
                entries[i] = (Printer) {};
        }
        trial_done(trial);
}

static void test_tiles_of_these_records_hold(void **state) {
        Trial trial;

        begin(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        assert_int_equal(trial.report->n_findings, 0);
        end(&trial);
}

static void test_another_entry_is_told(void **state) {
        Printer one;
        Trial trial;

        begin(&trial);
        entries[7].text[entries[7].n / 2] ^= 1;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_TILE, 1, 7);
        entries[7].text[entries[7].n / 2] ^= 1;
        entries[7].n--;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_TILE, 1, 7);
        entries[7].n++;
        one = entries[3];
        entries[3] = entries[258]; /* of another bundle */
        entries[258] = one;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_TILE, 2, 3);

        /* Also of a record that is not here: its hash is. */
        trial.hides[3] = true;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_TILE], 2);
        end(&trial);
}

static void test_an_entry_that_is_missing_is_told(void **state) {
        Trial trial;

        begin(&trial);
        entries[255].n = 0;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_TILE_MISSING, 1, 255);
        for (unsigned i = 0; i < LEDGER_MAX; i++)
                entries[i].n = 0;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_TILE_MISSING, 2, 0);
        assert_int_equal(finding(&trial, RECORD_AUDIT_TILE_MISSING)->last, 255);

        /* An export makes no bundle of what it had not. */
        trial.hides[100] = trial.hides[257] = true;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 2, 100);
        /* Nor of what came after its checkpoint. */
        memset(trial.hides, 0, sizeof(trial.hides));
        trial.hides[0] = true;
        ledger_scan(&trial.ledger, true);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_TILE_MISSING], 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_TILE_MISSING)->first, 256);
        assert_int_equal(finding(&trial, RECORD_AUDIT_TILE_MISSING)->last, 259);
        end(&trial);
}

static void test_another_hash_is_told(void **state) {
        Trial trial;

        begin(&trial);
        top.bytes[31] ^= 1;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_TILE, 1, 0);
        assert_int_equal(finding(&trial, RECORD_AUDIT_TILE)->last, 255);
        tells_top = false;
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        end(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tiles_of_these_records_hold),
                cmocka_unit_test(test_another_entry_is_told),
                cmocka_unit_test(test_an_entry_that_is_missing_is_told),
                cmocka_unit_test(test_another_hash_is_told),
        };

        return cmocka_run_group_tests(tests, audited_setup, audited_teardown);
}
