/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lying-daemon BUS OWN-BUS LIE=WORD…
 *
 * Stands on a bus of its own in the place of assayd, asks the one on the other bus whatever it is asked, and tells what that one tells, but for
 * what the lies name: Result, State, Plan, Message, Records (numbers with commas), Targets (likewise), verdict, reason and record of GetVerdict, and
 * the location of a Finding. Of GetParts it keeps back the part that hidden names, points for the one that part names at record, and calls it verdict. With pruned=INDEX the log has dropped that record and shows no other, with leaves=COUNT it has so many at a time for
 * whoever asks on. With lacks=PROPERTY it is older than that property.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "daemon/names.h"

static sd_bus *honest, *own;
static char **lies;

static const char *lie_about(const char *name) {
        size_t n = strlen(name);

        for (char **lie = lies; *lie; lie++)
                if (strncmp(*lie, name, n) == 0 && (*lie)[n] == '=')
                        return *lie + n + 1;
        return NULL;
}

static int append_list(sd_bus_message *reply, const char *type, const char *list) {
        _cleanup_free_ char *words = strdup(list);
        int r;

        r = sd_bus_message_open_container(reply, 'a', type);
        for (char *word = strtok(words, ","); word && r >= 0; word = strtok(NULL, ","))
                r = *type == 't' ? sd_bus_message_append(reply, "t", (uint64_t) strtoull(word, NULL, 10)) : sd_bus_message_append(reply, "s", word);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_property(sd_bus_message *reply, const char *name, const char *lie) {
        static const struct {
                const char *name, *type;
        } lists[] = { { "Records", "at" }, { "Targets", "as" } };
        int r;

        for (size_t i = 0; i < ELEMENTS(lists); i++)
                if (strcmp(name, lists[i].name) == 0) {
                        r = sd_bus_message_open_container(reply, 'v', lists[i].type);
                        if (r >= 0)
                                r = append_list(reply, lists[i].type + 1, lie);
                        return r < 0 ? r : sd_bus_message_close_container(reply);
                }
        return sd_bus_message_append(reply, "v", "s", lie);
}

static int append_verdict(sd_bus_message *reply, sd_bus_message *truth) {
        const char *verdict, *reason, *lie = lie_about("record");
        uint64_t record, age;
        int r;

        r = sd_bus_message_read(truth, "sstt", &verdict, &reason, &record, &age);
        if (lie)
                record = strtoull(lie, NULL, 10);
        return r < 0 ? r : sd_bus_message_append(reply, "sstt", lie_about("verdict") ?: verdict, lie_about("reason") ?: reason, record, age);
}

static int append_part(sd_bus_message *reply, const char *where, const char *verdict, const char *reason, uint64_t record, uint64_t age) {
        const char *hidden = lie_about("hidden"), *part = lie_about("part"), *lie = lie_about("record");

        if (hidden && strcmp(hidden, where) == 0)
                return 0;
        if (part && strcmp(part, where) == 0) {
                verdict = lie_about("verdict") ?: verdict;
                record = lie ? strtoull(lie, NULL, 10) : record;
        }
        return sd_bus_message_append(reply, "(ssstt)", where, verdict, reason, record, age);
}

static int append_parts(sd_bus_message *reply, sd_bus_message *truth) {
        const char *where, *verdict, *reason;
        uint64_t record, age;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ssstt)");
        if (r >= 0)
                r = sd_bus_message_enter_container(truth, 'a', "(ssstt)");
        while (r >= 0 && (r = sd_bus_message_read(truth, "(ssstt)", &where, &verdict, &reason, &record, &age)) > 0)
                r = append_part(reply, where, verdict, reason, record, age);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int answer(sd_bus_message *call, sd_bus_message *truth) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *interface, *name, *lie = NULL;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0 && sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get")) {
                (void) sd_bus_message_rewind(call, true);
                r = sd_bus_message_read(call, "ss", &interface, &name);
                lie = r < 0 ? NULL : lie_about(name);
        }
        if (r < 0)
                return r;
        if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get") && strcmp(name, lie_about("lacks") ?: "") == 0)
                return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_UNKNOWN_PROPERTY, "Unknown interface %s or property %s.", interface, name);
        if (lie)
                r = append_property(reply, name, lie);
        else if (sd_bus_message_is_method_call(call, NULL, "GetVerdict"))
                r = append_verdict(reply, truth);
        else if (sd_bus_message_is_method_call(call, NULL, "GetParts"))
                r = append_parts(reply, truth);
        else
                r = sd_bus_message_copy(reply, truth, true);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

