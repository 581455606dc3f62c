/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Claim: which client scans the chip, attribute assay/claim of wire.h. A reset leaves it alone: it is the driver's and not the chip's.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/chip/model.h"

extern const Model model_claim;

typedef struct Claim {
        const void *client; /* who holds it; NULL: nobody */
} Claim;

static int read_claim(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const Claim *claim = state;

        (void) snprintf(text, size, "%d", claim->client != NULL);
        return 0;
}

static int write_claim(void *state, Chip *chip, unsigned index, const char *text) {
        Claim *claim = state;

        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
                return -EINVAL;
        if (claim->client && claim->client != chip_client(chip))
                return -EBUSY;
        claim->client = text[0] == '1' ? chip_client(chip) : NULL;
        return 0;
}

static void release(void *state, const void *client) {
        Claim *claim = state;

        if (claim->client == client)
                claim->client = NULL;
}

static const Attribute attributes[] = {
        { "assay/claim", read_claim, write_claim },
        {},
};

const Model model_claim = {
        .name       = "claim",
        .part       = LOCATION_CHIP,
        .state_size = sizeof(Claim),
        .attributes = attributes,
        .release    = release,
};
