/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/rounding/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"

/*
 * Words that a plan draws of each lane between two seeds, at the most. (The default plans draw far fewer before a job; what each
 * of them promises is said there.)
 */
#define WORDS_SEEN 4096u

enum {
        FIELD_SHORTER,
        FIELD_LONGER,
        FIELD_FORMAT, /* and further: that of a format */
};

enum {
        WIRED_OR,
        WIRED_AND,
};

static const WireFormat field_formats[] = {
        FORMAT_BF16, FORMAT_FP16, FORMAT_TF32, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4,
};
static const char *const field_words[] = {
        "shorter", "longer", "bf16", "fp16", "tf32", "fp8_e4m3", "fp8_e5m2", "fp8_e3m4", NULL,
};
static const char *const wired_words[] = { "or", "and", NULL };

/* In the order in which they act. */
typedef enum RoundingKind {
        KIND_RESET_IGNORED,
        KIND_SEED_LOST,
        KIND_SEED_IGNORED,
        KIND_SEED_SHARED,
        KIND_SEED_SHIFTED,
        KIND_LOCK_UP,
        KIND_SHORT_CYCLE,
        KIND_BITS_SWAPPED,
        KIND_BITS_TIED,
        KIND_BIT_STUCK,
        KIND_FEW_BITS,
        KIND_SR_OFF,
        KIND_SR_ON,
        KIND_FIELD_WIDTH,
        KIND_SR_SIGN,
        KIND_CARRY_LOST,
        KIND_FLUSHED,
        KIND_CONVERT_STUCK,
        _KIND_MAX,
} RoundingKind;

static RoundingKind fault_kind(const Fault *fault) {
        return (RoundingKind) (fault->kind - rounding_faults);
}

/* ---- what each does ---- */

static void act_reset_ignored(const RoundingFault *p, LaneEffects *effects) {
        effects->keeps |= 1u << SEEDING_RESET;
}

static void act_seed_lost(const RoundingFault *p, LaneEffects *effects) {
        effects->keeps |= 1u << SEEDING_FIRST;
}

static void act_seed_ignored(const RoundingFault *p, LaneEffects *effects) {
        effects->keeps |= 1u << SEEDING_FIRST | 1u << SEEDING_AGAIN;
}

static void act_seed_foreign(const RoundingFault *p, LaneEffects *effects) {
        effects->foreign = true;
        effects->source = (unsigned) p->source;
        effects->lag = (unsigned) p->lag;
}

static void act_lock_up(const RoundingFault *p, LaneEffects *effects) {
        effects->locked = true;
}

static void act_short_cycle(const RoundingFault *p, LaneEffects *effects) {
        effects->cycle = p->words;
}

static void act_sr_off(const RoundingFault *p, LaneEffects *effects) {
        effects->never = true;
}

static void act_sr_on(const RoundingFault *p, LaneEffects *effects) {
        effects->always = true;
}

static void act_field_width(const RoundingFault *p, LaneEffects *effects) {
        effects->wrong_field = true;
        effects->field = p->field;
}

static void act_sr_sign(const RoundingFault *p, LaneEffects *effects) {
        effects->opposite = true;
}

static void act_carry_lost(const RoundingFault *p, LaneEffects *effects) {
        effects->carry_lost = true;
}

static void act_flushed(const RoundingFault *p, LaneEffects *effects) {
        effects->flushed = true;
}

static void act_convert_stuck(const RoundingFault *p, LaneEffects *effects) {
        uint32_t bit = 1u << p->bit;

        effects->set = p->value ? effects->set | bit : effects->set & ~bit;
        effects->clear = p->value ? effects->clear & ~bit : effects->clear | bit;
}

static uint32_t word_swapped(const RoundingFault *p, uint32_t word) {
        uint32_t differ = (word >> p->bit ^ word >> p->other) & 1;

        return word ^ (differ << p->bit | differ << p->other);
}

static uint32_t word_tied(const RoundingFault *p, uint32_t word) {
        uint32_t both = 1u << p->bit | 1u << p->other;
        bool value = p->wired == WIRED_OR ? (word & both) != 0 : (word & both) == both;

        return value ? word | both : word & ~both;
}

