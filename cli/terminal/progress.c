/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/terminal/options.h"
#include "cli/terminal/say.h"


#define CELLS 24

static bool drawn = false;

void progress_draw(const char *what, const char *state, unsigned percent) {
        if (options.quiet || options.json || !isatty(STDERR_FILENO))
                return;
        if (percent > 100)
                percent = 100;

        fputs("\r\033[K", stderr);
        say(stderr, "%s  %s  ", what, state);
        for (unsigned i = 0; i < CELLS; i++)
                fputs(i * 100 < percent * CELLS ? "█" : "░", stderr);
        fprintf(stderr, " %u %%", percent);
        fflush(stderr);
        drawn = true;
}

void progress_clear(void) {
        if (drawn)
                fputs("\r\033[K", stderr);
        drawn = false;
}
