/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-errors.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define MAILBOX_WORDS (STACKS + 1u)

/* Where one counter stands. */
typedef struct Place {
        const char *sysfs, *planted;
        unsigned first, n; /* mailbox words */
        unsigned shift;
        uint32_t mask;
} Place;

#define PLACE(word, ...) { "stats/hardware/" word, "assay/planted/" word, __VA_ARGS__ }

static const Place places[_ERROR_COUNTER_MAX] = {
        [ERRORS_MEM_CORRECTED]    = PLACE("mem_ecc_corrected", 0, STACKS, 16, 0xffff),
        [ERRORS_MEM_UNCORRECTED]  = PLACE("mem_ecc_uncorrected", 0, STACKS, 12, 0xf),
        [ERRORS_MEM_REPAIRABLE]   = PLACE("mem_ecc_repairable_uncorrected", 0, STACKS, 0, 0xfff),
        [ERRORS_SRAM_CORRECTED]   = PLACE("sram_ecc_corrected", STACKS, 1, 16, 0xffff),
        [ERRORS_SRAM_UNCORRECTED] = PLACE("sram_ecc_uncorrected", STACKS, 1, 0, 0xffff),
};

static const char *const word_paths[MAILBOX_WORDS] = {
        "mailbox/hbm0_ecc", "mailbox/hbm1_ecc", "mailbox/hbm2_ecc", "mailbox/hbm3_ecc", "mailbox/sram_ecc",
};

const char *error_counter_path(ErrorCounter counter) {
        return places[counter].sysfs;
}

static bool includes(unsigned counters, unsigned counter) {
        return (counters >> counter & 1) != 0;
}

/* ---- what a count comes to ---- */

static uint64_t sum(const uint64_t *values, unsigned n) {
        uint64_t all = 0;

        for (unsigned i = 0; i < n; i++)
                all += values[i];
        return all;
}

uint64_t error_count_own_sysfs(const ErrorCount *count) {
        uint64_t planted = sum(count->planted, count->n_words);

        return count->sysfs > planted ? count->sysfs - planted : 0;
}

/* Of a full word a lower bound, which falls with all that is planted later. */
static uint64_t least_own_word(const ErrorCount *count, unsigned i) {
        return count->words[i] > count->planted[i] ? count->words[i] - count->planted[i] : 0;
}

/* Reads from sysfs, which has no end, the count of a full word beside the others; false where another one is full too, or it leaves too little. */
static bool rest_of_sysfs(const ErrorCount *count, unsigned full, uint64_t *ret) {
        uint64_t others = 0;

        for (unsigned i = 0; i < count->n_words; i++) {
                if (i == full)
                        continue;
                if (count->words[i] >= count->full)
                        return false;
                others += least_own_word(count, i);
        }
        *ret = error_count_own_sysfs(count) - others;
        return error_count_own_sysfs(count) >= others && *ret >= least_own_word(count, full);
}

uint64_t error_count_own_word(const ErrorCount *count, unsigned i, bool *ret_least) {
        uint64_t rest;

        *ret_least = count->words[i] >= count->full && !rest_of_sysfs(count, i, &rest);
        return count->words[i] < count->full || *ret_least ? least_own_word(count, i) : rest;
}

bool error_count_is_possible(const ErrorCount *count) {
        for (unsigned i = 0; i < count->n_words; i++)
                if (count->planted[i] > count->words[i] && count->words[i] < count->full)
                        return false;
        return true;
}

bool error_count_is_planted(const ErrorCount *count) {
        uint64_t own = error_count_own_sysfs(count);

        for (unsigned i = 0; i < count->n_words; i++)
                own += least_own_word(count, i);
        return own == 0 && sum(count->planted, count->n_words) > 0;
}

/* ---- reading ---- */

/* Moves *text behind the number. */
static int parse_number(const char **text, unsigned base, uint64_t *ret) {
        char *end;

        if (**text < '0' || **text > '9')
                return -EPROTO;
        errno = 0;
        *ret = strtoull(*text, &end, (int) base);
        if (errno != 0)
                return -EPROTO;
        *text = end;
        return 0;
}

static int parse_planted(const char *text, ErrorCount *count) {
        for (unsigned i = 0; i < count->n_words; i++) {
                if (i > 0 && *text++ != ' ')
                        return -EPROTO;
                if (parse_number(&text, 10, &count->planted[i]) < 0)
                        return -EPROTO;
                /* So that no sum of them is too large to be one. */
                if (count->planted[i] > UINT32_MAX)
                        return -EPROTO;
        }

        count->open = strcmp(text, " open") == 0;
        return *text == '\0' || count->open ? 0 : -EPROTO;
}

