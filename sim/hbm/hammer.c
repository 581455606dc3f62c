/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hammering: a row loses charge each time one beside it is opened, and more the longer that stays open.
 *
 * An opening of a row counts 1 for the rows beside it and `far` for those two away, until they are opened or refreshed
 * themselves: the charge of a row is what it has been through since then, and worked out from the sweep, not step by step.
 * Where a row stays open for a time, the threshold falls as one over it, as published of RowPress (one to two orders of magnitude;
 * arXiv 2306.17061): by `press` at one refresh interval, 3.9 µs.
 *
 * Sound rows have thresholds too: lognormal around 60,000, 15,000 at least (HBM2: some 14,500 were measured, arXiv
 * 2310.14665), each of them drifting by up to 21 % in time (arXiv 2603.12435) but not below that. Sigma 0.26 is chosen by us so that the
 * weakest of the 25 million rows of a stack is where the minimum is. Hash of the place, so it is the same rows each time; looked at only
 * where a sweep reaches the minimum. One cell flips at the threshold, and one more at each multiple, up to NATURAL_CELLS. What
 * is beyond HBM_NATURAL_MAX cells of one command is not followed.
 *
 * A fault without a threshold of its own draws one, median 4,000, sigma 0.5, below that minimum; chosen by us, since what is
 * stronger is no defect.
 *
 * Marches do not hammer: a march opens every row of its box in each element, so between two openings of a row those beside it
 * are opened once per access of theirs at the most (row-fast order: once per column, each time between two of its own), a charge of
 * 2.4 against 15,000. Over a box of single rows it would need 15,000 elements within one refresh window.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"
#include "sim/hbm/hbm.h"
#include "sim/hbm/live.h"
#include "sim/hbm/refresh.h"

#define FAR_DEFAULT    0.2
#define PRESS_DEFAULT  20.0
#define PRESS_NSEC     3900.0 /* tREFI */
#define THRESHOLD_MIN  HBM_HAMMER_SOUND
#define WEAK_MEDIAN    4000.0
#define WEAK_SIGMA     0.5
#define MEDIAN         60000.0
#define SIGMA          0.26
#define DRIFT          0.21
#define NATURAL_CELLS  8u
#define REACH          3 /* from a victim to the farthest row that its aggressors disturb */
#define SALT_ROW       0x726f7768u
#define DRAW_THRESHOLD 0x7468

typedef struct Sweep {
        const MemoryShape *shape;
        unsigned first, last, step;
        uint64_t activations;
        uint64_t turn;   /* nsec for opening one row once in all banks */
        uint64_t start, window;
        double open_nsec;
} Sweep;

/* ---- the sweep ---- */

static unsigned aggressors_of(const Sweep *sweep, unsigned victim) {
        return (victim > 0) + (victim + 1u < sweep->shape->size[HBM_ROW]);
}

static bool is_victim(const Sweep *sweep, int row) {
        return row >= (int) sweep->first && row <= (int) sweep->last && ((unsigned) row - sweep->first) % sweep->step == 0;
}

/* Openings before the turn of a victim: only row 0 has less than two neighbours and any victim behind it. */
static uint64_t openings_before(const Sweep *sweep, unsigned victim) {
        uint64_t n = (victim - sweep->first) / sweep->step;

        return 2 * n - (n > 0 && sweep->first == 0);
}

static bool sweep_opens(const Sweep *sweep, int row) {
        return is_victim(sweep, row - 1) || is_victim(sweep, row + 1);
}

/* Weighted openings by one activation of each aggressor of VICTIM; negative: they open ROW itself. */
static double weight_of(const Sweep *sweep, int victim, int row, double far) {
        double weight = 0;

        for (int aggressor = victim - 1; aggressor <= victim + 1; aggressor += 2) {
                int distance = abs(aggressor - row);

                if (aggressor < 0 || aggressor >= sweep->shape->size[HBM_ROW])
                        continue;
                if (distance == 0)
                        return -1;
                weight += distance == 1 ? 1 : distance == 2 ? far : 0;
        }

        return weight;
}

