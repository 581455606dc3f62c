/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/report/repair.h"
#include "checks/statistics/chance.h"

#define MESSAGE_MAX 768

/* ---- places ---- */

Location hbm_report_place(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], MemoryAxis last) {
        static const LocationKind kinds[_MEMORY_AXIS_MAX] = {
                LOCATION_CHANNEL, LOCATION_PSEUDO_CHANNEL, LOCATION_SID, LOCATION_BANK_GROUP, LOCATION_BANK,
                LOCATION_ROW, LOCATION_COLUMN,
        };
        Location location = *step_unit(run->step), whole;

        (void) location_append(&location, LOCATION_HBM, stack);
        whole = location;
        for (unsigned axis = 0; axis <= (unsigned) last; axis++)
                if (location_append(&location, kinds[axis],
                                    memory_geometry_absolute(&run->geometry, (MemoryAxis) axis, at)) < 0)
                        return whole;
        return location;
}

/* A column of a bank, or of one of its subarrays. */
static Location locate_column(const HbmRun *run, const HbmDefect *defect) {
        Location where = hbm_report_place(run, defect->stack, defect->at, HBM_BANK);

        if (defect->kind == HBM_DEFECT_BIT_LINE)
                (void) location_append(&where, LOCATION_SUBARRAY,
                                       memory_geometry_absolute(&run->geometry, HBM_ROW, defect->at) / run->subarray);
        (void) location_append(&where, LOCATION_COLUMN, defect->at[HBM_COLUMN]);
        if (defect->bit >= 0)
                (void) location_append(&where, LOCATION_BIT, (unsigned) defect->bit);
        return where;
}

static Location locate_defect(const HbmRun *run, const HbmDefect *defect) {
        Location where = hbm_report_place(run, defect->stack, defect->at, defect->last);

        switch (defect->kind) {
        case HBM_DEFECT_SCATTERED:
                if (defect->last != HBM_BANK)
                        (void) location_truncate(&where, LOCATION_HBM);
                break;
        case HBM_DEFECT_STACK:
                (void) location_truncate(&where, LOCATION_HBM);
                break;
        case HBM_DEFECT_DIE:
                (void) location_truncate(&where, LOCATION_HBM);
                (void) location_append(&where, LOCATION_DIE, (unsigned) defect->bit);
                break;
        case HBM_DEFECT_LANE:
        case HBM_DEFECT_DATA_TSV:
                (void) location_append(&where, LOCATION_DQ, (unsigned) defect->bit);
                break;
        case HBM_DEFECT_SUB_WORDLINE:
                (void) location_append(&where, LOCATION_SUB_WORDLINE, (unsigned) defect->bit);
                break;
        case HBM_DEFECT_BIT_LINE:
        case HBM_DEFECT_COLUMN:
                return locate_column(run, defect);
        case HBM_DEFECT_HAMMER:
        case HBM_DEFECT_RETENTION:
        case HBM_DEFECT_CELL:
        case HBM_DEFECT_INTERMITTENT:
        case HBM_DEFECT_SOFT_ERROR:
                if (defect->last == HBM_COLUMN && defect->bit >= 0)
                        (void) location_append(&where, LOCATION_BIT, (unsigned) defect->bit);
                break;
        case HBM_DEFECT_CHANNEL:
        case HBM_DEFECT_PSEUDO_CHANNEL:
        case HBM_DEFECT_ADDRESS_TSV:
        case HBM_DEFECT_BANK:
        case HBM_DEFECT_WORDLINE_SHORT:
        case HBM_DEFECT_DECODER:
        case HBM_DEFECT_ROW:
        case HBM_DEFECT_WORD:
        case _HBM_DEFECT_KIND_MAX:
                break;
        }

        return where;
}

