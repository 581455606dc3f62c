/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Structural faults against a model that keeps every bit: random small geometries, rows, columns, dies and lanes that cross
 * and lie within each other, some cells, marches, copies. Each log must be the same, entry by entry. The plain model
 * below shares nothing with either side of the port but wire.h.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-stack.h"
#include "tests/sim/plain-march.h"

#define CASES      400
#define CASES_FEW  600
#define COMMANDS   14
#define CELLS_MAX  4096 /* accesses of the plain model */
#define FAULTS_MAX 12
#define LOG_MAX    (CELLS_MAX * 8)

/* Where a fault sits: which coordinates are its own, and what is special. In the order in which data meet them. */
typedef enum PlainKind {
        PLAIN_CELL,
        PLAIN_ROW,
        PLAIN_SUB_WORDLINE,
        PLAIN_BIT_LINE,
        PLAIN_COLUMN,
        PLAIN_BANK,
        PLAIN_PSEUDO_CHANNEL,
        PLAIN_CHANNEL,
        PLAIN_DIE,
        PLAIN_STACK,
        PLAIN_TSV,
        PLAIN_LANE,
        PLAIN_SHORT,
        PLAIN_ADDRESS,
        PLAIN_STALE,
        PLAIN_BLIND,
        PLAIN_KINDS,
} PlainKind;

static const struct {
        const char *name;
        const char *axes; /* digits of MemoryAxis that its location names */
} kind_words[PLAIN_KINDS] = {
        [PLAIN_CELL]           = { "stuck-at", "0123456" },
        [PLAIN_ROW]            = { "row-dead", "012345" },
        [PLAIN_SUB_WORDLINE]   = { "sub-wordline", "012345" },
        [PLAIN_BIT_LINE]       = { "bit-line", "012346" },
        [PLAIN_COLUMN]         = { "column-select", "012346" },
        [PLAIN_BANK]           = { "bank-dead", "01234" },
        [PLAIN_PSEUDO_CHANNEL] = { "pseudo-channel-dead", "01" },
        [PLAIN_CHANNEL]        = { "channel-dead", "0" },
        [PLAIN_DIE]            = { "die-dead", "" },
        [PLAIN_STACK]          = { "stack-dead", "" },
        [PLAIN_TSV]            = { "data-tsv", "012" },
        [PLAIN_LANE]           = { "lane-stuck", "01" },
        [PLAIN_SHORT]          = { "wordline-short", "012345" },
        [PLAIN_STALE]          = { "stale-reads", "01234" },
        [PLAIN_ADDRESS]        = { "address-tsv", "012" },
        [PLAIN_BLIND]          = { "comparator-blind", "" },
};

typedef struct PlainFault {
        Fault fault;
        PlainKind kind;
        uint64_t parameters[2]; /* room for either struct of the kinds */
        uint16_t at[7];
        unsigned bit; /* lane, sub-wordline, subarray … */
        unsigned number;
        unsigned how; /* value, or 0 zeros, 1 ones, 2 inverted */
        bool present;
        bool active;
} PlainFault;

typedef struct Plain {
        uint16_t size[7];
        unsigned n, subarray_rows;
        bool few; /* kinds of faults, in smaller stacks: they meet more often */
        bool spent; /* this bank's spare rows are */
        uint16_t spent_bank[5];
        uint8_t holds[CELLS_MAX][32];
        uint8_t meant[CELLS_MAX][32];
        uint8_t past[CELLS_MAX][32]; /* what was meant before the last write */
        PlainFault faults[FAULTS_MAX];
        uint64_t corrected, uncorrected, repairable;
        WireMismatch log[LOG_MAX];
        size_t n_log;
} Plain;

static bool covers(const Plain *plain, const PlainFault *fault, const uint16_t at[7]) {
        if (fault->kind == PLAIN_DIE && (at[0] / 4u != fault->number % 4 || at[2] != fault->number / 4))
                return false;
        if (fault->kind == PLAIN_BIT_LINE && at[5] / plain->subarray_rows != fault->number)
                return false;
        for (const char *axis = kind_words[fault->kind].axes; *axis; axis++)
                if (fault->at[*axis - '0'] != at[*axis - '0'])
                        return false;
        return true;
}

