/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/archive.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/record/encode/json.h"

_Static_assert(RECORD_ARCHIVE_RECORDS == REGIONS_MAX, "a set of regions is a set of the records of an archive");

char *record_archive_name(uint64_t index, char name[static RECORD_ARCHIVE_NAME_MAX]) {
        (void) snprintf(name, RECORD_ARCHIVE_NAME_MAX, "records-%012" PRIu64 ".intoto.jsonl", index - index % RECORD_ARCHIVE_RECORDS);
        return name;
}

void archive_print(Printer *predicate, const Archive *archive) {
        char dropped[REGIONS_TEXT_MAX];

        range_print(predicate, archive->first, archive->first + RECORD_ARCHIVE_RECORDS);
        printer_member_unsigned(predicate, "size", archive->size);
        printer_member(predicate, "dropped", region_set_format(&archive->dropped, dropped));
        holes_print(predicate, &archive->pruned);
}

/* It tells of just those that ARCHIVE drops, which are some. */
static bool is_of_dropped(const Holes *pruned, const Archive *archive) {
        uint64_t first = archive->first, end = first + RECORD_ARCHIVE_RECORDS;

        while (!region_set_has(&archive->dropped, (unsigned) (first - archive->first)))
                first++;
        while (!region_set_has(&archive->dropped, (unsigned) (end - 1 - archive->first)))
                end--;
        return pruned->n == region_set_count(&archive->dropped) && pruned->first == first && pruned->end == end;
}

int archive_parse(const json_t *predicate, Archive *ret) {
        const json_t *range = json_object_get(predicate, "range");
        json_int_t index = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index"));
        json_int_t first = json_integer_value(json_object_get(range, "first")), end = json_integer_value(json_object_get(range, "end"));
        Archive archive = { .first = (uint64_t) first, .size = (uint64_t) json_integer_value(json_object_get(predicate, "size")) };

        if (first < 0 || first % RECORD_ARCHIVE_RECORDS != 0 || end - first != RECORD_ARCHIVE_RECORDS || end > index)
                return -EBADMSG;
        if (region_set_parse(text_of(predicate, "dropped"), RECORD_ARCHIVE_RECORDS, &archive.dropped) < 0 || region_set_count(&archive.dropped) == 0)
                return -EBADMSG;
        if (json_object_get(predicate, "pruned") && (holes_parse(predicate, &archive.pruned) < 0 || !is_of_dropped(&archive.pruned, &archive)))
                return -EBADMSG;
        *ret = archive;
        return 0;
}
