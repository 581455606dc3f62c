/* SPDX-License-Identifier: Apache-2.0 */

/* Plan: the strict reader of plans, and where they are found. */

#include "checks/plan/plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checks/plan/plan-escapes.h"

#define BUDGET_SEC_DEFAULT   86400.0
#define DEADLINE_SEC_DEFAULT 2.0
#define LIST_BYTES           700

/* A step as it is written; its parameters can be read only once its check is known. */
typedef struct StepDraft {
        const CheckWord *check;
        char name[PLAN_NAME_MAX];
        bool required;
        yaml_node_t *parameters;
} StepDraft;

static bool is_word(const char *text, bool capitals, char joint) {
        size_t n = strlen(text);

        if (n == 0 || n >= PLAN_NAME_MAX || text[0] == joint || (text[0] >= '0' && text[0] <= '9'))
                return false;

        for (; *text; text++)
                if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') && *text != joint &&
                    !(capitals && *text >= 'A' && *text <= 'Z'))
                        return false;

        return true;
}

/* A name of at most PLAN_NAME_MAX bytes made of lower-case letters, digits and '-'. */
static int read_name(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        static const char expected[] = "a name of lower-case letters, digits and '-', starting with a letter";
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, expected, &text);
        if (r < 0)
                return r;
        if (!is_word(text, false, '-'))
                return yaml_refuse(yaml, node, 0, "'%.60s' is no name, expected %s", text, expected);

        memcpy(ret, text, strlen(text) + 1);
        return 0;
}

static int read_stage(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Stage *stage = ret;
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "a stage", &text);
        if (r < 0)
                return r;

        *stage = stage_from_string(text);
        if (*stage < 0)
                return yaml_refuse(yaml, node, 0, "'%.60s' is no stage, expected one of: PREFLIGHT, INFLEET, "
                                   "PRODUCTION, BURNIN, REPAIR, RMA", text);

        return 0;
}

static const char *list_checks(char list[static LIST_BYTES]) {
        size_t n = 0;
        const CheckWord *word;

        list[0] = '\0';
        for (size_t i = 0; (word = check_word_at(i)); i++)
                if (n + strlen(word->name) + 3 < LIST_BYTES)
                        n += (size_t) snprintf(list + n, LIST_BYTES - n, "%s%s", n > 0 ? ", " : "", word->name);

        return list;
}

static int read_check(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const CheckWord **check = ret;
        char list[LIST_BYTES];
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "the word of a check", &text);
        if (r < 0)
                return r;

        *check = check_word_find(text);
        if (!*check)
                return yaml_refuse(yaml, node, 0, "'%.60s' is no check, expected one of: %s", text, list_checks(list));

        return 0;
}

static int keep_node(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        *(yaml_node_t **) ret = node;
        return 0;
}

static const YamlField step_fields[] = {
        YAML_CUSTOM("check", StepDraft, check, read_check, .required = true),
        YAML_CUSTOM("name", StepDraft, name, read_name),
        YAML_BOOLEAN("required", StepDraft, required),
        YAML_CUSTOM("parameters", StepDraft, parameters, keep_node),
        {},
};

/* Parameters that the plan gives, one by one and then together. */
static int read_given(Yaml *yaml, yaml_node_t *node, PlanStep *step) {
        const CheckWord *check = step->check;
        const char *why;
        int r;

        r = yaml_read(yaml, node, check->parameters, step->parameters, NULL);
        if (r < 0 || !check->refuse)
                return r;

        why = check->refuse(step->parameters);
        return why ? yaml_refuse(yaml, node, 0, "%s", why) : 0;
}

/* The check's own struct, from its defaults and what the plan says. */
static int read_parameters(Yaml *yaml, const StepDraft *draft, PlanStep *step) {
        const CheckWord *check = draft->check;

        if (!check->parameters)
                return draft->parameters ? yaml_refuse(yaml, draft->parameters, 0, "the check '%s' takes no parameters",
                                                       check->name)
                                         : 0;

        step->parameters = calloc(1, *check->parameters_bytes > 0 ? *check->parameters_bytes : 1);
        if (!step->parameters)
                return -ENOMEM;

        if (*check->parameters_defaults) {
                memcpy(step->parameters, *check->parameters_defaults, *check->parameters_bytes);
                if (yaml_own_fields(check->parameters, step->parameters) < 0)
                        return -ENOMEM;
        }

        return draft->parameters ? read_given(yaml, draft->parameters, step) : 0;
}

