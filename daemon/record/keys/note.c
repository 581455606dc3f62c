/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/note.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/digest.h"

#define DASH            "\xe2\x80\x94 " /* U+2014 and a space */
#define VKEY_BYTES      (1 + NOTE_PUBLIC_BYTES)
#define VKEY_OTHER_MAX  3072 /* bytes of a key of another type: one of ML-DSA-87, the longest there is, has 2,593 */
#define TIME_BYTES      8
#define LINE_BYTES      4096 /* of a signature of anyone */
#define SIGNATURE_BYTES (NOTE_ID_BYTES + TIME_BYTES + KEY_SIGNATURE_MAX) /* room for any */

/* ---- keys ---- */

/* Names beyond ASCII are allowed by the standard, and none of ours: what looks alike must be alike. */
static bool note_name_is_valid(const char *name) {
        size_t n = strlen(name);

        if (n == 0 || n >= NOTE_NAME_MAX)
                return false;
        for (size_t i = 0; i < n; i++)
                if (name[i] <= ' ' || name[i] >= 0x7f || name[i] == '+')
                        return false;
        return true;
}

int note_key_digest(const NoteKey *key, uint8_t ret[static DIGEST_BYTES]) {
        uint8_t text[NOTE_NAME_MAX + 1 + VKEY_BYTES];
        size_t n = strlen(key->name);

        memcpy(text, key->name, n);
        text[n] = '\n';
        text[n + 1] = (uint8_t) key->type;
        memcpy(text + n + 2, key->public, NOTE_PUBLIC_BYTES);
        return digest_sha256(text, n + 1 + VKEY_BYTES, ret);
}

int note_key_init(NoteKey *key, const char *name, NoteKeyType type, const uint8_t public[static NOTE_PUBLIC_BYTES]) {
        NoteKey made = { .type = type };
        uint8_t digest[DIGEST_BYTES];
        int r;

        if (!note_name_is_valid(name) || (type != NOTE_LOG && type != NOTE_WITNESS))
                return -EINVAL;

        (void) strcpy(made.name, name);
        memcpy(made.public, public, NOTE_PUBLIC_BYTES);
        r = note_key_digest(&made, digest);
        if (r < 0)
                return r;
        memcpy(made.id, digest, NOTE_ID_BYTES);
        *key = made;
        return 0;
}

int note_key_own(NoteKey *key, const char *name, NoteKeyType type, const RecordKey *signer) {
        const PublicKey *public = key_public(signer);

        return public->algorithm == RECORD_ED25519 ? note_key_init(key, name, type, public->spki + public->n_spki - NOTE_PUBLIC_BYTES) : -EINVAL;
}

static void id_to_hex(const uint8_t id[static NOTE_ID_BYTES], char hex[static 2 * NOTE_ID_BYTES + 1]) {
        for (size_t i = 0; i < NOTE_ID_BYTES; i++)
                (void) snprintf(hex + 2 * i, 3, "%02x", id[i]);
}

int note_key_parse(NoteKey *key, const char *vkey) {
        char name[NOTE_NAME_MAX], hex[2 * NOTE_ID_BYTES + 1];
        const char *id = strchr(vkey, '+'), *bytes = id ? strchr(id + 1, '+') : NULL;
        uint8_t data[BASE64_SIZE(VKEY_BYTES)];
        NoteKey found;
        size_t n;
        int r;

        if (!bytes || (size_t) (id - vkey) >= sizeof(name) || bytes - id != sizeof(hex) ||
            strlen(bytes + 1) != BASE64_SIZE(VKEY_BYTES))
                return -EINVAL;
        (void) snprintf(name, sizeof(name), "%.*s", (int) (id - vkey), vkey);
        if (base64_decode_standard(bytes + 1, BASE64_SIZE(VKEY_BYTES), data, &n) < 0 || n != VKEY_BYTES)
                return -EINVAL;
        r = note_key_init(&found, name, data[0], data + 1);
        if (r < 0)
                return r;
        id_to_hex(found.id, hex);
        if (memcmp(hex, id + 1, sizeof(hex) - 1) != 0)
                return -EINVAL;
        *key = found;
        return 0;
}

