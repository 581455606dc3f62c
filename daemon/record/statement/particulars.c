/* SPDX-License-Identifier: Apache-2.0 */

/* Particulars: what a record says of parts, software and sensors. Values of alike parts are one list, and what a server shares is told once. */

#include "checks/vocabulary/particulars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/statement.h"

/* ASSEMBLY lies in a chip itself; all others are replaced without it, and may be another chip's, too. */
static bool is_in_chip(const Assembly *assembly) {
        return location_kind(&assembly->where) == LOCATION_HBM;
}

static bool is_alike(const Assembly *a, const Assembly *b) {
        return strcmp(a->word, b->word) == 0 && strcmp(a->part_number, b->part_number) == 0 && strcmp(a->version, b->version) == 0;
}

/* Both ends of a cable, and both chips of a tray, tell the same serial. */
static bool is_same(const Assembly *a, const Assembly *b) {
        return is_alike(a, b) && a->serial[0] && strcmp(a->serial, b->serial) == 0;
}

/* FIRST and those behind it that are alike; these are done, then. */
static void print_alike(Printer *printer, const Assembly **list, size_t n, size_t first, const Location *subject) {
        const Assembly *like = list[first];
        char path[LOCATION_STRING_MAX];
        const char *below;

        printer_open(printer, '{');
        printer_member(printer, "name", like->word);
        printer_member(printer, "partNumber", like->part_number);
        printer_member(printer, "version", like->version);
        printer_member_open(printer, "at", '[');
        for (size_t i = first; i < n; i++)
                if (list[i] && is_alike(list[i], like)) {
                        below = place_below(&list[i]->where, subject, path);
                        printer_string(printer, *below ? below : path);
                }
        printer_close(printer, ']');
        printer_member_open(printer, "serials", '[');
        for (size_t i = first; i < n; i++)
                if (list[i] && is_alike(list[i], like)) {
                        printer_string(printer, list[i]->serial);
                        list[i] = NULL;
                }
        printer_close(printer, ']');
        printer_close(printer, '}');
}

static void print_assemblies(Printer *printer, const Assembly **list, size_t n, const Location *subject) {
        size_t began = printer_member_open(printer, "assemblies", '[');

        for (size_t i = 0; i < n; i++)
                if (list[i])
                        print_alike(printer, list, n, i, subject);
        printer_close_unless_empty(printer, began, ']');
}

static void print_readings(Printer *printer, const Particulars *particulars) {
        size_t began = printer_member_open(printer, "readings", '{');

        for (size_t i = 0; i < particulars->n_readings; i++) {
                printer_member_open(printer, particulars->readings[i].word, '[');
                printer_number(printer, particulars->readings[i].value);
                printer_string(printer, particulars->readings[i].unit);
                printer_close(printer, ']');
        }
        printer_close_unless_empty(printer, began, '}');
}

static void print_software(Printer *printer, const Particulars *particulars) {
        size_t began = printer_member_open(printer, "software", '{');

        for (size_t i = 0; i < particulars->n_softwares; i++)
                printer_member_always(printer, particulars->softwares[i].word, particulars->softwares[i].version);
        printer_close_unless_empty(printer, began, '}');
}

void print_chip_particulars(Printer *printer, const RecordSubject *chip) {
        const Assembly *list[ASSEMBLIES_MAX];
        size_t n = 0;

        if (!chip->particulars)
                return;
        for (size_t i = 0; i < chip->particulars->n_assemblies; i++)
                if (is_in_chip(&chip->particulars->assemblies[i]))
                        list[n++] = &chip->particulars->assemblies[i];
        print_assemblies(printer, list, n, &chip->where);
        print_readings(printer, chip->particulars);
}

static void add_assemblies(const Particulars *particulars, const Assembly **list, size_t *n) {
        for (size_t i = 0; particulars && i < particulars->n_assemblies; i++) {
                const Assembly *assembly = &particulars->assemblies[i];
                size_t k = 0;

                while (k < *n && !is_same(list[k], assembly))
                        k++;
                if (k == *n && !is_in_chip(assembly))
                        list[(*n)++] = assembly;
        }
}

int print_server_particulars(Printer *printer, const RecordScan *scan) {
        _cleanup_free_ const Assembly **list = calloc((scan->n_chips + 1) * ASSEMBLIES_MAX, sizeof(*list));
        size_t n = 0;

        if (!list)
                return -ENOMEM;
        add_assemblies(scan->server.particulars, list, &n);
        for (size_t i = 0; i < scan->n_chips; i++)
                add_assemblies(scan->chips[i].subject.particulars, list, &n);
        print_assemblies(printer, list, n, &scan->server.where);
        if (scan->server.particulars) {
                print_software(printer, scan->server.particulars);
                print_readings(printer, scan->server.particulars);
        }
        return 0;
}
