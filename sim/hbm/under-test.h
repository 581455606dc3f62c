/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmUnderTest
 *
 * Which rows of a chip a test is writing, or was when it was interrupted: attribute assay/hbm/under-test of wire.h. Kept by the first stack
 * for all four, as long as they hold their data.
 */

#include "sim/hbm/hbm.h"

int hbm_under_test_read(void *state, Chip *chip, unsigned index, char *text, size_t size);
int hbm_under_test_write(void *state, Chip *chip, unsigned index, const char *text);
