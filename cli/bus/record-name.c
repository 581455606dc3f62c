/* SPDX-License-Identifier: Apache-2.0 */

/* Record name: see record-name.h. */

#include "cli/bus/record-name.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "daemon/names.h"

#define DIGITS_MIN  8u
#define DIGITS_TOLD 16u /* by gate and records: no other ID begins so */
#define AT_ONCE     256u
#define PRUNED_ID   "\"sha256\":\""

typedef struct Search {
        sd_bus *bus;
        const char *id;
        size_t n_found;
        uint64_t found; /* the newest */
} Search;

bool record_name_is_id(const char *text) {
        size_t n = strlen(text);

        if (n < DIGITS_MIN || n >= RECORD_ID_HEX || strspn(text, "0123456789abcdef") != n)
                return false;
        return n >= DIGITS_TOLD || strpbrk(text, "abcdef");
}

bool record_name_is(const char *text) {
        uint64_t index;

        return record_name_is_id(text) || parse_u64(text, &index) >= 0;
}

/* A name is no verdict: whoever asks for the record verifies what was found. */
static bool is_wanted(const Search *search, const char *line, size_t n) {
        size_t n_id = strlen(search->id);
        char named[RECORD_ID_HEX];
        const char *id;

        if (call_is_pruned(line)) {
                id = memmem(line, n, PRUNED_ID, strlen(PRUNED_ID));
                return id && strncmp(id + strlen(PRUNED_ID), search->id, n_id) == 0;
        }
        return record_id(line, n, named) >= 0 && strncmp(named, search->id, n_id) == 0;
}

/* The records from FIRST up to END, in as many calls as it takes. */
static int look_through(Search *search, uint64_t first, uint64_t end) {
        while (first < end) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_free_ char *lines = NULL;
                uint64_t before = first;
                size_t n = 0;
                int r;

                r = call_records(search->bus, first, end - first, &error, &lines, &n);
                if (r < 0)
                        return complain_bus(&error, r, "could not read records");
                for (char *line = lines, *stop; (stop = memchr(line, '\n', n - (size_t) (line - lines))); line = stop + 1, first++)
                        if (is_wanted(search, line, (size_t) (stop - line))) {
                                search->n_found++;
                                search->found = first;
                        }
                if (first == before)
                        return complain(STATUS_CANNOT_TELL, "the daemon sent no record %" PRIu64, first);
        }
        return 0;
}

static int search_all(Search *search, uint64_t *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        bool is_sure = strlen(search->id) >= DIGITS_TOLD;
        uint64_t end;
        int r;

        r = reply_property_trivial(search->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogSize", &error, 't', &end);
        if (r < 0)
                return complain_bus(&error, r, "could not read the size of the log");
        for (uint64_t first; end > 0 && !(is_sure && search->n_found > 0); end = first) {
                first = end - MIN(end, AT_ONCE);
                r = look_through(search, first, end);
                if (r != 0)
                        return r;
        }
        if (search->n_found == 0)
                return complain(STATUS_USAGE, "no record of this log has an ID that begins with %s; assayctl records lists them", search->id);
        if (search->n_found > 1)
                return complain(STATUS_USAGE, "%zu records have an ID that begins with %s: give more of its digits", search->n_found, search->id);
        *ret = search->found;
        return 0;
}

int record_name_find(sd_bus *bus, const char *text, uint64_t *ret) {
        Search search = { .bus = bus, .id = text };

        if (!record_name_is_id(text))
                return parse_u64(text, ret) < 0 ? complain(STATUS_USAGE, "'%s' is neither the number of a record nor 8 hex digits of its ID or more", text) : 0;
        return search_all(&search, ret);
}