/* How an ID is made is each type's own affair. */
bool note_vkey_is_other(const char *vkey) {
        const char *id = strchr(vkey, '+'), *bytes = id ? strchr(id + 1, '+') : NULL;
        uint8_t data[BASE64_SIZE(VKEY_OTHER_MAX)];
        size_t n_text = bytes ? strlen(bytes + 1) : 0, n;

        if (n_text == 0 || n_text > sizeof(data) || id == vkey || strspn(id + 1, "0123456789abcdef") != 2 * NOTE_ID_BYTES ||
            bytes - id != 1 + 2 * NOTE_ID_BYTES || base64_decode_standard(bytes + 1, n_text, data, &n) < 0)
                return false;
        return n > 1 && data[0] != NOTE_LOG && data[0] != NOTE_WITNESS;
}

void note_key_print(Printer *printer, const NoteKey *key) {
        uint8_t data[VKEY_BYTES] = { (uint8_t) key->type };
        char hex[2 * NOTE_ID_BYTES + 1];

        memcpy(data + 1, key->public, NOTE_PUBLIC_BYTES);
        id_to_hex(key->id, hex);
        printer_text(printer, key->name);
        printer_text(printer, "+");
        printer_text(printer, hex);
        printer_text(printer, "+");
        printer_base64(printer, data, sizeof(data));
}

/* ---- what is signed ---- */

/* The text itself, or what a witness puts before it. */
static void print_message(Printer *message, NoteKeyType type, uint64_t sec, const char *text, size_t n) {
        char head[48];

        if (type == NOTE_WITNESS) {
                (void) snprintf(head, sizeof(head), "cosignature/v1\ntime %llu\n", (unsigned long long) sec);
                printer_text(message, head);
        }
        printer_raw(message, text, n);
}

static void time_to_bytes(uint64_t sec, uint8_t bytes[static TIME_BYTES]) {
        for (unsigned i = 0; i < TIME_BYTES; i++)
                bytes[i] = (uint8_t) (sec >> (8 * (TIME_BYTES - 1 - i)));
}

static uint64_t time_from_bytes(const uint8_t bytes[static TIME_BYTES]) {
        uint64_t sec = 0;

        for (unsigned i = 0; i < TIME_BYTES; i++)
                sec = sec << 8 | bytes[i];
        return sec;
}

void note_sign(Printer *note, const char *text, size_t n, const NoteKey *key, const RecordKey *signer, uint64_t usec) {
        size_t n_time = key->type == NOTE_WITNESS ? TIME_BYTES : 0;
        _cleanup_printer_ Printer message = {};
        uint8_t signature[SIGNATURE_BYTES];
        size_t n_signature = 0;
        int r;

        print_message(&message, key->type, usec / 1000000, text, n);
        memcpy(signature, key->id, NOTE_ID_BYTES);
        if (n_time > 0)
                time_to_bytes(usec / 1000000, signature + NOTE_ID_BYTES);
        r = record_key_algorithm(signer) == RECORD_ED25519 ? message.error : -EINVAL;
        if (r == 0)
                r = key_sign(signer, message.text, message.n, signature + NOTE_ID_BYTES + n_time, &n_signature);
        if (r < 0) {
                note->error = note->error ?: r;
                return;
        }
        printer_text(note, DASH);
        printer_text(note, key->name);
        printer_text(note, " ");
        printer_base64(note, signature, NOTE_ID_BYTES + n_time + n_signature);
        printer_text(note, "\n");
}

/* ---- reading ---- */

/* Where the text ends: after the line feed before the last empty line. 0: there is none. */
static size_t text_end(const char *data, size_t n) {
        for (size_t i = n; i-- > 1;)
                if (data[i] == '\n' && data[i - 1] == '\n')
                        return i;
        return 0;
}