/* Cells that are stuck take what they are stuck at: when a command begins, and when they are written. */
static void plain_settle(Plain *plain, const uint16_t at[7]) {
        for (unsigned i = 0; i < FAULTS_MAX; i++) {
                const PlainFault *fault = &plain->faults[i];

                if (fault->present && fault->active && fault->kind == PLAIN_CELL && covers(plain, fault, at))
                        set_bit(plain->holds[plain_index(plain->size, at)], fault->bit, fault->how);
        }
}

/* From an address to where it leads. */
static void plain_lead(const Plain *plain, const uint16_t address[7], uint16_t ret[7]) {
        memcpy(ret, address, 7 * sizeof(ret[0]));
        for (unsigned i = 0; i < FAULTS_MAX; i++) {
                const PlainFault *fault = &plain->faults[i];

                if (fault->present && fault->active && fault->kind == PLAIN_ADDRESS && covers(plain, fault, address))
                        ret[fault->number] = (uint16_t) ((ret[fault->number] & ~(1u << fault->bit)) | fault->how << fault->bit);
        }
}

static bool is_stale(const Plain *plain, const uint16_t at[7]) {
        for (unsigned i = 0; i < FAULTS_MAX; i++)
                if (plain->faults[i].present && plain->faults[i].kind == PLAIN_STALE &&
                    memcmp(plain->faults[i].at, at, plain->faults[i].number * sizeof(at[0])) == 0)
                        return true;
        return false;
}

static void plain_hold(Plain *plain, const uint16_t at[7], const uint8_t bytes[32]) {
        unsigned index = plain_index(plain->size, at);

        memcpy(plain->past[index], plain->meant[index], 32);
        memcpy(plain->holds[index], bytes, 32);
        memcpy(plain->meant[index], bytes, 32);
        plain_settle(plain, at);
}

static void plain_give(const Plain *plain, const uint16_t at[7], uint8_t ret[32], uint8_t ret_meant[32]) {
        unsigned index = plain_index(plain->size, at);
        bool stale = is_stale(plain, at);

        memcpy(ret, stale ? plain->past[index] : plain->holds[index], 32);
        memcpy(ret_meant, stale ? plain->past[index] : plain->meant[index], 32);
}

/* What is opened together with that row: the wired function, with its place in *ret; NULL where nothing is. */
static const PlainFault *plain_short(const Plain *plain, const uint16_t at[7], uint16_t ret[7]) {
        for (unsigned i = 0; i < FAULTS_MAX; i++) {
                const PlainFault *fault = &plain->faults[i];

                if (!fault->present || !fault->active || fault->kind != PLAIN_SHORT ||
                    memcmp(fault->at, at, 5 * sizeof(at[0])) != 0)
                        continue;
                memcpy(ret, at, 7 * sizeof(ret[0]));
                if (at[5] == fault->at[5])
                        ret[5] = (uint16_t) fault->number;
                else if (at[5] == fault->number)
                        ret[5] = fault->at[5];
                else
                        continue;
                return fault;
        }
        return NULL;
}

static void plain_write(Plain *plain, const uint16_t address[7], const uint8_t bytes[32]) {
        uint16_t at[7], other[7];

        plain_lead(plain, address, at);
        plain_hold(plain, at, bytes);
        if (plain_short(plain, at, other))
                plain_hold(plain, other, bytes);
}

/* Whether the fault has to do with that bit of an access that it covers. */
static bool strikes(const PlainFault *fault, unsigned bit) {
        if (fault->kind == PLAIN_SUB_WORDLINE)
                return bit / 16 == fault->number;
        if (fault->kind == PLAIN_TSV || fault->kind == PLAIN_LANE)
                return bit % 32 == fault->number;
        return bit == fault->bit || location_kind(&fault->fault.at) != LOCATION_BIT;
}

static void plain_pass(const Plain *plain, const uint16_t at[7], PlainKind first, PlainKind last, uint8_t bytes[32]) {
        for (PlainKind kind = first; kind <= last; kind++)
                for (unsigned i = 0; i < FAULTS_MAX; i++) {
                        const PlainFault *fault = &plain->faults[i];

                        if (!fault->present || !fault->active || fault->kind != kind || !covers(plain, fault, at))
                                continue;
                        for (unsigned bit = 0; bit < 256; bit++)
                                if (strikes(fault, bit))
                                        set_bit(bytes, bit, fault->how == 2 ? !get_bit(bytes, bit) : fault->how);
                }
}

/* ---- the code of sim/hbm/ecc.c in the words of a textbook: products of polynomials, solved equations, every place tried ---- */

