/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/call.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/deadline.h"
#include "cli/bus/own-keys.h"
#include "cli/bus/reply.h"
#include "cli/files/file-kind.h"
#include "cli/terminal/nearest.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "daemon/names.h"

/* The same map as the daemon's: r is the errno on either side. */
static const sd_bus_error_map errors[] = {
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_TARGET, ENOENT),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_PLAN, ENOENT),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_BAD_PLAN, EBADMSG),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_SCAN, ESRCH),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_SCAN_FINISHED, ESTALE),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_TOO_MANY_SCANS, EDQUOT),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_OCCUPIED, EBUSY),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_RECORD, ERANGE),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_STORE, EIO),
        SD_BUS_ERROR_MAP_END,
};

int call_connect(sd_bus **ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        (void) sd_bus_error_add_map(errors);

        if (options.host)
                r = sd_bus_open_system_remote(&bus, options.host);
        else if (strcmp(options.bus, "system") == 0)
                r = sd_bus_open_system(&bus);
        else {
                r = sd_bus_new(&bus);
                if (r >= 0)
                        r = sd_bus_set_address(bus, options.bus);
                if (r >= 0)
                        r = sd_bus_set_bus_client(bus, true);
                if (r >= 0)
                        r = sd_bus_negotiate_fds(bus, true);
                if (r >= 0)
                        r = sd_bus_start(bus);
        }
        if (r < 0)
                return complain(STATUS_UNREACHABLE, "could not reach the bus%s%s: %s", options.host ? " of " : "",
                                options.host ?: "", strerror(-r));

        (void) sd_bus_set_allow_interactive_authorization(bus, true);
        *ret = TAKE_PTR(bus);
        return 0;
}

static int call_by(sd_bus *bus, const char *path, const char *interface, const char *method, sd_bus_error *error,
                   sd_bus_message **ret, const char *signature, va_list arguments) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, ASSAY_BUS_NAME, path, interface, method);
        if (r >= 0)
                r = sd_bus_message_appendv(call, signature, arguments);
        return r < 0 ? r : reply_await(bus, call, error, ret);
}

int call_object(sd_bus *bus, const char *path, const char *interface, const char *method, sd_bus_error *error, sd_bus_message **ret,
                const char *signature, ...) {
        va_list arguments;
        int r;

        va_start(arguments, signature);
        r = call_by(bus, path, interface, method, error, ret, signature, arguments);
        va_end(arguments);
        return r;
}

int call_manager(sd_bus *bus, const char *method, sd_bus_error *error, sd_bus_message **ret, const char *signature, ...) {
        va_list arguments;
        int r;

        va_start(arguments, signature);
        r = call_by(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, method, error, ret, signature, arguments);
        va_end(arguments);
        return r;
}

