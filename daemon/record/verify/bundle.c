/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/verify/bundle.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/keys/leaf.h"
#include "daemon/record/tree/lines.h"

#define KIND    "hashedrekord"
#define VERSION "0.0.2"

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

/* ---- writing ---- */

/* Protocol buffers write 64-bit numbers as strings. */
static void print_integer(Printer *printer, const char *key, uint64_t value) {
        char text[24];

        (void) snprintf(text, sizeof(text), "%llu", (unsigned long long) value);
        printer_member(printer, key, text);
}

static void print_inclusion(Printer *printer, const Proof *proof, const Checkpoint *checkpoint) {
        char note[NOTE_MAX + 1];

        (void) snprintf(note, sizeof(note), "%.*s", (int) proof->n_note, proof->note);
        printer_key(printer, "inclusionProof");
        printer_open(printer, '{');
        print_integer(printer, "logIndex", proof->index);
        printer_member_base64(printer, "rootHash", &checkpoint->root, sizeof(TreeHash));
        print_integer(printer, "treeSize", checkpoint->size);
        printer_key(printer, "hashes");
        printer_open(printer, '[');
        for (size_t i = 0; i < proof->path.n; i++) {
                printer_text(printer, i > 0 ? ",\"" : "\"");
                printer_base64(printer, &proof->path.hashes[i], sizeof(TreeHash));
                printer_text(printer, "\"");
        }
        printer_close(printer, ']');
        printer_key(printer, "checkpoint");
        printer_open(printer, '{');
        printer_member(printer, "envelope", note);
        printer_close(printer, '}');
        printer_close(printer, '}');
}

static void print_entry(Printer *printer, const uint8_t log_id[static DIGEST_BYTES], const Proof *proof, const Checkpoint *checkpoint,
                        const Printer *body) {
        printer_key(printer, "tlogEntries");
        printer_open(printer, '[');
        printer_open(printer, '{');
        print_integer(printer, "logIndex", proof->index);
        printer_key(printer, "logId");
        printer_open(printer, '{');
        printer_member_base64(printer, "keyId", log_id, DIGEST_BYTES);
        printer_close(printer, '}');
        printer_key(printer, "kindVersion");
        printer_open(printer, '{');
        printer_member(printer, "kind", KIND);
        printer_member(printer, "version", VERSION);
        printer_close(printer, '}');
        print_integer(printer, "integratedTime", 0); /* the log tells no time: witnesses do */
        print_inclusion(printer, proof, checkpoint);
        printer_member_base64(printer, "canonicalizedBody", body->text, body->n);
        printer_close(printer, '}');
        printer_close(printer, ']');
}

int record_bundle(const RecordKeyring *keyring, const char *vkey, const char *envelope, size_t n, const char *proof_text, size_t n_proof,
                  char **ret, size_t *ret_n, const char **ret_wrong) {
        _cleanup_(leaf_done) Leaf leaf = {};
        _cleanup_printer_ Printer p = {};
        uint8_t log_id[DIGEST_BYTES];
        CheckpointPolicy policy = {};
        Checkpoint checkpoint;
        CheckpointSeen seen;
        Proof proof;
        int r;

        if (note_key_parse(&policy.log, vkey) < 0 || policy.log.type != NOTE_LOG)
                return wrong(ret_wrong, "the log's key is none");
        if (proof_parse(proof_text, n_proof, &proof) < 0)
                return wrong(ret_wrong, "there is no proof of it");
        r = leaf_make(keyring, envelope, n, &leaf, ret_wrong);
        if (r == 0)
                r = proof_verify(&proof, &leaf.hash, &policy, &checkpoint, &seen, ret_wrong);
        if (r == 0)
                r = note_key_digest(&policy.log, log_id);
        if (r < 0)
                return r;

        printer_open(&p, '{');
        printer_member(&p, "mediaType", BUNDLE_TYPE);
        printer_key(&p, "verificationMaterial");
        printer_open(&p, '{');
        printer_key(&p, "publicKey");
        printer_open(&p, '{');
        printer_member(&p, "hint", leaf.key_id);
        printer_close(&p, '}');
        print_entry(&p, log_id, &proof, &checkpoint, &leaf.body);
        printer_close(&p, '}');
        printer_key(&p, ENVELOPE_OF_BUNDLE);
        printer_raw(&p, envelope, n);
        printer_close(&p, '}');
        if (p.error < 0)
                return p.error;
        *ret_n = p.n;
        *ret = TAKE_PTR(p.text);
        return 0;
}

/* ---- reading ---- */

void bundle_done(Bundle *bundle) {
        json_decref(bundle->object);
        envelope_done(&bundle->envelope);
        *bundle = (Bundle) {};
}

/* A text without zeros, as a line. */
static Line line_of(const json_t *object, const char *key) {
        const json_t *value = json_object_get(object, key);

        return (Line) { json_string_value(value) ?: "", json_string_length(value) };
}

static int take_path(const json_t *hashes, TreePath *ret) {
        TreePath path = { .n = json_array_size(hashes) };

        if (!json_is_array(hashes) || path.n > TREE_PATH_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < path.n; i++) {
                const json_t *hash = json_array_get(hashes, i);
                Line line = { json_string_value(hash) ?: "", json_string_length(hash) };

                if (line_hash(&line, &path.hashes[i]) < 0)
                        return -EBADMSG;
        }
        *ret = path;
        return 0;
}

static int read_checkpoint(const Line *text, Checkpoint *ret) {
        _cleanup_free_ Note *note = malloc(sizeof(*note));

        if (!note)
                return -ENOMEM;
        return note_parse(text->text, text->n, note) < 0 ? -EBADMSG : checkpoint_parse(note->text, note->n, ret);
}