/* The partner within its chip: "hbm2/ch3/…". */
static const char *partner_text(const HbmRun *run, const HbmDefect *defect, char text[static LOCATION_STRING_MAX]) {
        bool cell = defect->kind == HBM_DEFECT_CELL;
        Location where = hbm_report_place(run, defect->stack, defect->partner, cell ? HBM_COLUMN :
                                defect->kind == HBM_DEFECT_ADDRESS_TSV ? HBM_COLUMN : defect->last);
        char unit[LOCATION_STRING_MAX];

        if (cell && defect->partner_bit >= 0)
                (void) location_append(&where, LOCATION_BIT, (unsigned) defect->partner_bit);
        return location_format(&where, text) + strlen(location_format(step_unit(run->step), unit)) + 1;
}

/* ---- messages ---- */

typedef struct Message {
        char text[MESSAGE_MAX];
        size_t n;
} Message;

static void __attribute__((format(printf, 2, 3))) say(Message *message, const char *format, ...) {
        size_t room = sizeof(message->text) - message->n;
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(message->text + message->n, room, format, arguments);
        va_end(arguments);
        message->n += n < 0 ? 0 : MIN((size_t) n, room - 1);
}

static unsigned actual_bit(const HbmDefect *defect) {
        unsigned bit = (unsigned) MAX(defect->bit, 0);

        return defect->actual.bytes[bit / 8] >> bit % 8 & 1;
}

static void say_trials(const HbmDefect *defect, Message *message) {
        double low, high;

        if (defect->n_trials == 0)
                return;
        chance_interval(defect->n_failed, defect->n_trials, &low, &high);
        say(message, "; again in %u of %u repeated reads, a rate of %.2g to %.2g %% with 95 %% confidence", defect->n_failed,
            defect->n_trials, 100 * low, 100 * high);
}

static void say_filled(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "%" PRIu64 " accesses fail, all over it", defect->n_accesses);
}

static void say_lane(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "lane %d stays at %u in reads of its %s, %" PRIu64 " accesses fail", defect->bit, defect->value,
            defect->kind == HBM_DEFECT_LANE ? "pseudo-channel" : "stack ID alone", defect->n_accesses);
}

static void say_address(const HbmRun *run, const HbmDefect *defect, Message *message) {
        char partner[LOCATION_STRING_MAX];

        say(message, "address line %s is stuck: in all banks two addresses reach one place, such as %s", defect->line,
            partner_text(run, defect, partner));
}

static void say_short(const HbmRun *run, const HbmDefect *defect, Message *message) {
        char partner[LOCATION_STRING_MAX];

        say(message, "this row and %s hold what is written to either", partner_text(run, defect, partner));
        say_trials(defect, message);
}

static void say_decoder(const HbmRun *run, const HbmDefect *defect, Message *message) {
        char partner[LOCATION_STRING_MAX];
        const char *what = defect->last == HBM_ROW ? "row" : "access";

        if (defect->class == 'A')
                say(message, "this %s reads %s whatever is written: its address reaches no cell (class A or B)", what,
                    defect->value ? "ones" : "zeros");
        else if (defect->class == 'B')
                say(message, "this %s reaches no cell, and %s writes its own as well (class B)", what, partner_text(run, defect, partner));
        else if (defect->class == 'D')
                say(message, "this address also reaches %s: reads are their %s (class D)", partner_text(run, defect, partner),
                    defect->value ? "OR" : "AND");
        else
                say(message, "this address and %s reach the same cells (class C)", partner_text(run, defect, partner));
        say_trials(defect, message);
}

static void say_sub_wordline(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "symbol %d of %" PRIu64 " of %u columns fails", defect->bit, defect->n_accesses, run->geometry.size[HBM_COLUMN]);
}

static void say_row(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "%" PRIu64 " of %u columns of row %u fail", defect->n_accesses, run->geometry.size[HBM_COLUMN],
            memory_geometry_absolute(&run->geometry, HBM_ROW, defect->at));
}

static void say_column(const HbmRun *run, const HbmDefect *defect, Message *message) {
        if (defect->bit >= 0)
                say(message, "column %u, bit %d fails in %" PRIu64 " rows", defect->at[HBM_COLUMN], defect->bit,
                    defect->n_accesses);
        else
                say(message, "column %u fails in several bits of %" PRIu64 " rows", defect->at[HBM_COLUMN], defect->n_accesses);
        say(message, defect->kind == HBM_DEFECT_BIT_LINE ? ", all in one subarray" : ", beyond one subarray");
}

