/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

static const char *const fault_codes[_ARRAY_FAULT_MAX] = {
        [ARRAY_PE] = "systolic-pe",
        [ARRAY_ROW] = "systolic-row",
        [ARRAY_COLUMN] = "systolic-column",
        [ARRAY_BLOCK] = "systolic-block",
        [ARRAY_MODE] = "systolic-mode",
        [ARRAY_UNEXPLAINED] = "systolic-array",
};

/* Text that grows as far as there is room. */
typedef struct Words {
        char text[384];
        size_t length;
} Words;

static void say(Words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(Words *words, const char *format, ...) {
        size_t room = sizeof(words->text) - words->length;
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(words->text + words->length, room, format, arguments);
        va_end(arguments);
        if (n > 0)
                words->length += (size_t) n < room ? (size_t) n : room - 1;
}

/* "stuck at 1", "slow to rise". */
static void say_form(Words *words, const Candidate *candidate, bool at_times) {
        static const char *const forms[_PE_FORM_MAX] = {
                [FORM_STUCK_0] = "stuck at 0",
                [FORM_STUCK_1] = "stuck at 1",
                [FORM_SLOW_RISE] = "slow to rise",
                [FORM_SLOW_FALL] = "slow to fall",
        };

        say(words, " %s%s", at_times ? "at times " : "", forms[candidate->form]);
}

static void say_part(Words *words, const Candidate *candidate, bool at_times) {
        if (candidate->at == PE_NO_INPUT)
                say(words, "the activation register %sgives zero", at_times ? "at times " : "");
        else if (candidate->at == PE_NO_OUTPUT)
                say(words, "it gives zero"); /* of a column, which says how often */
        else if (pe_register_is_gate(candidate->at)) {
                say(words, "%s of weight bit %u and activation bit %u (of the significands)", pe_register_to_string(candidate->at),
                    candidate->bit, candidate->other);
                say_form(words, candidate, at_times);
        } else {
                say(words, "%s bit %u", pe_register_to_string(candidate->at), candidate->bit);
                say_form(words, candidate, at_times);
        }

        if (candidate->at == PE_SHIFT)
                say(words, ", for the weights of this row and all below it");
}

static void say_candidate(Words *words, const Diagnosis *diagnosis, bool at_times) {
        bool doubtful = at_times && !diagnosis->loaded;

        say_part(words, &diagnosis->candidate, doubtful);
        if (diagnosis->more) {
                say(words, ", and ");
                say_part(words, &diagnosis->other, doubtful);
        }
        if (diagnosis->n_alike == 2)
                say(words, " (or another %s of this element that looks the same)", diagnosis->other_parts ? "bit or part" : "bit");
        else if (diagnosis->n_alike > 2)
                say(words, " (or one of %u other %s of this element that look the same)", diagnosis->n_alike - 1,
                    diagnosis->other_parts ? "bits or parts" : "bits");
}

/* Two wires of which no data can tell which it is. */
static void say_ambiguity(Words *words, const Diagnosis *diagnosis) {
        if (diagnosis->fault == ARRAY_PE && diagnosis->known && diagnosis->column == 0 && diagnosis->candidate.at == PE_ACTIVATION)
                say(words, "; or the input lane of row %u: no data tells these apart", diagnosis->row);
}

static void say_where_seen(Words *words, const Diagnosis *diagnosis, unsigned formats_ran) {
        bool first = true;

        if (diagnosis->loaded)
                say(words, "; under full load only");
        if (diagnosis->only_double)
                say(words, "; in double rows only");
        if (diagnosis->only_transposed)
                say(words, "; in transposition only");
        if (diagnosis->formats == 0 || (diagnosis->formats & formats_ran) == formats_ran)
                return;

        say(words, "; seen in");
        for (unsigned format = 0; format < _FORMAT_MAX; format++)
                if (diagnosis->formats >> format & 1) {
                        say(words, "%s %s", first ? "" : ",", wire_format_words[format]);
                        first = false;
                }
}

static void say_control(Words *words, const Control *control, unsigned reproduced) {
        if (control->everywhere)
                say(words, "; all cores of the chip gave the same wrong answers: suspect the host or the way to the chip first");
        else
                say(words, "; reproduced %u of %u times, core%u %s", reproduced, CONTROL_RUNS, control->neighbour,
                    control->neighbour_sound ? "is right" : "fails too");
}

static void describe(Words *words, unsigned core, const Diagnosis *diagnosis, bool at_times) {
        switch (diagnosis->fault) {

        case ARRAY_PE:
                say(words, "core%u/pe%u.%u (row %u, column %u): ", core, diagnosis->row, diagnosis->column, diagnosis->row,
                    diagnosis->column);
                if (diagnosis->known)
                        say_candidate(words, diagnosis, at_times);
                else
                        say(words, "several bits of %s",
                            diagnosis->last_column > diagnosis->column ? "the activation register" : "one element");
                return;

        case ARRAY_ROW:
                say(words, "core%u: row %u of the array is %swrong in all columns", core, diagnosis->row, at_times ? "at times " : "");
                return;

        case ARRAY_COLUMN:
                say(words, "core%u: column %u of the array is %swrong in all rows", core, diagnosis->column, at_times ? "at times " : "");
                if (diagnosis->known) {
                        say(words, ": ");
                        say_candidate(words, diagnosis, at_times);
                }
                return;

        case ARRAY_BLOCK:
                say(words, "core%u: all products of rows %u to %u in columns %u to %u are %szero", core, diagnosis->row,
                    diagnosis->last_row, diagnosis->column, diagnosis->last_column, at_times ? "at times " : "");
                return;

        case ARRAY_MODE:
                say(words, "core%u: %s is %staken for %s", core, wire_format_words[diagnosis->format],
                    at_times ? "at times " : "", wire_format_words[diagnosis->taken_for]);
                return;

        case ARRAY_UNEXPLAINED:
                say(words, "core%u: %zu outputs in rows %u to %u, columns %u to %u are %swrong, which %s", core, diagnosis->n_outputs,
                    diagnosis->row, diagnosis->last_row, diagnosis->column, diagnosis->last_column, diagnosis->undecided ? "at times " : "",
                    diagnosis->undecided ? "elements of several rows explain alike" : "no single element explains");
                return;

        case _ARRAY_FAULT_MAX:
                return;
        }
}

unsigned diagnosis_count_reproduced(const Diagnosis *diagnosis, const Control *control) {
        bool of_column = diagnosis->fault == ARRAY_PE || diagnosis->fault == ARRAY_COLUMN;

        return control_count(control, diagnosis->column, of_column ? diagnosis->column : diagnosis->last_column);
}

int diagnosis_report(Step *step, Verdict *verdict, unsigned core, const Diagnosis *diagnosis, unsigned formats_ran,
                     const Control *control) {
        char address[64], expected[16], actual[16];
        unsigned reproduced = diagnosis_count_reproduced(diagnosis, control);
        Evidence evidence = { .has_count = true, .count = (double) diagnosis->n_outputs, .seen = 1 + reproduced, .tried = 1 + CONTROL_RUNS,
                              .decided = { "systolic_mismatched_outputs", MAX((double) diagnosis->n_outputs, 1), 0 } };
        const char *code = fault_codes[control->everywhere ? ARRAY_UNEXPLAINED : diagnosis->fault];
        Location where = *step_unit(step);
        Words words = {};
        int r;

        r = control->everywhere ? 0 : location_append(&where, LOCATION_CORE, core);
        if (r >= 0 && diagnosis->fault == ARRAY_PE && !control->everywhere)
                r = location_append_pe(&where, diagnosis->row, diagnosis->column);
        if (r < 0)
                return r;

        if (diagnosis->first.pattern) {
                (void) snprintf(address, sizeof(address), "pattern %s, column %u, vector %u", diagnosis->first.pattern,
                                diagnosis->first.column, diagnosis->first.vector);
                (void) snprintf(expected, sizeof(expected), "0x%08" PRIx32, diagnosis->first.expected);
                (void) snprintf(actual, sizeof(actual), "0x%08" PRIx32, diagnosis->first.actual);
                evidence.address = address;
                evidence.expected = expected;
                evidence.actual = actual;
        }

        describe(&words, core, diagnosis, diagnosis->intermittent || reproduced < CONTROL_RUNS);
        say_ambiguity(&words, diagnosis);
        if (diagnosis->fault == ARRAY_PE && diagnosis->known)
                say_where_seen(&words, diagnosis, formats_ran);
        say_control(&words, control, reproduced);
        return step_finding(step, verdict, code, &where, &evidence, "%s", words.text);
}
