/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log is whole. Needs cmocka.h before it. */

#include "tests/record/place.h"

/* Every record of it verifies, stands at its index, and names the one before. */
static inline void check_chain(RecordLog *log, const Place *place) {
        RecordKeyring *keyring = place_keyring(place);
        char previous[RECORD_ID_HEX + 32] = "\"index\":0}", *line = NULL;
        FILE *file = tmpfile();
        uint64_t n = 0;
        size_t size = 0;
        ssize_t k;

        if (record_log_size(log) > 0)
                assert_int_equal(record_log_export(log, 0, UINT64_MAX, fileno(file)), record_log_size(log));
        rewind(file);
        for (; (k = getline(&line, &size, file)) > 0; n++) {
                RecordVerified verified;
                RecordTrust trust;

                assert_int_equal(record_verify(keyring, line, (size_t) k, &trust, &verified), 0);
                assert_int_equal(trust, RECORD_VERIFIED);
                assert_int_equal(verified.entry.index, n);
                assert_non_null(strstr(verified.payload, previous));
                (void) snprintf(previous, sizeof(previous), "{\"sha256\":\"%s\"}", verified.entry.id);
                record_verified_done(&verified);
        }
        assert_int_equal(n, record_log_size(log));
        free(line);
        (void) fclose(file);
        (void) record_keyring_free(keyring);
}