static uint16_t product(uint32_t a, uint32_t b) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < 16; i++)
                if (b >> i & 1)
                        sum ^= (uint64_t) a << i;
        for (unsigned i = 31; i >= 16; i--)
                if (sum >> i & 1)
                        sum ^= UINT64_C(0x1100b) << (i - 16);
        return (uint16_t) sum;
}

static uint16_t power(uint16_t x, unsigned n) {
        uint16_t value = 1;

        for (; n > 0; n >>= 1, x = product(x, x))
                if (n & 1)
                        value = product(value, x);
        return value;
}

static void parities(const uint16_t word[18], uint16_t ret[2]) {
        ret[0] = ret[1] = 0;
        for (unsigned i = 0; i < 18; i++) {
                ret[0] ^= word[i];
                ret[1] ^= product(word[i], power(2, i));
        }
}

/* The word that was written: 16 symbols of data and the two that make both parities zero. */
static void encode(const uint8_t bytes[32], uint16_t ret[18]) {
        uint16_t rest[2], a = power(2, 16), b = power(2, 17);

        memset(ret, 0, 18 * sizeof(ret[0]));
        for (unsigned i = 0; i < 32; i++)
                ret[i / 2] |= (uint16_t) (bytes[i] << 8 * (i % 2));
        parities(ret, rest);
        ret[17] = product(rest[1] ^ product(rest[0], a), power(a ^ b, 65534));
        ret[16] = ret[17] ^ rest[0];
}

static void plain_ecc(Plain *plain, bool spare, const uint8_t meant[32], uint8_t bytes[32]) {
        uint16_t word[18], rest[2], error;

        if (memcmp(meant, bytes, 32) == 0)
                return;
        encode(meant, word);
        for (unsigned i = 0; i < 16; i++)
                word[i] = (uint16_t) (bytes[2 * i] | bytes[2 * i + 1] << 8);
        parities(word, rest);
        if (rest[0] == 0 && rest[1] == 0)
                return;

        error = rest[0];
        for (unsigned place = 0; place < 18 && error; place++) {
                word[place] ^= error;
                parities(word, rest);
                if (rest[0] == 0 && rest[1] == 0) {
                        for (unsigned i = 0; i < 32; i++)
                                bytes[i] = (uint8_t) (word[i / 2] >> 8 * (i % 2));
                        plain->corrected++;
                        return;
                }
                word[place] ^= error;
        }

        if (spare)
                plain->repairable++;
        else
                plain->uncorrected++;
}

static bool is_spent(const Plain *plain, const uint16_t at[7]) {
        return plain->spent && memcmp(plain->spent_bank, at, sizeof(plain->spent_bank)) == 0;
}

static void plain_read(Plain *plain, const uint16_t address[7], bool ecc, uint8_t ret[32]) {
        const PlainFault *fault;
        uint16_t at[7], other[7];
        uint8_t meant[32], a[32], b[32];

        plain_lead(plain, address, at);
        plain_give(plain, at, ret, meant);

        fault = plain_short(plain, at, other);
        if (fault) {
                plain_give(plain, other, a, b);
                for (unsigned i = 0; i < 32; i++) {
                        ret[i] = (uint8_t) (fault->how ? ret[i] | a[i] : ret[i] & a[i]);
                        meant[i] = (uint8_t) (fault->how ? meant[i] | b[i] : meant[i] & b[i]);
                }
        }

        plain_pass(plain, at, PLAIN_ROW, PLAIN_STACK, ret);
        if (ecc)
                plain_ecc(plain, !is_spent(plain, at), meant, ret);
        plain_pass(plain, at, PLAIN_TSV, PLAIN_LANE, ret);
}

static bool plain_is_blind(const Plain *plain, unsigned data) {
        for (unsigned i = 0; i < FAULTS_MAX; i++)
                if (plain->faults[i].present && plain->faults[i].active && plain->faults[i].kind == PLAIN_BLIND &&
                    (plain->faults[i].how == 2 || plain->faults[i].how == data))
                        return true;
        return false;
}

