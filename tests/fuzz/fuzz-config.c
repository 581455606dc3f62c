/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration of assayd: whatever stands in the file, it is read whole or refused with a position. */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Config *config = NULL;
        char *wrong = NULL;
        int r;

        r = config_parse("config", (const char *) data, size, &config, &wrong);
        if (r < 0)
                assert(!config && wrong && strncmp(wrong, "config:", 7) == 0);
        else
                assert(config && !wrong && config->n_servers > 0 && config->origin && config->producer);

        (void) config_free(config);
        free(wrong);
        return 0;
}
