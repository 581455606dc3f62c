/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The limits that a plan judges by, without the words around them: see plan_limits() in plan.h. Statements on escapes judge nobody.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"

typedef struct Limits {
        Yaml yaml;
        FILE *file;
} Limits;

static yaml_node_t *node_at(Limits *limits, int id) {
        return yaml_document_get_node(&limits->yaml.document, id);
}

static const char *text_of(const yaml_node_t *node) {
        return node->type == YAML_SCALAR_NODE ? (const char *) node->data.scalar.value : "";
}

static void put_text(Limits *limits, const char *text) {
        fputc('"', limits->file);
        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        fputc('\\', limits->file);
                fputc(*text, limits->file);
        }
        fputc('"', limits->file);
}

static void put_node(Limits *limits, yaml_node_t *node);

static int compare_pairs(const void *a, const void *b, void *userdata) {
        Limits *limits = userdata;

        return strcmp(text_of(node_at(limits, ((const yaml_node_pair_t *) a)->key)),
                      text_of(node_at(limits, ((const yaml_node_pair_t *) b)->key)));
}

/* In the order of their names: how a file is laid out changes no limit. The document is ours alone. */
static void put_mapping(Limits *limits, yaml_node_t *node) {
        yaml_node_pair_t *pairs = node->data.mapping.pairs.start;
        size_t n = (size_t) (node->data.mapping.pairs.top - pairs);

        if (n > 0)
                qsort_r(pairs, n, sizeof(*pairs), compare_pairs, limits);
        fputc('{', limits->file);
        for (size_t i = 0; i < n; i++) {
                fputs(i > 0 ? "," : "", limits->file);
                put_text(limits, text_of(node_at(limits, pairs[i].key)));
                fputc(':', limits->file);
                put_node(limits, node_at(limits, pairs[i].value));
        }
        fputc('}', limits->file);
}

static void put_node(Limits *limits, yaml_node_t *node) {
        if (node->type == YAML_MAPPING_NODE) {
                put_mapping(limits, node);
                return;
        }
        if (node->type == YAML_SCALAR_NODE) {
                put_text(limits, text_of(node));
                return;
        }

        fputc('[', limits->file);
        for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
                fputs(item > node->data.sequence.items.start ? "," : "", limits->file);
                put_node(limits, node_at(limits, *item));
        }
        fputc(']', limits->file);
}

/* STEP as it was read; NODE as it was written. */
static void put_step(Limits *limits, const PlanStep *step, yaml_node_t *node) {
        yaml_node_t *parameters = yaml_get(&limits->yaml, node, "parameters");

        fprintf(limits->file, "step %s %s %s ", step->name, step->check->name, step->required ? "required" : "optional");
        if (parameters)
                put_node(limits, parameters);
        else
                fputs("{}", limits->file);
        fputc('\n', limits->file);
}

static int compare_promises(const void *a, const void *b) {
        return strcmp(((const PlanPromise *) a)->measurement, ((const PlanPromise *) b)->measurement);
}

static void put_coverage(Limits *limits, const Plan *plan) {
        PlanPromise promises[PLAN_PROMISES_MAX];

        memcpy(promises, plan->promises, sizeof(promises));
        qsort(promises, plan->n_promises, sizeof(*promises), compare_promises);
        for (size_t i = 0; i < plan->n_promises; i++)
                fprintf(limits->file, "coverage %s %.17g\n", promises[i].measurement, promises[i].value);
}

static int put_plan(Limits *limits, const Plan *plan) {
        yaml_node_t *steps = yaml_get(&limits->yaml, yaml_root(&limits->yaml), "steps");

        if (!steps || steps->type != YAML_SEQUENCE_NODE ||
            (size_t) (steps->data.sequence.items.top - steps->data.sequence.items.start) != plan->n_steps)
                return -EINVAL;

        fprintf(limits->file, "assay-limits/v1\nchecks %s\n", ASSAY_VERSION);
        if (plan->rotation_sec > 0)
                fprintf(limits->file, "rotation %.17g\n", plan->rotation_sec);
        for (size_t i = 0; i < plan->n_steps; i++)
                put_step(limits, &plan->steps[i], node_at(limits, steps->data.sequence.items.start[i]));
        put_coverage(limits, plan);
        return 0;
}

int plan_limits(const Plan *plan, char **ret) {
        _cleanup_free_ char *text = NULL;
        Limits limits = {};
        size_t n = 0;
        int r;

        assert(plan && ret);

        limits.file = open_memstream(&text, &n);
        if (!limits.file)
                return -ENOMEM;
        r = yaml_parse(&limits.yaml, plan->name, plan->text, plan->n_text);
        if (r >= 0)
                r = put_plan(&limits, plan);
        yaml_done(&limits.yaml);
        if (fclose(limits.file) != 0 && r >= 0)
                r = -ENOMEM;
        if (r < 0)
                return r;

        *ret = TAKE_PTR(text);
        return 0;
}
