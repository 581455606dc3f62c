/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/scan-context.h"

#include <stdint.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/say.h"


/* "The scan of us0-0 was asked for by root: WO-4711" */
static void print_order(const json_t *run, const char *where) {
        const json_t *operator = json_object_get(run, "operator");
        const char *name = json_string_value(json_object_get(operator, "name")), *note = json_string_value(json_object_get(run, "note"));
        char uid[32];

        if (!operator && !note)
                return;
        (void) snprintf(uid, sizeof(uid), "uid %lld", (long long) json_integer_value(json_object_get(operator, "uid")));
        say_words(0, "The scan of %s was asked for by %s%s%s", where, !operator ? "nobody known" : name ? name : uid, note ? ": " : "", note ? note : "");
}

/* A list of NAME VALUE, "us0-0 runs kernel 6.8.0, bios 1.0.14", by PRINT of each. */
static void print_list(const json_t *object, const char *where, const char *verb, void (*print)(FILE *out, const char *name, const json_t *value)) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const char *name;
        json_t *value;

        if (!out)
                return;
        json_object_foreach((json_t *) (uintptr_t) object, name, value) {
                fputs(ftell(out) > 0 ? ", " : "", out);
                print(out, name, value);
        }
        if (fclose(out) == 0 && n > 0)
                say_words(0, "%s %s %s", where, verb, text);
}

static void print_software(FILE *out, const char *name, const json_t *version) {
        fprintf(out, "%s %s", name, json_string_value(version) ?: "?");
}

static void print_reading(FILE *out, const char *name, const json_t *pair) {
        fprintf(out, "%s %g %s", name, json_number_value(json_array_get(pair, 0)), json_string_value(json_array_get(pair, 1)) ?: "?");
}

void scan_context_print(const json_t *statement, const char *where) {
        const json_t *predicate = json_object_get(statement, "predicate");

        if (!json_object_get(predicate, "result"))
                return; /* a run-start, which the roll-up repeats */
        print_order(json_object_get(predicate, "run"), where);
        print_list(json_object_get(predicate, "software"), where, "runs", print_software);
        print_list(json_object_get(predicate, "readings"), where, "read", print_reading);
}
