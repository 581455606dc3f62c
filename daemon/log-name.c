/* SPDX-License-Identifier: Apache-2.0 */

/* Log name: see log-name.h. */

#include "daemon/log-name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <systemd/sd-id128.h>

#include "daemon/journal.h"
#include "daemon/record/record.h"

/* It tells machine IDs that are derived for assay from those of other programs; from sd_id128_randomize() once. */
static const sd_id128_t application = SD_ID128_MAKE(5b, 0f, 3c, 8e, d1, 94, 4a, 27, 9e, 60, 7c, 12, af, 85, e3, 49);

static bool names_one_host(const char *name) {
        return name[0] && strncmp(name, "localhost", strlen("localhost")) != 0 &&
               strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == strlen(name);
}

static int name_after_host(char **ret) {
        char host[HOST_NAME_MAX + 1] = "";
        sd_id128_t id;
        int r;

        if (gethostname(host, sizeof(host) - 1) == 0 && names_one_host(host))
                return asprintf(ret, "%s/assayd", host) < 0 ? -ENOMEM : 0;
        r = sd_id128_get_machine_app_specific(application, &id);
        if (r < 0)
                return r;
        return asprintf(ret, "machine-" SD_ID128_FORMAT_STR "/assayd", SD_ID128_FORMAT_VAL(id)) < 0 ? -ENOMEM : 0;
}

static int find_origin(const Config *config, char **ret) {
        _cleanup_free_ char *wrong = NULL;
        int r;

        r = record_log_read_origin(config->store, ret, &wrong);
        if (r < 0 && r != -ENOENT)
                log_error("Failed to read the origin of the log %s: %s", config->store, wrong ?: strerror(-r));
        if (r != -ENOENT)
                return r;
        r = name_after_host(ret);
        if (r < 0)
                return log_error_errno(r, "Failed to name the log after this machine, give it an `origin:` in the configuration: %m");
        log_info("A new log begins, named %s after this host; `origin:` in the configuration gives a new log another name", *ret);
        return 0;
}

int log_name(Config *config) {
        int r;

        if (!config->origin) {
                r = find_origin(config, &config->origin);
                if (r < 0)
                        return r;
        }
        if (!config->producer && asprintf(&config->producer, "https://%s", config->origin) < 0) {
                config->producer = NULL;
                return log_error_errno(-ENOMEM, "Failed to name the producer: %m");
        }
        return 0;
}
