/* SPDX-License-Identifier: Apache-2.0 */

/* Drafts of what tells of the log itself, and of no part of a server. */

#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/statement.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/record/statement/key-rotation.h"

#define KEY_NAME "record-key"

/* A record about something that is no part, of NAME and DIGEST, up to what it says. */
static int draft_of(const Station *station, const char *type, const char *name, const uint8_t digest[static DIGEST_BYTES], DraftGroup **ret) {
        struct timespec now;
        DraftGroup *group;
        Draft *draft;

        if (clock_gettime(CLOCK_REALTIME, &now) < 0)
                return -errno;
        group = draft_group_new(1);
        if (!group)
                return -ENOMEM;
        draft = &group->drafts[0];
        draft->entry = (RecordEntry) {
                .result = RESULT_INCONCLUSIVE,
                .finished_usec = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000,
        };
        (void) snprintf(draft->entry.type, sizeof(draft->entry.type), "%s", type);
        draft->identity.name = name;
        memcpy(draft->identity.digest, digest, DIGEST_BYTES);
        draft_print_head(draft, station);
        timestamp_print(&draft->tail, "sentOn", draft->entry.finished_usec);
        *ret = group;
        return 0;
}

/* Hands GROUP over where its draft fits into an envelope. */
static int finish(DraftGroup **group, DraftGroup **ret) {
        int r = draft_check(&(*group)->drafts[0]);

        if (r == 0)
                *ret = TAKE_PTR(*group);
        return r;
}

int draft_heartbeat(const Station *station, RecordHeartbeat cause, DraftGroup **ret) {
        static const char *const causes[_RECORD_HEARTBEAT_MAX] = {
                [RECORD_HEARTBEAT_START] = "start",
                [RECORD_HEARTBEAT_INTERVAL] = "interval",
        };
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        Draft *draft;
        int r;

        assert(cause >= 0 && cause < _RECORD_HEARTBEAT_MAX);

        r = draft_of(station, RECORD_TYPE_HEARTBEAT, KEY_NAME, station->key_digest, &group);
        if (r < 0)
                return r;
        draft = &group->drafts[0];
        printer_member(&draft->tail, "cause", causes[cause]);
        print_clock(&draft->tail, station);
        return finish(&group, ret);
}

int draft_rotation(const Station *station, const PublicKey *old, const PublicKey *new, DraftGroup **ret) {
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        uint8_t digest[DIGEST_BYTES];
        int r;

        r = digest_sha256(new->spki, new->n_spki, digest);
        if (r == 0)
                r = draft_of(station, RECORD_TYPE_ROTATION, KEY_NAME, digest, &group);
        if (r < 0)
                return r;
        key_rotation_print(&group->drafts[0].tail, old, new);
        return finish(&group, ret);
}

static void print_history(Printer *tail, const char *name, uint64_t size, const TreeHash *root) {
        char hex[DIGEST_HEX];

        printer_member_open(tail, name, '{');
        printer_member_unsigned(tail, "size", size);
        printer_member(tail, "sha256", digest_to_hex(root->bytes, hex));
        printer_close(tail, '}');
}

int draft_decision(const Station *station, const LogDoubt *doubt, const Frontier *kept, const RecordDecision *decision, DraftGroup **ret) {
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        TreeHash root;
        Printer *tail;
        int r;

        if (!note_text_is_valid(decision->note))
                return -EINVAL;
        r = frontier_root(kept, &root);
        if (r == 0)
                r = draft_of(station, RECORD_TYPE_DECISION, KEY_NAME, station->key_digest, &group);
        if (r < 0)
                return r;
        tail = &group->drafts[0].tail;
        printer_member(tail, "cause", doubt->cause);
        printer_member(tail, "note", decision->note);
        print_operator(tail, decision->uid, decision->name);
        print_history(tail, "kept", kept->size, &root);
        if (doubt->size > 0)
                print_history(tail, "signed", doubt->size, &doubt->root);
        holes_print(tail, &doubt->holes);
        return finish(&group, ret);
}

int draft_archive(const Station *station, const Archive *archive, const uint8_t digest[static DIGEST_BYTES], DraftGroup **ret) {
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        char name[RECORD_ARCHIVE_NAME_MAX];
        Draft *draft;
        int r;

        r = draft_of(station, RECORD_TYPE_ARCHIVE, record_archive_name(archive->first, name), digest, &group);
        if (r < 0)
                return r;
        draft = &group->drafts[0];
        draft->identity.name = NULL; /* it was printed, and is gone with this call */
        draft->has_archive = true;
        draft->archive = *archive;
        archive_print(&draft->tail, archive);
        return finish(&group, ret);
}
