/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a device may answer to the checks of its memories and engines: the first byte says which check is run and how, and whether
 * the chip is broken, every eight that follow are a lie: to which commands, of which core, from which of them on, and what becomes
 * of the answer. A pass is right only where the chip is sound and no lie was told; and every run ends.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/memory/sram/parameters.h"
#include "checks/plan/plan.h"
#include "checks/rounding/parameters.h"
#include "checks/sparsity/parameters.h"
#include "checks/systolic/parameters.h"
#include "tests/hall-device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const Check check_hbm, check_rounding, check_sparsity, check_sram, check_systolic;

#define LIES_MAX     8u
#define WINDOW       (16u << 20)
#define SICK         0x80u /* in the first byte */
#define ENGINE       0x40u /* too: a check of engines, not of memories */
#define ANSWER_MAX   (1u << 20)
#define ENGINE_COMMANDS_MAX 100000u /* of a run, whatever it is answered */

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

typedef enum LieSort {
        LIE_FIRST,  /* result[0]: of a march, how many mismatches */
        LIE_SECOND, /* result[1]: of a march, how many accesses */
        LIE_BYTES,  /* how many came back */
        LIE_DATA,   /* a bit of them */
        LIE_STATUS,
        LIE_TIME,
        LIE_BROKEN, /* nothing comes back at all */
        LIE_TEXT,   /* what an attribute says */
        LIE_WORD,   /* all data are this one word */
        LIE_NOISE,  /* all are random, each time others */
        LIE_STALE,  /* the same type's answer of this core, one before */
        LIE_OTHER,  /* what another command of the batch was answered */
        LIE_CUT,    /* from somewhere on they are not written, though that is said */
        _LIE_SORT_MAX,
} LieSort;

typedef struct Lie { /* as in the input */
        uint8_t type; /* of the command; 0x80: to one core alone, the upper three bits of AT */
        uint8_t sort; /* LieSort; 0x80: this and all that follow, else once */
        uint16_t at;  /* the number of the command among those of its type */
        uint32_t value;
} Lie;

typedef struct Answer {
        uint32_t n;
        uint8_t bytes[ANSWER_MAX];
} Answer;

typedef struct Liar {
        HallDevice *hall;
        size_t n;
        Lie lies[LIES_MAX];
        const uint8_t *text; /* what attributes say, where they lie */
        size_t n_text;
        unsigned seen[_COMMAND_MAX];
        size_t n_commands, commands_max;
        uint64_t noise;
        Answer *last;    /* true ones, by type and core */
        uint8_t *before; /* the window before a batch */
        bool sick; /* the chip is broken, too */
        bool told; /* a lie that must not pass */
} Liar;

/* A march that reads: what is written shows in the next. */
static bool is_march(const WireCommand *command) {
        bool reads = false;

        for (unsigned i = 0; i < command->march.n_ops && i < MARCH_OPS_MAX; i++)
                reads |= !(command->march.ops[i] & MARCH_WRITE);
        return reads && (command->type == COMMAND_HBM_MARCH || command->type == COMMAND_SRAM_MARCH);
}

/* Whether what comes back is what memory holds. */
static bool is_read(const WireCommand *command) {
        return is_march(command) || command->type == COMMAND_HBM_COPY_OUT || command->type == COMMAND_SRAM_COPY_OUT;
}

static int lie_text(Liar *liar, const WireCommand *command, WireCompletion *completion) {
        completion->out_bytes = (uint32_t) (liar->n_text < command->out_bytes ? liar->n_text : command->out_bytes);
        memcpy(liar->hall->reach.window + command->out_offset, liar->text, completion->out_bytes);
        return 0;
}

static int lie_data(Liar *liar, const WireCommand *command, const WireCompletion *completion, uint32_t value) {
        uint32_t bytes = completion->out_bytes < command->out_bytes ? completion->out_bytes : command->out_bytes;

        if (bytes == 0)
                return 0;
        liar->hall->reach.window[command->out_offset + (value >> 3) % bytes] ^= (uint8_t) (1u << (value & 7));
        liar->told |= is_read(command);
        return 0;
}

