/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Program: the digest of a program as it lies on the disk now. It is read again where the file is another one than before. */

#include <sys/stat.h>

#include "daemon/evidence.h"

typedef struct Program {
        char sha256[EVIDENCE_DIGEST_HEX]; /* "": it could not be read */
        struct stat status;               /* of what was read */
} Program;

/* NULL where it cannot be read: then nobody vouches for it. */
const char *program_sha256(Program *program, const char *path);

/* Of the sources that assayd was built from, in hex, with "-dirty" behind it where they had changes; "": they had no history. */
extern const char assayd_commit[];
