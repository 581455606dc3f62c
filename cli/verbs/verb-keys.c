/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/own-keys.h"
#include "cli/bus/reply.h"
#include "cli/files/key-source.h"
#include "cli/files/key-swap.h"
#include "cli/files/keys-ring.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

#define NO_WITNESSES "quorum none\n"
#define KEY_DEFAULT "/etc/assay/keys/record.pem"

/* ---- what is shown of a key ---- */

typedef struct Shown {
        const char *algorithm, *pem, *vkey; /* NULL or "": none */
        const char *id;
        const char *ring; /* which keys a reader is to trust, PEM; "": none, as of a log's key, which signs no records */
        const char *witnesses; /* of its log, as lines of the ring, with a quorum of them */
} Shown;

static int print_json(const Shown *shown) {
        json_t *object = json_pack("{s:s, s:s, s:s, s:s*}", "keyId", shown->id, "algorithm", shown->algorithm, "publicKey", shown->pem, "logKey",
                                   shown->vkey && *shown->vkey ? shown->vkey : NULL);

        if (!object)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        (void) json_dumpf(object, stdout, 0);
        (void) putchar('\n');
        json_decref(object);
        return STATUS_PASSED;
}

/* What is said first are remarks to a keyring: the whole is one, as it stands. */
static int print_key(const Shown *shown) {
        if (options.json)
                return print_json(shown);
        printf("key        %s\nalgorithm  %s\n%s", shown->id, shown->algorithm, shown->ring);
        if (shown->vkey && *shown->vkey)
                printf("log %s\n%s", shown->vkey, shown->witnesses);
        return STATUS_PASSED;
}

static int print_loaded(const RecordKey *key) {
        _cleanup_free_ char *vkey = NULL;
        const char *pem = record_key_public_pem(key);
        Shown shown = { record_algorithm_to_string(record_key_algorithm(key)), pem, NULL, record_key_id(key), pem, NO_WITNESSES };
        int r;

        if (options.origin) {
                r = record_key_vkey(key, options.origin, &vkey);
                if (r < 0)
                        return complain(STATUS_USAGE, "a log has an Ed25519 key, and an origin without white space and '+'");
                shown.vkey = vkey;
                shown.ring = "";
        }
        return print_key(&shown);
}

/* NULL: the daemon has no such property. */
static int get_text(sd_bus *bus, const char *property, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, property, &error, ret);
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_PROPERTY))
                return 0;
        return r < 0 ? complain_bus(&error, r, "could not read the daemon's keys") : 0;
}

/* More than half of them: no log can show two readers so many of which none signed for both. */
static int get_witnesses(sd_bus *bus, char **ret) {
        _cleanup_free_ char *lines = NULL;
        unsigned n = 0;
        int r;

        r = own_keys_witnesses(bus, &lines, &n);
        if (r == 0 && (n > 0 ? asprintf(ret, "%squorum %u\n", lines, n / 2 + 1) : asprintf(ret, "%s", NO_WITNESSES)) < 0)
                r = complain(STATUS_CANNOT_TELL, "out of memory");
        return r;
}

static int show_running(void) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        _cleanup_free_ char *pem = NULL, *all = NULL, *vkey = NULL, *witnesses = NULL;
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = get_text(bus, "PublicKey", &pem);
        if (r == 0)
                r = get_text(bus, "PublicKeys", &all);
        if (r == 0)
                r = get_text(bus, "LogKey", &vkey);
        if (r == 0)
                r = get_witnesses(bus, &witnesses);
        if (r != 0)
                return r;
        r = pem ? record_key_from_public_pem(pem, &key) : -ENOENT;
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "the daemon's public key cannot be read: %s", strerror(-r));
        return print_key(&(Shown) { record_algorithm_to_string(record_key_algorithm(key)), pem, vkey, record_key_id(key),
                                     all ?: pem, witnesses });
}

static int keys_show(int argc, char **argv) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        int r;

        if (argc == 0)
                return show_running();
        r = key_source_load(argv[0], record_key_load_public, &key);
        return r != 0 ? r : print_loaded(key);
}

/* ---- making one ---- */

static int wanted_algorithm(RecordAlgorithm otherwise, RecordAlgorithm *ret) {
        *ret = options.algorithm ? record_algorithm_from_string(options.algorithm) : otherwise;
        return *ret < 0 ? complain(STATUS_USAGE, "no algorithm is called '%s', but ed25519 and ecdsa-p256", options.algorithm) : 0;
}

/* The corrected command finds its place free: nobody has been told of this key. */
static void take_back(const char *file) {
        char public[PATH_MAX];

        (void) snprintf(public, sizeof(public), "%s.pub", file);
        (void) unlink(public);
        (void) unlink(file);
}

static int keys_create(int argc, char **argv) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        RecordAlgorithm algorithm;
        int r;

        r = wanted_algorithm(RECORD_ED25519, &algorithm);
        if (r != 0)
                return r;
        if (options.origin && algorithm != RECORD_ED25519)
                return complain(STATUS_USAGE, "a log has an Ed25519 key");
        r = record_key_generate(argv[0], algorithm);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", argv[0], strerror(-r));
        r = key_source_load(argv[0], record_key_load, &key);
        if (r == 0)
                r = print_loaded(key);
        if (r == STATUS_USAGE)
                take_back(argv[0]);
        return r;
}

/* ---- from one to the next ---- */