static int read_step(Yaml *yaml, yaml_node_t *node, size_t index, void *userdata) {
        Plan *plan = userdata;
        StepDraft draft = { .required = true };
        PlanStep *step = &plan->steps[index];
        int r;

        r = yaml_read(yaml, node, step_fields, &draft, NULL);
        if (r < 0)
                return r;

        memcpy(step->name, draft.name, sizeof(step->name));
        if (step->name[0] == '\0')
                (void) snprintf(step->name, sizeof(step->name), "%s", draft.check->name);

        for (size_t i = 0; i < index; i++)
                if (strcmp(plan->steps[i].name, step->name) == 0)
                        return yaml_refuse(yaml, node, 0, "a step called '%s' stands above, expected another name",
                                           step->name);

        step->check = draft.check;
        step->required = draft.required;
        plan->n_steps = index + 1; /* plan_free() is to release its parameters even if they are half read */
        return read_parameters(yaml, &draft, step);
}

static int read_steps(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        static const char expected[] = "a list of 1 to 64 steps";
        int r;

        static_assert(PLAN_STEPS_MAX == 64, "the sentence says so");

        r = yaml_items(yaml, node, PLAN_STEPS_MAX, expected, read_step, userdata);
        if (r < 0)
                return r;

        return ((Plan *) userdata)->n_steps > 0 ? 0 : yaml_refuse(yaml, node, 0, "no step is here, expected %s", expected);
}

static int read_promise(Yaml *yaml, yaml_node_t *key, yaml_node_t *value, void *userdata) {
        Plan *plan = userdata;
        PlanPromise *promise = &plan->promises[plan->n_promises];
        const char *name = (const char *) key->data.scalar.value;
        YamlField field[] = { YAML_NUMBER(name, PlanPromise, value, 0, 1e300), {} };
        int r;

        if (plan->n_promises >= PLAN_PROMISES_MAX)
                return yaml_refuse(yaml, key, 0, "more than %d promises of coverage", PLAN_PROMISES_MAX);
        if (!is_word(name, false, '_'))
                return yaml_refuse(yaml, key, 0, "'%.60s' is no measurement, expected lower-case letters, digits and '_'",
                                   name);

        r = yaml_read_value(yaml, value, field, promise, NULL);
        if (r < 0)
                return r;

        memcpy(promise->measurement, name, strlen(name) + 1);
        plan->n_promises++;
        return 0;
}

static bool counts(const CheckWord *check, const char *measurement) {
        for (const char *const *count = check->counts; count && *count; count++)
                if (strcmp(*count, measurement) == 0)
                        return true;

        return false;
}

static bool is_counted(const Plan *plan, const char *measurement) {
        for (size_t i = 0; i < plan->n_steps; i++)
                if (counts(plan->steps[i].check, measurement))
                        return true;

        return false;
}

static void list_counts(const CheckWord *check, char list[static LIST_BYTES]) {
        for (const char *const *count = check->counts; count && *count; count++) {
                size_t n = strlen(list);

                if (n + strlen(*count) + 3 < LIST_BYTES)
                        (void) snprintf(list + n, LIST_BYTES - n, "%s%s", n > 0 ? ", " : "", *count);
        }
}

/* A promise that no step can keep would make every chip INCONCLUSIVE. Steps may stand below it, so that this comes last. */
static int judge_promise(Yaml *yaml, yaml_node_t *key, yaml_node_t *value, void *userdata) {
        const char *name = (const char *) key->data.scalar.value;
        char list[LIST_BYTES] = "";
        const Plan *plan = userdata;
        const CheckWord *word;

        if (is_counted(plan, name))
                return 0;
        for (size_t i = 0; (word = check_word_at(i)); i++)
                if (counts(word, name))
                        return yaml_refuse(yaml, key, 0, "'%s' is counted by the check '%s', and no step is one", name, word->name);

        for (size_t i = 0; (word = check_word_at(i)); i++)
                list_counts(word, list);
        return yaml_refuse(yaml, key, 0, "nothing counts '%s', expected one of: %s", name, list);
}

static int judge_promises(Yaml *yaml, const Plan *plan) {
        yaml_node_t *node = yaml_get(yaml, yaml_root(yaml), "coverage");

        return node ? yaml_pairs(yaml, node, "a mapping from measurements to values", judge_promise, (void *) plan) : 0;
}

static int read_promises(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_pairs(yaml, node, "a mapping from measurements to values", read_promise, userdata);
}

static const YamlField plan_fields[] = {
        YAML_CUSTOM("plan", Plan, name, read_name, .required = true),
        YAML_STRING("summary", Plan, summary, 1, 400),
        YAML_CUSTOM("stage", Plan, stage, read_stage, .required = true),
        YAML_NUMBER("budget", Plan, budget_sec, 0.001, 1e7),
        YAML_NUMBER("deadline", Plan, deadline_sec, 0.001, 3600),
        YAML_NUMBER("rotation", Plan, rotation_sec, 1, 1e9),
        YAML_CUSTOM("steps", Plan, steps, read_steps, .required = true),
        YAML_CUSTOM("coverage", Plan, promises, read_promises),
        YAML_CUSTOM("escapes", Plan, escapes, plan_read_escapes),
        {},
};