/* AMOUNT comes evenly between FROM and TO, on top of *charge; refresh takes it away. Returns the most there was. */
static double charge_up(const Sweep *sweep, unsigned row, uint64_t from, uint64_t to, double amount, double *charge) {
        uint64_t next = hbm_refresh_next(sweep->shape, row, sweep->window, from);
        double each = amount / (double) (to - from), peak;

        if (next >= to)
                return *charge += amount;

        peak = *charge + each * (double) (next - from);
        if (to - next >= sweep->window)
                peak = fmax(peak, each * (double) sweep->window);
        *charge = each * (double) ((to - next) % sweep->window);
        return fmax(peak, *charge);
}

/* The largest charge of ROW in the sweep. */
static double sweep_peak(const Sweep *sweep, unsigned row, double far) {
        uint64_t known = sweep->start; /* until when charge says how it is */
        double charge = 0, peak = 0;

        for (int victim = (int) row - REACH; victim <= (int) row + REACH; victim++) {
                uint64_t from, to;
                double weight;

                if (!is_victim(sweep, victim))
                        continue;
                weight = weight_of(sweep, victim, (int) row, far);
                from = sweep->start + openings_before(sweep, (unsigned) victim) * sweep->activations * sweep->turn;
                to = from + aggressors_of(sweep, (unsigned) victim) * sweep->activations * sweep->turn;
                if (weight < 0 || hbm_refresh_next(sweep->shape, row, sweep->window, known) <= from)
                        charge = 0;
                if (weight > 0 && to > from)
                        peak = fmax(peak, charge_up(sweep, row, from, to, weight * (double) sweep->activations, &charge));
                known = to;
        }

        return peak;
}

/*
 * The most that any row can come to: without refresh, and what lies between both ends repeats with each step, or, where steps are
 * long, with no victim but one near.
 */
static double sweep_bound(const Sweep *sweep, double far) {
        Sweep calm = *sweep;
        unsigned end = MIN(sweep->last + REACH + 1, sweep->shape->size[HBM_ROW]), span = 2 * (MIN(sweep->step, REACH) + REACH);
        double bound = 0;

        calm.window = UINT64_MAX / 2;
        calm.start = 0;
        for (unsigned row = MAX((int) sweep->first - REACH, 0); row < end; row++) {
                if (row == sweep->first + span && sweep->last > row + span)
                        row = sweep->last - span;
                bound = fmax(bound, sweep_peak(&calm, row, far));
        }

        return bound;
}

static double press_factor(const Sweep *sweep, double press) {
        return 1 + (press - 1) * sweep->open_nsec / PRESS_NSEC;
}

/* ---- who flips ---- */

static int flip_victim(Hbm *hbm, const HbmVictim *victim, const Sweep *sweep) {
        const HbmHammer *hammer = victim->fault->parameters;
        double far = hammer->far > 0 ? hammer->far : FAR_DEFAULT, press = hammer->press > 0 ? hammer->press : PRESS_DEFAULT;
        double threshold = (double) hammer->threshold, peak = sweep_peak(sweep, victim->at[HBM_ROW], far);
        const Chip *chip = hbm->memory.chip;
        const Location *at = &victim->fault->at;
        MemoryFlip flip = {
                .linear = memory_shape_linear(&hbm->memory.shape, victim->at),
                .bit    = victim->bit,
                .value  = hammer->value == 0 ? MEMORY_FLIP_INVERT : (uint8_t) (hammer->value - 1),
        };

        if (hammer->threshold == 0)
                threshold = fmin(THRESHOLD_MIN, hbm_lognormal_draw(draw_u64(chip, at, 0, DRAW_THRESHOLD),
                                                                   draw_u64(chip, at, 1, DRAW_THRESHOLD), WEAK_MEDIAN, WEAK_SIGMA));
        return peak * press_factor(sweep, press) >= threshold ? memory_flips_apply(&hbm->memory, &flip, 1) : 0;
}

