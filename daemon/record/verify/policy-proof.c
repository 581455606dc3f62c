/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/verify/policy.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/keys/state.h"
#include "daemon/record/tree/lines.h"

/* Whether a record is where it says in a log that others have seen, and that log the one which this reader has seen before. */

#define OTHERS_MAX      128
#define CONSISTENCY_MAX (TREE_PATH_MAX * 46 + 1) /* bytes: lines of hashes, and an empty one */

/* A checkpoint, who stands for it, and its note. */
typedef struct Believed {
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *note;
        size_t n_note;
} Believed;

/* 1: the tree of NEW begins with that of OLD; 0: it does not; -ENODATA: nobody showed; -EBADMSG: what was shown is nothing. */
static int ask_consistency(const RecordPolicy *policy, const Checkpoint *old, const Checkpoint *new) {
        _cleanup_free_ char *text = NULL;
        Lines lines = {};
        TreePath path;
        int r;

        if (old->size == 0)
                return 1;
        if (!policy->consistency)
                return -ENODATA;
        r = policy->consistency(policy->userdata, new->origin, old->size, new->size, &text, &lines.n);
        if (r < 0)
                return r == -ENOMEM ? r : -ENODATA;
        lines.text = text;
        if (lines.n > CONSISTENCY_MAX || lines_take_path(&lines, &path) < 0 || lines.n > 0)
                return -EBADMSG;
        return tree_consistency_verify(&path, old->size, &old->root, new->size, &new->root);
}

/*
 * A witness signs no two checkpoints of which one does not continue the other. So where the same ones, enough of them for the keyring, have
 * signed both, nothing else is needed; otherwise somebody has to show it.
 */
static int check_consistency(const RecordPolicy *policy, const Believed *old, const Believed *new, Refusal *refusal) {
        const Quorum *quorum = &policy->keyring->quorum;
        int r;

        if (old->checkpoint.size == new->checkpoint.size)
                return memcmp(&old->checkpoint.root, &new->checkpoint.root, sizeof(TreeHash)) == 0
                                       ? 0
                                       : refuse(refusal, "the log has shown another history of the same size before: ", new->checkpoint.origin);
        r = ask_consistency(policy, &old->checkpoint, &new->checkpoint);
        if (r == 1)
                return 0;
        if (r == 0)
                return refuse(refusal, "the log does not continue what it has shown before: ", new->checkpoint.origin);
        if (r == -EBADMSG)
                return refuse(refusal, "the proof that the log only grew is none", "");
        if (r != -ENODATA)
                return r;
        if (quorum->wanted && quorum_is_met(quorum, old->seen.witnesses & new->seen.witnesses))
                return 0;
        return doubt(refusal, RECORD_LACKS_GROWTH, "nothing shows that the log only grew since it was last seen", "");
}

/* The checkpoint that was believed last is held against this keyring again: it may know other keys by now. */
static int check_state(const RecordPolicy *policy, const CheckpointPolicy *vouchers, const Believed *new, Refusal *refusal) {
        _cleanup_free_ char *note = NULL;
        Believed old = {};
        const char *wrong;
        int r;

        r = state_read_checkpoint(policy->state, STATE_PROVEN, new->checkpoint.origin, &note, &old.n_note);
        if (r == 0)
                r = checkpoint_verify(note, old.n_note, vouchers, &old.checkpoint, &old.seen, &wrong);
        if (r == -EBADMSG)
                return refuse(refusal, "the checkpoint that was kept of this log does not hold for this keyring", "");
        if (r == 0 && new->checkpoint.size < old.checkpoint.size)
                return refuse(refusal, "the proof is of an older state of the log than was seen before", "");
        if (r == 0)
                r = check_consistency(policy, &old, new, refusal);
        if ((r < 0 && r != -ENOENT) || refusal->lack || (r == 0 && new->checkpoint.size == old.checkpoint.size))
                return r == -ENOENT ? 0 : r;
        return state_write_checkpoint(policy->state, STATE_PROVEN, new->checkpoint.origin, new->note, new->n_note);
}

