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

/* Before it is written: whoever took a wrong key, or believes that it is enough, is told while he has the key at hand. */
static int tell_signed(const char *ring, size_t n, const RecordKey *root) {
        RecordRingSigned now;
        int r;

        r = record_ring_signed(ring, n, root, &now);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "what was signed cannot be read: %s", strerror(-r));
        if (!now.has_root)
                say(stderr, "%s is no root of this keyring: its signature counts only for readers of an earlier one, of which it is a root\n",
                    record_key_id(root));
        if (options.quiet)
                return 0;
        say(stderr, "%u of %u signatures", now.n, now.threshold);
        if (now.n < now.threshold)
                say(stderr, ": %u more %s needed\n", now.threshold - now.n, now.threshold - now.n == 1 ? "is" : "are");
        else
                say(stderr, "\n");
        return 0;
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
        r = tell_signed(ring, n_ring, root);
        return r != 0 ? r : write_ring(ring, n_ring);
}

int keys_ring(int argc, char **argv) {
        return sign(argv[0], record_ring_make);
}

int keys_sign(int argc, char **argv) {
        return sign(argv[0], record_ring_sign);
}
