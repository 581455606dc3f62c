/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/collectives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"

#define GIB (double) (UINT64_C(1) << 30)

/* nccom-test runs these sizes where none are asked for, so its average is of them. The time of a shorter message is mostly latency, which
 * is no bandwidth. */
#define AVERAGED_BYTES (UINT64_C(32) << 20)

typedef struct Timing {
        char operation[32];
        unsigned ranks;
        char type[8];
        uint64_t bytes;
        double usec, busbw;
} Timing;

/* collective_OPERATION_RANKS_TYPE_BYTES_time; operations have underscores in them. */
static bool parse_name(const char *name, Timing *ret) {
        static const char prefix[] = "collective_";
        const char *end;

        if (strncmp(name, prefix, strlen(prefix)) != 0)
                return false;

        *ret = (Timing) {};
        name += strlen(prefix);
        end = strpbrk(name, "0123456789");
        if (!end || end == name || (size_t) (end - name) > sizeof(ret->operation) || end[-1] != '_')
                return false;
        memcpy(ret->operation, name, (size_t) (end - name) - 1);
        return sscanf(end, "%4u_%7[a-z0-9]_%20" SCNu64, &ret->ranks, ret->type, &ret->bytes) == 3 &&
               strcmp(strrchr(end, '_'), "_time") == 0;
}

static double value_of(const json_t *measurements, const char *name) {
        const json_t *item;
        size_t i;

        json_array_foreach(measurements, i, item)
                if (strcmp(json_string_value(json_object_get(item, "name")) ?: "", name) == 0)
                        return json_number_value(json_object_get(item, "value"));
        return 0;
}

static int add_row(Table *table, const Timing *timing) {
        unsigned element = strcmp(timing->type, "fp32") == 0 ? 4 : strcmp(timing->type, "bf16") == 0 ? 2 : 1;
        char cells[5][32];

        (void) snprintf(cells[0], sizeof(cells[0]), "%" PRIu64, timing->bytes);
        (void) snprintf(cells[1], sizeof(cells[1]), "%" PRIu64, timing->bytes / element);
        (void) snprintf(cells[2], sizeof(cells[2]), "%.2f", timing->usec);
        (void) snprintf(cells[3], sizeof(cells[3]), "%.4f", timing->usec > 0 ? (double) timing->bytes / (timing->usec * 1e-6) / GIB : 0);
        (void) snprintf(cells[4], sizeof(cells[4]), "%.4f", timing->busbw);
        return table_row(table, (const char *[]) { cells[0], cells[1], timing->type, cells[2], cells[3], cells[4] });
}

/* One operation over so many ranks: the rows that follow each other in MEASUREMENTS from FIRST on. Returns how many, or an errno. */
static int print_operation(const json_t *measurements, const char *where, const Timing *like) {
        static const TableColumn columns[] = {
                { "size(B)", "size", true, false }, { "count(elems)", "count", true, false }, { "type", "type", false, false },
                { "time:avg(us)", "time", true, false }, { "algbw(GB/s)", "algbw", true, false }, { "busbw(GB/s)", "busbw", true, false },
                {},
        };
        _cleanup_(table_freep) Table *table = NULL;
        double sum = 0;
        unsigned n_rows = 0, n = 0;
        json_t *item;
        size_t i;
        int r;

        r = table_new(columns, &table);
        json_array_foreach(measurements, i, item) {
                const char *name = json_string_value(json_object_get(item, "name"));
                char other[128];
                Timing timing;

                if (r < 0 || !name || !parse_name(name, &timing) || timing.ranks != like->ranks ||
                    strcmp(timing.operation, like->operation) != 0)
                        continue;
                (void) snprintf(other, sizeof(other), "%.*s_busbw", (int) (strlen(name) - strlen("_time")), name);
                timing.usec = json_number_value(json_object_get(item, "value"));
                timing.busbw = value_of(measurements, other);
                n_rows++;
                if (timing.bytes >= AVERAGED_BYTES) {
                        sum += timing.busbw;
                        n++;
                }
                r = add_row(table, &timing);
        }
        if (r < 0 || n_rows == 0)
                return r;

        say(stdout, "\n%s from %s, %u ranks\n", like->operation, where, like->ranks);
        r = table_print(table);
        if (n > 0)
                printf("Avg bus bandwidth: %.4fGB/s (%u of %u sizes: 32 MiB and more)\n", sum / n, n, n_rows);
        else
                printf("Avg bus bandwidth: none of %u sizes has 32 MiB\n", n_rows);
        return r;
}

static bool is_first(const json_t *measurements, size_t index, const Timing *timing) {
        Timing earlier;

        for (size_t i = 0; i < index; i++) {
                const char *name = json_string_value(json_object_get(json_array_get(measurements, i), "name"));

                if (name && parse_name(name, &earlier) && earlier.ranks == timing->ranks &&
                    strcmp(earlier.operation, timing->operation) == 0)
                        return false;
        }
        return true;
}

int collectives_print(const json_t *statement, const char *where) {
        const json_t *steps = json_object_get(json_object_get(statement, "predicate"), "steps");
        json_t *step, *item;
        size_t i, k;
        int r = 0;

        json_array_foreach(steps, i, step) {
                const json_t *measurements = json_object_get(step, "measurements");

                json_array_foreach(measurements, k, item) {
                        const char *name = json_string_value(json_object_get(item, "name"));
                        Timing timing;

                        if (r >= 0 && name && parse_name(name, &timing) && is_first(measurements, k, &timing))
                                r = print_operation(measurements, where, &timing);
                }
        }
        return r;
}