/* The plural of a word behind N. */
static const char *s_of(uint64_t n) {
        return n == 1 ? "" : "s";
}

static void say_hammer(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "%" PRIu64 " access%s of row %u change%s when the rows beside it are opened", defect->n_accesses,
            defect->n_accesses == 1 ? "" : "es", memory_geometry_absolute(&run->geometry, HBM_ROW, defect->at),
            defect->n_accesses == 1 ? "s" : "");
}

static void say_retention(const HbmRun *run, const HbmDefect *defect, Message *message) {
        if (defect->bit >= 0)
                say(message, "bit %d turns to %u in a pause without refresh", defect->bit, actual_bit(defect));
        else
                say(message, "several bits of one access change in a pause without refresh");
}

static void say_word(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "several bits of one access fail, in %" PRIu64 " read%s", defect->n_reads, s_of(defect->n_reads));
}

static void say_cell(const HbmRun *run, const HbmDefect *defect, Message *message) {
        char partner[LOCATION_STRING_MAX];

        say(message, "bit %d reads %u where %u was written, in %" PRIu64 " read%s", defect->bit, actual_bit(defect),
            !actual_bit(defect), defect->n_reads, s_of(defect->n_reads));
        if (defect->has_partner)
                say(message, ", when %s is used", partner_text(run, defect, partner));
        if (defect->detail[0])
                say(message, "; fails as %s", defect->detail);
}

static void say_intermittent(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "wrong in %" PRIu64 " read%s of the test", defect->n_reads, s_of(defect->n_reads));
        say_trials(defect, message);
}

static void say_soft_error(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, "wrong once, in %" PRIu64 " read%s before it was written again", defect->n_reads, s_of(defect->n_reads));
        say_trials(defect, message);
}

static void say_scattered(const HbmRun *run, const HbmDefect *defect, Message *message) {
        say(message, defect->last == HBM_BANK ? "%" PRIu64 " accesses of this bank fail and follow no row or column" :
                                                "%" PRIu64 " accesses fail and share no row, column or bank",
            defect->n_accesses);
        if (defect->evenness >= 0)
                say(message, "; an even spread is as uneven with p = %.2g", defect->evenness);
}

static const struct {
        const char *code;
        void (*say)(const HbmRun *run, const HbmDefect *defect, Message *message);
} defect_words[_HBM_DEFECT_KIND_MAX] = {
        [HBM_DEFECT_STACK]          = { "hbm-stack", say_filled },
        [HBM_DEFECT_CHANNEL]        = { "hbm-channel", say_filled },
        [HBM_DEFECT_DIE]            = { "hbm-die", say_filled },
        [HBM_DEFECT_PSEUDO_CHANNEL] = { "hbm-pseudo-channel", say_filled },
        [HBM_DEFECT_LANE]           = { "hbm-lane", say_lane },
        [HBM_DEFECT_DATA_TSV]       = { "hbm-data-tsv", say_lane },
        [HBM_DEFECT_ADDRESS_TSV]    = { "hbm-address-tsv", say_address },
        [HBM_DEFECT_BANK]           = { "hbm-bank", say_filled },
        [HBM_DEFECT_HAMMER]         = { "hbm-hammer", say_hammer },
        [HBM_DEFECT_RETENTION]      = { "hbm-retention", say_retention },
        [HBM_DEFECT_WORDLINE_SHORT] = { "hbm-wordline-short", say_short },
        [HBM_DEFECT_DECODER]        = { "hbm-decoder", say_decoder },
        [HBM_DEFECT_SUB_WORDLINE]   = { "hbm-sub-wordline", say_sub_wordline },
        [HBM_DEFECT_ROW]            = { "hbm-row", say_row },
        [HBM_DEFECT_BIT_LINE]       = { "hbm-bit-line", say_column },
        [HBM_DEFECT_COLUMN]         = { "hbm-column", say_column },
        [HBM_DEFECT_WORD]           = { "hbm-word", say_word },
        [HBM_DEFECT_CELL]           = { "hbm-cell", say_cell },
        [HBM_DEFECT_INTERMITTENT]   = { "hbm-intermittent", say_intermittent },
        [HBM_DEFECT_SOFT_ERROR]     = { "hbm-soft-error", say_soft_error },
        [HBM_DEFECT_SCATTERED]      = { "hbm-scattered", say_scattered },
};