/* The whole of a memfd from offset 0, whatever its shared offset is. */
static int read_all(int fd, char **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size < 0 || (size_t) st.st_size > RECORDS_BYTES_MAX)
                return -EFBIG;

        text = malloc((size_t) st.st_size + 1);
        if (!text)
                return -ENOMEM;

        while (n < (size_t) st.st_size) {
                ssize_t k = pread(fd, text + n, (size_t) st.st_size - n, (off_t) n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        return -ESTALE; /* assayd has taken it back */
                n += (size_t) k;
        }

        text[n] = '\0';
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

static int call_memfd(sd_bus *bus, const char *method, uint64_t first, uint64_t count, sd_bus_error *error, char **ret, size_t *ret_n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int fd, r;

        r = call_manager(bus, method, error, &reply, "ttt", first, count, (uint64_t) 0);
        if (r < 0)
                return r;

        r = sd_bus_message_read(reply, "h", &fd);
        if (r < 0)
                return r;

        return read_all(fd, ret, ret_n);
}

int call_records(sd_bus *bus, uint64_t first, uint64_t count, sd_bus_error *error, char **ret, size_t *ret_n) {
        return call_memfd(bus, "OpenRecords", first, count, error, ret, ret_n);
}

bool call_is_pruned(const char *line) {
        return strncmp(line, RECORD_PRUNED, strlen(RECORD_PRUNED)) == 0;
}

char *call_pruned_reason(const char *line, size_t n) {
        json_t *mark = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
        json_int_t index = 0;
        const char *archive = NULL;
        char *reason = NULL;

        if (json_unpack(mark, "{s:{s:I, s:s}}", "pruned", "index", &index, "archive", &archive) < 0)
                reason = strdup("it was pruned: verify a copy of it");
        else if (asprintf(&reason, "it was pruned, and is in the archive %.*s: verify a copy of it, line %" JSON_INTEGER_FORMAT " (sed -n), with --proof, which export %" JSON_INTEGER_FORMAT
                          " --format proof writes", RECORD_ARCHIVE_NAME_MAX, archive, index % (json_int_t) RECORD_ARCHIVE_RECORDS + 1, index) < 0)
                reason = NULL;
        json_decref(mark);
        return reason;
}

int call_leaves(sd_bus *bus, uint64_t first, uint64_t count, char **ret, size_t *ret_n) {
        return call_memfd(bus, "OpenLeaves", first, count, NULL, ret, ret_n);
}

int call_checkpoint(sd_bus *bus, char **ret, size_t *ret_n) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *note;
        int r;

        r = call_manager(bus, "GetCheckpoint", &error, &reply, "t", (uint64_t) 0);
        if (sd_bus_error_has_name(&error, ASSAY_ERROR_NO_CHECKPOINT))
                return 0;
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &note);
        if (r < 0)
                return complain_bus(&error, r, "could not read the checkpoint");
        *ret = strdup(note);
        if (!*ret)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        *ret_n = strlen(note);
        return 0;
}

int call_proof_now(sd_bus *bus, uint64_t index, sd_bus_error *error, char **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *proof;
        int r;

        r = call_manager(bus, "GetProof", error, &reply, "tt", index, (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &proof);
        if (r < 0)
                return r;
        *ret = strdup(proof);
        return *ret ? 0 : -ENOMEM;
}

#define TRIES 50 /* of a tenth of a second: checkpoints come once in a second, unless the administrator says otherwise */

int call_proof_soon(sd_bus *bus, uint64_t index, sd_bus_error *error, char **ret) {
        for (unsigned left = TRIES;; left--) {
                int r = call_proof_now(bus, index, error, ret);

                if (!sd_bus_error_has_name(error, ASSAY_ERROR_NO_CHECKPOINT) || left == 0 || deadline_is_near())
                        return r;
                sd_bus_error_free(error);
                (void) usleep(100000);
        }
}

/* The newest checkpoint is up to a second old, so that the records of a scan that has just ended would be missing. */
int call_checkpoint_soon(sd_bus *bus, uint64_t *ret_size, char **ret, size_t *ret_n) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL, none = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *proof = NULL;
        int r;

        r = reply_property_trivial(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogSize", &error, 't', ret_size);
        if (r < 0)
                return complain_bus(&error, r, "could not read the size of the log");
        if (*ret_size > 0)
                (void) call_proof_soon(bus, *ret_size - 1, &none, &proof);
        return call_checkpoint(bus, ret, ret_n);
}

int call_proof(sd_bus *bus, uint64_t index, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = call_proof_soon(bus, index, &error, ret);

        return r < 0 ? complain_bus(&error, r, "could not read the proof") : 0;
}

int call_identity(sd_bus *bus, const char *sha256, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *document;
        int r;

        r = call_manager(bus, "GetIdentity", &error, &reply, "st", sha256, (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &document);
        if (sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_RECORD))
                return complain(STATUS_CANNOT_TELL, "the identity document is not in the log any more");
        if (r < 0)
                return complain_bus(&error, r, "could not read the identity document");
        *ret = strdup(document);
        return *ret ? 0 : complain(STATUS_CANNOT_TELL, "out of memory");
}

/* Calls EACH for every target, and chip of one. Negative where the daemon cannot be asked. */
static int each_target(sd_bus *bus, void (*each)(const char *name, void *userdata), void *userdata) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *name, *model, *state, *verdict;
        int r;

        r = call_manager(bus, "ListTargets", NULL, &reply, "t", (uint64_t) ASSAY_TARGETS_CHIPS);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssss)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(ssss)", &name, &model, &state, &verdict)) > 0)
                each(name, userdata);
        return r;
}

