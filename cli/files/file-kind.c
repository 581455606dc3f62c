/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/files/file-kind.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/say.h"
#include "daemon/record/record.h"

#define FIRST_BYTES 65536

/* Each is told by words that it begins with or has; the first that fits counts. A record may name any of them, in base64. */
static const struct {
        FileKind kind;
        const char *begins, *has;
} marks[] = {
        { FILE_DATABASE,     "SQLite format 3",         NULL                                            },
        { FILE_PROOF,        "c2sp.org/tlog-proof",     NULL                                            },
        { FILE_KEYRING,      "{",                       "application/vnd.assay.keyring"                 },
        { FILE_TRUSTED_ROOT, "{",                       "application/vnd.dev.sigstore.trustedroot"      },
        { FILE_BUNDLE,       "{",                       "application/vnd.dev.sigstore.bundle"           },
        { FILE_EVENT,        "{",                       "\"specversion\""                               },
        { FILE_RECORD,       "{",                       "application/vnd.in-toto+json"                  },
        { FILE_STATEMENT,    "{",                       "https://in-toto.io/Statement/v1"               },
        { FILE_PRIVATE_KEY,  "-----BEGIN",              "PRIVATE KEY-----"                              },
        { FILE_KEYRING,      "",                        "\nlog "                                        },
        { FILE_KEYRING,      "",                        "\nroot "                                       },
        { FILE_PUBLIC_KEYS,  "",                        "-----BEGIN PUBLIC KEY-----"                    },
        { FILE_CHECKPOINT,   "",                        "\n\n\xe2\x80\x94 "                             },
};

static const char *const words[_FILE_KIND_MAX] = {
        [FILE_RECORD] = "a record",
        [FILE_BUNDLE] = "a record with its proof, a bundle",
        [FILE_EVENT] = "a CloudEvent, whose data is a record",
        [FILE_STATEMENT] = "a statement without a signature",
        [FILE_KEYRING] = "a keyring, for --keyring",
        [FILE_PUBLIC_KEYS] = "public keys, for --keyring",
        [FILE_PRIVATE_KEY] = "a private key",
        [FILE_PROOF] = "the proof that a record is in its log, for --proof",
        [FILE_CHECKPOINT] = "the checkpoint of a log, for audit --checkpoint",
        [FILE_DATABASE] = "the database of a log, from which assayctl export, of its assayd, writes records",
        [FILE_TRUSTED_ROOT] = "what Sigstore's verifiers trust",
};

static bool begins_with(const char *text, size_t n, const char *words_of) {
        size_t k = strlen(words_of);

        return n >= k && memcmp(text, words_of, k) == 0;
}

FileKind file_kind(const char *text, size_t n) {
        for (size_t i = 0; i < ELEMENTS(marks); i++)
                if (begins_with(text, n, marks[i].begins) && (!marks[i].has || memmem(text, n, marks[i].has, strlen(marks[i].has))))
                        return marks[i].kind;
        return _FILE_KIND_INVALID;
}

/* How many of the first bytes were read; -1: none can be told. What a pipe gave is gone, and a device need never answer. */
static ssize_t read_first(const char *path, char text[static FIRST_BYTES]) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        return fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ? -1 : read(fd, text, FIRST_BYTES);
}

FileKind file_kind_of(const char *path) {
        char text[FIRST_BYTES];
        ssize_t n = read_first(path, text);

        return n < 0 ? _FILE_KIND_INVALID : file_kind(text, (size_t) n);
}

bool file_has_no_record(const char *path) {
        static const char *const signs[] = { "payload", "signatures", RECORD_PRUNED };
        char text[FIRST_BYTES];
        ssize_t n = read_first(path, text);

        for (size_t i = 0; i < ELEMENTS(signs); i++)
                if (n < 0 || memmem(text, (size_t) n, signs[i], strlen(signs[i])))
                        return false;
        return n > 0 && n < FIRST_BYTES;
}

const char *file_kind_to_string(FileKind kind) {
        return kind < 0 || kind >= _FILE_KIND_MAX ? NULL : words[kind];
}

int complain_file(int status, const char *path, FileKind wanted, const char *why) {
        FileKind is = file_kind_of(path);
        const char *kind = is == wanted || (is == FILE_PUBLIC_KEYS && wanted == FILE_KEYRING) ? NULL : file_kind_to_string(is);

        return complain(status, "%s: %s%s%s", path, why, kind ? "; this is " : "", kind ?: "");
}
