/* SPDX-License-Identifier: Apache-2.0 */

/* The settings of a witness, parts of which are handed from one to another: taken, with every log found by its name, or refused with a sentence. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/witness/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                    \
        do {                                                                                                \
                if (!(condition))                                                                           \
                        abort();                                                                            \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(settings_freep) Settings *settings = NULL;
        _cleanup_free_ char *wrong = NULL;
        int r;

        r = settings_parse((const char *) data, size, &settings, &wrong);
        if (r < 0) {
                HOLDS(r == -EINVAL && wrong && !settings);
                for (const char *p = wrong; *p; p++)
                        HOLDS((unsigned char) *p >= ' ');
                return 0;
        }
        for (size_t i = 0; i < settings->n_logs; i++) {
                const SettingsLog *found = settings_find_log(settings, settings->logs[i].name);

                HOLDS(found && found <= &settings->logs[i] && strcmp(found->name, settings->logs[i].name) == 0);
        }
        return 0;
}
