/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/text/cleanup.h"
#include "sim/memory/structures/primitive.h"

/* How many there are of each, as the tables of the literature count. */
static const struct {
        const char *name;
        unsigned n;
} counts[] = {
        { "SAF", 2 }, { "SF", 2 }, { "TF", 2 }, { "WDF", 2 }, { "RDF", 2 }, { "DRDF", 2 }, { "IRF", 2 },
        { "CFst", 4 }, { "CFds_wt", 4 }, { "CFds_wn", 4 }, { "CFds_r", 4 }, { "CFtr", 4 }, { "CFwd", 4 }, { "CFrd", 4 },
        { "CFdrd", 4 }, { "CFir", 4 }, { "CFid", 4 }, { "CFin", 2 }, { "dRDF", 4 }, { "dDRDF", 4 }, { "dIRF", 4 },
        { "drrRDF", 2 }, { "drrDRDF", 2 }, { "drrIRF", 2 }, { "dWW", 8 }, { "dRW", 4 }, { "dCFds", 8 }, { "dCFrd", 8 },
        { "dCFdrd", 8 }, { "dCFir", 8 },
};

static void every_class_has_its_primitives_and_they_come_back(void **state) {
        unsigned n_single = 0, n_pairs = 0;

        for (size_t i = 0; i < ELEMENTS(counts); i++) {
                const PrimitiveClass *class = primitive_class_at(i);
                unsigned n = 0;

                assert_non_null(class);
                assert_string_equal(class->name, counts[i].name);
                for (; class->primitives[n]; n++) {
                        char text[PRIMITIVE_TEXT_MAX];
                        const char *wrong = NULL;
                        Primitive primitive;

                        if (primitive_parse(class->primitives[n], &primitive, &wrong, NULL) < 0)
                                fail_msg("%s: %s", class->primitives[n], wrong);
                        assert_string_equal(primitive_format(&primitive, text), class->primitives[n]);
                        for (unsigned k = 0; k < n; k++)
                                assert_string_not_equal(class->primitives[k], class->primitives[n]);
                        if (class->is_static)
                                *(primitive.pair ? &n_pairs : &n_single) += 1;
                }
                assert_int_equal(n, counts[i].n);
        }

        assert_null(primitive_class_at(ELEMENTS(counts)));
        assert_int_equal(n_single, 12);
        assert_int_equal(n_pairs, 36);
}

static const struct {
        const char *text;
        size_t offset;
} wrong_ones[] = {
        { "", 0 }, { "0/1/->", 0 }, { "<", 1 }, { "<2/1/->", 1 }, { "<0w/1/->", 3 }, { "<0r1/1/1>", 3 },
        { "<0w1r1r1/0/0>", 6 }, { "<0w1;0w1/0/->", 8 }, { "<0/1>", 4 }, { "<0/1/1>", 5 }, { "<0r0/1/->", 7 },
        { "<0/!x/->", 3 }, { "<x/!y/->", 3 }, { "<0/1/->x", 7 }, { "<0/1/-", 6 }, { "<0;/1/->", 3 }, { "<0w1 /0/->", 4 },
};

static void what_is_no_primitive_is_refused_with_its_place(void **state) {
        for (size_t i = 0; i < ELEMENTS(wrong_ones); i++) {
                const char *wrong = NULL;
                size_t offset = 99;
                Primitive primitive;

                assert_int_equal(primitive_parse(wrong_ones[i].text, &primitive, &wrong, &offset), -EINVAL);
                assert_non_null(wrong);
                if (offset != wrong_ones[i].offset)
                        fail_msg("%s: %s at %zu", wrong_ones[i].text, wrong, offset);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_class_has_its_primitives_and_they_come_back),
                cmocka_unit_test(what_is_no_primitive_is_refused_with_its_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