/* What the bundle repeats of its checkpoint must be what stands there. */
static int take_proof(const json_t *entry, Proof *ret, const char **ret_wrong) {
        const json_t *inclusion = json_object_get(entry, "inclusionProof");
        Line note = line_of(json_object_get(inclusion, "checkpoint"), "envelope");
        Line outer = line_of(entry, "logIndex"), inner = line_of(inclusion, "logIndex");
        Line told_size = line_of(inclusion, "treeSize"), told_root = line_of(inclusion, "rootHash");
        Checkpoint checkpoint;
        uint64_t again, size;
        TreeHash root;
        int r;

        if (line_number(&outer, &ret->index) < 0 || line_number(&inner, &again) < 0 || ret->index != again)
                return wrong(ret_wrong, "the bundle does not tell one index in its log");
        if (take_path(json_object_get(inclusion, "hashes"), &ret->path) < 0)
                return wrong(ret_wrong, "the bundle has no path to the root of its log");
        r = read_checkpoint(&note, &checkpoint);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || line_number(&told_size, &size) < 0 || line_hash(&told_root, &root) < 0 || checkpoint.size != size ||
            memcmp(&checkpoint.root, &root, sizeof(root)) != 0)
                return wrong(ret_wrong, "the bundle says otherwise than its checkpoint");
        ret->note = note.text;
        ret->n_note = note.n;
        return 0;
}

static int take_entry(const json_t *entry, Bundle *ret, const char **ret_wrong) {
        const json_t *kind = json_object_get(entry, "kindVersion");
        Line body = line_of(entry, "canonicalizedBody"), log_id = line_of(json_object_get(entry, "logId"), "keyId");

        if (strcmp(text_of(kind, "kind"), KIND) != 0 || strcmp(text_of(kind, "version"), VERSION) != 0)
                return wrong(ret_wrong, "the bundle's entry in the log is no " KIND " " VERSION);
        if (body.n / 4 * 3 > sizeof(ret->body) || base64_decode(body.text, body.n, ret->body, &ret->n_body) < 0 || ret->n_body == 0)
                return wrong(ret_wrong, "the bundle does not tell what the log holds of it");
        if (line_hash(&log_id, (TreeHash *) ret->log_id) < 0)
                return wrong(ret_wrong, "the bundle does not tell in which log it is");
        return take_proof(entry, &ret->proof, ret_wrong);
}

/* Where both name the key they name the same one. */
static bool hint_fits(const json_t *material, const json_t *envelope) {
        const char *hint = text_of(json_object_get(material, "publicKey"), "hint");
        const char *key_id = text_of(json_array_get(json_object_get(envelope, "signatures"), 0), "keyid");

        return !*hint || !*key_id || strcmp(hint, key_id) == 0;
}

/*
 * Whether a reader of protocol buffers may take another member for one of ours: another one of a oneof, or the other name of each, which has a '_'
 * (dsse_envelope). json_read() bounds the depth.
 */
static bool is_ambiguous(const json_t *value) {
        static const char *const others[] = { "messageSignature", "certificate", "x509CertificateChain" };
        const char *key;
        json_t *member;

        for (size_t i = 0; i < json_array_size(value); i++)
                if (is_ambiguous(json_array_get(value, i)))
                        return true;
        json_object_foreach((json_t *) (uintptr_t) value, key, member) {
                for (size_t i = 0; i < ELEMENTS(others); i++)
                        if (strcmp(key, others[i]) == 0)
                                return true;
                if (strchr(key, '_') || is_ambiguous(member))
                        return true;
        }
        return false;
}

int bundle_parse(const char *text, size_t n, Bundle *ret, const char **ret_wrong) {
        _cleanup_(bundle_done) Bundle bundle = {};
        const json_t *object, *material, *entries, *envelope;
        int r;

        if (n > BUNDLE_MAX)
                return wrong(ret_wrong, "the bundle is larger than 2 MiB");
        r = json_read(text, n, &bundle.object, ret_wrong);
        if (r < 0)
                return r;
        object = bundle.object;
        envelope = json_object_get(object, ENVELOPE_OF_BUNDLE);
        material = json_object_get(object, "verificationMaterial");
        entries = json_object_get(material, "tlogEntries");
        if (strcmp(text_of(object, "mediaType"), BUNDLE_TYPE) != 0)
                return wrong(ret_wrong, "it is no bundle of type " BUNDLE_TYPE);
        if (json_object_get(object, "payload"))
                return wrong(ret_wrong, "it is a bundle and an envelope: each reader would take another record for it");
        if (is_ambiguous(object) || envelope_is_ambiguous(object))
                return wrong(ret_wrong, "the bundle has a member that other readers take for another one");
        if (!json_is_object(envelope) || !json_is_object(json_object_get(material, "publicKey")))
                return wrong(ret_wrong, "the bundle has no envelope, or is not signed with a bare key");
        if (!hint_fits(material, envelope))
                return wrong(ret_wrong, "the bundle's hint is not the keyid of its signature");
        if (json_array_size(entries) > 1)
                return wrong(ret_wrong, "the bundle is of more than one log");

        r = envelope_take(envelope, RECORD_PAYLOAD_TYPE, 1, &bundle.envelope, ret_wrong);
        if (r == 0 && json_array_size(entries) == 1)
                r = take_entry(json_array_get(entries, 0), &bundle, ret_wrong);
        if (r < 0)
                return r;
        *ret = bundle;
        bundle = (Bundle) {};
        return 0;
}
