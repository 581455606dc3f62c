/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/repair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/larger.h"
#include "checks/memory/hbm/report/report.h"
#include "checks/memory/hbm/report/taken.h"

#define QUERIES     192u /* in one batch */
#define BANKS_MAX   512u /* of a stack that can have been repaired in: no stack has more spares to give */
#define FAILED_ONCE 1u   /* failed reads that do not justify a repair */

void hbm_rows_done(HbmRows *rows) {
        free(rows->rows);
        *rows = (HbmRows) {};
}

static bool is_mended_by_row(HbmDefectKind kind) {
        static const bool mended[_HBM_DEFECT_KIND_MAX] = {
                [HBM_DEFECT_HAMMER] = true, [HBM_DEFECT_RETENTION] = true, [HBM_DEFECT_WORDLINE_SHORT] = true,
                [HBM_DEFECT_SUB_WORDLINE] = true, [HBM_DEFECT_ROW] = true, [HBM_DEFECT_WORD] = true, [HBM_DEFECT_CELL] = true,
                [HBM_DEFECT_INTERMITTENT] = true,
        };

        return mended[kind];
}

static int compare_rows(const void *a, const void *b) {
        const HbmRow *x = a, *y = b;

        if (x->stack != y->stack)
                return x->stack < y->stack ? -1 : 1;
        for (unsigned axis = 0; axis <= HBM_ROW; axis++)
                if (x->at[axis] != y->at[axis])
                        return x->at[axis] < y->at[axis] ? -1 : 1;
        return 0;
}

static bool is_same_bank(const HbmRow *x, const HbmRow *y) {
        return x->stack == y->stack && memcmp(x->at, y->at, HBM_ROW * sizeof(x->at[0])) == 0;
}

const HbmRow *hbm_rows_find(const HbmRun *run, const HbmDefect *defect) {
        HbmRow key = { .stack = defect->stack };

        memcpy(key.at, defect->at, sizeof(key.at));
        if (!is_mended_by_row(defect->kind) || run->rows.n == 0)
                return NULL;
        return bsearch(&key, run->rows.rows, run->rows.n, sizeof(HbmRow), compare_rows);
}

/* ---- spares ---- */

/* Asks for N rows what their banks have left. 0, or could not judge. */
static int ask_spares(HbmRun *run, HbmRow *rows, size_t n) {
        for (size_t first = 0, end; first < n; first = end) {
                int numbers[QUERIES], r;

                memory_batch_reset(run->batch);
                for (end = first; end < n && end - first < QUERIES; end++) {
                        r = memory_batch_spares(run->batch, rows[end].stack, rows[end].at);
                        if (r < 0)
                                return r;
                        numbers[end - first] = r;
                }

                r = memory_batch_run(run->batch);
                if (r == -EREMOTEIO)
                        return 0; /* a device that does not tell: nothing is said of spares */
                if (r < 0)
                        return r;
                for (size_t i = first; i < end; i++) {
                        MemoryAnswer answer = memory_batch_answer(run->batch, numbers[i - first]);

                        if (answer.repair >= _REPAIR_STATE_MAX)
                                return -EPROTO;
                        rows[i].told = true;
                        rows[i].left = (unsigned) MIN(answer.spares, (uint64_t) UINT16_MAX);
                        rows[i].state = (WireRepairState) answer.repair;
                }
        }

        return 0;
}

/* Of a chip that says it has remapped rows: one that does not tell which cannot be proven. */
static int ask_told(HbmRun *run, HbmRow *rows, size_t n) {
        int r;

        r = ask_spares(run, rows, n);
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (!rows[i].told)
                        r = -EPROTO;
        return r;
}

static void add_row(HbmRows *rows, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], bool weak) {
        HbmRow *row = &rows->rows[rows->n++];

        *row = (HbmRow) { .stack = stack, .weak = weak };
        memcpy(row->at, at, sizeof(row->at));
        row->at[HBM_COLUMN] = 0;
}

/* Each once; it is weak only where every defect of it is. */
static void make_unique(HbmRows *rows) {
        size_t n = 0;

        if (rows->n == 0)
                return;
        qsort(rows->rows, rows->n, sizeof(HbmRow), compare_rows);
        for (size_t i = 1; i < rows->n; i++)
                if (compare_rows(&rows->rows[n], &rows->rows[i]) == 0)
                        rows->rows[n].weak &= rows->rows[i].weak;
                else
                        rows->rows[++n] = rows->rows[i];
        rows->n = n + 1;
}