static void plain_march_access(Plain *plain, const WireMarch *march, const uint16_t at[7]) {
        for (unsigned op = 0; op < march->n_ops; op++) {
                uint8_t wanted[32], got[32];

                plain_data(plain->size, march, at, march->ops[op], wanted);
                if (march->ops[op] & MARCH_WRITE) {
                        plain_write(plain, at, wanted);
                        continue;
                }

                plain_read(plain, at, march->ecc, got);
                if (memcmp(got, wanted, 32) != 0 && !plain_is_blind(plain, march->ops[op] & 1)) {
                        WireMismatch *mismatch = &plain->log[plain->n_log++];

                        assert_true(plain->n_log <= LOG_MAX);
                        memcpy(mismatch->at, at, sizeof(mismatch->at));
                        mismatch->op = (uint16_t) op;
                        memcpy(mismatch->actual, got, 32);
                }
        }
}

static void plain_march(Plain *plain, const WireMarch *march) {
        plain->n_log = 0;
        for (unsigned k = 0; k < plain_volume(&march->box); k++) {
                uint16_t at[7];

                plain_visit(march, k, at);
                plain_march_access(plain, march, at);
        }
}

/* ---- random things ---- */

static const FaultKind *find_kind(const char *name) {
        for (const FaultKind *const *table = model_hbm.faults; *table; table++)
                for (const FaultKind *kind = *table; kind->name; kind++)
                        if (strcmp(kind->name, name) == 0)
                                return kind;
        fail_msg("no kind is called %s", name);
        return NULL;
}

static void random_place(const Plain *plain, PlainFault *fault) {
        static const char *const words[] = { "ch", "pc", "sid", "bg", "ba", "row", "col" };
        char text[LOCATION_STRING_MAX], *p = text + sprintf(text, "us0-0/chip0/hbm0");
        bool axes[7] = {};

        for (const char *axis = kind_words[fault->kind].axes; *axis; axis++)
                axes[*axis - '0'] = true;
        if (fault->kind == PLAIN_STALE) { /* at a bank, a pseudo-channel or all of the stack */
                static const unsigned n[] = { 5, 2, 0 };

                fault->number = n[below(3)];
                for (unsigned i = fault->number; i < 7; i++)
                        axes[i] = false;
        } else if (fault->kind == PLAIN_BIT_LINE)
                fault->number = below((plain->size[5] + plain->subarray_rows - 1) / plain->subarray_rows);
        else if (fault->kind == PLAIN_DIE)
                fault->number = 4 * below(plain->size[2]) + below((plain->size[0] + 3u) / 4);
        else
                fault->number = below(fault->kind == PLAIN_SUB_WORDLINE ? 16 : 32);

        for (unsigned i = 0; i < 7; i++) {
                fault->at[i] = (uint16_t) below(plain->size[i]);
                if (i == 5 && fault->kind == PLAIN_BIT_LINE)
                        p += sprintf(p, "/sub%u", fault->number);
                if (axes[i])
                        p += sprintf(p, "/%s%u", words[i], fault->at[i]);
        }

        if (fault->kind == PLAIN_CELL || fault->kind == PLAIN_BIT_LINE || (fault->kind == PLAIN_COLUMN && below(2)))
                p += sprintf(p, "/bit%u", fault->bit);
        if (fault->kind == PLAIN_SUB_WORDLINE)
                p += sprintf(p, "/swl%u", fault->number);
        if (fault->kind == PLAIN_TSV || fault->kind == PLAIN_LANE)
                p += sprintf(p, "/dq%u", fault->number);
        if (fault->kind == PLAIN_DIE)
                p += sprintf(p, "/die%u", fault->number);
        assert_int_equal(location_parse(text, &fault->fault.at, NULL, NULL), 0);
}

static bool random_neighbour(const Plain *plain, PlainFault *fault) {
        int words[2] = { (int) below(2), (int) fault->how };

        if (fault->at[5] == (words[0] ? 0 : plain->size[5] - 1))
                return false;
        fault->number = words[0] ? fault->at[5] - 1u : fault->at[5] + 1u;
        memcpy(fault->parameters, words, sizeof(words));
        return true;
}

/* One that has two values in pairs; false where there is none. */
static bool random_line(const Plain *plain, PlainFault *fault) {
        static const char *const words[] = { [3] = "bg", [4] = "ba", [5] = "row", [6] = "col" };
        char text[16];
        int line = -1;

        fault->number = 3 + below(4);
        fault->bit = below(2) ? 0 : below(3);
        if (plain->size[fault->number] % (2u << fault->bit) != 0)
                return false;

        (void) snprintf(text, sizeof(text), "%s%u", words[fault->number], fault->bit);
        for (const YamlField *field = fault->fault.kind->parameters; field->name; field++)
                for (int i = 0; strcmp(field->name, "line") == 0 && field->words[i]; i++)
                        if (strcmp(field->words[i], text) == 0)
                                line = i;
        assert_true(line >= 0);
        memcpy(fault->parameters, &line, sizeof(line));
        fault->parameters[1] = fault->how;
        return true;
}