bool call_is_server_of(const char *name, const char *target) {
        size_t n = strlen(target);

        return strncmp(target, "us", 2) == 0 && n > 2 && strspn(target + 2, "0123456789") == n - 2 && strncmp(name, target, n) == 0 &&
               name[n] == '-' && !strchr(name, '/');
}

typedef struct Wanted {
        const char *target;
        bool is_there;
        Nearest nearest;
        char last[LOCATION_STRING_MAX]; /* chip of the server that it names */
} Wanted;

static void look_at(const char *name, void *userdata) {
        Wanted *wanted = userdata;
        size_t n = strcspn(name, "/");

        wanted->is_there = wanted->is_there || strcmp(name, wanted->target) == 0;
        nearest_offer(&wanted->nearest, name);
        if (name[n] && strncmp(name, wanted->target, n) == 0 && wanted->target[n] == '/')
                (void) snprintf(wanted->last, sizeof(wanted->last), "%s", name);
}

bool call_is_target(sd_bus *bus, const char *target) {
        Wanted wanted = { .target = target, .nearest = nearest_to(target) };

        return each_target(bus, look_at, &wanted) < 0 || wanted.is_there;
}

void call_tell_target(sd_bus *bus, const char *target, char *ret, size_t size) {
        Wanted wanted = { .target = target, .nearest = nearest_to(target) };
        char question[NEAREST_MAX + 32];
        Location where;
        bool is_known = each_target(bus, look_at, &wanted) >= 0;

        if (is_known && *wanted.last)
                (void) snprintf(ret, size, "%s: no such target; %.*s has chip0 to %s", target, (int) strcspn(target, "/"), target,
                                strchr(wanted.last, '/') + 1);
        else if (location_parse(target, &where, NULL, NULL) < 0)
                (void) snprintf(ret, size, "%s: no target is written so; a server is as us0-1, a chip as us0-1/chip3, an UltraServer as us0%s", target,
                                nearest_question(&wanted.nearest, question, sizeof(question)));
        else
                (void) snprintf(ret, size, "%s: no such target; assayctl targets lists them%s", target,
                                nearest_question(&wanted.nearest, question, sizeof(question)));
}

static int get_text(sd_bus *bus, const char *name, sd_bus_error *error, char **ret) {
        return reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, name, error, ret);
}

static int call_property(sd_bus *bus, const char *name, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = get_text(bus, name, &error, ret);

        return r < 0 ? complain_bus(&error, r, "could not read what the log is called") : 0;
}

void call_tell_unsound(sd_bus *bus) {
        _cleanup_free_ char *wrong = NULL;

        if (get_text(bus, "LogWrong", NULL, &wrong) >= 0 && *wrong)
                (void) complain(0, "the log is not sound, so no pass in it counts: assayctl status says why");
}

int call_log(sd_bus *bus, char **ret_origin, char **ret_vkey) {
        int r;

        r = call_property(bus, "Origin", ret_origin);
        return r != 0 ? r : call_property(bus, "LogKey", ret_vkey);
}