/* Asks for the repair of every row that it is worth, as far as there are spares. */
static int request(HbmRun *run) {
        HbmRow *rows = run->rows.rows;
        int r;

        for (size_t i = 0; i < run->rows.n; i++) {
                unsigned n_asked = 0;

                for (size_t k = i; k-- > 0 && is_same_bank(&rows[k], &rows[i]);)
                        n_asked += rows[k].asked;
                if (!rows[i].told || rows[i].weak || rows[i].state != REPAIR_NONE || n_asked >= rows[i].left)
                        continue;

                memory_batch_reset(run->batch);
                r = memory_batch_repair(run->batch, rows[i].stack, rows[i].at);
                if (r < 0)
                        return r;
                r = memory_batch_run(run->batch);
                if (r == -EREMOTEIO && device_status(step_device(run->step)) == STATUS_NRT_RESOURCE)
                        continue; /* the stack has used up all that it may: told below as no spare left */
                if (r < 0)
                        return r;
                rows[i].asked = true;
                run->n_asked++;
        }

        return run->n_asked > 0 ? ask_spares(run, rows, run->rows.n) : 0;
}

int hbm_rows_gather(HbmRun *run) {
        int r;

        hbm_rows_done(&run->rows);
        if (run->defects.n == 0)
                return 0;

        run->rows.rows = calloc(2 * run->defects.n, sizeof(HbmRow));
        if (!run->rows.rows)
                return -ENOMEM;
        for (size_t i = 0; i < run->defects.n; i++) {
                const HbmDefect *defect = &run->defects.defects[i];
                bool weak = defect->kind == HBM_DEFECT_INTERMITTENT && defect->n_failed <= FAILED_ONCE;

                if (!is_mended_by_row(defect->kind))
                        continue;
                add_row(&run->rows, defect->stack, defect->at, weak);
                if (defect->kind == HBM_DEFECT_WORDLINE_SHORT && defect->has_partner)
                        add_row(&run->rows, defect->stack, defect->partner, weak);
        }

        make_unique(&run->rows);
        r = ask_spares(run, run->rows.rows, run->rows.n);
        return r >= 0 && run->parameters->repair == HBM_REPAIR_REQUEST ? request(run) : r;
}

/* ---- what follows ---- */

static int tell_bank(HbmRun *run, size_t first, size_t end) {
        const HbmRow *row = &run->rows.rows[first];
        Location where = hbm_report_place(run, row->stack, row->at, HBM_BANK);
        Evidence evidence = { .has_count = true };
        unsigned n_wanting = 0;

        for (size_t i = first; i < end; i++)
                n_wanting += run->rows.rows[i].told && !run->rows.rows[i].weak && run->rows.rows[i].state == REPAIR_NONE;
        if (n_wanting <= row->left)
                return 0;

        evidence.count = n_wanting;
        evidence.decided = (Decided) { "hbm_spares_wanted", n_wanting, row->left };
        return step_finding(run->step, &run->verdict, "hbm-spares-exhausted", &where, &evidence,
                            "%u rows of this bank want a spare row each, and %u are left", n_wanting, row->left);
}

static int tell_failed(HbmRun *run, HbmRow *row) {
        Location where = hbm_report_place(run, row->stack, row->at, HBM_ROW);

        row->failed = true;
        return step_finding(run->step, &run->verdict, "hbm-repair-failed", &where, &(Evidence) { .decided = { "hbm_repairs_failed", 1, 0 } },
                            row->state == REPAIR_DONE ? "the row was repaired and fails again" :
                                                        "a repair of the row used up a spare and changed nothing");
}

/* Of rows that fail, those whose repair has been asked for: a reset is due, and no further repair. */
static int note_pending(HbmRun *run) {
        unsigned n = 0;

        for (size_t i = 0; i < run->rows.n; i++)
                n += run->rows.rows[i].told && run->rows.rows[i].state == REPAIR_PENDING;
        return n > 0 ? step_note(run->step, "hbm_repairs_pending", n, "1", NULL) : 0;
}