/* What is there now is what was there before. */
static void start_past(Plain *plain, const PlainFault *fault) {
        for (unsigned index = 0; index < plain->n; index++) {
                unsigned rest = index;
                uint16_t at[7];

                for (int i = 6; i >= 0; i--) {
                        at[i] = (uint16_t) (rest % plain->size[i]);
                        rest /= plain->size[i];
                }
                if (memcmp(fault->at, at, fault->number * sizeof(at[0])) == 0)
                        memcpy(plain->past[index], plain->meant[index], 32);
        }
}

static void random_fault(Plain *plain, Hbm *hbm, unsigned slot) {
        PlainFault *fault = &plain->faults[slot];
        static const PlainKind few[] = { PLAIN_CELL, PLAIN_ROW, PLAIN_BANK, PLAIN_LANE };
        const char *wrong;
        bool value;
        int reads;

        *fault = (PlainFault) { .bit = below(256) };
        if (plain->few)
                fault->kind = below(20) ? few[below(4)] : PLAIN_BLIND;
        else if (below(4) == 0)
                fault->kind = below(3) ? PLAIN_ADDRESS : PLAIN_STALE;
        else
                fault->kind = (PlainKind) below(below(20) ? PLAIN_BLIND : PLAIN_KINDS);
        value = fault->kind == PLAIN_CELL || fault->kind == PLAIN_TSV || fault->kind == PLAIN_LANE || fault->kind == PLAIN_SHORT ||
                        fault->kind == PLAIN_ADDRESS;
        fault->how = below(value ? 2 : 3);
        reads = (int) fault->how;
        if (value)
                fault->parameters[0] = fault->how;
        else
                memcpy(fault->parameters, &reads, sizeof(reads));

        fault->fault.kind = find_kind(kind_words[fault->kind].name);
        fault->fault.id = random_u64();
        fault->fault.persistence = below(3) ? PERSISTENCE_PERMANENT : PERSISTENCE_INTERMITTENT;
        fault->fault.parameters = fault->parameters;
        random_place(plain, fault);
        if ((fault->kind == PLAIN_ADDRESS && !random_line(plain, fault)) ||
            (fault->kind == PLAIN_SHORT && !random_neighbour(plain, fault)))
                return;
        if (fault->fault.kind->validate)
                assert_int_equal(fault->fault.kind->validate(&fault->fault, &wrong), 0);
        if (fault->kind == PLAIN_STALE)
                fault->fault.persistence = PERSISTENCE_PERMANENT;
        fault->present = model_hbm.inject(hbm, &fault->fault) == 0; /* else two on one spot */
        if (fault->present && fault->kind == PLAIN_STALE)
                start_past(plain, fault);
}

static void random_march(const Plain *plain, WireMarch *march) {
        *march = (WireMarch) {
                .box        = random_box(plain->size, below(2)),
                .order      = (uint8_t) below(_MEMORY_ORDER_MAX),
                .descending = (uint8_t) below(2),
                .background = (uint8_t) below(_MEMORY_BACKGROUND_MAX),
                .parameter  = (uint8_t) below(8),
                .ecc        = (uint8_t) below(2),
                .n_ops      = (uint8_t) (1 + below(5)),
                .seed       = below(2),
        };
        for (unsigned i = 0; i < march->n_ops; i++)
                march->ops[i] = (uint8_t) ((below(2) ? MARCH_WRITE : 0) | below(2));
        /* Many that read what the one before has written. */
        if (below(3) == 0)
                march->background = MEMORY_BACKGROUND_ADDRESS;
        else if (below(3) == 0)
                march->background = MEMORY_BACKGROUND_SOLID;
}

static void activate(Plain *plain, uint64_t number) {
        Execution execution = { .number = number };

        for (unsigned i = 0; i < FAULTS_MAX; i++)
                plain->faults[i].active = plain->faults[i].present &&
                                fault_is_active(&plain->faults[i].fault, &execution);
        for (unsigned i = 0; i < FAULTS_MAX; i++)
                if (plain->faults[i].kind == PLAIN_CELL)
                        plain_settle(plain, plain->faults[i].at);
}