/* Engines answer with numbers that are compared, all of them; what else they are told to do is done or not. */
static bool is_engine(const WireCommand *command) {
        return command->type == COMMAND_LOAD_STATIONARY || command->type == COMMAND_MATMUL || command->type == COMMAND_CONVERT ||
               command->type == COMMAND_RNG_SEED;
}

static Answer *last_answer(Liar *liar, const WireCommand *command) {
        static const int types[] = { COMMAND_MATMUL, COMMAND_CONVERT };

        for (unsigned i = 0; i < ELEMENTS(types); i++)
                if (command->type == types[i])
                        return &liar->last[i * CORES + command->unit % CORES];
        return NULL;
}

static void lie_whole(Liar *liar, const Lie *lie, const WireCommand *command, const WireCommand *other, uint32_t n) {
        uint8_t *window = liar->hall->reach.window, *out = window + command->out_offset;
        const Answer *last = last_answer(liar, command);
        uint32_t from = n > 0 ? lie->value % n : 0;

        switch ((lie->sort & 0x7f) % _LIE_SORT_MAX) {
        case LIE_WORD:
                for (uint32_t i = 0; i + sizeof(lie->value) <= n; i += sizeof(lie->value))
                        memcpy(out + i, &lie->value, sizeof(lie->value));
                break;
        case LIE_NOISE:
                for (uint32_t i = 0; i < n; i++) {
                        liar->noise = liar->noise * UINT64_C(6364136223846793005) + lie->value + 1;
                        out[i] = (uint8_t) (liar->noise >> 56);
                }
                break;
        case LIE_STALE:
                if (last)
                        memcpy(out, last->bytes, n < last->n ? n : last->n);
                break;
        case LIE_OTHER:
                memmove(out, window + other->out_offset, n < other->out_bytes ? n : other->out_bytes);
                break;
        case LIE_CUT:
                memcpy(out + from, liar->before + command->out_offset + from, n - from);
                break;
        }
}

static int tell(Liar *liar, const Lie *lie, const WireCommand *command, const WireCommand *other, WireCompletion *completion) {
        /* Small numbers, and huge ones. */
        uint64_t value = lie->value >> 24 == 0xff ? UINT64_MAX - (lie->value & 0xffffff) : lie->value;

        switch ((lie->sort & 0x7f) % _LIE_SORT_MAX) {
        case LIE_FIRST:
                completion->result[0] = value;
                return 0;
        case LIE_SECOND:
                completion->result[1] = value;
                return 0;
        case LIE_BYTES:
                completion->out_bytes = (uint32_t) value;
                return 0;
        case LIE_DATA:
                return lie_data(liar, command, completion, lie->value);
        case LIE_STATUS:
                completion->status = (uint32_t) value;
                return 0;
        case LIE_TIME:
                completion->device_nsec = value;
                return 0;
        case LIE_BROKEN:
                return -(int) (lie->value % 133) - 1;
        case LIE_TEXT:
                return command->type == COMMAND_ATTRIBUTE ? lie_text(liar, command, completion) : 0;
        }
        if (is_engine(command) && completion->out_bytes <= command->out_bytes)
                lie_whole(liar, lie, command, other, completion->out_bytes);
        return 0;
}

static bool is_meant(const Lie *lie, const WireCommand *command, unsigned type, unsigned at) {
        bool one = lie->type & 0x80;
        unsigned from = one ? lie->at & 0x1fff : lie->at;

        if ((lie->type & 0x7f) % _COMMAND_MAX != type || (one && command->unit != lie->at >> 13))
                return false;
        return lie->sort & 0x80 ? at >= from : at == from;
}

