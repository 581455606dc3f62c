/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim coverage: what march tests find, by brute force over every fault of every class.
 */

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/march/notation.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/coverage/coverage.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

/* How classes are told to people: the first of each group. */
static const struct {
        const char *title, *first;
} groups[] = {
        { "one cell", "SAF" },
        { "two cells", "CFst" },
        { "two operations, one cell", "dRDF" },
        { "two operations, two cells", "dCFds" },
        { "open, retention, decoder", "SOF" },
        { "linked", "LF1" },
        { "neighbourhood", "SNPSF" },
};

static const char *group_title(const char *class) {
        for (size_t i = 0; i < ELEMENTS(groups); i++)
                if (strcmp(groups[i].first, class) == 0)
                        return groups[i].title;
        return NULL;
}

static json_t *coverage_json(const char *text, const Coverage *coverage) {
        json_t *classes = json_object();

        for (size_t i = 0; i < coverage->n; i++)
                (void) json_object_set_new(classes, coverage->classes[i].name,
                                           json_pack("[i, i]", (int) coverage->classes[i].detected,
                                                     (int) coverage->classes[i].total));
        return json_pack("{s:s, s:i, s:i, s:o, s:[i, i]}", "march", text, "operations", (int) coverage->operations, "delays",
                         (int) coverage->delays, "classes", classes, "static", (int) coverage->static_detected,
                         (int) coverage->static_total);
}

static void print_count(const CoverageCount *count) {
        unsigned above_total = count->total - count->below_total, above = count->detected - count->below_detected;

        printf("  %-8s %4u / %u", count->name, count->detected, count->total);
        if (count->below_total > 0)
                printf("%*sa<v %u / %u, a>v %u / %u", count->total < 10 ? 5 : count->total < 100 ? 4 : 3, "", count->below_detected,
                       count->below_total, above, above_total);
        printf("\n");
}

static double percent(unsigned part, unsigned whole) {
        return 100.0 * part / whole;
}

static void print_coverage(const char *text, const Coverage *coverage) {
        const MarchTest *test = march_test_find(text);

        printf("%s: %un%s, static %u / %u = %.1f %%\n", text, coverage->operations, coverage->delays > 0 ? " and pauses" : "",
               coverage->static_detected, coverage->static_total,
               percent(coverage->static_detected, coverage->static_total));
        if (test)
                printf(" %s\n", test->notation);
        for (size_t i = 0; i < coverage->n; i++) {
                const char *title = group_title(coverage->classes[i].name);

                if (title)
                        printf(" %s\n", title);
                print_count(&coverage->classes[i]);
        }
}

/* In scdoc an underscore begins emphasis and two pluses break the line. */
static void print_escaped(const char *text) {
        for (; *text; text++)
                printf("%s%c", strchr("_+", *text) ? "\\" : "", *text);
}

/* A cell of a table, ALIGNed to '[' left or ']' right. */
static void print_cell(char begin, char align, const char *text) {
        printf("%c%c ", begin, align);
        print_escaped(text);
        printf("\n");
}

/* The tests as they are written. */
static void print_notations(const char *const *texts, size_t n) {
        printf("# TESTS\n\n");
        for (size_t i = 0; i < n; i++) {
                const MarchTest *test = march_test_find(texts[i]);

                printf("*");
                print_escaped(texts[i]);
                printf("*\n\t");
                for (const char *c = test ? test->notation : texts[i]; *c; c++)
                        printf(*c == ';' ? "%c " : "%c", *c); /* where a line may break */
                printf("\n\n");
        }
}

/* How far a table goes that 80 columns hold: past the last class of its group, or as many as there is room for. */
static size_t table_end(const Coverage *coverage, size_t first) {
        size_t end = first, room = 80 - 7 - 11 - 5; /* margin, name of the test, number of operations */

        do {
                size_t name = strlen(coverage->classes[end].name);
                size_t cell = (size_t) snprintf(NULL, 0, "%u/%u", coverage->classes[end].total, coverage->classes[end].total);
                size_t width = 3 + MAX(name, cell);

                if (width > room)
                        break;
                room -= width;
                end++;
        } while (end < coverage->n && !group_title(coverage->classes[end].name));

        return end;
}

