/* SPDX-License-Identifier: Apache-2.0 */

/* Companions: see companion-bus.h. */

#include "daemon/companion-bus.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/authorize.h"
#include "daemon/bus-errors.h"
#include "daemon/keys-bus.h"
#include "daemon/names.h"

typedef struct CompanionCall {
        sd_bus_message *message; /* who waits; NULL: nobody */
        uid_t uid;
        uint64_t index, ticket;
} CompanionCall;

struct Companions {
        Manager *manager;
        CompanionCall calls[ASSAY_COMPANIONS_MAX];
};

/* Room for one of UID, or NULL. */
static CompanionCall *find_room(Companions *companions, uid_t uid) {
        CompanionCall *room = NULL;

        for (size_t i = 0; i < ELEMENTS(companions->calls); i++) {
                CompanionCall *call = &companions->calls[i];

                if (!call->message)
                        room = call;
                else if (call->uid == uid)
                        return NULL;
        }
        return room;
}

static int is_full(sd_bus_error *error) {
        return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Another companion is being signed, try again");
}

static int sign(Companions *companions, CompanionCall *call, sd_bus_error *error) {
        int r;

        r = record_log_companion(companions->manager->log, call->index, call->ticket);
        if (r == -EAGAIN)
                return is_full(error);
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to sign the companion of record %" PRIu64 ": %s", call->index,
                                     strerror(-r));
        (void) sd_bus_message_ref(call->message);
        return 1; /* the answer comes when it is signed */
}

static int method_get_companion(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Companions *companions = userdata;
        CompanionCall *room, call = { .message = message };
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "tt", &call.index, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r == 0)
                r = keys_check_scan(companions->manager->keys, error);
        if (r < 0)
                return r;
        r = authorize_sender_uid(message, &call.uid);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to learn who asks: %s", strerror(-r));

        room = find_room(companions, call.uid);
        if (!room)
                return is_full(error);
        call.ticket = manager_next_ticket(companions->manager);
        r = sign(companions, &call, error);
        if (r > 0)
                *room = call;
        return r;
}

static const char *error_name(int error) {
        static const struct {
                int error;
                const char *name;
        } names[] = {
                { -ERANGE,      ASSAY_ERROR_NO_SUCH_RECORD },
                { -ENODATA,     ASSAY_ERROR_NO_SUCH_RECORD },
                { -EINVAL,      SD_BUS_ERROR_INVALID_ARGS  },
                { -EKEYEXPIRED, ASSAY_ERROR_KEY_CHANGED    },
        };

        for (size_t i = 0; i < ELEMENTS(names); i++)
                if (names[i].error == error)
                        return names[i].name;
        return ASSAY_ERROR_STORE;
}

/* Who has left the bus is answered like anybody else: the bus drops it. */
static void answer(const CompanionCall *call, const RecordOutcome *outcome) {
        if (outcome->error == 0)
                (void) sd_bus_reply_method_return(call->message, "s", outcome->companion);
        else
                (void) sd_bus_reply_method_errorf(call->message, error_name(outcome->error), "No companion of record %" PRIu64 ": %s", call->index,
                                                  outcome->wrong ?: strerror(-outcome->error));
}

bool companions_take_outcome(Companions *companions, const RecordOutcome *outcome) {
        for (size_t i = 0; companions && i < ELEMENTS(companions->calls); i++) {
                CompanionCall *call = &companions->calls[i];

                if (!call->message || call->ticket != outcome->ticket)
                        continue;
                answer(call, outcome);
                call->message = sd_bus_message_unref(call->message);
                return true;
        }
        return false;
}

static const sd_bus_vtable companions_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("GetCompanion",
                                SD_BUS_ARGS("t", index, "t", flags),
                                SD_BUS_RESULT("s", envelope),
                                method_get_companion,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

int companion_bus_attach(Manager *manager, sd_bus *bus) {
        manager->companions = calloc(1, sizeof(*manager->companions));
        if (!manager->companions)
                return -ENOMEM;
        manager->companions->manager = manager;
        return sd_bus_add_object_vtable(bus, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, companions_vtable, manager->companions);
}

Companions *companions_free(Companions *companions) {
        for (size_t i = 0; companions && i < ELEMENTS(companions->calls); i++)
                (void) sd_bus_message_unref(companions->calls[i].message);
        free(companions);
        return NULL;
}