/* What comes in bulk. 0: about this it does not lie. */
static int answer_in_bulk(sd_bus_message *call) {
        const char *pruned = sd_bus_message_is_method_call(call, NULL, "OpenRecords") ? lie_about("pruned") : NULL;
        const char *leaves = sd_bus_message_is_method_call(call, NULL, "OpenLeaves") ? lie_about("leaves") : NULL;
        _cleanup_close_ int fd = -EBADF;

        if (!pruned && !leaves)
                return 0;
        fd = memfd_create("lie", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (pruned && dprintf(fd, "{\"pruned\":{\"index\":%s,\"sha256\":\"%064d\"}}\n", pruned, 0) < 0)
                return -EIO;
        if (leaves && ftruncate(fd, (off_t) strtoull(leaves, NULL, 10) * 32) < 0)
                return -errno;
        return sd_bus_reply_method_return(call, "h", fd) < 0 ? -EIO : 1;
}

static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *ask = NULL, *truth = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error wrong = SD_BUS_ERROR_NULL;
        uint8_t type;
        int r;

        if (sd_bus_message_get_type(call, &type) < 0 || type != SD_BUS_MESSAGE_METHOD_CALL)
                return 0;
        r = answer_in_bulk(call);
        if (r != 0)
                return r;
        r = sd_bus_message_new_method_call(honest, &ask, ASSAY_BUS_NAME, sd_bus_message_get_path(call), sd_bus_message_get_interface(call),
                                           sd_bus_message_get_member(call));
        if (r >= 0)
                r = sd_bus_message_copy(ask, call, true);
        if (r >= 0)
                r = sd_bus_call(honest, ask, 0, &wrong, &truth);
        if (r < 0 && sd_bus_error_is_set(&wrong))
                r = sd_bus_reply_method_error(call, &wrong);
        else if (r >= 0)
                r = answer(call, truth);
        return r < 0 ? r : 1;
}

static int append_finding(sd_bus_message *copy, sd_bus_message *finding) {
        const char *severity, *code, *where, *text;
        int r;

        r = sd_bus_message_read(finding, "ssss", &severity, &code, &where, &text);
        return r < 0 ? r : sd_bus_message_append(copy, "ssss", severity, code, lie_about("location") ?: where, text);
}

static int on_signal(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *copy = NULL;
        int r;

        r = sd_bus_message_new_signal(own, &copy, sd_bus_message_get_path(signal), sd_bus_message_get_interface(signal),
                                      sd_bus_message_get_member(signal));
        if (r >= 0)
                r = sd_bus_message_is_signal(signal, NULL, "Finding") ? append_finding(copy, signal) : sd_bus_message_copy(copy, signal, true);
        return r < 0 ? r : sd_bus_send(NULL, copy, NULL);
}

static int join(const char *address, sd_event *event, sd_bus **ret) {
        int r;

        r = sd_bus_new(ret);
        if (r >= 0)
                r = sd_bus_set_address(*ret, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(*ret, true);
        if (r >= 0)
                r = sd_bus_negotiate_fds(*ret, true);
        if (r >= 0)
                r = sd_bus_start(*ret);
        return r < 0 ? r : sd_bus_attach_event(*ret, event, 0);
}

int main(int argc, char **argv) {
        sd_event *event = NULL;
        int r;

        if (argc < 3) {
                fprintf(stderr, "usage: lying-daemon BUS OWN-BUS LIE=WORD...\n");
                return 64;
        }

        lies = argv + 3;
        r = sd_event_default(&event);
        if (r >= 0)
                r = join(argv[1], event, &honest);
        if (r >= 0)
                r = join(argv[2], event, &own);
        if (r >= 0)
                r = sd_bus_match_signal(honest, NULL, ASSAY_BUS_NAME, NULL, NULL, NULL, on_signal, NULL);
        if (r >= 0)
                r = sd_bus_add_filter(own, NULL, on_call, NULL);
        if (r >= 0)
                r = sd_bus_request_name(own, ASSAY_BUS_NAME, 0);
        if (r >= 0) {
                puts("ready");
                fflush(stdout);
                r = sd_event_loop(event);
        }
        fprintf(stderr, "lying-daemon: %s\n", strerror(-r));
        return 1;
}
