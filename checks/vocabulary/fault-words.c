/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/vocabulary/fault-words.h"

#include <assert.h>
#include <string.h>

#include "checks/text/cleanup.h"

static const char *const memory[] = {
        "stuck-at", "comparator-blind", "decoder", "linked", "stuck-open", "neighbourhood", "state",
        "transition", "write-disturb", "read-destructive", "deceptive-read", "incorrect-read",
        "coupling-state", "coupling-disturb", "coupling-transition", "coupling-write-disturb",
        "coupling-read-destructive", "coupling-deceptive-read", "coupling-incorrect-read",
        "coupling-inversion", "coupling-idempotent", "dynamic-read-destructive", "dynamic-deceptive-read",
        "dynamic-incorrect-read", "dynamic-write", "dynamic-read-write", "dynamic-coupling-disturb",
        "dynamic-coupling-read-destructive", "dynamic-coupling-deceptive-read",
        "dynamic-coupling-incorrect-read", "row-dead", "sub-wordline", "bit-line", "column-select",
        "bank-dead", "pseudo-channel-dead", "channel-dead", "die-dead", "stack-dead", "data-tsv",
        "lane-stuck", "wordline-short", "address-tsv", "ecc-off", "ecc-silent", "stale-reads",
        "repair-fails", "retention", "hammer", "soft-error", "map-wrong", "sram-row-dead", "sram-column",
        "sram-partition-dead", "sram-array-dead", "sram-ecc-silent", "sram-ecc-off",
        NULL,
};

static const char *const compute[] = {
        "weight-stuck", "activation-stuck", "product-stuck", "psum-stuck", "weight-shift-stuck",
        "activation-slow", "product-slow", "psum-slow", "multiplier-gate-stuck", "adder-carry-stuck",
        "pe-row-dead", "pe-column-dead", "pe-block-dead", "row-lane-stuck", "column-lane-stuck",
        "format-wrong", "format-refused", "tag-stuck", "tag-lane-stuck", "tag-stale", "compressed-swapped",
        "decoder-stuck", "select-dead", "select-leg-stuck", "select-bridged", "ratio-wrong", "mode-refused",
        "psum-address-stuck", "accumulate-stuck", "reset-ignored", "seed-lost-after-reset", "seed-ignored",
        "lane-seed-shared", "lane-seed-shifted", "rng-lock-up", "rng-short-cycle", "rng-bits-swapped",
        "rng-bits-tied", "rng-bit-stuck", "sr-few-bits", "sr-off", "sr-on", "field-width", "sr-sign",
        "round-carry-lost", "subnormal-flushed", "convert-stuck",
        NULL,
};

static const char *const links[] = {
        "lanes-crossed", "lane-skewed", "lane-inverted", "bit-errors", "burst-errors", "clock-slips",
        "crosstalk", "eye-closed", "lane-dead", "link-one-way", "link-down", "link-narrowed", "link-slowed",
        "link-throttled", "link-flaps", "link-counter-stuck", "link-counter-runs-back",
        "link-counter-wraps", "cable-broken", "cable-label", "cable-moved", "cable-serial", "cable-swapped",
        "cable-unplugged", "loopback-plug", "ring-reversed", "frames-false", "packet-loss",
        "packet-corruption", "packet-duplicate", "packet-misdelivery", "path-drops", "receiver-not-ready",
        "path-delay", "nic-slow", "unresponsive", "single-path", "packet-flood", "nic-counter-stuck",
        "nic-counter-runs-back", "nic-counter-wraps", "fabric-path-drops", "nic-clock-off",
        "nic-clock-pace", "cable-loss", "reduce-stuck-bit", "dma-corrupt", "collective-stall",
        "semaphore-lost", "chip-slow", "link-stall", "host-link-narrowed", "host-link-slowed",
        "host-link-throttled", "host-link-errors",
        NULL,
};

static const char *const telemetry[] = {
        "hang", "garble", "device-missing", "serial-duplicate", "firmware-mismatch", "position-mismatch",
        "serial-mismatch", "ecc-errors", "counter-stuck", "heartbeat-stalled", "overheat",
        "component-unhealthy",
        NULL,
};

static const struct {
        const char *name;
        const char *const *kinds;
} families[] = { { "memory", memory }, { "compute", compute }, { "links", links }, { "telemetry", telemetry } };

const char *fault_word_at(size_t index, const char **ret_family) {
        for (size_t f = 0; f < ELEMENTS(families); f++)
                for (const char *const *kind = families[f].kinds; *kind; kind++)
                        if (index-- == 0) {
                                if (ret_family)
                                        *ret_family = families[f].name;
                                return *kind;
                        }

        return NULL;
}

const char *fault_word_find(const char *name) {
        const char *kind;

        assert(name);

        for (size_t f = 0; f < ELEMENTS(families); f++)
                if (strcmp(families[f].name, name) == 0)
                        return families[f].name;
        for (size_t i = 0; (kind = fault_word_at(i, NULL)); i++)
                if (strcmp(kind, name) == 0)
                        return kind;

        return NULL;
}
