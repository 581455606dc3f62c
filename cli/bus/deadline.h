/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The end of a call that must end: whatever a daemon does, a hook has its answer in time. */

#include <stdbool.h>

/*
 * After SEC seconds writes TEXT, which must stay, to stdout and exits with STATUS. 0 or a negative errno: nobody watches the time.
 */
int deadline_set(double sec, const char *text, int status);
/* The answer is there. */
void deadline_clear(void);
/* Whether somebody watches the time. */
bool deadline_is_set(void);
/* Whether less than a quarter of a second is left: what waits for something better takes what it has. */
bool deadline_is_near(void);
