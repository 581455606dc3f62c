/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Restore
 *
 * A daemon that comes back brings every run that was begun to an end: it goes on from what the stream of the worker already says, and what
 * it knows nothing more of it closes (closing.h). One whose run-start does not verify stays unfinished, and one whose job file cannot be read at the moment is left, with all others
 * that nothing is known of, to the next start.
 */

#include "daemon/manager.h"

/* Before the first schedule. What cannot be restored is told in the journal. */
void manager_restore(Manager *manager);
