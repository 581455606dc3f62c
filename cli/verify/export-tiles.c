/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/export-tiles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"

#define LEAF_BYTES 32

static int refuse(const char *folder, int r, const char *wrong) {
        return complain(r == -EBADMSG ? STATUS_REFUSED : STATUS_CANNOT_TELL, "%s: %s", folder,
                        wrong ?: r == -EBUSY ? "another export into it is under way" : strerror(-r));
}

/* All leaves of a tree, however many one call gives. */
static int read_leaves(sd_bus *bus, uint64_t size, char **ret) {
        _cleanup_free_ char *leaves = malloc(size * LEAF_BYTES + 1);
        uint64_t have = 0;

        while (leaves && have < size) {
                _cleanup_free_ char *some = NULL;
                size_t n = 0;
                int r;

                r = call_leaves(bus, have, size - have, &some, &n);
                if (r < 0)
                        return complain(STATUS_CANNOT_TELL, "could not read the log's leaves: %s", strerror(-r));
                if (n == 0 || n % LEAF_BYTES != 0 || n / LEAF_BYTES > size - have)
                        return complain(STATUS_CANNOT_TELL, "the daemon sent something else than leaf %" PRIu64, have);
                memcpy(leaves + have * LEAF_BYTES, some, n);
                have += n / LEAF_BYTES;
        }
        if (!leaves)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        *ret = TAKE_PTR(leaves);
        return 0;
}

/* One call gives only so much. */
static int add_records(sd_bus *bus, RecordTiles *tiles, const char *folder) {
        uint64_t next;

        while ((next = record_tiles_next(tiles)) < record_tiles_size(tiles)) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_free_ char *lines = NULL;
                const char *wrong = NULL;
                size_t n = 0;
                int r;

                r = call_records(bus, next, record_tiles_size(tiles) - next, &error, &lines, &n);
                if (r < 0)
                        return complain_bus(&error, r, "could not read records");
                for (char *line = lines, *end; (end = memchr(line, '\n', n - (size_t) (line - lines))); line = end + 1) {
                        r = record_tiles_add(tiles, line, (size_t) (end - line), &wrong);
                        if (r < 0)
                                return refuse(folder, r, wrong);
                }
                if (record_tiles_next(tiles) == next)
                        return complain(STATUS_CANNOT_TELL, "the daemon sent no record %" PRIu64, next);
        }
        return 0;
}

static int write_tiles(sd_bus *bus, RecordTiles *tiles, const char *folder) {
        _cleanup_free_ char *leaves = NULL;
        const char *wrong = NULL;
        int r;

        r = read_leaves(bus, record_tiles_size(tiles), &leaves);
        if (r != 0)
                return r;
        r = record_tiles_tree(tiles, leaves, record_tiles_size(tiles) * LEAF_BYTES, &wrong);
        if (r < 0)
                return refuse(folder, r, wrong);
        r = add_records(bus, tiles, folder);
        if (r != 0)
                return r;
        r = record_tiles_publish(tiles, &wrong);
        return r < 0 ? refuse(folder, r, wrong) : 0;
}

int export_tiles(sd_bus *bus, const RecordKeyring *keyring, const char *vkey, const char *folder) {
        _cleanup_(record_tiles_freep) RecordTiles *tiles = NULL;
        _cleanup_free_ char *note = NULL;
        const char *wrong = NULL;
        uint64_t size = 0;
        size_t n = 0;
        int r;

        r = call_checkpoint_soon(bus, &size, &note, &n);
        if (r != 0)
                return r;
        if (!note)
                return complain(STATUS_CANNOT_TELL, "the log has no checkpoint");
        r = record_tiles_open(folder, vkey, note, n, keyring, &tiles, &wrong);
        if (r == -ENOTDIR || r == -ENOENT || r == -EACCES)
                return complain(STATUS_USAGE, "%s: %s; --output names a folder, or one to be made in a folder that is there", folder, strerror(-r));
        if (r < 0)
                return refuse(folder, r, wrong);
        r = write_tiles(bus, tiles, folder);
        if (r == 0 && record_tiles_pruned(tiles) > 0)
                fprintf(stderr, "assayctl: %" PRIu64 " %s pruned: hashes are in the tiles, envelopes are not\n", record_tiles_pruned(tiles),
                        record_tiles_pruned(tiles) == 1 ? "record is" : "records are");
        if (r == 0 && record_tiles_size(tiles) < size)
                fprintf(stderr, "assayctl: %" PRIu64 " %s newer than the newest checkpoint, and in no tile yet: export later\n", size - record_tiles_size(tiles),
                        size - record_tiles_size(tiles) == 1 ? "record is" : "records are");
        if (r == 0 && !options.quiet)
                printf("%s: %" PRIu64 " records\n", folder, record_tiles_size(tiles));
        return r;
}
