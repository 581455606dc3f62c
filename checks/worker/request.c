/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/request.h"

#include <assert.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/worker/request-rotations.h"

typedef struct Header {
        const char *device, *plan_file, *topology;
        double plan_bytes, seed, deadline_scale, budget_sec, first_sequence;
        int64_t exact_seed;
        json_t *done, *rotations;
} Header;

typedef enum KeyType {
        KEY_TEXT,
        KEY_WHOLE, /* a whole number */
        KEY_REAL,
        KEY_LIST,
        KEY_OBJECTS,
} KeyType;

typedef struct Key {
        const char *name;
        KeyType type;
        size_t offset;
        bool required;
        double low, high;
} Key;

static const Key keys[] = {
        { "device",         KEY_TEXT,  offsetof(Header, device),         true,  0, 0 },
        { "plan_file",      KEY_TEXT,  offsetof(Header, plan_file),      true,  0, 0 },
        { "topology",       KEY_TEXT,  offsetof(Header, topology),       false, 0, 0 },
        { "plan_bytes",     KEY_WHOLE, offsetof(Header, plan_bytes),     true,  1, PLAN_BYTES_MAX },
        { "seed",           KEY_WHOLE, offsetof(Header, seed),           true,  0, (double) REQUEST_SEED_MAX },
        { "deadline_scale", KEY_REAL,  offsetof(Header, deadline_scale), false, REQUEST_SCALE_MIN,
          REQUEST_SCALE_MAX },
        { "budget_sec",     KEY_REAL,  offsetof(Header, budget_sec),     false, 0, REQUEST_BUDGET_MAX },
        { "first_sequence", KEY_WHOLE, offsetof(Header, first_sequence), false, 0, 1e15 },
        { "done",           KEY_LIST,  offsetof(Header, done),           false, 0, REQUEST_DONE_MAX },
        { "rotations",      KEY_OBJECTS, offsetof(Header, rotations),    false, 0, REQUEST_ROTATIONS_MAX },
};

static int __attribute__((format(printf, 2, 3))) refuse(char **ret_error, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        if (vasprintf(ret_error, format, arguments) < 0)
                *ret_error = NULL;
        va_end(arguments);
        return -EINVAL;
}

/* ---- the header ---- */

static bool list_is_valid(const json_t *value, size_t max) {
        if (!json_is_array(value) || json_array_size(value) > max)
                return false;

        for (size_t i = 0; i < json_array_size(value); i++)
                if (!json_is_string(json_array_get(value, i)) ||
                    json_string_length(json_array_get(value, i)) > LOCATION_STRING_MAX + PLAN_NAME_MAX)
                        return false;

        return true;
}

static int read_key(const Key *key, json_t *value, Header *header, char **ret_error) {
        void *field = (char *) header + key->offset;

        switch (key->type) {
        case KEY_TEXT:
                if (!json_is_string(value) || json_string_length(value) == 0)
                        return refuse(ret_error, "request: %s is no text", key->name);
                *(const char **) field = json_string_value(value);
                return 0;
        case KEY_WHOLE:
        case KEY_REAL:
                if (!json_is_integer(value) && (key->type == KEY_WHOLE || !json_is_real(value)))
                        return refuse(ret_error, "request: %s is no %snumber", key->name,
                                      key->type == KEY_WHOLE ? "whole " : "");
                *(double *) field = json_number_value(value);
                if (!(*(double *) field >= key->low && *(double *) field <= key->high))
                        return refuse(ret_error, "request: %s is not within %g … %g", key->name, key->low,
                                      key->high);
                return 0;
        case KEY_LIST:
                if (!list_is_valid(value, (size_t) key->high))
                        return refuse(ret_error, "request: %s is no list of step ids", key->name);
                *(json_t **) field = value;
                return 0;
        case KEY_OBJECTS:
                if (!json_is_array(value) || (double) json_array_size(value) > key->high)
                        return refuse(ret_error, "request: %s is no list of at most %g", key->name, key->high);
                *(json_t **) field = value;
                return 0;
        }

        return refuse(ret_error, "request: %s", key->name);
}