static int tell_witnesses(const RecordPolicy *policy, const Believed *new, size_t n_hashes, RecordVerified *verified) {
        _cleanup_printer_ Printer names = {};

        for (size_t i = 0; i < policy->keyring->n_witnesses; i++) {
                if (!(new->seen.witnesses & UINT32_C(1) << i))
                        continue;
                printer_text(&names, names.n > 0 ? ", " : "");
                printer_text(&names, policy->keyring->witnesses[i].name);
        }
        printer_raw(&names, "", 1);
        if (names.error < 0)
                return names.error;
        verified->witnesses = TAKE_PTR(names.text);
        verified->witnessed_usec = new->seen.first_usec;
        verified->log_size = new->checkpoint.size;
        verified->n_hashes = n_hashes;
        return 0;
}

/* That nobody can tell whether they have is no fault of theirs. */
static const char *others_of(const RecordKeyring *keyring, char text[static OTHERS_MAX]) {
        size_t n = keyring_count_others(keyring);

        (void) snprintf(text, OTHERS_MAX, "; the keys of %zu of %zu are of a type that is not known here, and count for nothing", n, keyring->n_witnesses);
        return n > 0 ? text : "";
}

static int check_proof(const RecordPolicy *policy, const Proof *proof, const TreeHash *leaf, const CheckpointPolicy *vouchers,
                       RecordVerified *verified, Refusal *refusal) {
        Believed new = { .note = proof->note, .n_note = proof->n_note };
        char others[OTHERS_MAX];
        const char *wrong;
        int r;

        if (proof->index != verified->entry.index)
                return refuse(refusal, "the proof is of another record", "");
        r = proof_verify(proof, leaf, vouchers, &new.checkpoint, &new.seen, &wrong);
        if (r < 0)
                return r == -EBADMSG ? refuse(refusal, "the proof: ", wrong) : r;
        if (!quorum_is_met(&policy->keyring->quorum, new.seen.witnesses))
                (void) doubt(refusal, RECORD_LACKS_WITNESSES, "not enough witnesses have seen the log with it", others_of(policy->keyring, others));
        r = policy->state ? check_state(policy, vouchers, &new, refusal) : 0;
        return r < 0 ? r : tell_witnesses(policy, &new, proof->path.n, verified);
}

int policy_check_proof(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        _cleanup_free_ CheckpointPolicy *vouchers = NULL;
        const Bundle *bundle = evidence->bundle && evidence->bundle->n_body > 0 ? evidence->bundle : NULL;
        const Proof *proof = bundle ? &bundle->proof : NULL;
        _cleanup_printer_ Printer leaf = {};
        uint8_t log_id[DIGEST_BYTES];
        TreeHash hash;
        Proof given;
        int r;

        if (policy->proof) {
                if (proof_parse(policy->proof, policy->n_proof, &given) < 0)
                        return refuse(refusal, "what should prove that it is in a log does not", "");
                proof = &given;
        }
        if (!proof)
                return policy->needs_proof ? doubt(refusal, RECORD_LACKS_PROOF, "nothing, neither a bundle nor --proof FILE, proves that it is in the log ", verified->origin) : 0;
        leaf_print(&leaf, evidence->envelope, &evidence->key->key);
        if (leaf.error < 0)
                return leaf.error;
        if (bundle && (bundle->n_body != leaf.n || memcmp(bundle->body, leaf.text, leaf.n) != 0))
                return refuse(refusal, "the log's entry is of another signature", "");
        vouchers = malloc(sizeof(*vouchers));
        if (!vouchers)
                return -ENOMEM;
        if (!keyring_policy(policy->keyring, verified->origin, vouchers))
                return policy->needs_proof ? doubt(refusal, RECORD_LACKS_PROOF, "the keyring does not know the log ", verified->origin) : 0;
        r = note_key_digest(&vouchers->log, log_id);
        if (r == 0 && bundle && memcmp(log_id, bundle->log_id, sizeof(log_id)) != 0)
                return refuse(refusal, "the bundle names the key of another log", "");
        if (r == 0)
                r = tree_leaf(leaf.text, leaf.n, &hash);
        return r < 0 ? r : check_proof(policy, proof, &hash, vouchers, verified, refusal);
}
