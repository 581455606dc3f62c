/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define FILE_BYTES_MAX    ((size_t) 1 << 20) /* of a file that somebody names and that is no log */
#define RECORDS_BYTES_MAX ((size_t) 1 << 30)

typedef enum FileKind {
        FILE_RECORD, /* an envelope, or lines of them */
        FILE_BUNDLE,
        FILE_EVENT,
        FILE_STATEMENT,
        FILE_KEYRING, /* a text, or one that roots have signed */
        FILE_PUBLIC_KEYS,
        FILE_PRIVATE_KEY,
        FILE_PROOF,
        FILE_DATABASE,
        FILE_CHECKPOINT,
        FILE_TRUSTED_ROOT,
        _FILE_KIND_MAX,
        _FILE_KIND_INVALID = -22,
} FileKind;

/* What a file looks like that was given in the place of another: to be told in a complaint, never to be acted on. N: as much of it as there is. */
FileKind file_kind(const char *text, size_t n);
/* The same of the file at PATH; invalid also where it cannot be read. */
FileKind file_kind_of(const char *path);

/* Whether the file at PATH is a regular one of less than 64 KiB that has nowhere what each record has: then none of it is a log, damaged or whole. */
bool file_has_no_record(const char *path);

/* "a keyring, for --keyring"; NULL where KIND is invalid. */
const char *file_kind_to_string(FileKind kind);

/* "PATH: WHY; this is a keyring, for --keyring". Returns STATUS. */
int complain_file(int status, const char *path, FileKind wanted, const char *why);
