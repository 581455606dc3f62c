/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/identity.h"

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

/* The URN knows no '/': the parts of a path become its components, set off by '_'. */
static void slot_to_components(const char *slot, char *components, size_t size) {
        (void) snprintf(components, size, "_%s", slot);
        for (char *p = components; *p; p++)
                if (*p == '/')
                        *p = '_';
}

static void identity_by_serial(unsigned pen, const RecordSubject *subject, const char *kind, Identity *ret) {
        const char *product = product_of(subject);

        ret->name = kind;
        (void) snprintf(ret->uri, sizeof(ret->uri), "urn:dev:ops:%u-%s-%s", pen, product, subject->serial);
        (void) snprintf(ret->document, sizeof(ret->document),
                        "assay-identity/v1\nkind: %s\nmanufacturer: Amazon\nproduct: %s\nserial: %s\n", kind,
                        product, subject->serial);
}

static void identity_by_slot(const IdentityIssuer *issuer, const RecordSubject *subject,
                             const RecordSubject *server, Identity *ret) {
        /* A server without a serial is no slot of itself. */
        bool known = identity_serial_is_valid(server->serial) && subject->where.n_parts > 0;
        char path[LOCATION_STRING_MAX], components[LOCATION_STRING_MAX + 1];
        const char *product = product_of(server), *slot = location_format(&subject->where, path);
        int n;

        if (known)
                slot = strchr(path, '/') + 1;
        slot_to_components(slot, components, sizeof(components));

        ret->name = "slot";
        (void) snprintf(ret->uri, sizeof(ret->uri), "urn:dev:ops:%u-%s-%s%s", issuer->pen, product,
                        known ? server->serial : "unknown", components);
        n = snprintf(ret->document, sizeof(ret->document),
                     "assay-identity/v1\nkind: slot\nmanufacturer: Amazon\nproduct: %s\n", product);
        if (known)
                (void) snprintf(ret->document + n, sizeof(ret->document) - (size_t) n,
                                "serial: %s\nslot: %s\n", server->serial, slot);
        else
                (void) snprintf(ret->document + n, sizeof(ret->document) - (size_t) n,
                                "slot: %s\norigin: %s\n", slot, issuer->origin);
}

int identity_of(const IdentityIssuer *issuer, const RecordSubject *subject, const RecordSubject *server,
                Identity *ret) {
        if (identity_serial_is_valid(subject->serial))
                identity_by_serial(issuer->pen, subject,
                                   location_kind(&subject->where) == LOCATION_SERVER ? "server"
                                                                                     : "accelerator",
                                   ret);
        else
                identity_by_slot(issuer, subject, server, ret);
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

static bool is_digest_of(const char *document, const char *sha256) {
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];

        return digest_sha256(document, strlen(document), digest) < 0 || strcmp(digest_to_hex(digest, hex), sha256) == 0;
}

/* The text behind `product:` in the document of the slot that REST of a URI names: SERIAL_SLOT, or unknown_SLOT. */
static void write_slot(const char *rest, const char *origin, char *ret, size_t size) {
        const char *slot = strchr(rest, '_');
        size_t n = strncmp(rest, "unknown_", 8) == 0 ? 0 : (size_t) (slot - rest);
        int at = n > 0 ? snprintf(ret, size, "serial: %.*s\n", (int) n, rest) : 0;
        char path[IDENTITY_URI_MAX];

        (void) snprintf(path, sizeof(path), "%s", slot + 1);
        for (char *p = path; (p = strchr(p, '_'));)
                *p = '/';
        (void) snprintf(ret + at, size - (size_t) at, n > 0 ? "slot: %s\n" : "slot: %s\norigin: %s\n", path, origin);
}

bool identity_fits(const char *uri, const char *sha256, const char *origin) {
        static const char scheme[] = "urn:dev:ops:", *const kinds[] = { "accelerator", "server", "slot" };
        size_t n_digits = strncmp(uri, scheme, sizeof(scheme) - 1) == 0 ? strspn(uri + sizeof(scheme) - 1, "0123456789") : 0;
        const char *product = n_digits > 0 ? uri + sizeof(scheme) + n_digits : NULL, *rest = product && product[-1] == '-' ? strchr(product, '-') : NULL;
        char facts[IDENTITY_URI_MAX + RECORD_ORIGIN_MAX + 32], document[2 * IDENTITY_URI_MAX + RECORD_ORIGIN_MAX + 128];

        if (!rest || strlen(uri) >= IDENTITY_URI_MAX || strlen(origin) >= RECORD_ORIGIN_MAX)
                return true; /* of another issuer, whose documents are his own */
        for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                if (i < 2)
                        (void) snprintf(facts, sizeof(facts), "serial: %s\n", rest + 1);
                else if (strchr(rest, '_'))
                        write_slot(rest + 1, origin, facts, sizeof(facts));
                (void) snprintf(document, sizeof(document), "assay-identity/v1\nkind: %s\nmanufacturer: Amazon\nproduct: %.*s\n%s", kinds[i],
                                (int) (rest - product), product, facts);
                if (is_digest_of(document, sha256))
                        return true;
        }
        return false;
}

void identity_print_open(Printer *printer, const Identity *identity, const char *name) {
        char hex[DIGEST_HEX];

        printer_open(printer, '{');
        printer_member(printer, "name", name);
        printer_member(printer, "uri", identity->uri);
        printer_member_open(printer, "digest", '{');
        printer_member(printer, "sha256", digest_to_hex(identity->digest, hex));
        printer_close(printer, '}');
}
