/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/files/keys-ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"
#include "checks/vocabulary/verdict.h"
#include "cli/files/file-kind.h"
#include "cli/files/key-source.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/say.h"

/* To stdout, or in the place of the file, which may be the one that was read. */
static int write_ring(const RecordRing *ring) {
        _cleanup_(output_done) Output output = {};
        int r;

        r = output_open(&output, options.output);
        if (r != 0)
                return r;
        (void) fwrite(ring->text, 1, ring->n, output.file);
        return output_finish(&output);
}

/* Before it is written: whoever took a wrong key, or believes that it is enough, is told while he has the key at hand. */
static void tell_signed(const RecordRing *ring, const RecordKey *root) {
        if (!ring->has_root)
                say(stderr, "%s is no root of this keyring: its signature counts only for readers of an earlier one, of which it is a root\n",
                    record_key_id(root));
        if (options.quiet)
                return;
        say(stderr, "%u of %u signatures", ring->n_signed, ring->threshold);
        if (ring->n_signed < ring->threshold)
                say(stderr, ": %u more %s needed\n", ring->threshold - ring->n_signed, ring->threshold - ring->n_signed == 1 ? "is" : "are");
        else
                say(stderr, "\n");
}

static int sign(const char *path, bool is_signed) {
        _cleanup_free_ char *text = NULL, *why = NULL;
        _cleanup_(record_key_freep) RecordKey *root = NULL;
        RecordRing ring;
        size_t n;
        int r;

        if (!options.key)
                return complain(STATUS_USAGE, "give the root key to sign with --key");
        r = key_source_load(options.key, record_key_load, &root);
        if (r != 0)
                return r;
        r = whole_file_drain(path, FILE_BYTES_MAX, &text, &n);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", path, strerror(-r));
        r = record_ring_sign(text, n, is_signed, root, &ring, &why);
        if (r == -EBADMSG && is_signed && text[strspn(text, " \t\r\n")] != '{')
                return complain(STATUS_USAGE, "%s: no keyring that was signed before; assayctl keys ring makes one of a text, and signs it first", path);
        if (r < 0)
                return complain_file(r == -EBADMSG ? STATUS_USAGE : STATUS_CANNOT_TELL, path, FILE_KEYRING, why ?: strerror(-r));
        tell_signed(&ring, root);
        r = write_ring(&ring);
        free(ring.text);
        return r;
}

int keys_ring(int argc, char **argv) {
        return sign(argv[0], false);
}

int keys_sign(int argc, char **argv) {
        return sign(argv[0], true);
}