/* ---- the comparison ---- */

/* How a command ends that has added to what was uncorrected and repairable BEFORE. */
static WireStatus status_since(const Plain *plain, const uint64_t before[2]) {
        if (plain->uncorrected > before[0])
                return STATUS_NRT_HBM_UE;
        return plain->repairable > before[1] ? STATUS_NRT_REPAIRABLE_HBM_UE : STATUS_NRT_SUCCESS;
}

static void compare_march(Plain *plain, LoneStack *lone) {
        WireCommand command = { .type = COMMAND_HBM_MARCH };
        WireCompletion completion;
        const WireMismatch *mismatches = (const WireMismatch *) lone->window;
        uint64_t before[2];
        size_t n;

        random_march(plain, &command.march);
        activate(plain, lone->number);
        before[0] = plain->uncorrected;
        before[1] = plain->repairable;
        plain_march(plain, &command.march);
        command.march.mismatches_max = below(2) ? LOG_MAX : below((unsigned) plain->n_log + 2);

        completion = lone_stack_run(lone, command);
        assert_int_equal(completion.status, status_since(plain, before));
        assert_int_equal(completion.result[0], plain->n_log);

        n = plain->n_log < command.march.mismatches_max ? plain->n_log : command.march.mismatches_max;
        assert_int_equal(completion.out_bytes, n * sizeof(WireMismatch));
        for (size_t i = 0; i < n; i++)
                assert_memory_equal(&mismatches[i], &plain->log[i], sizeof(WireMismatch));

        assert_int_equal(lone->chip.counted[COUNTER_MEM_ECC_CORRECTED], plain->corrected);
        assert_int_equal(lone->chip.counted[COUNTER_MEM_ECC_UNCORRECTED], plain->uncorrected);
        assert_int_equal(lone->chip.counted[COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED], plain->repairable);
}

static void copy_box(Plain *plain, LoneStack *lone, bool in, bool ecc, WireBox box) {
        WireCommand command = { .type = in ? COMMAND_HBM_COPY_IN : COMMAND_HBM_COPY_OUT,
                                .copy = { .box = box, .ecc = ecc } };
        uint64_t number = lone->number;
        unsigned total = 1;
        WireCompletion completion;
        uint64_t before[2];

        for (unsigned i = 0; i < 7; i++)
                total *= box.last[i] - box.first[i] + 1u;
        command.in_bytes = in ? total * 32 : 0;
        for (size_t i = 0; in && i < total * 32; i++)
                lone->window[i] = (uint8_t) random_u64();

        activate(plain, number);
        before[0] = plain->uncorrected;
        before[1] = plain->repairable;
        completion = lone_stack_run(lone, command);

        for (unsigned k = 0; k < total; k++) {
                unsigned rest = k;
                uint8_t got[32];
                uint16_t at[7];

                for (int i = 6; i >= 0; i--) {
                        unsigned extent = box.last[i] - box.first[i] + 1u;

                        at[i] = (uint16_t) (box.first[i] + rest % extent);
                        rest /= extent;
                }
                if (in) {
                        plain_write(plain, at, lone->window + k * 32);
                } else {
                        plain_read(plain, at, ecc, got);
                        assert_memory_equal(got, lone->window + k * 32, 32);
                }
        }
        assert_int_equal(completion.status, status_since(plain, before));
}

/* A bank that has asked for all its spare rows. */
static void spend_spares(Plain *plain, LoneStack *lone) {
        WireCommand command = { .type = COMMAND_HBM_REPAIR };

        plain->spent = plain->size[5] >= HBM_SPARES_PER_BANK && below(2);
        for (unsigned i = 0; i < 5; i++)
                plain->spent_bank[i] = command.repair.box.first[i] = command.repair.box.last[i] = (uint16_t) below(plain->size[i]);
        for (unsigned i = 0; plain->spent && i < HBM_SPARES_PER_BANK; i++) {
                command.repair.box.first[5] = command.repair.box.last[5] = (uint16_t) i;
                assert_int_equal(lone_stack_run(lone, command).status, STATUS_NRT_SUCCESS);
        }
}

