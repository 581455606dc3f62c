/* SPDX-License-Identifier: Apache-2.0 */

/*
 * CloudEvent
 *
 * A record as an event of CloudEvents 1.0.2 in its JSON format. The attributes are hints to route by, and nobody signed them; what is
 * signed is the data, the envelope byte for byte. Source and id are one for each record, so a second delivery is seen as one.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/statement.h"

#define URN "urn:"

/* "org.assay.attestation.health.v1" of "urn:assay:attestation:health:v1": types of events begin with a domain, back to front. */
static void print_type(Printer *printer, const char *type) {
        char text[sizeof(((RecordEntry *) NULL)->type) + 4];

        (void) snprintf(text, sizeof(text), "org.%s", strncmp(type, URN, strlen(URN)) == 0 ? type + strlen(URN) : type);
        for (char *colon = text; (colon = strchr(colon, ':'));)
                *colon = '.';
        printer_member(printer, "type", text);
}

int record_cloudevent(const char *source, const RecordVerified *verified, const char *envelope, size_t n, char **ret, size_t *ret_n) {
        _cleanup_json_ json_t *statement = NULL;
        _cleanup_printer_ Printer p = {};
        char sequence[24];
        const char *why;
        int r;

        r = json_read(verified->payload, verified->n_payload, &statement, &why);
        if (r < 0)
                return r;
        (void) snprintf(sequence, sizeof(sequence), "%020" PRIu64, verified->entry.index);

        printer_open(&p, '{');
        printer_member(&p, "specversion", "1.0");
        printer_member(&p, "id", verified->entry.id);
        printer_member(&p, "source", source);
        print_type(&p, verified->entry.type);
        printer_member(&p, "subject", text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri"));
        timestamp_print(&p, "time", verified->entry.finished_usec);
        printer_member(&p, "sequence", sequence); /* an extension: as text it sorts as the log does */
        printer_member(&p, "datacontenttype", "application/vnd.dsse.envelope.v1+json");
        printer_key(&p, "data");
        printer_raw(&p, envelope, n);
        printer_close(&p, '}');
        if (p.error < 0)
                return p.error;
        *ret_n = p.n;
        *ret = TAKE_PTR(p.text);
        return 0;
}
