/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/notation.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "checks/text/cleanup.h"

/* From the literature; n_ops and n_delays are the published lengths and a test holds them against the notations. */
static const MarchTest tests[] = {
        { "MATS", 4, 0, "any(w0);any(r0,w1);any(r1)" },
        { "MATS+", 5, 0, "any(w0);up(r0,w1);dn(r1,w0)" },
        { "MATS++", 6, 0, "any(w0);up(r0,w1);dn(r1,w0,r0)" },
        { "March X", 6, 0, "any(w0);up(r0,w1);dn(r1,w0);any(r0)" },
        { "March Y", 8, 0, "any(w0);up(r0,w1,r1);dn(r1,w0,r0);any(r0)" },
        { "March C", 11, 0, "any(w0);up(r0,w1);up(r1,w0);any(r0);dn(r0,w1);dn(r1,w0);any(r0)" },
        { "March C-", 10, 0, "any(w0);up(r0,w1);up(r1,w0);dn(r0,w1);dn(r1,w0);any(r0)" },
        { "March C+", 14, 0, "any(w0);up(r0,w1,r1);up(r1,w0,r0);dn(r0,w1,r1);dn(r1,w0,r0);any(r0)" },
        { "PMOVI", 13, 0, "dn(w0);up(r0,w1,r1);up(r1,w0,r0);dn(r0,w1,r1);dn(r1,w0,r0)" },
        { "March A", 15, 0, "any(w0);up(r0,w1,w0,w1);up(r1,w0,w1);dn(r1,w0,w1,w0);dn(r0,w1,w0)" },
        { "March B", 17, 0, "any(w0);up(r0,w1,r1,w0,r0,w1);up(r1,w0,w1);dn(r1,w0,w1,w0);dn(r0,w1,w0)" },
        { "Algorithm B", 17, 0, "any(w0);up(r0,w1,w0,w1);up(r1,w0,r0,w1);dn(r1,w0,w1,w0);dn(r0,w1,r1,w0)" },
        { "March U", 13, 0, "any(w0);up(r0,w1,r1,w0);up(r0,w1);dn(r1,w0,r0,w1);dn(r1,w0)" },
        { "March LR", 14, 0, "any(w0);dn(r0,w1);up(r1,w0,r0,w1);up(r1,w0);up(r0,w1,r1,w0);up(r0)" },
        { "March LA", 22, 0,
          "any(w0);up(r0,w1,w0,w1,r1);up(r1,w0,w1,w0,r0);dn(r0,w1,w0,w1,r1);dn(r1,w0,w1,w0,r0);dn(r0)" },
        { "March SR", 14, 0, "dn(w0);up(r0,w1,r1,w0);up(r0,r0);up(w1);dn(r1,w0,r0,w1);dn(r1,r1)" },
        { "March SS", 22, 0,
          "any(w0);up(r0,r0,w0,r0,w1);up(r1,r1,w1,r1,w0);dn(r0,r0,w0,r0,w1);dn(r1,r1,w1,r1,w0);any(r0)" },
        { "March MSS", 18, 0, "any(w0);up(r0,r0,w1,w1);up(r1,r1,w0,w0);dn(r0,r0,w1,w1);dn(r1,r1,w0,w0);any(r0)" },
        { "March RAW", 26, 0,
          "any(w0);up(r0,w0,r0,r0,w1,r1);up(r1,w1,r1,r1,w0,r0);dn(r0,w0,r0,r0,w1,r1);dn(r1,w1,r1,r1,w0,r0);any(r0)" },
        { "March RAW1", 13, 0,
          "any(w0);any(w0,r0);any(r0);any(w1,r1);any(r1);any(w1,r1);any(r1);any(w0,r0);any(r0)" },
        { "March AB", 22, 0,
          "any(w1);dn(r1,w0,r0,w0,r0);dn(r0,w1,r1,w1,r1);up(r1,w0,r0,w0,r0);up(r0,w1,r1,w1,r1);any(r1)" },
        { "March SL", 41, 0,
          "any(w0);up(r0,r0,w1,w1,r1,r1,w0,w0,r0,w1);up(r1,r1,w0,w0,r0,r0,w1,w1,r1,w0);"
          "dn(r0,r0,w1,w1,r1,r1,w0,w0,r0,w1);dn(r1,r1,w0,w0,r0,r0,w1,w1,r1,w0)" },
        { "March G", 23, 2,
          "any(w0);up(r0,w1,r1,w0,r0,w1);up(r1,w0,w1);dn(r1,w0,w1,w0);dn(r0,w1,w0);Del;any(r0,w1,r1);Del;any(r1,w0,r0)" },
        { "IFA-9", 12, 2, "any(w0);up(r0,w1);up(r1,w0);dn(r0,w1);dn(r1,w0);Del;any(r0,w1);Del;any(r1)" },
        { "IFA-13", 16, 2,
          "any(w0);up(r0,w1,r1);up(r1,w0,r0);dn(r0,w1,r1);dn(r1,w0,r0);Del;any(r0,w1);Del;any(r1)" },
};