static bool in_banks(const WireBox *box, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = 0; axis < HBM_ROW; axis++)
                if (at[axis] < box->first[axis] || at[axis] > box->last[axis])
                        return false;
        return true;
}

/* Cells that a fault makes weak; and those that forget are restored where their row is opened. */
static int flip_victims(Hbm *hbm, const Execution *execution, const Sweep *sweep, uint64_t nsec) {
        for (size_t i = 0; i < hbm->disturb.n_victims; i++) {
                HbmVictim *victim = &hbm->disturb.victims[i];
                int r = 0;

                if (victim->gone || !in_banks(&execution->command->hammer.box, victim->at))
                        continue;
                if (victim->fault->kind == &hbm_disturb_kinds[HBM_DISTURB_HAMMER] && fault_is_active(victim->fault, execution))
                        r = flip_victim(hbm, victim, sweep);
                else if (victim->fault->kind == &hbm_disturb_kinds[HBM_DISTURB_RETENTION] && sweep_opens(sweep, victim->at[HBM_ROW]))
                        r = hbm_retention_open(hbm, victim, execution, sweep->start + nsec);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* How often CHARGE reaches the threshold of a sound row with this hash, in a command whose hash is DRIFT. */
static unsigned natural_flips(uint64_t hash, uint64_t drift, double charge) {
        double share = hbm_uniform(hash), moved = 1 + DRIFT * (2 * hbm_uniform(drift) - 1), low = THRESHOLD_MIN;

        /* The largest multiple of its threshold; each is a comparison of shares, not an inverse. */
        for (unsigned n = NATURAL_CELLS; n > 0; n--)
                if (charge / n >= low && share < hbm_lognormal_share(charge / n / moved, MEDIAN, SIGMA))
                        return n;
        return 0;
}

typedef struct Losses {
        MemoryFlip *flips;
        size_t n;
} Losses;

static void lose_row(const Memory *memory, const uint16_t at[static _MEMORY_AXIS_MAX], uint64_t number, double charge, double most,
                     Losses *losses) {
        uint32_t linear = memory_shape_linear(&memory->shape, at);
        uint64_t seed = chip_seed(memory->chip) ^ memory_splitmix64(chip_index(memory->chip) * STACKS + memory->index) ^ SALT_ROW;
        uint64_t hash = memory_splitmix64(memory_splitmix64(seed) ^ linear);
        unsigned n;

        /* Nearly all: not even the lowest drift brings them there. */
        if (hbm_uniform(hash) >= most)
                return;

        n = natural_flips(hash, memory_splitmix64(hash ^ number), charge);
        for (unsigned i = 0; i < n && losses->n < HBM_NATURAL_MAX; i++) {
                uint64_t place = memory_splitmix64(hash + i + 1);

                losses->flips[losses->n++] = (MemoryFlip) {
                        .linear = linear + (uint32_t) (place >> 16) % memory->shape.size[HBM_COLUMN],
                        .bit    = (uint8_t) place,
                        .value  = place >> 8 & 1,
                };
        }
}

static int flip_sound_rows(Hbm *hbm, const Execution *execution, const Sweep *sweep) {
        _cleanup_free_ MemoryFlip *flips = NULL;
        const Memory *memory = &hbm->memory;
        double press = press_factor(sweep, PRESS_DEFAULT);
        unsigned end = MIN(sweep->last + REACH + 1, memory->shape.size[HBM_ROW]);
        Losses losses = {};

        if (sweep_bound(sweep, FAR_DEFAULT) * press < THRESHOLD_MIN)
                return 0;

        flips = reallocarray(NULL, HBM_NATURAL_MAX, sizeof(MemoryFlip));
        if (!flips)
                return -ENOMEM;
        losses.flips = flips;

        for (unsigned row = MAX((int) sweep->first - REACH, 0); row < end && losses.n < HBM_NATURAL_MAX; row++) {
                double charge = sweep_peak(sweep, row, FAR_DEFAULT) * press, most;
                WireBox box = execution->command->hammer.box;
                uint16_t at[_MEMORY_AXIS_MAX];

                if (charge < THRESHOLD_MIN)
                        continue;
                most = hbm_lognormal_share(charge / (1 - DRIFT), MEDIAN, SIGMA);
                box.first[HBM_ROW] = box.last[HBM_ROW] = (uint16_t) row;
                box.first[HBM_COLUMN] = box.last[HBM_COLUMN] = 0;
                memory_walk_first(&box, false, at);
                do
                        lose_row(memory, at, execution->number, charge, most, &losses);
                while (memory_walk_next(&box, MEMORY_ORDER_COLUMN_FAST, false, at));
        }

        return memory_flips_apply(&hbm->memory, flips, losses.n);
}

/* ---- the command ---- */

/* Nanoseconds of the sweep, or UINT64_MAX. */
static uint64_t sweep_nsec(const Sweep *sweep) {
        unsigned last = sweep->last - (sweep->last - sweep->first) % sweep->step;
        uint64_t openings = openings_before(sweep, last) + aggressors_of(sweep, last), nsec;

        if (__builtin_mul_overflow(openings * sweep->turn, sweep->activations, &nsec) || nsec > HBM_NSEC_MAX)
                return UINT64_MAX;
        return nsec;
}

/* False where the command is wrong. */
static bool sweep_init(const Hbm *hbm, const Execution *execution, Sweep *ret) {
        const WireHammer *hammer = &execution->command->hammer;
        const WireBox *box = &hammer->box;
        uint64_t banks = 1, faw;

        if (!memory_box_is_valid(&hbm->memory.shape, box) || hammer->step == 0 || hammer->open_nsec > HAMMER_OPEN_NSEC_MAX)
                return false;
        for (unsigned axis = HBM_SID; axis <= HBM_BANK; axis++)
                banks *= box->last[axis] - box->first[axis] + 1u;
        /* Four activations of a pseudo-channel in tFAW, however many banks it has. */
        faw = (banks * HBM_FAW_NSEC + 3) / 4;

        *ret = (Sweep) {
                .shape       = &hbm->memory.shape,
                .first       = box->first[HBM_ROW],
                .last        = box->last[HBM_ROW],
                .step        = MIN(hammer->step, UINT16_MAX + 1u),
                .activations = hammer->activations,
                .turn        = MAX(HBM_ACTIVATE_NSEC + hammer->open_nsec, faw),
                .start       = execution->start_nsec,
                .window      = hbm_refresh_window(chip_temperature(hbm->memory.chip)),
                .open_nsec   = hammer->open_nsec,
        };
        return sweep_nsec(ret) <= HBM_NSEC_MAX;
}

/* A hammer endangers all that its aggressors disturb. */
static void touch_around(Hbm *hbm, WireBox box) {
        unsigned last = hbm->memory.shape.size[HBM_ROW] - 1u;

        box.first[HBM_ROW] = box.first[HBM_ROW] > REACH ? (uint16_t) (box.first[HBM_ROW] - REACH) : 0;
        if (box.last[HBM_ROW] <= last)
                box.last[HBM_ROW] = (uint16_t) MIN(box.last[HBM_ROW] + (unsigned) REACH, last);
        hbm_live_touch(hbm, &box);
}

int hbm_hammer(void *state, Execution *execution) {
        Hbm *hbm = state;
        Sweep sweep;
        int r;

        touch_around(hbm, execution->command->hammer.box);
        if (!sweep_init(hbm, execution, &sweep)) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        r = hbm_disturb_before(hbm, execution);
        if (r >= 0)
                r = flip_victims(hbm, execution, &sweep, sweep_nsec(&sweep));
        if (r >= 0)
                r = flip_sound_rows(hbm, execution, &sweep);
        if (r < 0)
                return r;

        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->device_nsec = sweep_nsec(&sweep);
        return 0;
}
