/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/parameters.h"

#include <assert.h>
#include <string.h>

#include "checks/memory/march/failures.h"
#include "checks/plan/plan.h"

extern const YamlField parameters_hbm[];
extern const size_t parameters_hbm_bytes;
extern const void *const parameters_hbm_defaults;
const char *parameters_hbm_refuse(const void *parameters);

static const char *const order_words[_MEMORY_ORDER_MAX] = {
        [MEMORY_ORDER_COLUMN_FAST] = "column",
        [MEMORY_ORDER_ROW_FAST]    = "row",
        [MEMORY_ORDER_BANK_FAST]   = "bank",
};

static const char *const phase_words[_HBM_DO_MAX] = {
        [HBM_DO_MARCH]     = "march",
        [HBM_DO_ADDRESS]   = "address",
        [HBM_DO_WALKING]   = "walking",
        [HBM_DO_RANDOM]    = "random",
        [HBM_DO_HAMMER]    = "hammer",
        [HBM_DO_RETENTION] = "retention",
        [HBM_DO_ECC]       = "ecc",
};

static const char *const repair_words[_HBM_REPAIR_MAX + 1] = {
        [HBM_REPAIR_NONE] = "none", [HBM_REPAIR_VERIFY] = "verify", [HBM_REPAIR_REQUEST] = "request",
};

/* March SS solid, then MATS++ by address: what preflight asks for, see hbm.c. */
static const HbmParameters defaults = {
        .phases      = UINT32_C(1) << HBM_DO_MARCH,
        .march       = MARCH_DEFAULT,
        .others      = MARCH_OTHERS_DEFAULT,
        .backgrounds = { 2, { MARCH_BACKGROUND_SOLID, MARCH_BACKGROUND_ADDRESS } },
        .orders      = { 1, { MEMORY_ORDER_COLUMN_FAST } },
        .hammer      = { .activations = 12000 },
        .retention   = { 4, { 64, 128, 256, 512 } },
        .repeats     = 2,
        .random      = 48,
        .findings    = 32,
        .mismatches  = 1024,
        .pause_sec   = 0.1,
        .seconds     = 1,
};

/* The index of a word, once for each: SEEN has a bit for those before. */
static int read_word(Yaml *yaml, yaml_node_t *item, const char *const *words, unsigned n, const char *what, uint32_t *seen) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, item, what, &text);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < n; i++)
                if (strcmp(words[i], text) == 0) {
                        if (*seen >> i & 1)
                                return yaml_refuse(yaml, item, 0, "'%s' is there twice", text);
                        *seen |= UINT32_C(1) << i;
                        return (int) i;
                }

        return yaml_refuse(yaml, item, 0, "'%.60s' is not one of: %s", text, what);
}

#define PHASES "march, address, walking, random, hammer, retention, ecc"
#define ORDERS "column, row, bank"

static int read_phase(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        int r = read_word(yaml, item, phase_words, _HBM_DO_MAX, PHASES, userdata);

        return r < 0 ? r : 0;
}

static int read_phases(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        uint32_t phases = 0;
        int r;

        r = yaml_items(yaml, node, _HBM_DO_MAX, "a list of phases", read_phase, &phases);
        if (r < 0)
                return r;
        if (phases == 0)
                return yaml_refuse(yaml, node, 0, "expected at least one phase of: " PHASES);

        *(uint32_t *) ret = phases;
        return 0;
}

typedef struct OrdersSeen {
        HbmOrders orders;
        uint32_t seen;
} OrdersSeen;

static int read_order(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        OrdersSeen *seen = userdata;
        int r;

        r = read_word(yaml, item, order_words, _MEMORY_ORDER_MAX, ORDERS, &seen->seen);
        if (r < 0)
                return r;
        seen->orders.orders[seen->orders.n++] = (MemoryOrder) r;
        return 0;
}

/* One word, or a list. */
static int read_orders(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        OrdersSeen seen = {};
        int r;

        if (node->type == YAML_SCALAR_NODE)
                r = read_order(yaml, node, 0, &seen);
        else
                r = yaml_items(yaml, node, _MEMORY_ORDER_MAX, "a list of orders", read_order, &seen);
        if (r < 0)
                return r;
        if (seen.orders.n == 0)
                return yaml_refuse(yaml, node, 0, "expected at least one order of: " ORDERS);

        *(HbmOrders *) ret = seen.orders;
        return 0;
}

static int read_pause(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        static const YamlField field = {
                .name = "retention", .type = YAML_TYPE_NUMBER, .low = 1, .high = HBM_GUARANTEE_MSEC,
        };
        HbmPauses *pauses = userdata;
        double value;
        int r;

        r = yaml_read_value(yaml, item, &field, &value, NULL);
        if (r < 0)
                return r;
        if (pauses->n > 0 && value <= pauses->msec[pauses->n - 1])
                return yaml_refuse(yaml, item, 0, "pauses ascend: %g ms is not longer than %g ms", value,
                                   pauses->msec[pauses->n - 1]);
        pauses->msec[pauses->n++] = value;
        return 0;
}

static int read_pauses(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        HbmPauses pauses = {};
        int r;

        r = yaml_items(yaml, node, HBM_PAUSES_MAX, "a list of milliseconds", read_pause, &pauses);
        if (r < 0)
                return r;
        if (pauses.n == 0)
                return yaml_refuse(yaml, node, 0, "expected at least one pause");

        *(HbmPauses *) ret = pauses;
        return 0;
}

