/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What tests say of the outcome of a check on a TensorChip. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "checks/vocabulary/location.h"
#include "tests/checks/tensor-chip.h"

/* Finding I has CODE, lies at WHERE (without the chip), and its message has SAYS in it. */
static inline void assert_finding(const TensorOutcome *outcome, size_t i, const char *code, const char *where,
                                  const char *says) {
        char full[LOCATION_STRING_MAX];

        (void) snprintf(full, sizeof(full), "us0-0/chip0/%s", where);
        assert_true(i < outcome->n_findings);
        assert_string_equal(outcome->findings[i].code, code);
        assert_string_equal(outcome->findings[i].where, full);
        if (!strstr(outcome->findings[i].message, says))
                fail_msg("\"%s\" does not say \"%s\"", outcome->findings[i].message, says);
}
