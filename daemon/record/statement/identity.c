/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SERIAL_MAX  64
#define PRODUCT_MAX 32

static bool is_word(const char *text, size_t max, const char *also) {
        size_t n = text ? strlen(text) : 0;

        for (size_t i = 0; i < n; i++) {
                char c = text[i];

                if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      strchr(also, c)))
                        return false;
        }
        return n > 0 && n <= max;
}

bool identity_serial_is_valid(const char *serial) {
        return is_word(serial, SERIAL_MAX, ".-");
}

static const char *product_of(const RecordSubject *subject) {
        return is_word(subject->product, PRODUCT_MAX, ".") ? subject->product : "unknown";
}

#define SCHEME "urn:dev:ops:"

/*
 * The document that URI, of ours, spells for a part of KIND, of a record in the log ORIGIN. The URN knows no '/': the parts of a slot's path stand in it set
 * off by '_', behind the serial of the server, or "unknown". False: it spells none.
 */
static bool spell_document(const char *kind, const char *uri, const char *origin, char ret[static IDENTITY_DOCUMENT_MAX]) {
        size_t n_digits = strncmp(uri, SCHEME, strlen(SCHEME)) == 0 ? strspn(uri + strlen(SCHEME), "0123456789") : 0;
        const char *product = n_digits > 0 ? uri + strlen(SCHEME) + n_digits : "", *serial = *product == '-' ? strchr(product + 1, '-') : NULL;
        const char *slot = serial ? strchr(serial, '_') : NULL;
        char path[IDENTITY_URI_MAX];
        int n;

        if (!serial || strlen(uri) >= IDENTITY_URI_MAX || strlen(origin) >= RECORD_ORIGIN_MAX)
                return false;
        n = snprintf(ret, IDENTITY_DOCUMENT_MAX, "assay-identity/v1\nkind: %s\nmanufacturer: Amazon\nproduct: %.*s\n", kind, (int) (serial - product - 1), product + 1);
        ret += n;
        serial++;
        (void) snprintf(path, sizeof(path), "%s", slot ? slot + 1 : "");
        for (char *p = path; (p = strchr(p, '_'));)
                *p = '/';
        if (strcmp(kind, "slot") != 0)
                (void) snprintf(ret, IDENTITY_DOCUMENT_MAX - (size_t) n, "serial: %s\n", serial);
        else if (strncmp(serial, "unknown_", 8) == 0)
                (void) snprintf(ret, IDENTITY_DOCUMENT_MAX - (size_t) n, "slot: %s\norigin: %s\n", path, origin);
        else if (slot)
                (void) snprintf(ret, IDENTITY_DOCUMENT_MAX - (size_t) n, "serial: %.*s\nslot: %s\n", (int) (slot - serial), serial, path);
        return true;
}

void identity_name(const IdentityIssuer *issuer, const RecordSubject *subject, const RecordSubject *server, Identity *ret) {
        /* A server without a serial is no slot of itself. */
        bool is_slot_known = identity_serial_is_valid(server->serial) && subject->where.n_parts > 0;
        char path[LOCATION_STRING_MAX];

        (void) location_format(&subject->where, path);
        if (identity_serial_is_valid(subject->serial)) {
                ret->name = location_kind(&subject->where) == LOCATION_SERVER ? "server" : "accelerator";
                (void) snprintf(ret->uri, sizeof(ret->uri), SCHEME "%u-%s-%s", issuer->pen, product_of(subject), subject->serial);
        } else {
                for (char *p = path; (p = strchr(p, '/'));)
                        *p = '_';
                ret->name = "slot";
                (void) snprintf(ret->uri, sizeof(ret->uri), SCHEME "%u-%s-%s_%s", issuer->pen, product_of(server), is_slot_known ? server->serial : "unknown",
                                is_slot_known ? strchr(path, '_') + 1 : path);
        }
}

int identity_of(const IdentityIssuer *issuer, const RecordSubject *subject, const RecordSubject *server, Identity *ret) {
        identity_name(issuer, subject, server, ret);
        if (!spell_document(ret->name, ret->uri, issuer->origin, ret->document))
                return -EINVAL;
        return digest_sha256(ret->document, strlen(ret->document), ret->digest);
}

void identity_read(const char *uri, char ret_product[static RECORD_PRODUCT_BYTES], char ret_serial[static RECORD_SERIAL_BYTES]) {
        const char *product = strchr(uri, '-'), *serial = product ? strchr(product + 1, '-') : NULL;

        *ret_product = *ret_serial = '\0';
        if (!serial)
                return;
        if (serial - product <= RECORD_PRODUCT_BYTES)
                (void) snprintf(ret_product, RECORD_PRODUCT_BYTES, "%.*s", (int) (serial - product - 1), product + 1);
        if (!strchr(serial, '_') && strlen(serial) <= RECORD_SERIAL_BYTES)
                (void) snprintf(ret_serial, RECORD_SERIAL_BYTES, "%s", serial + 1);
}

/* Whether SLOT, as it stands in a URI behind the serial of a server or "unknown", is that of WHERE. */
static bool is_slot_of(const char *slot, bool is_server_known, const Location *where) {
        char path[LOCATION_STRING_MAX];
        const char *own = location_format(where, path);

        for (char *p = path; (p = strchr(p, '/'));)
                *p = '_';
        if (is_server_known)
                own = where->n_parts > 0 ? strchr(path, '_') + 1 : "";
        return !*where->server || strcmp(slot, own) == 0;
}

/* Whether URI, which is that of a slot behind its first N bytes, is of the server that SERVER names; "": that is not told. */
static bool is_slot_in(const char *uri, size_t n, const char *server) {
        return strncasecmp(server, SCHEME, strlen(SCHEME)) != 0 || (strncmp(uri, server, n) == 0 && server[n] == '\0');
}

int identity_fits(const char *kind, const char *uri, const char *server, const char *sha256, const char *origin, const Location *where) {
        const char *slot = strchr(uri, '_');
        bool is_server_known;
        char document[IDENTITY_DOCUMENT_MAX], hex[DIGEST_HEX];
        uint8_t digest[DIGEST_BYTES];
        int r;

        if (strncasecmp(uri, SCHEME, strlen(SCHEME)) != 0) /* of another scheme, whose documents are its own */
                return 1;
        if (!spell_document(slot ? "slot" : kind, uri, origin, document))
                return 0;
        is_server_known = slot && (slot - uri < 8 || memcmp(slot - 8, "-unknown", 8) != 0);
        if (slot && (!is_slot_of(slot + 1, is_server_known, where) || (is_server_known && !is_slot_in(uri, (size_t) (slot - uri), server))))
                return 0;
        r = sha256 ? digest_sha256(document, strlen(document), digest) : 0;
        return r < 0 ? -ENOMEM : !sha256 || strcmp(digest_to_hex(digest, hex), sha256) == 0;
}

void print_sha256(Printer *printer, const char *key, const char *hex) {
        printer_member_open(printer, key, '{');
        printer_member(printer, "sha256", hex);
        printer_close(printer, '}');
}

void identity_print_open(Printer *printer, const Identity *identity, const char *name) {
        char hex[DIGEST_HEX];

        printer_open(printer, '{');
        printer_member(printer, "name", name);
        printer_member(printer, "uri", identity->uri);
        print_sha256(printer, "digest", digest_to_hex(identity->digest, hex));
}
