/* SPDX-License-Identifier: Apache-2.0 */

/* Own keys: see own-keys.h. */

#include "cli/bus/own-keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/complaint.h"
#include "cli/bus/reply.h"
#include "cli/terminal/say.h"
#include "daemon/names.h"

static int print_witnesses(sd_bus_message *reply, char **ret_lines, unsigned *ret_n) {
        const char *vkey;
        size_t size;
        FILE *lines;
        int r;

        lines = open_memstream(ret_lines, &size);
        if (!lines)
                return -errno;
        r = sd_bus_message_enter_container(reply, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &vkey)) > 0)
                fprintf(lines, "witness w%u %s\n", ++*ret_n, vkey);
        return fclose(lines) != 0 ? -ENOMEM : r;
}

int own_keys_witnesses(sd_bus *bus, char **ret_lines, unsigned *ret_n) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        *ret_n = 0;
        r = reply_property(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "Witnesses", &error, "as", &reply);
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_PROPERTY)) {
                *ret_lines = strdup("");
                return *ret_lines ? 0 : complain(STATUS_CANNOT_TELL, "out of memory");
        }
        if (r >= 0)
                r = print_witnesses(reply, ret_lines, ret_n);
        return r < 0 ? complain_bus(&error, r, "could not read the daemon's witnesses") : 0;
}

int own_keys(sd_bus *bus, bool is_witnessed, RecordKeyring **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL, ignored = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *pem = NULL, *vkey = NULL, *witnesses = NULL, *text = NULL;
        unsigned n_witnesses;
        int r, n;

        r = reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "PublicKeys", &error, &pem);
        if (r < 0)
                return complain_bus(&error, r, "could not read the daemon's public key");
        if (is_witnessed && (r = own_keys_witnesses(bus, &witnesses, &n_witnesses)) != 0)
                return r;
        if (reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogKey", &ignored, &vkey) >= 0 && *vkey)
                n = asprintf(&text, "%s\nlog %s\n%squorum none\n", pem, vkey, witnesses ?: "");
        else
                n = asprintf(&text, "%s", pem);
        r = n < 0 ? -ENOMEM : record_keyring_parse(text, (size_t) n, ret);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "the daemon's public key cannot be read: %s", strerror(-r)) : 0;
}
