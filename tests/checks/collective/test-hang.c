/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is blamed: up to three faults at random places of an UltraServer, that stay or come and go, and collectives on all four servers.
 * Whatever is found is at a place of one of them, and as that: no victim is named, and what stays is not missed. More cases:
 * BLAME_CASES=N.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/collective/collective.h"
#include "tests/checks/rehearsal.h"

#define TROUBLES_MAX 3u
#define TEXT_MAX     1024u

static uint64_t state;

static unsigned roll(unsigned n) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return (unsigned) (state >> 33) % n;
}

typedef struct Kind {
        const char *words;   /* before the number of its parameter */
        unsigned from, below;
        const char *code;
        bool at_port;
        bool alone;          /* seen where nothing stops the collectives that show it */
} Kind;

static const Kind kinds[] = {
        { "kind: collective-stall, step: ", 0, 30, "collective-hang", .alone = true },
        { "kind: semaphore-lost, step: ", 0, 30, "collective-hang", .alone = true },
        { "kind: link-stall, bytes: ", 0, 260000000, "collective-hang", .at_port = true },
        { "kind: chip-slow, factor: ", 2, 1000, "collective-slow", .alone = true },
        { "kind: chip-slow, factor: 1.", 2, 10, "collective-slow", .alone = true },
        { "kind: reduce-stuck-bit, value: 1, bit: ", 0, 20, "collective-data", .alone = true },
        { "kind: link-throttled, share: 0.", 1, 9, "collective-slow", .at_port = true },
        { "kind: dma-corrupt, rate: ", 1, 2, "collective-data", .alone = true },
};

typedef struct Truth {
        const Kind *kind;
        char at[LOCATION_STRING_MAX];
        bool stays;
        unsigned n_told;
} Truth;

static size_t invent(Truth truths[static TROUBLES_MAX], char text[static TEXT_MAX]) {
        static const char *const ports[PORTS] = { "x+", "x-", "y+", "y-", "z+", "z-" };
        size_t n = 1 + roll(TROUBLES_MAX), used;

        used = (size_t) snprintf(text, TEXT_MAX, "scenario: test\nseed: %u\ntopology: {ultraservers: 1}\nfaults:\n", roll(1u << 20));
        for (size_t i = 0; i < n; i++) {
                Truth *truth = &truths[i];

                *truth = (Truth) { .kind = &kinds[roll(ELEMENTS(kinds))], .stays = roll(3) > 0 };
                (void) snprintf(truth->at, sizeof(truth->at), "us0-%u/chip%u%s%s", roll(4), roll(16), truth->kind->at_port ? "/link-" : "",
                                truth->kind->at_port ? ports[roll(PORTS)] : "");
                used += (size_t) snprintf(text + used, TEXT_MAX - used, "  - {at: %s, %s%u%s}\n", truth->at, truth->kind->words,
                                          truth->kind->from + roll(truth->kind->below - truth->kind->from),
                                          truth->stays ? "" : ", persistence: intermittent, probability: 0.5");
        }
        return n;
}

static void expect_truth(Step *step, Truth *truths, size_t n, const char *text) {
        for (size_t s = 0; s < step->n_said; s++) {
                bool is_true = false;

                for (size_t i = 0; i < n; i++)
                        if (strcmp(step->said[s].code, truths[i].kind->code) == 0 && strcmp(step->said[s].at, truths[i].at) == 0) {
                                is_true = true;
                                truths[i].n_told++;
                        }
                if (!is_true) {
                        rehearsal_print(step);
                        fail_msg("%s at %s is not so:\n%s", step->said[s].code, step->said[s].at, text);
                }
        }
}

static void one_case(bool is_few) {
        Truth truths[TROUBLES_MAX];
        unsigned n_told = 0, n_stay = 0;
        char text[TEXT_MAX];
        size_t n = invent(truths, text);

        for (unsigned s = 0; s < RING; s++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", (const char *[]) { "us0-0", "us0-1", "us0-2", "us0-3" }[s]);
                CollectiveParameters *parameters = step->parameters;
                Verdict verdict = _VERDICT_INVALID;

                parameters->operations = parameters->sizes = is_few ? CHOICE_FEW : CHOICE_ALL;
                parameters->rounds = 11;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                expect_truth(step, truths, n, text);
        }
        for (size_t i = 0; i < n; i++) {
                n_told += truths[i].n_told;
                n_stay += truths[i].stays;
                if (n == 1 && truths[i].stays && truths[i].n_told != 1)
                        fail_msg("told %u times:\n%s", truths[i].n_told, text);
        }
        if (n_stay > 0 && n_told == 0)
                fail_msg("missed:\n%s", text);
}

static void test_no_victim_is_named(void **unused) {
        unsigned n = (unsigned) atoi(getenv("BLAME_CASES") ?: "30");

        for (unsigned i = 0; i < n; i++) {
                state = i;
                (void) roll(2);
                one_case(i % 8 > 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_victim_is_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
