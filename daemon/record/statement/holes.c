/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/holes.h"

#include <inttypes.h>

#include "daemon/record/encode/json.h"

void range_print(Printer *predicate, uint64_t first, uint64_t end) {
        printer_member_open(predicate, "range", '{');
        printer_member_unsigned(predicate, "first", first);
        printer_member_unsigned(predicate, "end", end);
        printer_close(predicate, '}');
}

int holes_take(Holes *holes, const RecordEntry *entry) {
        char subject[LOCATION_STRING_MAX];
        _cleanup_printer_ Printer text = {};

        printer_raw(&text, holes->digest, DIGEST_BYTES);
        printer_format(&text, "%" PRIu64 " %s %s %s %s %s %s %" PRIu64 "\n", entry->index, entry->id, entry->type, location_format(&entry->subject, subject),
                       result_to_string(entry->result), entry->plan, entry->run, entry->finished_usec);
        if (holes->n++ == 0)
                holes->first = entry->index;
        holes->end = entry->index + 1;
        return text.error ?: digest_sha256(text.text, text.n, holes->digest);
}

bool holes_equal(const Holes *a, const Holes *b) {
        return a->n == b->n && a->first == b->first && a->end == b->end && memcmp(a->digest, b->digest, DIGEST_BYTES) == 0;
}

void holes_print(Printer *predicate, const Holes *holes) {
        char hex[DIGEST_HEX];

        if (holes->n == 0)
                return;
        printer_member_open(predicate, "pruned", '{');
        printer_member_unsigned(predicate, "records", holes->n);
        range_print(predicate, holes->first, holes->end);
        printer_member(predicate, "sha256", digest_to_hex(holes->digest, hex));
        printer_close(predicate, '}');
}

int holes_parse(const json_t *predicate, Holes *ret) {
        const json_t *pruned = json_object_get(predicate, "pruned"), *range = json_object_get(pruned, "range");
        Holes holes = {
                .n = (uint64_t) json_integer_value(json_object_get(pruned, "records")),
                .first = (uint64_t) json_integer_value(json_object_get(range, "first")),
                .end = (uint64_t) json_integer_value(json_object_get(range, "end")),
        };

        if (holes.n == 0 || holes.end <= holes.first || holes.n > holes.end - holes.first || (holes.n == 1) != (holes.end - holes.first == 1))
                return -ENOENT;
        if (digest_from_hex(text_of(pruned, "sha256"), holes.digest) < 0)
                return -ENOENT;
        *ret = holes;
        return 0;
}
