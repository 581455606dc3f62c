/* SPDX-License-Identifier: Apache-2.0 */

/* Target: see target.h. */

#include <ctype.h>
#include <string.h>

#include "daemon/target.h"

static const char *const select_errors[_SELECT_ERROR_MAX] = {
        [SELECT_OK]        = "",
        [SELECT_NOTHING]   = "no targets",
        [SELECT_MALFORMED] = "no target is written so, expected a server, SERVER/chipN or an UltraServer",
        [SELECT_UNKNOWN]   = "no such target in the configuration",
        [SELECT_DEPTH]     = "only whole servers and chips are scanned",
        [SELECT_TWICE]     = "listed twice",
};

const char *select_error_to_string(SelectError error) {
        return error >= 0 && error < _SELECT_ERROR_MAX ? select_errors[error] : NULL;
}

/* "us0" of "us0-1"; empty for other names. */
static void ultraserver_of(const char *server, char ret[static LOCATION_SERVER_NAME_MAX]) {
        size_t n = 2;

        ret[0] = '\0';
        if (strncmp(server, "us", 2) != 0)
                return;

        while (isdigit((unsigned char) server[n]))
                n++;
        if (n == 2 || server[n] != '-' || server[n + 1] == '\0' ||
            strspn(server + n + 1, "0123456789") != strlen(server + n + 1))
                return;

        memcpy(ret, server, n);
        ret[n] = '\0';
}

int targets_init(Targets *targets, const Config *config) {
        targets->items = calloc(config->n_servers, sizeof(Target));
        if (!targets->items)
                return -ENOMEM;

        targets->n_items = config->n_servers;
        for (size_t i = 0; i < config->n_servers; i++) {
                targets->items[i].config = &config->servers[i];
                ultraserver_of(config->servers[i].name, targets->items[i].ultraserver);
        }

        return 0;
}

void targets_done(Targets *targets) {
        free(targets->items);
        *targets = (Targets) {};
}

Target *targets_find(Targets *targets, const char *server) {
        for (size_t i = 0; i < targets->n_items; i++)
                if (strcmp(targets->items[i].config->name, server) == 0)
                        return &targets->items[i];

        return NULL;
}

/* Adds CHIPS of the target at INDEX to its mask; what is there already was asked for twice. */
static SelectError select_chips(uint32_t *masks, size_t index, uint32_t chips) {
        if ((masks[index] & chips) != 0)
                return SELECT_TWICE;

        masks[index] |= chips;
        return SELECT_OK;
}

static SelectError select_ultraserver(Targets *targets, const char *name, uint32_t *masks) {
        SelectError error = SELECT_UNKNOWN;

        for (size_t i = 0; i < targets->n_items; i++) {
                if (strcmp(targets->items[i].ultraserver, name) != 0)
                        continue;
                error = select_chips(masks, i, TARGET_CHIPS_ALL);
                if (error != SELECT_OK)
                        return error;
        }

        return error;
}

static SelectError select_one(Targets *targets, const char *name, uint32_t *masks) {
        Location location;
        Target *target;
        int chip;

        if (location_parse(name, &location, NULL, NULL) < 0)
                return SELECT_MALFORMED;

        target = targets_find(targets, location.server);
        if (!target)
                return location.n_parts == 0 ? select_ultraserver(targets, name, masks) : SELECT_UNKNOWN;
        if (location_kind(&location) == LOCATION_SERVER)
                return select_chips(masks, (size_t) (target - targets->items), TARGET_CHIPS_ALL);
        if (location_kind(&location) != LOCATION_CHIP)
                return SELECT_DEPTH;

        chip = location_index(&location, LOCATION_CHIP);
        if (chip < 0 || (unsigned) chip >= TARGET_CHIPS)
                return SELECT_UNKNOWN;

        return select_chips(masks, (size_t) (target - targets->items), UINT32_C(1) << chip);
}

int targets_select(Targets *targets, char *const *names, Selected **ret, size_t *ret_n,
                   SelectError *ret_error, size_t *ret_at) {
        _cleanup_free_ uint32_t *masks = NULL;
        _cleanup_free_ Selected *selected = NULL;
        size_t n = 0;

        masks = calloc(targets->n_items, sizeof(*masks));
        selected = calloc(targets->n_items, sizeof(*selected));
        if (!masks || !selected)
                return -ENOMEM;

        *ret_at = 0;
        *ret_error = names && names[0] ? SELECT_OK : SELECT_NOTHING;
        for (size_t i = 0; *ret_error == SELECT_OK && names[i]; i++) {
                *ret_error = select_one(targets, names[i], masks);
                *ret_at = i;
        }
        if (*ret_error != SELECT_OK)
                return 0;

        for (size_t i = 0; i < targets->n_items; i++)
                if (masks[i] != 0)
                        selected[n++] = (Selected) { &targets->items[i], masks[i] };

        *ret = TAKE_PTR(selected);
        *ret_n = n;
        return 0;
}

TargetStanding *target_standing(Target *target, const Location *subject) {
        int chip = location_index(subject, LOCATION_CHIP);

        if (chip >= (int) TARGET_CHIPS)
                return NULL;

        return &target->standings[chip < 0 ? (int) TARGET_CHIPS : chip];
}

void target_take(Target *target, const Location *subject, Result result) {
        TargetStanding *standing = target_standing(target, subject);

        /* A failure that was just signed need not be read back; past anything else an earlier one may stand. */
        if (standing)
                *standing = (TargetStanding) { .known = result == RESULT_FAILED, .result = result };
        if (location_kind(subject) == LOCATION_SERVER)
                target->reach_is_known = false;
        /* A server is no better than its chips: see standing.h. */
        target->standings[TARGET_CHIPS].known = false;
}