/* What there is to mend it with. */
static void say_spares(const HbmRow *row, Message *message) {
        if (!row || !row->told)
                return;
        if (row->state == REPAIR_PENDING)
                say(message, "; a spare row takes its place at the next reset, %u left in its bank", row->left);
        else if (row->state == REPAIR_DONE)
                say(message, "; its row was repaired before");
        else if (row->state == REPAIR_FAILED)
                say(message, "; a repair of its row has failed");
        else if (row->left > 0)
                say(message, "; %u spare rows left in its bank", row->left);
        else
                say(message, "; no spare row left in its bank");
}

/* ---- findings ---- */

static bool shows_lane(const HbmDefect *defect) {
        unsigned first = (unsigned) defect->bit / 8;

        for (unsigned i = first; i < MEMORY_ACCESS_BYTES; i += 4)
                if ((defect->expected.bytes[i] ^ defect->actual.bytes[i]) >> (defect->bit % 8) & 1)
                        return true;
        return false;
}

int hbm_report_defect(HbmRun *run, const HbmDefect *defect, unsigned n_more) {
        char expected[MEMORY_DATA_TEXT_MAX], actual[MEMORY_DATA_TEXT_MAX], address[MEMORY_ADDRESS_TEXT_MAX];
        Location where = locate_defect(run, defect);
        Message message = {};
        Evidence evidence = {
                .address   = memory_map_format(&run->map, defect->stack, defect->first, address),
                .expected  = memory_data_hex(&defect->expected, expected),
                .actual    = memory_data_hex(&defect->actual, actual),
                .has_count = true,
                .count     = (double) MAX(defect->n_accesses, defect->n_reads),
                .decided   = { defect->kind == HBM_DEFECT_SOFT_ERROR ? "hbm_mismatches" : "hbm_reads_wrong",
                               (double) MAX(MAX(defect->n_accesses, defect->n_reads), 1u), 0 },
        };

        /* Of two stuck lanes the first difference may show the other alone. */
        if ((defect->kind == HBM_DEFECT_LANE || defect->kind == HBM_DEFECT_DATA_TSV) && !shows_lane(defect))
                evidence.expected = evidence.actual = NULL;

        defect_words[defect->kind].say(run, defect, &message);
        say_spares(hbm_rows_find(run, defect), &message);
        if (n_more > 0)
                say(&message, "; %u more like it in this stack", n_more);
        return step_finding(run->step, &run->verdict, defect_words[defect->kind].code, &where, &evidence, "%s", message.text);
}

int hbm_report_stale(HbmRun *run, const HbmDefect *defect, unsigned n, unsigned n_stale) {
        Location where = locate_defect(run, defect);
        char address[MEMORY_ADDRESS_TEXT_MAX];
        Evidence evidence = {
                .address   = memory_map_format(&run->map, defect->stack, defect->first, address),
                .has_count = true,
                .count     = (double) MAX(defect->n_accesses, defect->n_reads),
                .decided   = { "hbm_march_lies", n_stale, 0 },
        };

        return step_finding(run->step, &run->verdict, "hbm-stale", &where, &evidence,
                            "%u of %u accesses asked give back what they held before the last write", n_stale, n);
}

int hbm_report_unexplained(HbmRun *run, unsigned stack, uint64_t n) {
        Location where = *step_unit(run->step);
        Evidence evidence = { .has_count = true, .count = (double) n, .decided = { "hbm_reads_wrong", (double) n, 0 } };

        (void) location_append(&where, LOCATION_HBM, stack);
        return step_finding(run->step, &run->verdict, "hbm-scattered", &where, &evidence,
                            "%" PRIu64 " mismatches were counted that leave no trace", n);
}
