/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/repairs.h"

#include <sys/param.h>

#include "cli/terminal/say.h"


/* Each step of a plan proves all rows anew, and asks for those that it found; what was asked for before and waits for its reset is pending. */
void repairs_print(const View *view, bool all) {
        double asked, pending, proven, unused;
        bool asks;

        if (!view_is_health(view))
                return;
        asks = view_measured(view, "hbm_repairs_requested", &asked, &unused);
        (void) view_measured(view, "hbm_repairs_pending", &unused, &pending);
        (void) view_measured(view, "hbm_rows_proven", &unused, &proven);
        if (proven > 0 && (asks || all))
                say_words(0, "Repaired on %s: %g memory row%s, proven with the neighbours", view->where, proven, proven > 1 ? "s" : "");
        pending = MAX(asked, pending);
        if (pending > 0 && asks)
                say_words(0, "To be repaired on %s: %g memory row%s. Reset the chip, then scan it again: --plan %s", view->where, pending,
                          pending > 1 ? "s" : "", view->plan);
}
