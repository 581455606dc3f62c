/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/keys-ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/whole-file.h"
#include "cli/assayctl.h"
#include "cli/file-kind.h"
#include "cli/key-source.h"
#include "cli/output.h"

/* To stdout, or in the place of the file, which may be the one that was read. */
static int write_ring(const char *ring, size_t n) {
        _cleanup_(output_done) Output output = {};
        int r;

        r = output_open(&output, options.output);
        if (r != 0)
                return r;
        (void) fwrite(ring, 1, n, output.file);
        return output_finish(&output);
}

static int sign(const char *path, int (*make)(const char *text, size_t n, const RecordKey *root, char **ret, size_t *ret_n, char **ret_why)) {
        _cleanup_free_ char *text = NULL, *ring = NULL, *why = NULL;
        _cleanup_(record_key_freep) RecordKey *root = NULL;
        size_t n, n_ring;
        int r;

        if (!options.key)
                return complain(STATUS_USAGE, "give the root key to sign with --key");
        r = key_source_load(options.key, record_key_load, &root);
        if (r != 0)
                return r;
        r = whole_file_drain(path, FILE_BYTES_MAX, &text, &n);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", path, strerror(-r));
        r = make(text, n, root, &ring, &n_ring, &why);
        if (r < 0)
                return complain_file(r == -EBADMSG ? STATUS_USAGE : STATUS_CANNOT_TELL, path, why ?: strerror(-r));
        return write_ring(ring, n_ring);
}

int keys_ring(int argc, char **argv) {
        return sign(argv[0], record_ring_make);
}

int keys_sign(int argc, char **argv) {
        return sign(argv[0], record_ring_sign);
}