static void copy_small(Plain *plain, LoneStack *lone) {
        WireBox box = random_box(plain->size, below(2));

        for (unsigned i = 0; i < 7; i++)
                if (below(3))
                        box.last[i] = box.first[i];
        copy_box(plain, lone, below(2), below(2), box);
}

static void start_case(Plain *plain, LoneStack *lone) {
        static const unsigned most[2][7] = { { 7, 2, 2, 2, 3, 12, 6 }, { 3, 2, 2, 2, 3, 9, 5 } };
        const unsigned *max = most[plain->few];
        char geometry[MEMORY_SHAPE_TEXT_MAX];
        WireBox whole = {};

        do {
                plain->n = 1;
                for (unsigned i = 0; i < 7; i++) {
                        plain->size[i] = (uint16_t) (1 + below(max[i]));
                        plain->n *= plain->size[i];
                }
        } while (plain->n > 512);

        (void) snprintf(geometry, sizeof(geometry), "%u %u %u %u %u %u %u", plain->size[0], plain->size[1],
                        plain->size[2], plain->size[3], plain->size[4], plain->size[5], plain->size[6]);
        lone_stack_open(lone, geometry, LOG_MAX * sizeof(WireMismatch));
        plain->subarray_rows = lone->hbm.memory.shape.subarray_rows = (uint16_t) (1 + below(plain->size[5]));

        /* What it powers up with is the stack's own affair: ask it. */
        for (unsigned i = 0; i < 7; i++)
                whole.last[i] = (uint16_t) (plain->size[i] - 1);
        (void) lone_stack_run(lone, (WireCommand) { .type = COMMAND_HBM_COPY_OUT, .copy = { .box = whole } });
        memcpy(plain->holds, lone->window, plain->n * 32ul);
        memcpy(plain->meant, lone->window, plain->n * 32ul);
        memset(plain->faults, 0, sizeof(plain->faults));
        plain->corrected = plain->uncorrected = plain->repairable = 0;
}

static void run_case(Plain *plain, uint64_t seed) {
        unsigned n_faults;
        LoneStack lone;

        random_state = seed * 0x9e3779b97f4a7c15ull + 1;
        start_case(plain, &lone);
        spend_spares(plain, &lone);
        n_faults = below(3) ? below(FAULTS_MAX) : 0;

        for (unsigned i = 0; i < COMMANDS; i++) {
                unsigned slot = below(FAULTS_MAX);

                if (plain->faults[slot].present && below(4) == 0) {
                        model_hbm.heal(&lone.hbm, &plain->faults[slot].fault);
                        plain->faults[slot].present = false;
                        /* Healed cells hold what they held, and as such are meant from now on. */
                        if (plain->faults[slot].kind == PLAIN_CELL) {
                                unsigned index = plain_index(plain->size, plain->faults[slot].at);
                                unsigned bit = plain->faults[slot].bit;

                                set_bit(plain->meant[index], bit, get_bit(plain->holds[index], bit));
                        }
                } else if (!plain->faults[slot].present && slot < n_faults)
                        random_fault(plain, &lone.hbm, slot);

                if (below(4) == 0)
                        copy_small(plain, &lone);
                else
                        compare_march(plain, &lone);
                /* ECC counts of copies, too, must agree: checked with the next march. */
        }

        lone_stack_close(&lone);
}

static uint64_t running; /* the seed of the case that runs */

static int say_seed(void **state) {
        if (running)
                fprintf(stderr, "failed with HBM_SEED=%llu\n", (unsigned long long) running);
        return 0;
}

static void run_cases(unsigned n, bool few) {
        Plain *plain = calloc(1, sizeof(Plain));
        const char *only = getenv("HBM_SEED");

        assert_non_null(plain);
        plain->few = few;
        for (uint64_t seed = only ? strtoull(only, NULL, 0) : 1; seed <= (only ? strtoull(only, NULL, 0) : n); seed++) {
                running = seed;
                run_case(plain, seed);
        }
        running = 0;
        free(plain);
}

static void test_structures_log_what_a_stack_of_bits_logs(void **state) {
        run_cases(CASES, false);
}

static void test_cells_rows_banks_and_lanes_log_what_a_stack_of_bits_logs(void **state) {
        run_cases(CASES_FEW, true);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(test_structures_log_what_a_stack_of_bits_logs, say_seed),
                cmocka_unit_test_teardown(test_cells_rows_banks_and_lanes_log_what_a_stack_of_bits_logs, say_seed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