int hbm_rows_tell(HbmRun *run) {
        int r;

        for (size_t i = 0, end; i < run->rows.n; i = end) {
                for (end = i; end < run->rows.n && is_same_bank(&run->rows.rows[end], &run->rows.rows[i]); end++) {
                        HbmRow *row = &run->rows.rows[end];

                        if (!row->told || (row->state != REPAIR_DONE && row->state != REPAIR_FAILED))
                                continue;
                        r = tell_failed(run, row);
                        if (r < 0)
                                return r;
                }
                r = tell_bank(run, i, end);
                if (r < 0)
                        return r;
        }

        return note_pending(run);
}

/* ---- the proof ---- */

typedef struct Proof {
        const HbmRun *run;
        HbmRow row;
        uint64_t n_mismatches, n_larger; /* in the row itself; of them those of a defect that is told already and larger than a row */
} Proof;

static int on_mismatch(const MarchMismatch *mismatch, void *userdata) {
        Proof *proof = userdata;

        /* Reads of the march: what its plants and trials say is about the comparator, which the passes have tried. */
        if (mismatch->at[HBM_ROW] != proof->row.at[HBM_ROW] || mismatch->op >= MARCH_OPS_MAX)
                return 0;
        proof->n_mismatches++;
        proof->n_larger += hbm_larger_explains(&proof->run->defects, proof->row.stack, mismatch->at, &mismatch->expected, &mismatch->actual);
        return 0;
}

/* As the march of the plan was paused. */
static uint64_t pause_nsec(const HbmRun *run) {
        for (unsigned i = 0; i < run->n_passes; i++)
                if (run->passes[i].march == &run->parameters->march)
                        return (uint64_t) (run->passes[i].paused_sec * 1e9);
        return 0;
}

typedef enum Proven {
        PROVEN_NOT,
        PROVEN_BUT_LARGER, /* nothing fails but what no row mends: neither a proof nor a failed repair */
        PROVEN,
} Proven;

/* The march of the plan over the row and those beside it. */
static int prove(HbmRun *run, Proof *proof, Proven *ret) {
        MarchPass pass = {
                .parts          = &run->parts[proof->row.stack],
                .n_parts        = 1,
                .march          = &run->parameters->march,
                .field          = { .background = MEMORY_BACKGROUND_SOLID },
                .geometry       = run->geometry,
                .box            = memory_access_box(proof->row.at),
                .seed           = memory_mix(step_seed(run->step) ^ proof->row.at[HBM_ROW]),
                .mismatches_max = (uint32_t) run->parameters->mismatches,
                .pause_nsec     = pause_nsec(run),
                .found          = on_mismatch,
                .userdata       = proof,
        };
        int r;

        pass.box.last[HBM_COLUMN] = (uint16_t) (run->geometry.size[HBM_COLUMN] - 1);
        pass.box.first[HBM_ROW] = (uint16_t) MAX(proof->row.at[HBM_ROW] - 1, 0);
        pass.box.last[HBM_ROW] = (uint16_t) MIN(proof->row.at[HBM_ROW] + 1, run->geometry.size[HBM_ROW] - 1);
        pass.outcomes[0].accesses = memory_box_accesses(&pass.box);

        r = march_pass_run(&pass, run->batch);
        if (r < 0)
                return r;
        if (proof->n_mismatches > proof->n_larger || pass.outcomes[0].accesses != memory_box_accesses(&pass.box) ||
            (pass.outcomes[0].truncated && proof->n_larger == 0) || pass.outcomes[0].n_lies > 0 || pass.outcomes[0].n_blind > 0)
                *ret = PROVEN_NOT;
        else
                *ret = proof->n_larger > 0 ? PROVEN_BUT_LARGER : PROVEN;
        return 0;
}

static bool is_told_failed(const HbmRun *run, const HbmRow *row) {
        const HbmRow *found = run->rows.n == 0 ? NULL :
                                                 bsearch(row, run->rows.rows, run->rows.n, sizeof(HbmRow), compare_rows);

        return found && found->failed;
}