static uint32_t word_stuck(const RoundingFault *p, uint32_t word) {
        return p->value ? word | 1u << p->bit : word & ~(1u << p->bit);
}

static uint32_t word_few_bits(const RoundingFault *p, uint32_t word) {
        return word & ~0u << (32 - p->bits);
}

/* One of the two. */
static const struct {
        void (*act)(const RoundingFault *p, LaneEffects *effects);
        uint32_t (*word)(const RoundingFault *p, uint32_t word);
} acts[_KIND_MAX] = {
        [KIND_RESET_IGNORED] = { .act = act_reset_ignored },
        [KIND_SEED_LOST]     = { .act = act_seed_lost },
        [KIND_SEED_IGNORED]  = { .act = act_seed_ignored },
        [KIND_SEED_SHARED]   = { .act = act_seed_foreign },
        [KIND_SEED_SHIFTED]  = { .act = act_seed_foreign },
        [KIND_LOCK_UP]       = { .act = act_lock_up },
        [KIND_SHORT_CYCLE]   = { .act = act_short_cycle },
        [KIND_BITS_SWAPPED]  = { .word = word_swapped },
        [KIND_BITS_TIED]     = { .word = word_tied },
        [KIND_BIT_STUCK]     = { .word = word_stuck },
        [KIND_FEW_BITS]      = { .word = word_few_bits },
        [KIND_SR_OFF]        = { .act = act_sr_off },
        [KIND_SR_ON]         = { .act = act_sr_on },
        [KIND_FIELD_WIDTH]   = { .act = act_field_width },
        [KIND_SR_SIGN]       = { .act = act_sr_sign },
        [KIND_CARRY_LOST]    = { .act = act_carry_lost },
        [KIND_FLUSHED]       = { .act = act_flushed },
        [KIND_CONVERT_STUCK] = { .act = act_convert_stuck },
};

void rounding_effects(const RoundingFaults *faults, const Execution *execution, unsigned lane, LaneEffects *ret) {
        *ret = (LaneEffects) { .words = faults->words };

        for (size_t i = 0; i < faults->n; i++) {
                const Fault *fault = faults->list[i];
                int at = location_index(&fault->at, LOCATION_ENGINE_LANE);

                if ((at >= 0 && (unsigned) at != lane) || !fault_is_active(fault, execution))
                        continue;
                ret->any = true;
                if (acts[fault_kind(fault)].act)
                        acts[fault_kind(fault)].act(fault->parameters, ret);
                else
                        ret->words[ret->n_words++] = fault;
        }
}

uint32_t rounding_word(const LaneEffects *effects, uint32_t word) {
        for (size_t i = 0; i < effects->n_words; i++)
                word = acts[fault_kind(effects->words[i])].word(effects->words[i]->parameters, word);
        return word;
}

unsigned rounding_field(const LaneEffects *effects, const Target *target, const Cut *cut) {
        unsigned field = cut->d;

        if (!effects->wrong_field)
                return field;
        if (effects->field == FIELD_SHORTER)
                field--;
        else if (effects->field == FIELD_LONGER)
                field++;
        else
                field += target->mantissa_bits - rounding_targets[field_formats[effects->field - FIELD_FORMAT]].mantissa_bits;
        return field < 63 ? field : 63;
}

/* ---- the list ---- */

/* Kinds without bits have them at zero. */
static uint64_t fault_bits(const Fault *fault) {
        const RoundingFault *p = fault->parameters;

        return UINT64_C(1) << p->bit | UINT64_C(1) << p->other;
}

/* Whether A acts before B, which was injected later. */
static bool is_before(const Fault *a, const Fault *b) {
        if (a->kind != b->kind)
                return a->kind < b->kind;
        return a->at.n_parts <= b->at.n_parts;
}