static int answer(Liar *liar, const WireCommand *commands, size_t n, size_t index, WireCompletion *completion) {
        static uint8_t truth[ANSWER_MAX];
        const WireCommand *command = &commands[index];
        const WireCompletion said = *completion;
        unsigned type = command->type < _COMMAND_MAX ? command->type : 0, at = liar->seen[type]++;
        uint8_t *out = liar->hall->reach.window + command->out_offset;
        uint32_t n_truth = is_engine(command) ? said.out_bytes : 0;
        Answer *last = last_answer(liar, command);
        int r = 0;

        HOLDS(n_truth <= sizeof(truth));
        memcpy(truth, out, n_truth);
        for (size_t i = 0; i < liar->n && r >= 0; i++) {
                const Lie *lie = &liar->lies[i];
                WireCompletion before = *completion;

                if (!is_meant(lie, command, type, at))
                        continue;
                r = tell(liar, lie, command, &commands[lie->value % n], completion);
                liar->told |= is_march(command) && (before.result[0] != completion->result[0] || before.result[1] != completion->result[1]);
                liar->told |= is_read(command) && (before.out_bytes != completion->out_bytes || before.status != completion->status);
        }
        liar->told |= is_engine(command) && (completion->status != said.status || completion->out_bytes != said.out_bytes);
        liar->told |= memcmp(truth, out, n_truth) != 0;
        if (last) {
                last->n = n_truth;
                memcpy(last->bytes, truth, n_truth);
        }
        return r;
}

static int liar_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        Liar *liar = userdata;
        int r;

        liar->n_commands += n;
        HOLDS(liar->n_commands <= liar->commands_max);
        for (size_t i = 0; i < liar->n; i++)
                if ((liar->lies[i].sort & 0x7f) % _LIE_SORT_MAX == LIE_CUT)
                        memcpy(liar->before, liar->hall->reach.window, WINDOW);
        r = hall_execute(liar->hall, commands, n, completions, deadline_usec);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = answer(liar, commands, n, i, &completions[i]);
        return r;
}

static void liar_close(void *userdata) {
        Liar *liar = userdata;

        hall_close(liar->hall);
}

static const DeviceTransport liar_transport = { .execute = liar_execute, .close = liar_close };

static const char scenario[] = "scenario: fuzz\nseed: 5\ntopology: {ultraservers: 1}\n";
/* Beside slices alone: a job's rows are work, which any other scan leaves alone. What is broken is elsewhere. */
static const char live_data[] = "in-use: [{at: us0-1/chip3, rows: \"0:0-8191\"}]\n";
static const char faults[] = "faults:\n"
                             "  - {at: us0-1/chip3/hbm0/ch3/pc1/sid1/bg2/ba1/row11/col12/bit77, kind: stuck-at, value: 1}\n"
                             "  - {at: us0-1/chip3/hbm0/ch9/pc0/sid2/bg1/ba2/row12, kind: row-dead}\n"
                             "  - {at: us0-1/chip3/hbm1/ch2/pc0/sid0/bg3/ba3, kind: bank-dead, reads: ones}\n"
                             "  - {at: us0-1/chip3/hbm2/ch7/pc1/dq5, kind: lane-stuck, value: 1}\n"
                             "  - {at: us0-1/chip3/core5/sbuf/part93/row4711/bit77, kind: stuck-at, value: 1}\n"
                             "  - {at: us0-1/chip3/core2/psum1/part5, kind: sram-partition-dead}\n";
static const char engine_faults[] = "faults:\n"
                             "  - {at: us0-1/chip3/core4/pe17.93, kind: psum-stuck, bit: 20, value: 1}\n"
                             "  - {at: us0-1/chip3/core1/sparse/row9/slot77, kind: tag-stuck, bit: 0, value: 1}\n"
                             "  - {at: us0-1/chip3/core6/scalar/lane9, kind: rng-bit-stuck, bit: 31, value: 0}\n";

static Device *open_liar(Liar *liar, const char *sickness, bool beside_work) {
        char text[2048];
        Device *device;

        (void) snprintf(text, sizeof(text), "%s%s%s", scenario, beside_work ? live_data : "", liar->sick ? sickness : "");
        liar->hall = hall_device_new(text, "us0-1", 3, WINDOW);
        HOLDS(liar->hall);
        device = hall_connect(liar->hall, &liar_transport, liar);
        HOLDS(device);
        return device;
}

/* ---- which check, and how ---- */

