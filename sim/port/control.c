/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/port/control.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "checks/text/cleanup.h"
#include "checks/text/yaml.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/chip/chip.h"
#include "sim/fleet/in-use.h"
#include "sim/port/packet.h"

static int inject(Hall *hall, const char *text, FILE *out) {
        _cleanup_(fault_freep) Fault *fault = NULL;
        _cleanup_yaml_ Yaml yaml = {};
        uint64_t id;
        int r;

        r = yaml_parse(&yaml, "fault", text, strlen(text));
        if (r >= 0 && !yaml_root(&yaml))
                r = yaml_refuse(&yaml, NULL, 0, "expected a fault: {at: …, kind: …}");
        if (r >= 0)
                r = fault_read(&yaml, yaml_root(&yaml), hall, &fault);
        if (r < 0) {
                fputs(yaml.error[0] != '\0' ? yaml.error : strerror(-r), out);
                return r;
        }
        r = fault_inject(hall, fault);
        if (r < 0) {
                fputs(fault_refusal(r), out);
                return r;
        }
        id = TAKE_PTR(fault)->id;
        fprintf(out, "%" PRIu64 "\n", id);
        return 0;
}

/* Calls EACH for every fault in every chip that exists; EACH returns whether the fault is still there. */
static void for_each_fault(const Hall *hall, bool (*each)(Chip *chip, size_t index, void *userdata), void *userdata) {
        for (size_t s = 0; s < hall_servers(hall); s++)
                for (unsigned c = 0; c < CHIPS; c++) {
                        Chip *chip = hall_server_at(hall, s)->chips[c];

                        for (size_t i = 0; chip && i < chip->n_faults;)
                                i += each(chip, i, userdata);
                }
}

/* What to heal: ID, all in AT, or with neither everything. */
typedef struct Healing {
        uint64_t id;
        const Location *at;
        uint64_t n_healed;
} Healing;

static bool heal_one(Chip *chip, size_t index, void *userdata) {
        const Fault *fault = chip->faults[index];
        Healing *healing = userdata;

        if ((healing->id > 0 && fault->id != healing->id) || (healing->at && !location_contains(healing->at, &fault->at)))
                return true;
        chip_heal(chip, index);
        healing->n_healed++;
        return false;
}

static int heal(Hall *hall, const char *text, FILE *out) {
        Healing healing = {};
        const char *wrong;
        size_t offset;
        Location at;
        char *end;

        if (text[0] >= '1' && text[0] <= '9') {
                errno = 0;
                healing.id = strtoull(text, &end, 10);
                if (errno != 0 || *end != '\0') {
                        fprintf(out, "\"%.40s\" is no id", text);
                        return -EINVAL;
                }
        } else if (strcmp(text, "all") != 0) {
                if (location_parse(text, &at, &wrong, &offset) < 0) {
                        fprintf(out, "%s:%zu: %s", text, offset + 1, wrong);
                        return -EINVAL;
                }
                healing.at = &at;
        }
        for_each_fault(hall, heal_one, &healing);
        if (healing.n_healed == 0 && (healing.id > 0 || healing.at)) {
                fprintf(out, "there is no fault %s", text);
                return -ENOENT;
        }
        if (healing.n_healed == 0) {
                fputs("nothing to heal\n", out);
                return 0;
        }
        fprintf(out, "%" PRIu64 " healed\n", healing.n_healed);
        return 0;
}

/* A parameter as it would stand in a scenario; custom ones are known to their kind alone. */
static json_t *parameter_json(const YamlField *field, const void *parameters) {
        const uint8_t *at = (const uint8_t *) parameters + field->offset;

        switch (field->type) {
        case YAML_TYPE_STRING:
                return json_string(*(char *const *) at ? *(char *const *) at : "");
        case YAML_TYPE_BOOLEAN:
                return json_boolean(*(const bool *) at);
        case YAML_TYPE_UNSIGNED:
                return json_integer((json_int_t) * (const uint64_t *) at);
        case YAML_TYPE_NUMBER:
                return json_real(*(const double *) at);
        case YAML_TYPE_WORD:
                return json_string(field->words[*(const int *) at]);
        case YAML_TYPE_STRUCT:
        case YAML_TYPE_CUSTOM:
                break;
        }
        return NULL;
}