int rounding_faults_add(RoundingFaults *faults, const Fault *fault) {
        const Fault **list, **words;
        size_t at = 0;

        for (size_t i = 0; i < faults->n; i++)
                if (faults->list[i]->kind == fault->kind && location_equal(&faults->list[i]->at, &fault->at) &&
                    fault_bits(faults->list[i]) == fault_bits(fault))
                        return -EEXIST;

        list = reallocarray(faults->list, faults->n + 1, sizeof(*list));
        if (!list)
                return -ENOMEM;
        faults->list = list;
        words = reallocarray(faults->words, faults->n + 1, sizeof(*words));
        if (!words)
                return -ENOMEM;
        faults->words = words;

        while (at < faults->n && is_before(list[at], fault))
                at++;
        memmove(&list[at + 1], &list[at], (faults->n - at) * sizeof(*list));
        list[at] = fault;
        faults->n++;
        return 0;
}

void rounding_faults_remove(RoundingFaults *faults, const Fault *fault) {
        for (size_t i = 0; i < faults->n; i++)
                if (faults->list[i] == fault) {
                        faults->n--;
                        memmove(&faults->list[i], &faults->list[i + 1], (faults->n - i) * sizeof(*faults->list));
                        return;
                }
}

void rounding_faults_done(RoundingFaults *faults) {
        free(faults->list);
        free(faults->words);
        *faults = (RoundingFaults) {};
}

/* ---- what a fault may be ---- */

static int validate_bits(const Fault *fault, const char **ret_wrong) {
        const RoundingFault *p = fault->parameters;

        *ret_wrong = "\"bit\" and \"other\" must differ";
        return p->bit == p->other ? -EINVAL : 0;
}

static int validate_source(const Fault *fault, const char **ret_wrong) {
        const RoundingFault *p = fault->parameters;

        *ret_wrong = "\"other\" must be another lane";
        return location_index(&fault->at, LOCATION_ENGINE_LANE) == (int) p->source ? -EINVAL : 0;
}

static const char *undetectable_cycle(const Fault *fault) {
        const RoundingFault *p = fault->parameters;

        return p->words >= WORDS_SEEN ? "its sequence returns after more words than any plan draws in a row" : NULL;
}

/* As many short ones as long ones. */
static int sample_cycle(Sample *sample) {
        sample_key(sample, "words", "%.0f", sample_between(sample, 1, 1u << 20));
        return 0;
}

/* 31 of 32 bits are bit 0 stuck at 0. */
static void diagnose_few_bits(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const either[] = { "rounding-width", "rounding-generator", NULL };
        const RoundingFault *p = fault->parameters;

        if (p->bits == 31)
                diagnosis->codes = either;
}

#define BIT(text)    YAML_UNSIGNED("bit", RoundingFault, bit, 0, 31, .required = true, .summary = text)
#define OTHER_BIT    YAML_UNSIGNED("other", RoundingFault, other, 0, 31, .required = true, .summary = "another bit of the word")
#define SOURCE(text) YAML_UNSIGNED("other", RoundingFault, source, 0, ENGINE_LANES - 1, .required = true, .summary = text)
#define VALUE        YAML_UNSIGNED("value", RoundingFault, value, 0, 1, .required = true, .summary = "what it is stuck at")

static const YamlField stuck_fields[] = { BIT("31 decides about halves"), VALUE, {} };
static const YamlField swapped_fields[] = { BIT("of the random word"), OTHER_BIT, {} };
static const YamlField tied_fields[] = {
        BIT("of the random word"), OTHER_BIT,
        YAML_WORD("wired", RoundingFault, wired, wired_words, .required = true, .summary = "what both then are: or, and"), {}
};
static const YamlField cycle_fields[] = {
        YAML_UNSIGNED("words", RoundingFault, words, 1, 1u << 20, .required = true, .summary = "after which the state returns"), {}
};
static const YamlField shared_fields[] = { SOURCE("the lane whose seed it takes"), {} };
static const YamlField shifted_fields[] = {
        SOURCE("the lane whose stream it gives"),
        YAML_UNSIGNED("lag", RoundingFault, lag, 1, 64, .required = true, .summary = "words that it is ahead of it"), {}
};
static const YamlField field_fields[] = {
        YAML_WORD("field", RoundingFault, field, field_words, .required = true,
                  .summary = "how many bits of the random word are added: one less (shorter), one more (longer), those of a format"), {}
};
static const YamlField few_fields[] = {
        YAML_UNSIGNED("bits", RoundingFault, bits, 1, 31, .required = true, .summary = "of the random word that are used, from the top"), {}
};
static const YamlField convert_fields[] = { BIT("of the result as it is written, up to 7, 15 or 31"), VALUE, {} };