static int read_header(json_t *root, Header *header, char **ret_error) {
        const char *name;
        json_t *value;
        int r;

        if (!json_is_object(root))
                return refuse(ret_error, "request: the first line is no JSON object");

        json_object_foreach(root, name, value) {
                size_t i;

                for (i = 0; i < ELEMENTS(keys) && strcmp(keys[i].name, name) != 0; i++)
                        ;
                if (i == ELEMENTS(keys))
                        return refuse(ret_error, "request: unknown key \"%.64s\"", name);

                r = read_key(&keys[i], value, header, ret_error);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < ELEMENTS(keys); i++)
                if (keys[i].required && !json_object_get(root, keys[i].name))
                        return refuse(ret_error, "request: %s is missing", keys[i].name);

        header->exact_seed = json_integer_value(json_object_get(root, "seed"));
        return 0;
}

static int copy_done(const json_t *list, Request *request) {
        size_t n = json_array_size(list);

        request->done = calloc(n + 1, sizeof(*request->done));
        if (!request->done)
                return -ENOMEM;

        for (; request->n_done < n; request->n_done++) {
                request->done[request->n_done] =
                                strdup(json_string_value(json_array_get(list, request->n_done)));
                if (!request->done[request->n_done])
                        return -ENOMEM;
        }

        return 0;
}

int request_set_topology(Request *request, const Topology *topology, const char *name, char **ret_error) {
        const char *servers[TARGET_SERVERS_MAX];
        _cleanup_free_ char *text = NULL;
        TopologyRing ring;

        for (size_t i = 0; i < request->target.n_servers; i++) {
                bool beside = false;

                servers[i] = request->target.servers[i].name;
                if (topology_ring(topology, servers[i], &ring) < 0)
                        return refuse(ret_error, "%s: no ring and no server is called %s", name, servers[i]);
                for (size_t s = 0; s < ring.n; s++)
                        beside = beside || strcmp(ring.servers[s], servers[0]) == 0;
                if (!beside)
                        return refuse(ret_error, "%s: %s and %s are not in one ring", name, servers[0], servers[i]);
        }

        /* Each server is asked for it at each of its ports: the rest of a hall only costs time. */
        text = topology_text(topology, servers, request->target.n_servers);
        return text ? topology_parse(name, text, strlen(text), &request->topology, ret_error) : -ENOMEM;
}

static int apply_topology(const Header *header, Request *request, char **ret_error) {
        _cleanup_(topology_freep) Topology *topology = NULL;
        int r;

        if (!header->topology)
                return 0;

        r = topology_parse("topology", header->topology, strlen(header->topology), &topology, ret_error);
        return r < 0 ? r : request_set_topology(request, topology, "topology", ret_error);
}

static int apply(const Header *header, const char *plan, Request *request, char **ret_error) {
        const char *wrong;
        int r;

        r = target_parse(header->device, &request->target, &wrong);
        if (r < 0)
                return refuse(ret_error, "request: device: %s", wrong);

        r = plan_parse(header->plan_file, plan, (size_t) header->plan_bytes, &request->plan, ret_error);
        if (r < 0)
                return r;

        r = apply_topology(header, request, ret_error);
        if (r < 0)
                return r;

        request->seed = (uint64_t) header->exact_seed;
        request->deadline_scale = header->deadline_scale;
        request->budget_sec = request->plan->budget_sec;
        if (header->budget_sec > 0 && header->budget_sec < request->budget_sec)
                request->budget_sec = header->budget_sec;
        request->first_sequence = (uint64_t) header->first_sequence;
        (void) snprintf(request->command_line, sizeof(request->command_line),
                        "assay-run --device %.200s --plan %.200s", header->device, header->plan_file);
        r = copy_done(header->done, request);
        return r < 0 ? r : request_read_rotations(header->rotations, request, ret_error);
}