static json_t *fault_json(const Fault *fault) {
        json_t *object, *parameters = json_object();
        char text[LOCATION_STRING_MAX];

        for (const YamlField *field = fault->kind->parameters; field && field->name; field++) {
                json_t *value = parameter_json(field, fault->parameters);

                if (value)
                        (void) json_object_set_new(parameters, field->name, value);
        }
        object = json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:s}", "id", (json_int_t) fault->id, "at",
                           location_format(&fault->at, text), "kind", fault->kind->name, "family",
                           fault_family_words[fault->kind->family], "persistence",
                           persistence_to_string(fault->persistence), "parameters", parameters, "words", fault->words);
        if (object && fault->persistence == PERSISTENCE_INTERMITTENT)
                (void) json_object_set_new(object, "probability", json_real(fault->probability));
        return object;
}

static bool add_json(Chip *chip, size_t index, void *userdata) {
        json_t *object = fault_json(chip->faults[index]);

        (void) json_object_set_new(object, "replaced", json_boolean(chip_has_replaced(chip, index)));
        (void) json_array_append_new(userdata, object);
        return true;
}

static bool print_line(Chip *chip, size_t index, void *userdata) {
        const Fault *fault = chip->faults[index];
        char text[LOCATION_STRING_MAX];

        fprintf(userdata, "%" PRIu64 "  %s  %s  %s%s%s%s\n", fault->id, location_format(&fault->at, text), fault->kind->name,
                persistence_to_string(fault->persistence), fault->words[0] ? "  " : "", fault->words,
                chip_has_replaced(chip, index) ? "  (its row was replaced by a spare)" : "");
        return true;
}

int control_list(const Hall *hall, bool json, FILE *out) {
        json_t *array;

        if (!json) {
                for_each_fault(hall, print_line, out);
                return 0;
        }
        array = json_array();
        if (!array)
                return -ENOMEM;
        for_each_fault(hall, add_json, array);
        (void) json_dumpf(array, out, JSON_INDENT(2));
        fputc('\n', out);
        json_decref(array);
        return 0;
}

static int use(Hall *hall, const char *text, FILE *out) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        if (text[0] == '\0') {
                in_use_list(hall, out);
                return 0;
        }

        r = yaml_parse(&yaml, "in-use", text, strlen(text));
        if (r >= 0 && !yaml_root(&yaml))
                r = yaml_refuse(&yaml, NULL, 0, "expected rows in use: {at: …, rows: …}");
        if (r >= 0)
                r = in_use_read(&yaml, yaml_root(&yaml), hall);
        if (r < 0)
                fputs(yaml.error[0] != '\0' ? yaml.error : strerror(-r), out);
        return r;
}

/* As the command does, of every chip in AT that there is: one that nobody has used yet is as after a reset. */
static int reset(Hall *hall, const char *text, FILE *out) {
        const char *wrong;
        size_t offset;
        Location at;
        bool known = false;

        if (location_parse(text, &at, &wrong, &offset) < 0) {
                fprintf(out, "%s:%zu: %s", text, offset + 1, wrong);
                return -EINVAL;
        }
        if (location_kind(&at) > LOCATION_CHIP) {
                fprintf(out, "%s: chips and servers are reset, not parts of them", text);
                return -EINVAL;
        }

        for (size_t s = 0; s < hall_servers(hall); s++) {
                known |= strcmp(hall_server_at(hall, s)->name, at.server) == 0;
                for (unsigned c = 0; c < CHIPS; c++) {
                        Chip *chip = hall_server_at(hall, s)->chips[c];
                        Location whole;

                        if (!chip)
                                continue;
                        chip_location(chip, &whole);
                        if (location_contains(&at, &whole))
                                chip_reset(chip, WIRE_CHIP_ALL);
                }
        }

        if (!known)
                fprintf(out, "there is no server %s", at.server);
        return known ? 0 : -ENOENT;
}

