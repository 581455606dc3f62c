/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/dispatch.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/wire/wire.h"

#define MODELS_MAX      64u
#define MODEL_SLOTS     256u  /* powers of two, several times what there is */
#define ATTRIBUTE_SLOTS 8192u

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const Model *command_models[_COMMAND_MAX];
static struct {
        const Model *model;
        size_t first_slot;
} models[MODEL_SLOTS];
static size_t n_slots;
static DispatchAttribute attributes[ATTRIBUTE_SLOTS];

unsigned part_count(LocationKind kind) {
        static const uint8_t counts[_LOCATION_KIND_MAX] = {
                [LOCATION_CHIP] = 1,
                [LOCATION_HBM]  = STACKS,
                [LOCATION_CORE] = CORES,
                [LOCATION_LINK] = PORTS,
                [LOCATION_NIC]  = 1,
        };

        return kind >= 0 && kind < _LOCATION_KIND_MAX ? counts[kind] : 0;
}

/* FNV-1a: short texts, no adversary that could not as well ask for nothing. */
static uint32_t path_hash(const char *path, size_t n) {
        uint32_t hash = 2166136261u;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ (uint8_t) path[i]) * 16777619u;
        return hash;
}

static DispatchAttribute *slot_of(const char *path, size_t n) {
        for (uint32_t i = path_hash(path, n);; i++) {
                DispatchAttribute *slot = &attributes[i % ATTRIBUTE_SLOTS];

                if (!slot->path || (strlen(slot->path) == n && memcmp(slot->path, path, n) == 0))
                        return slot;
        }
}

/* PATH with what %u stands for; where two models have the same path the first keeps it. */
static void add_path(const Model *model, const Attribute *attribute, unsigned part, unsigned index, const char *number) {
        const char *mark = strstr(attribute->path, "%u");
        int head = mark ? (int) (mark - attribute->path) : (int) strlen(attribute->path);
        _cleanup_free_ char *path = NULL;
        DispatchAttribute *slot;
        int n;

        n = asprintf(&path, "%.*s%s%s", head, attribute->path, mark ? number : "", mark ? mark + 2 : "");
        if (n < 0)
                abort(); /* before anything is served */
        slot = slot_of(path, (size_t) n);
        if (slot->path)
                return;
        *slot = (DispatchAttribute) { TAKE_PTR(path), model, attribute, part, index };
}

static void add_attribute(const Model *model, const Attribute *attribute) {
        bool counted = strstr(attribute->path, "%u") != NULL;
        /* A chip is one part, so that its %u can mean the chips beside it. */
        unsigned n = model->part == LOCATION_CHIP && counted ? CHIPS : part_count(model->part);
        char number[16];

        for (unsigned i = 0; i < n; i++) {
                unsigned part = model->part == LOCATION_CHIP ? 0 : i;

                (void) snprintf(number, sizeof(number), "%u", i);
                add_path(model, attribute, part, i, number);
                if (model->part == LOCATION_LINK && counted)
                        add_path(model, attribute, part, i, link_port_to_string((LinkPort) i));
        }
}

/* Where MODEL is, or would be, in models: by its address. */
static size_t model_place(const Model *model) {
        size_t i = (uintptr_t) model / sizeof(*model) % MODEL_SLOTS;

        while (models[i].model && models[i].model != model)
                i = (i + 1) % MODEL_SLOTS;
        return i;
}

static void build(void) {
        const Model *model;

        for (size_t i = 0; (model = model_at(i)); i++) {
                assert(i < MODELS_MAX);
                assert(part_count(model->part) > 0);
                models[model_place(model)].model = model;
                models[model_place(model)].first_slot = n_slots;
                n_slots += part_count(model->part);
                for (unsigned type = 0; type < _COMMAND_MAX; type++)
                        if (model->commands[type])
                                command_models[type] = model;
                for (const Attribute *a = model->attributes; a && a->path; a++)
                        add_attribute(model, a);
        }
}

size_t dispatch_slots(void) {
        (void) pthread_once(&once, build);
        return n_slots;
}

size_t dispatch_slot(const Model *model) {
        size_t i;

        (void) pthread_once(&once, build);
        i = model_place(model);
        assert(models[i].model == model);
        return models[i].first_slot;
}

const Model *dispatch_command(unsigned type) {
        (void) pthread_once(&once, build);
        return type < _COMMAND_MAX ? command_models[type] : NULL;
}

const DispatchAttribute *dispatch_attribute(const char *path, size_t n) {
        const DispatchAttribute *slot;

        (void) pthread_once(&once, build);
        slot = slot_of(path, n);
        return slot->path ? slot : NULL;
}

static bool model_has(const Model *model, const FaultKind *kind) {
        for (const FaultKind *const *table = model->faults; table && *table; table++)
                for (const FaultKind *k = *table; k->name; k++)
                        if (k == kind)
                                return true;
        return false;
}

/* The first model of the list that has KIND: a table that several share counts once. */
static const Model *first_model(const FaultKind *kind) {
        const Model *model;

        for (size_t i = 0; (model = model_at(i)); i++)
                if (model_has(model, kind))
                        return model;
        return NULL;
}

const FaultKind *fault_kind_at(size_t index, const Model **ret_model) {
        const Model *model;

        for (size_t i = 0; (model = model_at(i)); i++)
                for (const FaultKind *const *table = model->faults; table && *table; table++)
                        for (const FaultKind *kind = *table; kind->name; kind++)
                                if (first_model(kind) == model && index-- == 0) {
                                        if (ret_model)
                                                *ret_model = model;
                                        return kind;
                                }
        return NULL;
}

const FaultKind *fault_kind_find(const char *name) {
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                if (strcmp(kind->name, name) == 0)
                        return kind;
        return NULL;
}

const Model *fault_model(const FaultKind *kind, const Location *at) {
        const Model *model;

        for (size_t i = 0; (model = model_at(i)); i++)
                if (model_has(model, kind) && location_index(at, model->part) >= 0)
                        return model;
        return first_model(kind);
}
