/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One line on stderr that says how far a scan is: drawn only on a terminal, without --quiet and --json. */

void progress_draw(const char *what, const char *state, unsigned percent);
/* Takes the line away. */
void progress_clear(void);