typedef union Parameters {
        HbmParameters hbm;
        SramParameters sram;
        SystolicParameters systolic;
        SparsityParameters sparsity;
        RoundingParameters rounding;
} Parameters;

static void set_defaults(const Check *check, Parameters *parameters) {
        const CheckWord *word = check_word_find(check->name);

        memcpy(parameters, *word->parameters_defaults, *word->parameters_bytes);
}

/* As `preflight` has them, and `production` but for fewer rounds. */
static void choose_engine(unsigned number, const Check **ret, Parameters *parameters) {
        static const Check *const checks[] = { &check_systolic, &check_sparsity, &check_rounding };
        bool production = number / ELEMENTS(checks) % 2;

        *ret = checks[number % ELEMENTS(checks)];
        set_defaults(*ret, parameters);
        if (*ret == &check_rounding && !production) {
                parameters->rounding.every_format = parameters->rounding.every_value = false;
                parameters->rounding.words = 0;
        } else if (*ret == &check_systolic && production) {
                parameters->systolic.patterns = SYSTOLIC_ALL;
                parameters->systolic.repeats = 2;
        } else if (*ret == &check_sparsity && production) {
                parameters->sparsity.paths = SPARSITY_ALL;
                parameters->sparsity.rounds = 2;
        }
}

static void choose_memory(unsigned number, const Check **ret, Parameters *parameters) {
        bool sram = number % 5 == 4;

        *ret = sram ? &check_sram : &check_hbm;
        set_defaults(*ret, parameters);
        if (number % 5 == 1) {
                parameters->hbm.phases = (1u << _HBM_DO_MAX) - 1;
                parameters->hbm.repair = HBM_REPAIR_REQUEST;
                parameters->hbm.repeats = parameters->hbm.random = 1;
                parameters->hbm.retention.n = 1;
                parameters->hbm.hammer.rows = 64;
        } else if (number % 5 == 2) {
                parameters->hbm.slices = 32;
                parameters->hbm.seconds = 0.05;
        } else if (number % 5 == 3) {
                parameters->hbm.phases = 1u << HBM_DO_ECC | 1u << HBM_DO_MARCH;
                parameters->hbm.mismatches = 16;
                parameters->hbm.repair = HBM_REPAIR_VERIFY;
        } else if (sram)
                parameters->sram.ecc = 4;
}

static Verdict judge(Liar *liar, unsigned number) {
        static Found found;
        Parameters parameters;
        const Check *check;
        Verdict verdict;
        Device *device;

        if (number & ENGINE)
                choose_engine(number & ~ENGINE, &check, &parameters);
        else
                choose_memory(number, &check, &parameters);
        device = open_liar(liar, number & ENGINE ? engine_faults : faults, check == &check_hbm && parameters.hbm.slices > 0);
        verdict = hall_scan(device, check, &parameters, &found);
        HOLDS(!(number & ENGINE) || !strstr(found.message, "beyond its limit")); /* it contradicts itself */
        (void) device_free(device);
        return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static Answer last[2 * CORES];
        static uint8_t before[WINDOW];
        Liar liar = { .last = last, .before = before, .sick = size > 0 && data[0] & SICK };
        bool engine = size > 0 && data[0] & ENGINE;
        Verdict verdict;
        size_t at = 1;

        if (size < 1)
                return 0;
        for (size_t i = 0; i < ELEMENTS(last); i++)
                last[i].n = 0;
        for (; at + sizeof(Lie) <= size && liar.n < LIES_MAX; at += sizeof(Lie))
                memcpy(&liar.lies[liar.n++], data + at, sizeof(Lie));
        liar.text = data + at;
        liar.n_text = size - at;
        liar.commands_max = engine ? ENGINE_COMMANDS_MAX : SIZE_MAX;

        verdict = judge(&liar, data[0] & ~SICK);
        HOLDS(verdict >= 0 && verdict < _VERDICT_MAX);
        HOLDS(!(liar.told || liar.sick) || verdict != VERDICT_PASSED);
        HOLDS(liar.n > 0 || verdict == (liar.sick ? VERDICT_FAILED : VERDICT_PASSED));
        return 0;
}
