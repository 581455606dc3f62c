/* SPDX-License-Identifier: Apache-2.0 */

/* Folds the verdicts of a server's parts, and words the line for it: see record-stand.h. */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/record.h"

const RecordPart *record_parts_worst(const RecordPart *parts, size_t n) {
        const RecordPart *worst = parts;

        assert(n > 0);

        for (size_t i = 1; i < n; i++)
                if (result_worst(worst->result, parts[i].result) != worst->result)
                        worst = &parts[i];
        return worst;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...) {
        size_t n = strlen(text);
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(text + n, size - n, format, arguments);
        va_end(arguments);
}

/* TEXT without NAME and what parts it from the rest. */
static const char *behind(const char *text, const char *name) {
        size_t n = strlen(name);

        return strncmp(text, name, n) == 0 && text[n] && strchr("/: ", text[n]) ? text + n + strspn(text + n, "/: ") : text;
}

static void append_part(char *ret, size_t size, const char *target, const RecordPart *part) {
        char where[LOCATION_STRING_MAX];
        const char *name = behind(location_format(&part->where, where), target);

        if (strcmp(where, target) == 0)
                append(ret, size, "%s", behind(part->reason, where));
        else if (strncmp(part->reason, where, strlen(where)) == 0) /* a record's line names the part */
                append(ret, size, "%s", behind(part->reason, target));
        else
                append(ret, size, "%s: %s", name, part->reason);
}

static bool is_chip(const RecordPart *part) {
        return location_kind(&part->where) == LOCATION_CHIP;
}

/* How many chips of each kind there are beside the part TOLD, or, without CHIPS, places between them; what passed needs no number. BEFORE: the first. */
static void append_counts(char *ret, size_t size, const RecordPart *parts, size_t n, const RecordPart *told, bool chips, const char *before) {
        static const struct {
                Result result;
                const char *word;
        } kinds[] = { { RESULT_FAILED, "failed" }, { RESULT_INCONCLUSIVE, "unknown" }, { RESULT_WARNED, "warned" } };

        for (size_t k = 0; k < ELEMENTS(kinds); k++) {
                size_t count = 0;

                for (size_t i = 0; i < n; i++)
                        count += &parts[i] != told && is_chip(&parts[i]) == chips && parts[i].result == kinds[k].result;
                if (count == 0)
                        continue;
                append(ret, size, "%s%zu %s%s", before, count, kinds[k].result == told->result ? "more " : "", kinds[k].word);
                before = ", ";
        }
}

void record_part_leaves_out(RecordPart *part, const RecordStand *stand) {
        part->n_left_out = stand->n_left_out;
        memcpy(part->left_out, stand->left_out, sizeof(part->left_out));
}

/* Of a step of all servers together. */
static void add_left_out(const RecordPart *part, RecordLeftOut sums[static RECORD_LEFT_OUT_MAX], size_t *n) {
        for (size_t i = 0; i < part->n_left_out; i++) {
                size_t k = 0;

                while (k < *n && strcmp(sums[k].step, part->left_out[i].step) != 0)
                        k++;
                if (k < *n)
                        sums[k].n += part->left_out[i].n;
                else if (k < RECORD_LEFT_OUT_MAX)
                        sums[(*n)++] = part->left_out[i];
        }
}

/* As a chip's line has it. */
static void append_left_out(char *ret, size_t size, const RecordPart *parts, size_t n) {
        RecordLeftOut sums[RECORD_LEFT_OUT_MAX];
        size_t n_sums = 0;

        for (size_t i = 0; i < n; i++)
                add_left_out(&parts[i], sums, &n_sums);
        for (size_t i = 0; i < n_sums; i++)
                append(ret, size, ", %s: %zu left out", sums[i].step, sums[i].n);
}

static size_t count_chips(const RecordPart *parts, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += is_chip(&parts[i]);
        return count;
}

bool record_parts_lack_records(const RecordPart *parts, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (parts[i].index != UINT64_MAX)
                        return false;
        return true;
}

/* Then there is no more to say than of the first. */
static bool are_alike(const RecordPart *parts, size_t n) {
        for (size_t i = 1; i < n; i++)
                if (strcmp(parts[i].reason, parts->reason) != 0)
                        return false;
        return record_parts_lack_records(parts, n);
}

void record_parts_line(const char *target, const RecordPart *parts, size_t n, char *ret, size_t size) {
        const RecordPart *worst = record_parts_worst(parts, n);

        (void) snprintf(ret, size, "%s: ", target);
        if (worst->result == RESULT_PASSED) {
                append(ret, size, "%zu chips passed", count_chips(parts, n));
                append_left_out(ret, size, parts, n);
                return;
        }
        if (are_alike(parts, n)) {
                append(ret, size, "%s", parts->reason);
                return;
        }
        append_part(ret, size, target, worst);
        append_counts(ret, size, parts, n, worst, true, "; ");
        append_counts(ret, size, parts, n, worst, false, "; between chips: ");
        if (worst->result == RESULT_WARNED)
                append_left_out(ret, size, parts, n);
}
