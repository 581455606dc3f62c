/* SPDX-License-Identifier: Apache-2.0 */

/* What a run was begun with, out of its own record: see record.h. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"

/* urn:dev:ops:PEN-PRODUCT-SERIAL, of a part without a serial with _SLOT behind that of its server. */
void subject_read(const json_t *statement, char ret_product[static RECORD_PRODUCT_BYTES], char ret_serial[static RECORD_SERIAL_BYTES]) {
        const char *product = strchr(text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri"), '-');
        const char *serial = product ? strchr(product + 1, '-') : NULL;

        *ret_product = *ret_serial = '\0';
        if (!serial)
                return;
        if (serial - product <= RECORD_PRODUCT_BYTES)
                (void) snprintf(ret_product, RECORD_PRODUCT_BYTES, "%.*s", (int) (serial - product - 1), product + 1);
        if (!strchr(serial, '_') && strlen(serial) <= RECORD_SERIAL_BYTES)
                (void) snprintf(ret_serial, RECORD_SERIAL_BYTES, "%s", serial + 1);
}

/* A number, or its digits where a double has no room for it. */
static uint64_t seed_of(const json_t *run) {
        const json_t *seed = json_object_get(run, "seed");

        return json_is_string(seed) ? strtoull(json_string_value(seed), NULL, 10) : (uint64_t) json_integer_value(seed);
}

static const char *sha256_of(const json_t *descriptor) {
        return json_string_value(json_object_get(json_object_get(descriptor, "digest"), "sha256"));
}

static void read_started(const RecordEntry *entry, RecordStarted *started) {
        const json_t *predicate = json_object_get(started->statement, "predicate"), *run = json_object_get(predicate, "run");
        const json_t *configuration = json_object_get(predicate, "configuration"), *place = json_object_get(predicate, "location");

        started->run = (RecordRun) {
                .id = text_of(run, "id"),
                .stage = stage_from_string(text_of(run, "stage")),
                .challenge = json_string_value(json_object_get(run, "challenge")),
                .started_usec = entry->finished_usec,
                .seed = seed_of(run),
                .plan = text_of(json_array_get(configuration, 0), "name"),
                .plan_sha256 = sha256_of(json_array_get(configuration, 0)),
                .limits_sha256 = sha256_of(json_array_get(configuration, 1)),
                .worker_sha256 = sha256_of(json_object_get(run, "worker")),
        };
        subject_read(started->statement, started->product, started->serial);
        started->server = (RecordSubject) {
                .where = entry->subject,
                .serial = *started->serial ? started->serial : text_of(place, "reportedSerial"),
                .product = started->product,
                .part_number = "",
                .firmware = "",
                .tray = text_of(place, "tray"),
                .pci_address = text_of(place, "pciAddress"),
        };
}

int record_log_started(RecordLog *log, const RecordEntry *entry, RecordStarted *ret) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        const char *wrong;
        json_t *statement;
        int r;

        assert(log && entry && ret);

        r = log_read_record(log, entry->index, &verified);
        if (r < 0)
                return r;
        /* The table that led here proves nothing. */
        if (strcmp(verified.entry.type, RECORD_TYPE_RUN_START) != 0 || strcmp(verified.entry.run, entry->run) != 0 ||
            !location_equal(&verified.entry.subject, &entry->subject))
                return -EBADMSG;
        r = json_read(verified.payload, verified.n_payload, &statement, &wrong);
        if (r < 0)
                return r;

        *ret = (RecordStarted) { .statement = statement };
        read_started(&verified.entry, ret);
        return 0;
}

void record_started_done(RecordStarted *started) {
        json_decref(started->statement);
        *started = (RecordStarted) {};
}
