/* SPDX-License-Identifier: Apache-2.0 */

/* Keys: see keys-bus.h. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>


#include "daemon/authorize.h"
#include "daemon/bus-errors.h"
#include "daemon/heartbeat.h"
#include "daemon/journal.h"
#include "daemon/keys-bus.h"
#include "daemon/log-bus.h"
#include "daemon/names.h"

struct Keys {
        Manager *manager;
        RecordKey *next;         /* the public half of the key that is named; NULL: none */
        uint64_t index;          /* of the record that names it; UINT64_MAX: not yet committed */
        uint64_t ticket;
        sd_bus_message *message; /* who waits for that */
};

static int is_over(const Keys *keys, sd_bus_error *error) {
        return bus_error_set(error, ASSAY_ERROR_KEY_CHANGED, "Record %" PRIu64 " changed the key to %s: put it in its place and restart assayd", keys->index,
                             record_key_id(keys->next));
}

static int is_busy(sd_bus_error *error) {
        return sd_bus_error_set(error, ASSAY_ERROR_OCCUPIED, "The key is being changed");
}

int keys_check_scan(const Keys *keys, sd_bus_error *error) {
        if (!keys || !keys->next)
                return 0;
        return keys->index == UINT64_MAX ? is_busy(error) : is_over(keys, error);
}

const char *keys_successor(const Keys *keys) {
        return keys && keys->next && keys->index != UINT64_MAX ? record_key_id(keys->next) : NULL;
}

static int reply(const Keys *keys, sd_bus_message *message) {
        return sd_bus_reply_method_return(message, "st", record_key_id(keys->next), keys->index);
}

static void forget(Keys *keys) {
        keys->next = record_key_free(keys->next);
        keys->message = sd_bus_message_unref(keys->message);
}

bool keys_take_outcome(Keys *keys, const RecordOutcome *outcome) {
        if (!keys || !keys->message || outcome->ticket != keys->ticket)
                return false;

        if (outcome->error < 0) {
                (void) sd_bus_reply_method_errorf(keys->message, ASSAY_ERROR_STORE, "Failed to commit the change of the key: %s",
                                                  strerror(-outcome->error));
                forget(keys);
                return true;
        }
        keys->index = outcome->entries[0].index;
        log_info("Record %" PRIu64 " changed the key to %s: nothing is signed until assayd is restarted with it", keys->index,
                 record_key_id(keys->next));
        keys->manager->heartbeat = heartbeat_free(keys->manager->heartbeat);
        (void) reply(keys, keys->message);
        keys->message = sd_bus_message_unref(keys->message);
        return true;
}

static int check_change(const Keys *keys, sd_bus_error *error) {
        size_t n_scans;
        int r;

        r = log_bus_check_sound(keys->manager, error);
        if (r < 0)
                return r;
        if (keys->next)
                return keys_check_scan(keys, error);
        (void) manager_count_scans(keys->manager, 0, &n_scans);
        if (n_scans > 0)
                return bus_error_set(error, ASSAY_ERROR_OCCUPIED, "%zu scans have not finished: wait for them, or cancel them", n_scans);
        return 0;
}

static int change(Keys *keys, const char *pem, RecordKey **key, sd_bus_message *message, sd_bus_error *error) {
        int r;

        keys->ticket = manager_next_ticket(keys->manager);
        r = record_log_rotate(keys->manager->log, pem, keys->ticket);
        if (r == -EEXIST)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "%s has signed in this log before", record_key_id(*key));
        if (r == -EAGAIN)
                return sd_bus_error_set(error, ASSAY_ERROR_OCCUPIED, "The log has no room for more, try again");
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "Failed to change the key: %s", strerror(-r));

        keys->next = TAKE_PTR(*key);
        keys->index = UINT64_MAX;
        keys->message = sd_bus_message_ref(message);
        return 1;
}

static int method_rotate_key(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        Keys *keys = userdata;
        const char *pem;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "st", &pem, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        r = record_key_from_public_pem(pem, &key);
        if (r < 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "This is no Ed25519 or P-256 public key in PEM form");

        r = authorize(keys->manager->authority, message, ASSAY_ACTION_KEYS, (const char *const[]) { "key", record_key_id(key), NULL }, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        /* Who was interrupted asks again. */
        if (keys->next && keys->index != UINT64_MAX && strcmp(record_key_id(keys->next), record_key_id(key)) == 0)
                return reply(keys, message);
        r = check_change(keys, error);
        return r < 0 ? r : change(keys, pem, &key, message, error);
}

static int property_get_public_keys(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *message,
                                    void *userdata, sd_bus_error *error) {
        const Keys *keys = userdata;
        _cleanup_free_ char *pems = NULL;
        int r;

        r = record_log_public_keys(keys->manager->log, &pems);
        return r < 0 ? r : sd_bus_message_append(message, "s", pems);
}

static int property_get_key_changed(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *message, void *userdata,
                                    sd_bus_error *error) {
        _cleanup_(sd_bus_error_free) sd_bus_error over = SD_BUS_ERROR_NULL;
        const Keys *keys = userdata;

        if (keys_successor(keys))
                (void) is_over(keys, &over);
        return sd_bus_message_append(message, "s", over.message ?: "");
}

static const sd_bus_vtable keys_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("KeyChanged", "s", property_get_key_changed, 0, 0),
        SD_BUS_PROPERTY("PublicKeys", "s", property_get_public_keys, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_METHOD_WITH_ARGS("RotateKey",
                                SD_BUS_ARGS("s", public_key, "t", flags),
                                SD_BUS_RESULT("s", key_id, "t", index),
                                method_rotate_key,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

int keys_bus_attach(Manager *manager, sd_bus *bus) {
        manager->keys = calloc(1, sizeof(*manager->keys));
        if (!manager->keys)
                return -ENOMEM;
        manager->keys->manager = manager;
        return sd_bus_add_object_vtable(bus, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, keys_vtable, manager->keys);
}

Keys *keys_free(Keys *keys) {
        if (!keys)
                return NULL;
        forget(keys);
        free(keys);
        return NULL;
}
