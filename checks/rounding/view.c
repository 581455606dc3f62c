/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/view.h"

#include <stdlib.h>
#include <string.h>

View *view_free(View *view) {
        if (view) {
                free(view->elements);
                free(view->words);
                free(view->answers);
                free(view->sound);
        }
        free(view);
        return NULL;
}

static void look_at(View *view, unsigned pass, const uint8_t *answers) {
        const Pass *p = &view->script->passes[pass];
        unsigned at = view->at[pass];

        for (unsigned i = 0; i < p->count; i++) {
                size_t from = (size_t) view->lane * p->count + i;

                view->answers[at + i] = golden_load(p->format, answers, from);
                view->sound[at + i] = golden_load(p->format, view->script->out[pass], from);
                if (view->answers[at + i] == view->sound[at + i])
                        continue;
                if (view->n_mismatches++ == 0)
                        view->first = at + i;
                view->wrong[pass] = true;
        }
        view->n_wrong_passes += view->wrong[pass];
}

int view_make(const Script *script, const uint8_t *const answers[], unsigned lane, View **ret) {
        _cleanup_(view_freep) View *view = calloc(1, sizeof(*view));
        size_t n = script_conversions(script) / ENGINE_LANES + PASS_COUNT_MAX; /* room for the longest pass at the end */

        if (!view)
                return -ENOMEM;
        view->script = script;
        view->lane = lane;
        view->elements = calloc(n, sizeof(*view->elements));
        view->words = calloc(n, sizeof(*view->words));
        view->answers = calloc(n, sizeof(*view->answers));
        view->sound = calloc(n, sizeof(*view->sound));
        if (!view->elements || !view->words || !view->answers || !view->sound)
                return -ENOMEM;

        for (unsigned pass = 0; pass < script->n_passes; pass++) {
                view->at[pass + 1] = view->at[pass] + script->passes[pass].count;
                script_lane(script, pass, lane, view->elements + view->at[pass], view->words + view->at[pass]);
                look_at(view, pass, answers[pass]);
        }

        *ret = TAKE_PTR(view);
        return 0;
}

unsigned view_pass_of(const View *view, unsigned i) {
        unsigned pass = 0;

        while (view->at[pass + 1] <= i)
                pass++;
        return pass;
}

unsigned view_ups(const View *view, unsigned place) {
        unsigned ups = 0;

        for (unsigned i = place; i < view->at[view->script->n_coins]; i += COIN_PLACES)
                ups += view->answers[i] == element_signed(FORMAT_BF16, &view->elements[i], view->elements[i].low + 1);
        return ups;
}