static bool text_is_valid(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (((uint8_t) text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
                        return false;
        return true;
}

/* Names of other keys may be anything that has no space in it; one too long for ours is kept as "", which no key is called. */
static int parse_line(const char *line, size_t n, NoteSignature *ret) {
        uint8_t data[LINE_BYTES];
        const char *name = line + strlen(DASH), *space;
        size_t n_name, n_data, n_text;

        if (n <= strlen(DASH) || memcmp(line, DASH, strlen(DASH)) != 0)
                return -EBADMSG;
        space = memchr(name, ' ', n - strlen(DASH));
        if (!space || space == name)
                return -EBADMSG;
        n_name = (size_t) (space - name);
        n_text = n - strlen(DASH) - n_name - 1;
        if (memchr(name, '+', n_name) || n_text / 4 * 3 > sizeof(data) || base64_decode_standard(space + 1, n_text, data, &n_data) < 0 ||
            n_data <= NOTE_ID_BYTES)
                return -EBADMSG;

        *ret = (NoteSignature) { .line = line, .n_line = n, .n = n_data - NOTE_ID_BYTES };
        if (n_name < sizeof(ret->name))
                memcpy(ret->name, name, n_name);
        memcpy(ret->id, data, NOTE_ID_BYTES);
        if (ret->n > sizeof(ret->bytes))
                ret->n = sizeof(ret->bytes);
        memcpy(ret->bytes, data + NOTE_ID_BYTES, ret->n);
        return 0;
}

int note_parse(const char *data, size_t n, Note *ret) {
        size_t n_text;
        int r;

        if (n == 0 || n > NOTE_MAX || data[n - 1] != '\n')
                return -EBADMSG;
        n_text = text_end(data, n);
        if (n_text == 0 || n_text + 1 == n || !text_is_valid(data, n))
                return -EBADMSG;

        *ret = (Note) { .text = data, .n = n_text };
        for (const char *line = data + n_text + 1, *end; line < data + n; line = end + 1) {
                end = memchr(line, '\n', (size_t) (data + n - line));
                if (ret->n_signatures == NOTE_SIGNATURES_MAX)
                        return -EBADMSG;
                r = parse_line(line, (size_t) (end - line), &ret->signatures[ret->n_signatures++]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* ---- verifying ---- */

static int verify_signature(const Note *note, const NoteKey *key, const NoteSignature *signature, uint64_t *ret_usec) {
        size_t n_time = key->type == NOTE_WITNESS ? TIME_BYTES : 0;
        _cleanup_printer_ Printer message = {};
        _cleanup_(public_key_done) PublicKey public = {};
        uint64_t sec = 0;
        int r;

        if (signature->n != n_time + KEY_ED25519_SIGNATURE)
                return -EBADMSG;
        if (n_time > 0) {
                sec = time_from_bytes(signature->bytes);
                if (sec == 0 || sec > UINT64_MAX / 1000000)
                        return -EBADMSG;
        }
        print_message(&message, key->type, sec, note->text, note->n);
        if (message.error < 0)
                return message.error;

        r = public_key_from_raw(&public, RECORD_ED25519, key->public, NOTE_PUBLIC_BYTES);
        if (r < 0)
                return r;
        r = public_key_verify(&public, message.text, message.n, signature->bytes + n_time, KEY_ED25519_SIGNATURE);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        *ret_usec = sec * 1000000;
        return 1;
}

static bool is_of(const NoteSignature *signature, const NoteKey *key) {
        return strcmp(signature->name, key->name) == 0 && memcmp(signature->id, key->id, NOTE_ID_BYTES) == 0;
}

void note_print_line(Printer *printer, const Note *note, const NoteKey *key) {
        for (size_t i = 0; i < note->n_signatures; i++)
                if (is_of(&note->signatures[i], key)) {
                        printer_raw(printer, note->signatures[i].line, note->signatures[i].n_line);
                        printer_text(printer, "\n");
                        return;
                }
}

/* The first line of a key counts, and later ones must fit as well. */
int note_verify(const Note *note, const NoteKey *key, uint64_t *ret_usec) {
        bool found = false;

        for (size_t i = 0; i < note->n_signatures; i++) {
                const NoteSignature *signature = &note->signatures[i];
                uint64_t usec;
                int r;

                if (!is_of(signature, key))
                        continue;
                r = verify_signature(note, key, signature, &usec);
                if (r < 0)
                        return r;
                if (!found)
                        *ret_usec = usec;
                found = true;
        }
        return found;
}

int record_key_vkey(const RecordKey *key, const char *origin, char **ret) {
        _cleanup_printer_ Printer text = {};
        NoteKey note;
        int r;

        r = note_key_own(&note, origin, NOTE_LOG, key);
        if (r < 0)
                return r;
        note_key_print(&text, &note);
        printer_raw(&text, "", 1);
        if (text.error < 0)
                return text.error;
        *ret = TAKE_PTR(text.text);
        return 0;
}