static int parse_word(const char *text, uint64_t *ret) {
        int r;

        r = parse_number(&text, strncmp(text, "0x", 2) == 0 ? 16 : 10, ret);
        return r < 0 || *text != '\0' || *ret > UINT32_MAX ? -EPROTO : 0;
}

static int parse_sysfs(const char *text, uint64_t *ret) {
        int r;

        r = parse_number(&text, 10, ret);
        return r < 0 || *text != '\0' ? -EPROTO : 0;
}

/* The texts of one reading: what was planted first, since the others only grow. */
typedef struct Texts {
        size_t n;
        const char *paths[2 * _ERROR_COUNTER_MAX + MAILBOX_WORDS];
        char texts[2 * _ERROR_COUNTER_MAX + MAILBOX_WORDS][ATTRIBUTE_TEXT_MAX];
        unsigned planted[_ERROR_COUNTER_MAX], sysfs[_ERROR_COUNTER_MAX], words[MAILBOX_WORDS]; /* where each is */
} Texts;

static unsigned add_path(Texts *texts, const char *path) {
        texts->paths[texts->n] = path;
        return (unsigned) texts->n++;
}

static void choose_paths(Texts *texts, unsigned counters) {
        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++)
                if (includes(counters, i))
                        texts->planted[i] = add_path(texts, places[i].planted);
        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++)
                if (includes(counters, i))
                        texts->sysfs[i] = add_path(texts, places[i].sysfs);
        for (unsigned word = 0; word < MAILBOX_WORDS; word++)
                if (counters & (word < STACKS ? ERRORS_MEM : ERRORS_SRAM))
                        texts->words[word] = add_path(texts, word_paths[word]);
}

static int parse_count(const Texts *texts, unsigned counter, ErrorCount *count, const char **ret_path) {
        const Place *place = &places[counter];
        int r;

        *count = (ErrorCount) { .n_words = place->n, .full = place->mask };
        for (unsigned i = 0; i < place->n; i++) {
                unsigned at = texts->words[place->first + i];
                uint64_t word;

                *ret_path = texts->paths[at];
                r = parse_word(texts->texts[at], &word);
                if (r < 0)
                        return r;
                count->words[i] = word >> place->shift & place->mask;
        }

        *ret_path = place->sysfs;
        r = parse_sysfs(texts->texts[texts->sysfs[counter]], &count->sysfs);
        if (r < 0)
                return r;
        *ret_path = place->planted;
        return parse_planted(texts->texts[texts->planted[counter]], count);
}

int device_errors_read(Device *device, unsigned chip, unsigned counters, ErrorCount ret[static _ERROR_COUNTER_MAX],
                       const char **ret_path) {
        int errors[2 * _ERROR_COUNTER_MAX + MAILBOX_WORDS], r;
        Texts texts = {};

        *ret_path = NULL;
        choose_paths(&texts, counters);
        r = device_attributes(device, chip, texts.paths, texts.n, texts.texts, errors);
        if (r < 0)
                return r;
        for (size_t i = 0; i < texts.n; i++)
                if (errors[i] < 0) {
                        *ret_path = texts.paths[i];
                        return errors[i];
                }

        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++) {
                r = includes(counters, i) ? parse_count(&texts, i, &ret[i], ret_path) : 0;
                if (r < 0)
                        return r;
        }
        *ret_path = NULL;
        return 0;
}

/* ---- planting ---- */

int device_errors_announce(Device *device, unsigned chip, unsigned counters, const uint64_t most[static _ERROR_COUNTER_MAX]) {
        AttributeText writes[_ERROR_COUNTER_MAX];
        char numbers[_ERROR_COUNTER_MAX][24];
        size_t n = 0;

        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++)
                if (includes(counters, i)) {
                        (void) snprintf(numbers[i], sizeof(numbers[i]), "%" PRIu64, MIN(most[i], (uint64_t) PLANTED_MAX));
                        writes[n++] = (AttributeText) { places[i].planted, numbers[i] };
                }
        return device_attributes_write(device, chip, writes, n);
}

int device_errors_end(Device *device, unsigned chip, unsigned counters, unsigned cleared) {
        AttributeText writes[2 * _ERROR_COUNTER_MAX];
        size_t n = 0;

        static_assert(ELEMENTS(writes) <= ATTRIBUTE_WRITES_MAX, "they go in one batch");
        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++)
                if (includes(counters, i))
                        writes[n++] = (AttributeText) { places[i].planted, "0" };
        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++)
                if (includes(cleared, i))
                        writes[n++] = (AttributeText) { places[i].sysfs, "0" };
        return device_attributes_write(device, chip, writes, n);
}
