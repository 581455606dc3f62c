/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmDisturb
 *
 * What a stack's cells lose by time, by heat, by what is done to the rows beside them and by particles: cells that forget
 * (retention), that neighbours disturb (hammer) or that are hit once (soft-error), and what sound stacks do of that kind on
 * their own. All of it ends in flips of what is stored (sim/memory/cells/flips.h), which last until the next write.
 */

#include "sim/chip/model.h"
#include "sim/memory/cells/flips.h"

typedef struct Hbm Hbm; /* sim/hbm/hbm.h */

/* The most cells that sound silicon loses in one command: a limit of the simulator, see the two that use it. */
#define HBM_NATURAL_MAX  16384u
#define HBM_HAMMER_SOUND 15000.0 /* openings of adjacent rows that every sound row bears */

typedef struct HbmVictim {
        const Fault *fault;
        uint16_t at[_MEMORY_AXIS_MAX];
        uint8_t bit;
        bool gone;             /* its row was repaired away */
        uint64_t restored;     /* retention: when its row was last opened */
} HbmVictim;

typedef struct HbmNoise { /* of a process of events: the next one */
        uint64_t number, nsec, hash;
} HbmNoise;

typedef struct HbmDisturb {
        HbmVictim *victims;
        size_t n_victims;
        HbmNoise soft_errors, corrected;
} HbmDisturb;

enum { HBM_DISTURB_RETENTION, HBM_DISTURB_HAMMER, HBM_DISTURB_UPSET, _HBM_DISTURB_MAX };
extern const FaultKind hbm_disturb_kinds[];
bool hbm_disturb_has(const FaultKind *kind);
void hbm_disturb_done(Hbm *hbm);

/* BOX: the access FAULT names. -EEXIST: that cell has one of the kind; -ENOMEM. */
int hbm_disturb_inject(Hbm *hbm, const Fault *fault, const WireBox *box);
void hbm_disturb_heal(Hbm *hbm, const Fault *fault);
/* ROW has become another. */
void hbm_disturb_leave(Hbm *hbm, const WireBox *row);

/* Before a command of the stack: what has happened until it starts, and until it comes to what it reads. */
int hbm_disturb_before(Hbm *hbm, const Execution *execution);

/* ---- retention (sim/hbm/retention.c) ---- */

typedef struct HbmRetention {
        double seconds; /* at 45 °C; 0: drawn */
        uint64_t leaks;
        double other;   /* VRT: its other time, 0: it has but one */
} HbmRetention;

/* How long the cell holds in this command. */
double hbm_retention_seconds(const Hbm *hbm, const HbmVictim *victim, const Execution *execution);
/* With refresh on: from when the cell was last restored until NSEC, when its access is opened. */
int hbm_retention_open(Hbm *hbm, HbmVictim *victim, const Execution *execution, uint64_t nsec);
int hbm_pause(void *state, Execution *execution);

/* ---- hammer (sim/hbm/hammer.c) ---- */

typedef struct HbmHammer {
        uint64_t threshold; /* activations of an adjacent row; 0: drawn */
        double far;         /* weight of a row two away */
        double press;       /* how many times fewer where the row stays open for HBM_PRESS_NSEC */
        int value;          /* index of hbm_flip_words */
} HbmHammer;

extern const char *const hbm_flip_words[]; /* either, 0, 1 */
int hbm_hammer(void *state, Execution *execution);

/* ---- soft errors and noise (sim/hbm/upset.c) ---- */

enum { HBM_UPSET_BIT, HBM_UPSET_BYTE, HBM_UPSET_PIN, HBM_UPSET_BEAT };

typedef struct HbmUpset {
        int shape; /* of a bit where it sits in one, else of a byte, pin or beat of its access */
} HbmUpset;

extern const char *const hbm_upset_words[]; /* bit, byte, pin, beat */
int hbm_upset_strike(Hbm *hbm, const HbmVictim *victim);
/* What sound silicon suffered until NSEC. */
int hbm_noise_until(Hbm *hbm, uint64_t nsec);