/* One scdoc table per group, tests down, classes across. */
static void print_matrix(const char *const *texts, const Coverage *coverages, size_t n) {
        print_notations(texts, n);
        printf("# COVERAGE\n\n");
        for (size_t first = 0, end; first < coverages[0].n; first = end) {
                const char *title = group_title(coverages[0].classes[first].name);

                end = table_end(&coverages[0], first);
                if (title)
                        printf("## %s\n\n", title);
                print_cell('|', '[', "test");
                print_cell(':', ']', "n");
                for (size_t c = first; c < end; c++)
                        print_cell(':', ']', coverages[0].classes[c].name);
                for (size_t i = 0; i < n; i++) {
                        print_cell('|', '[', texts[i]);
                        printf(":] %u\n", coverages[i].operations);
                        for (size_t c = first; c < end; c++)
                                printf(":] %u/%u\n", coverages[i].classes[c].detected, coverages[i].classes[c].total);
                }
                printf("\n");
        }
}

/* What was meant to be a name and is none. */
static void print_names(const char *text) {
        fprintf(stderr, "no test is called \"%s\"; those with a name are", text);
        for (size_t i = 0; march_test_at(i); i++)
                fprintf(stderr, "%s %s", i > 0 ? "," : "", march_test_at(i)->name);
        fprintf(stderr, "\n");
}

static int measure(const char *text, bool strict, Coverage *ret) {
        const char *wrong;
        size_t offset;
        March march;
        int r;

        r = march_read(text, &march, &wrong, &offset);
        if (r < 0) {
                fprintf(stderr, "assay-sim coverage: %s\n%*s^ %s (byte %zu)\n", text, (int) (20 + offset), "", wrong, offset);
                if (!strchr(text, '('))
                        print_names(text);
                return r;
        }

        r = coverage_measure(&march, strict, ret);
        if (r < 0)
                fprintf(stderr, "assay-sim coverage: %s: too many elements of either direction for --strict\n", text);
        return r;
}

static int report(const Options *options, const char *const *texts, const Coverage *coverages, size_t n) {
        json_t *array;

        if (options->matrix)
                print_matrix(texts, coverages, n);
        else if (options->json) {
                array = json_array();
                for (size_t i = 0; i < n; i++)
                        (void) json_array_append_new(array, coverage_json(texts[i], &coverages[i]));
                (void) json_dumpf(array, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
                json_decref(array);
                printf("\n");
        } else
                for (size_t i = 0; i < n; i++)
                        print_coverage(texts[i], &coverages[i]);
        return fflush(stdout) != 0 ? STATUS_CANNOT_TELL : STATUS_PASSED;
}

int verb_coverage(int argc, char *argv[]) {
        _cleanup_free_ Coverage *coverages = NULL;
        _cleanup_free_ const char **texts = NULL;
        Options options;
        size_t n = 0;
        int first;

        first = options_parse(argc, argv, OPTION_JSON | OPTION_STRICT | OPTION_MATRIX, 0, 256, &options);
        if (first < 0)
                return STATUS_USAGE;
        if (first < argc)
                n = (size_t) (argc - first);
        else
                while (march_test_at(n))
                        n++;

        coverages = calloc(n, sizeof(Coverage));
        texts = calloc(n, sizeof(char *));
        if (!coverages || !texts)
                return STATUS_CANNOT_TELL;

        for (size_t i = 0; i < n; i++) {
                texts[i] = first < argc ? argv[(size_t) first + i] : march_test_at(i)->name;
                if (measure(texts[i], options.strict, &coverages[i]) < 0)
                        return STATUS_USAGE;
        }
        return report(&options, texts, coverages, n);
}