/* ---- the bytes ---- */

/* Reads until TEXT holds N bytes in all; to the first newline where N is 0, and perhaps some more. */
static int read_until(int fd, char *text, size_t *n_text, size_t n, size_t max) {
        for (;;) {
                size_t want = n > 0 ? n - *n_text : max - *n_text;
                ssize_t got;

                if (n > 0 ? *n_text >= n : memchr(text, '\n', *n_text) != NULL)
                        return 0;
                if (want == 0)
                        return -EMSGSIZE;

                got = read(fd, text + *n_text, want);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -errno;
                if (got == 0)
                        return -ECONNABORTED;
                *n_text += (size_t) got;
        }
}

int request_read(int fd, Request *ret, char **ret_error) {
        _cleanup_free_ char *text = malloc(REQUEST_HEADER_MAX + PLAN_BYTES_MAX);
        _cleanup_(request_done) Request request = {};
        Header header = { .deadline_scale = 1 };
        size_t n_text = 0, n_header;
        json_t *root;
        int r;

        assert(ret);
        assert(ret_error);

        *ret_error = NULL;
        if (!text)
                return -ENOMEM;

        r = read_until(fd, text, &n_text, 0, REQUEST_HEADER_MAX);
        if (r == -EMSGSIZE)
                return refuse(ret_error, "request: the first line is longer than %u bytes",
                              REQUEST_HEADER_MAX);
        if (r < 0)
                return r;

        n_header = (size_t) ((char *) memchr(text, '\n', n_text) - text) + 1;
        root = json_loadb(text, n_header, JSON_REJECT_DUPLICATES, NULL);
        r = read_header(root, &header, ret_error);
        if (r >= 0 && n_text > n_header + (size_t) header.plan_bytes)
                r = refuse(ret_error, "request: there is more than plan_bytes says");
        if (r >= 0)
                r = read_until(fd, text, &n_text, n_header + (size_t) header.plan_bytes, 0);
        if (r >= 0)
                r = apply(&header, text + n_header, &request, ret_error);
        json_decref(root);
        if (r < 0)
                return r;

        *ret = request;
        request = (Request) {};
        return 0;
}

/* ---- the request ---- */

void request_done(Request *request) {
        for (size_t i = 0; i < request->n_done; i++)
                free(request->done[i]);
        for (size_t i = 0; i < request->n_only; i++)
                free(request->only[i]);
        for (size_t i = 0; i < request->n_rotations; i++) {
                free(request->rotations[i].step_id);
                free(request->rotations[i].serial);
        }
        free(request->rotations);
        free(request->done);
        free(request->only);
        plan_freep(&request->plan);
        topology_freep(&request->topology);
        *request = (Request) {};
}

bool request_is_done(const Request *request, const char *step_id) {
        for (size_t i = 0; i < request->n_done; i++)
                if (strcmp(request->done[i], step_id) == 0)
                        return true;

        return false;
}

static uint64_t splitmix64(uint64_t x) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

uint64_t request_step_seed(const Request *request, const char *step) {
        uint64_t seed = splitmix64(request->seed);

        for (; *step; step++)
                seed = splitmix64(seed ^ (unsigned char) *step);
        return seed >> 11;
}

bool request_asks_for(const Request *request, const char *step) {
        for (size_t i = 0; i < request->n_only; i++)
                if (strcmp(request->only[i], step) == 0)
                        return true;

        return request->n_only == 0;
}

int request_digest(const Request *request, char ret[static 65]) {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned n = 0;

        if (EVP_Digest(request->plan->text, request->plan->n_text, digest, &n, EVP_sha256(), NULL) != 1 ||
            n != 32)
                return -EIO;

        for (unsigned i = 0; i < n; i++)
                (void) snprintf(ret + 2 * i, 3, "%02x", digest[i]);
        return 0;
}
