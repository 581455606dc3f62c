/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Line
 *
 * An activation travels along its row from column to column, so a register of it that is wrong spoils its own column and all further
 * ones, whichever inputs are selected there. Selectors know nothing of each other: an input of a whole row that is wrong shows where
 * the tags name it, which two columns that are neighbours never do together.
 */

#include <stdbool.h>

#include "checks/sparsity/record.h"

#define LINE_COLUMNS_MIN 2u /* in the last column alone it may be a selector as well */

/*
 * Sets *spoilt of all columns from one on in which some load of RECORD is wrong by the same number, where no column before them is; from the
 * first one on only if it is what a single bit of one row makes, in every load that is wrong: inputs of a row make it in some. Columns that are spoilt already tell nothing. Returns whether there are any.
 */
bool line_mark(const Record *record, bool spoilt[static PE_COLUMNS]);
