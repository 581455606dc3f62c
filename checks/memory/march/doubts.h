/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchDoubts
 *
 * Plants and trials that did not come back are tried again, each alone, at the end of a pass: if memory gives back what was
 * planted and the same operation still does not report it, the comparator is blind. Else it is a mismatch like others.
 */

#include "checks/memory/march/march.h"

void march_doubt(MarchPass *pass, const MarchDoubt *doubt);
int march_doubts_settle(MarchPass *pass, MemoryBatch *batch);
