/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Evidence
 *
 * What a worker said, kept byte for byte: <run>.ocp.jsonl in the evidence folder while the scan runs, packed
 * with zstd when its records are signed. The digest in the records is that of the plain bytes.
 */

#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "checks/text/cleanup.h"

#define EVIDENCE_SUFFIX     ".ocp.jsonl"
#define EVIDENCE_DIGEST_HEX 65 /* with the final zero */

typedef struct EvidenceFile EvidenceFile;

/* The evidence begins with so many bytes of this digest. */
typedef struct EvidenceMark {
        uint64_t bytes;
        char sha256[EVIDENCE_DIGEST_HEX]; /* of these */
} EvidenceMark;

/* Makes the file of RUN in FOLDER; it must not exist. */
int evidence_create(const char *folder, const char *run, EvidenceFile **ret);
/* Whether that of an earlier life still begins with what was marked. -EBADMSG: it does not. No file holds nothing. */
int evidence_check(const char *folder, const char *run, const EvidenceMark *mark);
/*
 * Opens it for appending, and calls EACH for what MARK tells of, slice by slice, whole lines. What follows is cut off. -EBADMSG: these are other bytes than
 * were marked, also where they were exchanged since evidence_check(); then nothing of what EACH was given may be built on.
 */
int evidence_reopen(const char *folder, const char *run, const EvidenceMark *mark,
                    int (*each)(const char *bytes, size_t n, void *userdata), void *userdata,
                    EvidenceFile **ret);
EvidenceFile *evidence_free(EvidenceFile *file); /* closes it; the file stays */
DEFINE_CLEANUP(EvidenceFile *, evidence_free);

/* All of it or, on an error, none. */
int evidence_append(EvidenceFile *file, const void *bytes, size_t n);
/* Forgets all. */
int evidence_clear(EvidenceFile *file);
int evidence_digest(const EvidenceFile *file, char ret[static EVIDENCE_DIGEST_HEX]);
int evidence_mark(const EvidenceFile *file, EvidenceMark *ret);
uint64_t evidence_size(const EvidenceFile *file);
const char *evidence_name(const EvidenceFile *file); /* without the folder */

/* Writes what is there, packed or not, to FD. */
int evidence_copy(const char *folder, const char *name, int fd);

/* ---- packing: in slices, when nothing else is to do ---- */

typedef struct EvidencePacker EvidencePacker;

int evidence_packer_new(sd_event *event, const char *folder, EvidencePacker **ret);
EvidencePacker *evidence_packer_free(EvidencePacker *packer); /* what is not yet packed stays plain */
DEFINE_CLEANUP(EvidencePacker *, evidence_packer_free);
/* Queues a file by its name. */
int evidence_packer_add(EvidencePacker *packer, const char *name);