/* An engine's place means all its lanes alike. */
static const LocationKind at_engine[] = { LOCATION_VECTOR, LOCATION_SCALAR, LOCATION_GPSIMD, LOCATION_ENGINE_LANE,
                                          _LOCATION_KIND_INVALID };

#define ROUNDING_FAULT(word, code, text, ...)                                                                \
        { .name = word, .summary = text, .family = FAMILY_COMPUTE, .at = at_engine,                          \
          .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                                   \
          .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,                                                \
          .parameters_bytes = sizeof(RoundingFault), .codes = FAULT_CODES(code), __VA_ARGS__ }

const FaultKind rounding_faults[_KIND_MAX + 1] = {
        [KIND_RESET_IGNORED] = ROUNDING_FAULT("reset-ignored", "rounding-seed", "a reset leaves the generator as it was"),
        [KIND_SEED_LOST] = ROUNDING_FAULT("seed-lost-after-reset", "rounding-seed", "the first seed after a reset has no effect"),
        [KIND_SEED_IGNORED] = ROUNDING_FAULT("seed-ignored", "rounding-seed", "a seed has no effect: the generator goes on as it was"),
        [KIND_SEED_SHARED] = ROUNDING_FAULT("lane-seed-shared", "rounding-lanes", "a lane is seeded as another one is",
                                            .parameters = shared_fields, .validate = validate_source),
        [KIND_SEED_SHIFTED] = ROUNDING_FAULT("lane-seed-shifted", "rounding-lanes", "a lane is seeded some words into the stream of another",
                                             .parameters = shifted_fields, .validate = validate_source),
        [KIND_LOCK_UP] = ROUNDING_FAULT("rng-lock-up", "rounding-generator", "the state of the generator stands still"),
        [KIND_SHORT_CYCLE] = ROUNDING_FAULT("rng-short-cycle", "rounding-generator",
                                            "the state of the generator returns to its seed after so many words",
                                            .parameters = cycle_fields, .sample = sample_cycle, .undetectable = undetectable_cycle),
        [KIND_BITS_SWAPPED] = ROUNDING_FAULT("rng-bits-swapped", "rounding-generator", "two bits of the random word change places",
                                             .parameters = swapped_fields, .validate = validate_bits),
        [KIND_BITS_TIED] = ROUNDING_FAULT("rng-bits-tied", "rounding-generator", "two bits of the random word are connected",
                                          .parameters = tied_fields, .validate = validate_bits),
        [KIND_BIT_STUCK] = ROUNDING_FAULT("rng-bit-stuck", "rounding-generator", "a bit of the random word is stuck",
                                          .parameters = stuck_fields),
        [KIND_FEW_BITS] = ROUNDING_FAULT("sr-few-bits", "rounding-width", "only the top bits of the random word are used",
                                         .parameters = few_fields, .diagnose = diagnose_few_bits),
        [KIND_SR_OFF] = ROUNDING_FAULT("sr-off", "rounding-mode", "stochastic rounding rounds to nearest"),
        [KIND_SR_ON] = ROUNDING_FAULT("sr-on", "rounding-mode", "rounding to nearest is stochastic"),
        [KIND_FIELD_WIDTH] = ROUNDING_FAULT("field-width", "rounding-width", "the random word is added in a field of a wrong width",
                                            .parameters = field_fields),
        [KIND_SR_SIGN] = ROUNDING_FAULT("sr-sign", "rounding-sign", "negative numbers between two others round the other way, stochastic"),
        [KIND_CARRY_LOST] = ROUNDING_FAULT("round-carry-lost", "rounding-nearest", "a carry of the rounding never reaches the exponent"),
        [KIND_FLUSHED] = ROUNDING_FAULT("subnormal-flushed", "rounding-nearest", "results below the normal range are zero"),
        [KIND_CONVERT_STUCK] = ROUNDING_FAULT("convert-stuck", "rounding-nearest", "a bit of the result is stuck",
                                              .parameters = convert_fields),
        {}
};