static int join_lines(char **lines, char **ret, size_t *ret_n) {
        char *text = NULL;
        FILE *file = open_memstream(&text, ret_n);

        if (!file)
                return -ENOMEM;
        for (char **line = lines; line && *line; line++)
                fprintf(file, "%s\n", *line);
        fputc('\n', file);
        if (fclose(file) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

void call_strv_drop(char ***lines) {
        for (char **line = *lines; line && *line; line++)
                free(*line);
        free(*lines);
}

int call_consistency(sd_bus *bus, const char *origin, uint64_t old, uint64_t size, char **ret, size_t *ret_n) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(call_strv_drop) char **lines = NULL;
        _cleanup_free_ char *vkey = NULL;
        size_t n = strlen(origin);
        int r;

        if (get_text(bus, "LogKey", &error, &vkey) < 0 || strncmp(vkey, origin, n) != 0 || vkey[n] != '+')
                return -ENODATA;
        r = call_manager(bus, "GetConsistency", &error, &reply, "ttt", old, size, (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read_strv(reply, &lines);
        return r < 0 ? -ENODATA : join_lines(lines, ret, ret_n);
}

int call_state(RecordState **ret) {
        int r = options.state ? record_state_open(options.state, ret) : 0;

        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", options.state, r == -EPERM ? "it is another user's, or anyone may write there" : strerror(-r));
        return 0;
}

int call_keyring_of(sd_bus *bus, RecordState *state, bool is_witnessed, RecordKeyring **ret) {
        _cleanup_free_ char *why = NULL;
        int r;

        if (!options.key)
                return own_keys(bus, is_witnessed, ret);
        r = record_keyring_open(options.key, options.root, state, ret, &why);
        if (r == -EBADMSG && file_kind_of(options.key) < 0)
                return complain(STATUS_USAGE, "%s: no keyring, as assayctl keys show prints one: %s", options.key, why ?: strerror(-r));
        if (r < 0)
                return complain_file(r == -EKEYREJECTED ? STATUS_REFUSED : r == -ENOKEY ? STATUS_CANNOT_TELL : STATUS_USAGE, options.key, FILE_KEYRING,
                                     why ?: strerror(-r));
        return 0;
}

int call_keyring(sd_bus *bus, RecordKeyring **ret) {
        return call_keyring_of(bus, NULL, false, ret);
}

int call_trust_status(RecordTrust trust) {
        static const int by_trust[_RECORD_TRUST_MAX] = {
                [RECORD_VERIFIED] = STATUS_PASSED,
                [RECORD_UNKNOWN_KEY] = STATUS_CANNOT_TELL,
                [RECORD_REFUSED] = STATUS_REFUSED,
                [RECORD_CANNOT_TELL] = STATUS_CANNOT_TELL,
        };

        return by_trust[trust];
}

/* Nobody has forged it: a copy of its envelope still verifies, with the proof that the log still gives. */
static int take_pruned(const char *line, size_t n, RecordTrust *ret_trust, RecordVerified *ret) {
        char *reason = call_pruned_reason(line, n);

        *ret_trust = RECORD_CANNOT_TELL;
        *ret = (RecordVerified) { .reason = reason, .lack = RECORD_LACKS_ENVELOPE };
        return reason ? 0 : complain(STATUS_CANNOT_TELL, "out of memory");
}

int call_verified_by(sd_bus *bus, const RecordPolicy *policy, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *line = NULL;
        size_t n = 0;
        int r;

        r = call_records(bus, index, 1, &error, &line, &n);
        if (r < 0)
                return complain_bus(&error, r, "could not read the record");
        if (n > 0 && line[n - 1] == '\n')
                n--;
        if (call_is_pruned(line))
                return take_pruned(line, n, ret_trust, ret);

        r = record_verify_with_policy(policy, line, n, ret_trust, ret);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "could not verify record %lu: %s", (unsigned long) index, strerror(-r));
        /* A daemon that answers with another record than the one asked for is not to be believed. */
        if (*ret_trust == RECORD_VERIFIED && ret->entry.index != index) {
                record_verified_done(ret);
                *ret_trust = RECORD_REFUSED;
        }
        return 0;
}

int call_verified(sd_bus *bus, const RecordKeyring *keyring, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret) {
        return call_verified_by(bus, &(RecordPolicy) { .keyring = keyring }, index, ret_trust, ret);
}