static int plan_build(Yaml *yaml, const char *text, size_t n_text, Plan **ret) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        int r;

        if (n_text > PLAN_BYTES_MAX)
                return yaml_refuse(yaml, NULL, 0, "larger than %u bytes, the most a plan may have", PLAN_BYTES_MAX);

        plan = calloc(1, sizeof(*plan));
        if (!plan)
                return -ENOMEM;

        plan->budget_sec = BUDGET_SEC_DEFAULT;
        plan->deadline_sec = DEADLINE_SEC_DEFAULT;
        r = yaml_read(yaml, yaml_root(yaml), plan_fields, plan, plan);
        if (r >= 0)
                r = judge_promises(yaml, plan);
        if (r < 0)
                return r;

        plan->text = malloc(n_text + 1);
        if (!plan->text)
                return -ENOMEM;

        memcpy(plan->text, text, n_text);
        plan->text[n_text] = '\0';
        plan->n_text = n_text;
        *ret = TAKE_PTR(plan);
        return 0;
}

/* Hands out the error of YAML where R is one, and returns R. */
static int tell(const Yaml *yaml, int r, char **ret_error) {
        if (r < 0 && ret_error)
                *ret_error = strdup(yaml->error[0] != '\0' ? yaml->error : strerror(-r));

        return r;
}

int plan_parse(const char *filename, const char *text, size_t n_text, Plan **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        assert(filename);
        assert(ret);

        r = yaml_parse(&yaml, filename, text, n_text);
        if (r >= 0)
                r = plan_build(&yaml, text, n_text, ret);

        return tell(&yaml, r, ret_error);
}

int plan_load(const char *path, Plan **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        assert(path);
        assert(ret);

        r = yaml_load(&yaml, path);
        if (r >= 0)
                r = plan_build(&yaml, yaml.text, yaml.n_text, ret);

        return tell(&yaml, r, ret_error);
}

static int __attribute__((format(printf, 3, 4))) tell_format(int r, char **ret_error, const char *format, ...) {
        va_list arguments;

        if (!ret_error)
                return r;

        va_start(arguments, format);
        if (vasprintf(ret_error, format, arguments) < 0)
                *ret_error = NULL;
        va_end(arguments);
        return r;
}

/* Loads NAME.yaml of one folder; -ENOENT where it has none. A pipe or a device there would be waited for without an end, so it is refused. */
static int find_in(const char *folder, size_t n, const char *name, Plan **ret, char **ret_error) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *path = NULL;
        struct stat st;
        int r;

        if (asprintf(&path, "%.*s/%s.yaml", (int) n, folder, name) < 0)
                return -ENOMEM;
        r = stat(path, &st) < 0 ? -errno : 0;
        if (r == -ENOENT || r == -ENOTDIR)
                return -ENOENT;
        if (r == 0 && !S_ISREG(st.st_mode))
                return tell_format(-EINVAL, ret_error, "%s: this is no regular file", path);

        r = plan_load(path, &plan, ret_error);
        if (r == -ENOENT)
                return -EIO; /* a dangling link, or it vanished: not the same as none */
        if (r < 0)
                return r;
        if (strcmp(plan->name, name) != 0)
                return tell_format(-EINVAL, ret_error, "%s:1:1: the plan calls itself '%s', expected '%s' as its file",
                                   path, plan->name, name);

        *ret = TAKE_PTR(plan);
        return 0;
}

int plan_find(const char *folders, const char *name, Plan **ret, char **ret_error) {
        assert(folders);
        assert(name);
        assert(ret);

        if (!is_word(name, true, '-'))
                return tell_format(-EINVAL, ret_error,
                                   "'%.60s' is no name of a plan, expected letters, digits and '-'", name);

        for (const char *folder = folders; *folder;) {
                size_t n = strcspn(folder, ":");
                int r = n > 0 && n < 4096 ? find_in(folder, n, name, ret, ret_error) : -ENOENT;

                if (r != -ENOENT)
                        return r;

                folder += n;
                folder += *folder == ':';
        }

        return tell_format(-ENOENT, ret_error, "no plan is called '%s' in %s", name, folders);
}

const char *plan_folders(void) {
        const char *folders = getenv("ASSAY_PLANS");

        return folders && *folders ? folders : "/etc/assay/plans:" ASSAY_PLANS_DIR;
}

Plan *plan_free(Plan *plan) {
        if (!plan)
                return NULL;

        for (size_t i = 0; i < plan->n_steps; i++) {
                PlanStep *step = &plan->steps[i];

                if (step->parameters)
                        yaml_free_fields(step->check->parameters, step->parameters);
                free(step->parameters);
        }

        for (size_t i = 0; i < plan->n_escapes; i++) {
                free(plan->escapes[i].faults);
                free(plan->escapes[i].because);
        }

        free(plan->summary);
        free(plan->text);
        free(plan);
        return NULL;
}