typedef struct Parser {
        const char *p;
        const char *wrong;
        int value; /* what every access holds here: 0, 1, or -1 before anything was written */
} Parser;

static int refuse(Parser *parser, const char *wrong) {
        parser->wrong = wrong;
        return -EINVAL;
}

static void skip_spaces(Parser *parser) {
        while (*parser->p == ' ')
                parser->p++;
}

static bool take(Parser *parser, const char *word) {
        size_t n = strlen(word);

        skip_spaces(parser);
        if (strncmp(parser->p, word, n) != 0)
                return false;
        parser->p += n;
        return true;
}

static int parse_operation(Parser *parser, uint8_t *ret) {
        const char *start;
        int value;

        skip_spaces(parser);
        start = parser->p;
        if (*start != 'r' && *start != 'w')
                return refuse(parser, "expected an operation: r0, r1, w0 or w1");
        if (start[1] != '0' && start[1] != '1') {
                parser->p++;
                return refuse(parser, "expected 0 or 1 after r or w");
        }

        value = start[1] - '0';
        if (*start == 'r' && parser->value < 0)
                return refuse(parser, "this reads what nothing has written");
        if (*start == 'r' && parser->value != value)
                return refuse(parser, "this read contradicts the last write");
        if (*start == 'w')
                parser->value = value;

        *ret = (uint8_t) ((*start == 'w' ? MARCH_WRITE : 0) | (value ? MARCH_DATA : 0));
        parser->p += 2;
        return 0;
}

static int parse_operations(Parser *parser, MarchElement *element) {
        int r;

        if (!take(parser, "("))
                return refuse(parser, "expected '(' and operations");

        do {
                if (element->n_ops >= MARCH_OPS_MAX)
                        return refuse(parser, "an element has at most 24 operations");
                r = parse_operation(parser, &element->ops[element->n_ops]);
                if (r < 0)
                        return r;
                element->n_ops++;
        } while (take(parser, ","));

        return take(parser, ")") ? 0 : refuse(parser, "expected ',' or ')'");
}

static int parse_element(Parser *parser, MarchElement *element) {
        static const char *const words[_MARCH_DIRECTION_MAX] = {
                [MARCH_ANY] = "any", [MARCH_UP] = "up", [MARCH_DOWN] = "dn", [MARCH_DELAY] = "Del",
        };

        *element = (MarchElement) {};
        for (unsigned i = 0; i < _MARCH_DIRECTION_MAX; i++)
                if (take(parser, words[i])) {
                        element->direction = (MarchDirection) i;
                        return i == MARCH_DELAY ? 0 : parse_operations(parser, element);
                }

        return refuse(parser, "expected an element: up(…), dn(…), any(…) or Del");
}

static int parse_elements(Parser *parser, March *march) {
        int r;

        do {
                /* A final ';' ends the last element. */
                skip_spaces(parser);
                if (march->n_elements > 0 && *parser->p == '\0')
                        break;
                if (march->n_elements >= MARCH_ELEMENTS_MAX)
                        return refuse(parser, "a march has at most 32 elements");

                r = parse_element(parser, &march->elements[march->n_elements]);
                if (r < 0)
                        return r;
                march->n_elements++;
        } while (take(parser, ";"));

        skip_spaces(parser);
        if (*parser->p != '\0')
                return refuse(parser, "expected ';' or the end");
        if (march_operations(march) == 0)
                return refuse(parser, "nothing is written or read");
        return 0;
}

int march_parse(const char *text, March *ret, const char **ret_wrong, size_t *ret_offset) {
        Parser parser = { .p = text, .value = -1 };
        March march = {};
        int r;

        r = parse_elements(&parser, &march);
        if (r < 0) {
                if (ret_wrong)
                        *ret_wrong = parser.wrong;
                if (ret_offset)
                        *ret_offset = (size_t) (parser.p - text);
                return r;
        }

        *ret = march;
        return 0;
}

int march_read(const char *text, March *ret, const char **ret_wrong, size_t *ret_offset) {
        const MarchTest *test = march_test_find(text);

        return march_parse(test ? test->notation : text, ret, ret_wrong, ret_offset);
}

const MarchTest *march_test_find(const char *name) {
        for (size_t i = 0; i < ELEMENTS(tests); i++)
                if (strcmp(tests[i].name, name) == 0)
                        return &tests[i];
        return NULL;
}

const MarchTest *march_test_at(size_t index) {
        return index < ELEMENTS(tests) ? &tests[index] : NULL;
}

unsigned march_operations(const March *march) {
        unsigned n = 0;

        for (unsigned i = 0; i < march->n_elements; i++)
                n += march->elements[i].n_ops;
        return n;
}