/* Asks the daemon to let its key name KEY; twice is once. */
static int ask(sd_bus *bus, const RecordKey *key) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint64_t index = 0;
        const char *id;
        int r;

        r = call_manager(bus, "RotateKey", &error, &reply, "st", record_key_public_pem(key), (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "st", &id, &index);
        if (r < 0)
                return complain_bus(&error, r, "could not change the key");
        if (!options.quiet)
                printf("Record %" PRIu64 " names %s\n", index, record_key_id(key));
        return 0;
}

static int say_restart(const RecordKey *key) {
        if (!options.quiet)
                printf("Now restart assayd: it signs nothing until it has %s\n", record_key_id(key));
        return STATUS_PASSED;
}

/*
 * To a key that is where it is to stay: a token, or a file that somebody else puts in place. Its private half must be at hand, for to one
 * that nobody has there is no way back.
 */
static int rotate_to(const char *source) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        int r;

        r = key_source_load(source, record_key_load, &key);
        if (r == 0)
                r = call_connect(&bus);
        if (r == 0)
                r = ask(bus, key);
        return r != 0 ? r : say_restart(key);
}

/* Whether FILE is what the daemon signs with: another one must not be replaced. */
static int check_current(sd_bus *bus, const char *file, const RecordKey *current) {
        _cleanup_free_ char *id = NULL;
        int r;

        r = get_text(bus, "KeyId", &id);
        if (r == 0 && id && strcmp(id, record_key_id(current)) != 0)
                return complain(STATUS_USAGE, "%s is %s, and assayd signs with %s: restart it, or name its file", file, record_key_id(current), id);
        return r;
}

/* The log has it already, and assayd has said so: then it does not run, and cannot be asked. */
static int believe(const char *file, const char *id, RecordKey **ret_next) {
        int r;

        r = key_swap_load(file, ret_next);
        if (r < 0)
                return complain(STATUS_USAGE, "%s.new: %s", file, record_key_strerror(file, r));
        if (strcmp(id, record_key_id(*ret_next)) != 0)
                return complain(STATUS_USAGE, "%s.new is %s, not %s", file, record_key_id(*ret_next), id);
        return 0;
}

static int make_and_ask(const char *file, const RecordKey *current, RecordKey **ret_next) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        RecordAlgorithm algorithm;
        int r;

        r = wanted_algorithm(record_key_algorithm(current), &algorithm);
        if (r == 0)
                r = call_connect(&bus);
        if (r == 0)
                r = check_current(bus, file, current);
        if (r != 0)
                return r;
        r = key_swap_prepare(file, algorithm, ret_next);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "could not make %s.new: %s", file, strerror(-r));
        /* It may be in the log already. */
        if (options.algorithm && record_key_algorithm(*ret_next) != algorithm)
                return complain(STATUS_USAGE, "%s.new is %s, left by a change that did not end: finish it without --algorithm, or remove it", file,
                                record_algorithm_to_string(record_key_algorithm(*ret_next)));
        return ask(bus, *ret_next);
}

static int rotate_file(const char *file) {
        _cleanup_(record_key_freep) RecordKey *current = NULL, *next = NULL;
        int r;

        r = key_source_load(file, record_key_load, &current);
        if (r != 0)
                return r;
        r = key_swap_resume(file);
        if (r > 0)
                return say_restart(current);
        if (r == -ESTALE)
                return complain(STATUS_USAGE, "%s.new.pub belongs to no key here: remove it", file);

        if (r == 0)
                r = options.finish ? believe(file, options.finish, &next) : make_and_ask(file, current, &next);
        if (r > 0)
                return r;
        if (r == 0)
                r = key_swap_finish(file);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s.new is not yet in its place: %s. Run this again", file, strerror(-r));
        return say_restart(next);
}

static int keys_rotate(int argc, char **argv) {
        if (options.origin)
                return complain(STATUS_USAGE, "a log's key stays: with another one it is another log");
        if (options.to && (options.key || options.finish || options.algorithm))
                return complain(STATUS_USAGE, "--to names a key that is there: no --key, --finish or --algorithm");
        return options.to ? rotate_to(options.to) : rotate_file(options.key ?: KEY_DEFAULT);
}

static int run_verb(int argc, char **argv) {
        static const struct {
                const char *name, *arguments;
                int min, max; /* arguments after the name */
                int (*run)(int argc, char **argv);
        } parts[] = {
                { "create", "FILE",       1, 1, keys_create },
                { "show",   "[FILE|URI]", 0, 1, keys_show   },
                { "rotate", "",           0, 0, keys_rotate },
                { "ring",   "TEXT",       1, 1, keys_ring   },
                { "sign",   "KEYRING",    1, 1, keys_sign   },
        };

        for (size_t i = 0; i < ELEMENTS(parts); i++) {
                if (strcmp(parts[i].name, argv[0]) != 0)
                        continue;
                if (argc - 1 < parts[i].min || argc - 1 > parts[i].max)
                        return complain(STATUS_USAGE, "usage: assayctl keys %s %s", parts[i].name, parts[i].arguments);
                return parts[i].run(argc - 1, argv + 1);
        }
        return complain(STATUS_USAGE, "no verb of keys is called '%s'; they are create, show, rotate, ring and sign", argv[0]);
}

const Verb verb_keys = {
        .name = "keys",
        .min = 1,
        .max = 2,
        .arguments = "create FILE | show [FILE|URI] | rotate | ring TEXT | sign KEYRING",
        .summary = "Make keys, show them, change the daemon's; make keyrings",
        .options = "algorithm origin key to finish output",
        .run = run_verb,
};
