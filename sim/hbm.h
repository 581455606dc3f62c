/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hbm
 *
 * One simulated stack. Its parts: hbm-shape (geometry, boxes, orders), hbm-content (what it holds), hbm-overlay (where
 * it differs), hbm-faults (the kinds), hbm-march (an element), hbm-copy (data in and out).
 */

#include "sim/hbm-content.h"
#include "sim/hbm-overlay.h"
#include "sim/hbm-shape.h"
#include "sim/model.h"

#define HBM_BYTES_PER_NSEC  725u  /* 2.9 TB/s over four stacks */
#define HBM_ACTIVATE_NSEC   45u   /* tRC */
#define HBM_NSEC_MAX        (UINT64_C(86400) * 1000000000) /* of one pause or hammering */
#define HBM_SPARES_PER_BANK 8u    /* rows that repair may use up */
#define HBM_REPAIRS_MAX     512u  /* pending and done, of one stack */

typedef struct HbmRecord { /* a mismatch on its way out */
        uint32_t key;      /* counts up in the order of the visit */
        WireMismatch mismatch;
} HbmRecord;

typedef struct HbmRecords {
        HbmRecord *records;
        size_t n, allocated;
} HbmRecords;

typedef struct HbmRepair {
        WireBox box; /* one row */
        bool done;   /* remapped at a reset */
} HbmRepair;

typedef struct Hbm {
        Chip *chip;
        unsigned index;
        HbmShape shape;
        HbmContent content;
        HbmOverlay overlay;
        HbmRecords records;
        HbmRepair *repairs;
        size_t n_repairs;
        const Fault *comparator; /* what is wrong with it, or NULL */
} Hbm;

typedef struct HbmEccTally {
        uint64_t corrected, uncorrected;
} HbmEccTally;

/* The whole way of a read from the cells to the reader. INTENDED is what the access should hold: what ECC knows. */
HbmBits hbm_read(const HbmEffects *effects, HbmBits stored, const HbmBits *intended, bool ecc, HbmEccTally *tally);

/* What the cells of a spot hold, with what it should hold in *ret_intended. */
HbmBits hbm_spot_stored(const Hbm *hbm, const HbmSpot *spot, HbmBits *ret_intended);
/* Puts BITS into the cells of a spot, as far as they take them. */
void hbm_spot_store(Hbm *hbm, const HbmSpot *spot, const HbmBits *bits);
/* Asks the faults of its cells whether they act in this command, and lets the states of those that do act. */
void hbm_spot_wake(Hbm *hbm, const HbmSpot *spot, const Execution *execution);

/* The commands. Return as Model says. */
int hbm_march(void *state, Execution *execution);
int hbm_copy_in(void *state, Execution *execution);
int hbm_copy_out(void *state, Execution *execution);

/* The kinds of fault (sim/hbm-faults.c). */
extern const FaultKind hbm_fault_kinds[];
int hbm_inject(void *state, const Fault *fault);
void hbm_heal(void *state, const Fault *fault);
/* Whether the comparator is blind for reads of DATA, in a command in which its fault acts. */
bool hbm_comparator_is_blind(const Hbm *hbm, unsigned data);
/* Takes every fault that lies in ROW away: another row has its address now. */
void hbm_faults_leave(Hbm *hbm, const WireBox *row);

/* The stack becomes one of another geometry, powered up anew. For tests; -EBUSY while it has faults. */
int hbm_reshape(Hbm *hbm, const char *geometry);

extern const Model model_hbm;