static int prove_bank(HbmRun *run, const HbmRow *bank, unsigned *n_done, unsigned *n_proven) {
        unsigned n_rows = run->geometry.size[HBM_ROW];
        HbmRow *rows = calloc(n_rows, sizeof(HbmRow));
        int r;

        if (!rows)
                return -ENOMEM;
        for (unsigned i = 0; i < n_rows; i++) {
                rows[i] = (HbmRow) { .stack = bank->stack };
                memcpy(rows[i].at, bank->at, sizeof(rows[i].at));
                rows[i].at[HBM_ROW] = (uint16_t) i;
        }

        r = ask_told(run, rows, n_rows);
        for (unsigned i = 0; r >= 0 && i < n_rows; i++) {
                Proof proof = { .run = run, .row = rows[i] };
                Proven proven;

                if (rows[i].state != REPAIR_DONE)
                        continue;
                r = hbm_taken_ask(run); /* before a row is written over and over */
                if (r < 0 || run->taken)
                        break;
                (*n_done)++;
                r = prove(run, &proof, &proven);
                *n_proven += r >= 0 && proven == PROVEN;
                if (r >= 0 && proven == PROVEN_NOT && !is_told_failed(run, &rows[i]))
                        r = tell_failed(run, &rows[i]);
        }

        free(rows);
        return r;
}

/* Banks that have used a spare; of all others no row can have been repaired. */
static int prove_all(HbmRun *run, unsigned per_bank, unsigned *n_done, unsigned *n_proven) {
        uint32_t n_banks = hbm_bank_count(&run->geometry), n_used_ever = 0;
        HbmRow *banks = calloc(n_banks, sizeof(HbmRow));
        int r = banks ? 0 : -ENOMEM;

        for (unsigned stack = 0; r >= 0 && stack < STACKS; stack++) {
                unsigned n_used = 0;

                for (uint32_t i = 0; i < n_banks; i++) {
                        banks[i] = (HbmRow) { .stack = stack };
                        memory_geometry_at(&run->geometry, i * hbm_bank_accesses(&run->geometry), banks[i].at);
                }
                r = ask_told(run, banks, n_banks);
                for (uint32_t i = 0; r >= 0 && i < n_banks; i++)
                        n_used += banks[i].left < per_bank;
                if (n_used > BANKS_MAX)
                        r = -EPROTO;
                for (uint32_t i = 0; r >= 0 && i < n_banks && !run->taken; i++)
                        if (banks[i].left < per_bank)
                                r = prove_bank(run, &banks[i], n_done, n_proven);
                n_used_ever += n_used;
        }

        free(banks);
        return r >= 0 && n_used_ever == 0 ? -EPROTO : r;
}

/* The first two numbers of assay/hbm/spares: rows that a bank begins with, and rows of the chip that were remapped. */
static int ask_totals(HbmRun *run, unsigned *ret_per_bank, unsigned *ret_remapped) {
        char text[ATTRIBUTE_TEXT_MAX], *end;
        unsigned long per_bank, remapped;
        int r;

        r = device_attribute(step_device(run->step), step_chip(run->step), "assay/hbm/spares", text);
        if (r < 0)
                return r;
        per_bank = strtoul(text, &end, 10);
        if (end == text || end[0] != ' ' || end[1] < '0' || end[1] > '9' || per_bank > UINT16_MAX)
                return -EPROTO;
        remapped = strtoul(end + 1, &end, 10);
        if ((*end != ' ' && *end != '\0') || remapped > UINT32_MAX)
                return -EPROTO;
        *ret_per_bank = (unsigned) per_bank;
        *ret_remapped = (unsigned) remapped;
        return 0;
}

int hbm_repairs_prove(HbmRun *run) {
        unsigned per_bank = 0, remapped = 0, n_done = 0, n_proven = 0;
        int r;

        if (run->parameters->repair == HBM_REPAIR_NONE)
                return 0;

        r = ask_totals(run, &per_bank, &remapped);
        if (r >= 0 && remapped > 0)
                r = prove_all(run, per_bank, &n_done, &n_proven);
        if (r < 0)
                return r;

        if (run->parameters->repair == HBM_REPAIR_REQUEST) {
                r = step_note(run->step, "hbm_repairs_requested", run->n_asked, "1", NULL);
                if (r < 0)
                        return r;
        }
        r = step_measure(run->step, "hbm_rows_proven", n_proven, "1", LIMIT_EQUAL, n_done, NULL);
        return r < 0 ? r : 0;
}