int control_run(Hall *hall, uint32_t verb, const char *text, FILE *out) {
        switch (verb) {
        case CONTROL_INJECT:
                return inject(hall, text, out);
        case CONTROL_HEAL:
                return heal(hall, text, out);
        case CONTROL_FAULTS:
                return control_list(hall, strcmp(text, "json") == 0, out);
        case CONTROL_USE:
                return use(hall, text, out);
        case CONTROL_RESET:
                return reset(hall, text, out);
        default:
                fprintf(out, "no request has the number %" PRIu32, verb);
                return -EPROTO;
        }
}

/* What the socket's mode lets in may test; breaking is for whoever runs the simulator. */
static bool may_control(int fd) {
        struct ucred peer;
        socklen_t n = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

static int answer(int fd, uint32_t verb, int status, const char *text, size_t n) {
        ControlHeader header = { .magic = CONTROL_MAGIC, .verb = verb, .status = -status, .n_bytes = (uint32_t) n };
        _cleanup_close_ int memory = memfd_create("assay-answer", MFD_CLOEXEC);

        if (memory < 0)
                return -errno;
        for (size_t done = 0; done < n;) {
                ssize_t written = write(memory, text + done, n - done);

                if (written <= 0)
                        return written < 0 ? -errno : -EIO;
                done += (size_t) written;
        }
        return packet_send(fd, &header, sizeof(header), memory);
}

int control_serve(Hall *hall, int fd, const void *request, size_t n) {
        char text[FAULT_TEXT_MAX + 1] = "";
        _cleanup_free_ char *reply = NULL;
        ControlHeader header;
        size_t n_reply = 0;
        FILE *out;
        int r;

        if (n < sizeof(header))
                return -EPROTO;
        memcpy(&header, request, sizeof(header));
        if (header.magic != CONTROL_MAGIC || header.n_bytes > FAULT_TEXT_MAX || n != sizeof(header) + header.n_bytes)
                return -EPROTO;
        memcpy(text, (const char *) request + sizeof(header), header.n_bytes);

        out = open_memstream(&reply, &n_reply);
        if (!out)
                return -errno;
        if (may_control(fd))
                r = control_run(hall, header.verb, text, out);
        else {
                fputs("only root and the user who runs the simulator may do that", out);
                r = -EPERM;
        }
        if (fclose(out) != 0)
                return -errno;
        return answer(fd, header.verb, r, reply, n_reply);
}

static int exchange(const char *path, ControlVerb verb, const char *text, ControlHeader *ret, int *ret_fd) {
        uint8_t packet[sizeof(ControlHeader) + FAULT_TEXT_MAX];
        ControlHeader header = { .magic = CONTROL_MAGIC, .verb = verb, .n_bytes = (uint32_t) strlen(text) };
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;
        int r;

        if (strlen(text) > FAULT_TEXT_MAX)
                return -E2BIG;
        fd = packet_connect(path);
        if (fd < 0)
                return fd;
        memcpy(packet, &header, sizeof(header));
        memcpy(packet + sizeof(header), text, header.n_bytes);
        r = packet_send(fd, packet, sizeof(header) + header.n_bytes, -EBADF);
        if (r < 0)
                return r;
        n = packet_receive(fd, ret, sizeof(*ret), ret_fd);
        if (n < 0)
                return (int) n;
        return n == sizeof(*ret) && ret->magic == CONTROL_MAGIC && *ret_fd >= 0 ? 0 : -EPROTO;
}

static void copy_out(int fd, size_t n, FILE *out) {
        char bytes[16384];
        ssize_t got;

        for (off_t at = 0; (size_t) at < n && (got = pread(fd, bytes, sizeof(bytes), at)) > 0; at += got)
                (void) fwrite(bytes, 1, (size_t) got, out);
}

int control_ask(const char *socket_path, ControlVerb verb, const char *text, FILE *out) {
        _cleanup_close_ int fd = -EBADF;
        ControlHeader header;
        int r;

        r = exchange(socket_path, verb, text, &header, &fd);
        if (r < 0) {
                fprintf(stderr, "assay-sim: %s: %s\n", socket_path, strerror(-r));
                return STATUS_UNREACHABLE;
        }
        copy_out(fd, header.n_bytes, header.status == 0 ? out : stderr);
        if (header.status == 0)
                return STATUS_PASSED;
        fputc('\n', stderr);
        return header.status == EPERM ? STATUS_NOT_PERMITTED : STATUS_USAGE;
}