static const YamlField hammer_fields[] = {
        YAML_UNSIGNED("activations", HbmHammerParameters, activations, 1, HBM_GUARANTEE_OPENINGS - 1,
                      .summary = "openings of the rows beside a victim between two refreshes; sound rows bear 15000"),
        YAML_UNSIGNED("open", HbmHammerParameters, open_nsec, 0, 35100,
                      .summary = "nanoseconds that a row stays open beyond tRAS each time; then fewer openings do the same"),
        YAML_UNSIGNED("rows", HbmHammerParameters, rows, 0, UINT16_MAX, .summary = "victims in every bank; 0: all rows"),
        {}
};

const YamlField parameters_hbm[] = {
        YAML_CUSTOM("phases", HbmParameters, phases, read_phases, .summary = "a list of: " PHASES),
        YAML_CUSTOM("march", HbmParameters, march, march_yaml_test,
                    .summary = "test on the first background: a name such as March SS, or a notation"),
        YAML_CUSTOM("others", HbmParameters, others, march_yaml_test, .summary = "test on each further background"),
        YAML_CUSTOM("backgrounds", HbmParameters, backgrounds, march_yaml_backgrounds, .summary = "a list of: " MARCH_BACKGROUNDS),
        YAML_CUSTOM("order", HbmParameters, orders, read_orders, .summary = "what moves fastest, one or a list of: " ORDERS),
        YAML_BOOLEAN("ecc", HbmParameters, ecc, .summary = "march through on-die correction, not beside it"),
        YAML_WORD("repair", HbmParameters, repair, repair_words,
                  .summary = "none; verify: prove rows that were repaired; request: that, and ask for the repair of rows that fail, "
                             "at the next reset"),
        YAML_STRUCT("hammer", HbmParameters, hammer, hammer_fields, .summary = "how rows are hammered"),
        YAML_CUSTOM("retention", HbmParameters, retention, read_pauses,
                    .summary = "pauses without refresh in ms as if at 45 degrees Celsius, half as long with every 10 more; "
                               "no sound cell must hold longer than 512"),
        YAML_UNSIGNED("repeats", HbmParameters, repeats, 1, 8, .summary = "of every pass of the phases hammer, retention and ecc"),
        YAML_UNSIGNED("random", HbmParameters, random, 1, 60, .summary = "passes of the phase random, each with other data"),
        YAML_UNSIGNED("bytes", HbmParameters, bytes, 0, UINT64_C(1) << 50,
                      .summary = "how much of the chip, from row 0 of every bank on; 0: all"),
        YAML_UNSIGNED("findings", HbmParameters, findings, 1, 200,
                      .summary = "the most findings, but for one of each kind and stack, which tells the number of others like it"),
        YAML_UNSIGNED("mismatches", HbmParameters, mismatches, 16, 65536,
                      .summary = "the most mismatches asked back per element and stack"),
        YAML_NUMBER("pause", HbmParameters, pause_sec, 0, HBM_GUARANTEE_MSEC / 1000,
                    .summary = "seconds of each Del, as if at 45 degrees Celsius like those of retention"),
        YAML_UNSIGNED("slices", HbmParameters, slices, 0, 256,
                      .summary = "cut the rows of each SID into so many and test some of them, around live data; 0: test all"),
        YAML_NUMBER("seconds", HbmParameters, seconds, 0.001, 1e6,
                    .summary = "device seconds for the slices of one scan, at least one slice"),
        {}
};
const size_t parameters_hbm_bytes = sizeof(HbmParameters);
const void *const parameters_hbm_defaults = &defaults;

bool hbm_parameters_fill(const HbmParameters *parameters, HbmPhaseWord phase) {
        const uint32_t plain = 1u << HBM_DO_MARCH | 1u << HBM_DO_ADDRESS | 1u << HBM_DO_RANDOM;
        const uint32_t marches = plain | 1u << HBM_DO_HAMMER | 1u << HBM_DO_RETENTION; /* these by their control */
        uint32_t before = parameters->phases & ((1u << phase) - 1);

        return marches >> phase & 1 && (before == 0 || !(plain >> (31 - __builtin_clz(before)) & 1));
}

unsigned hbm_parameters_passes(const HbmParameters *parameters) {
        unsigned repeats = (unsigned) parameters->repeats;
        const unsigned of[_HBM_DO_MAX] = {
                [HBM_DO_MARCH]     = parameters->orders.n * parameters->backgrounds.n,
                [HBM_DO_ADDRESS]   = 1,
                [HBM_DO_WALKING]   = 1,
                [HBM_DO_RANDOM]    = (unsigned) parameters->random,
                [HBM_DO_HAMMER]    = 1 + repeats * 4,
                [HBM_DO_RETENTION] = 1 + repeats * 2 * parameters->retention.n,
                [HBM_DO_ECC]       = repeats * 3,
        };
        unsigned n = 0;

        for (unsigned phase = 0; phase < _HBM_DO_MAX; phase++)
                if (parameters->phases >> phase & 1)
                        n += of[phase] + hbm_parameters_fill(parameters, (HbmPhaseWord) phase);
        return n;
}

const char *parameters_hbm_refuse(const void *given) {
        const HbmParameters *parameters = given;

        static_assert(MARCH_STEP_PASSES_MAX == 64, "the sentence says so");
        if (hbm_parameters_passes(parameters) > MARCH_STEP_PASSES_MAX)
                return "these parameters ask for more than 64 passes, expected fewer phases, orders, backgrounds, pauses or repeats";
        if (parameters->slices > 0 && parameters->phases & ~(1u << HBM_DO_MARCH | 1u << HBM_DO_ADDRESS))
                return "only the phases march and address go around live data, expected no others beside slices";
        if (parameters->slices > 0 && parameters->repair != HBM_REPAIR_NONE)
                return "repairs do not go around live data, expected repair: none beside slices";
        return NULL;
}
