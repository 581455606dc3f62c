/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Step
 *
 * All a check may do, with the typed calls of the device headers. A check opens no file, does not fork,
 * sleep or log.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/port/device.h"
#include "checks/step/check.h"
#include "checks/stream/stream.h"
#include "checks/vocabulary/topology.h"

/* ---- what is under test ---- */

/* The unit's own device: of its chip, or of its server. */
Device *step_device(Step *step);
/* The chip under test, or WIRE_CHIP_ALL in a step on a server. */
unsigned step_chip(const Step *step);
/* The unit as a location; copy it and append parts. */
const Location *step_unit(const Step *step);
/* The names of the servers of the scan, the unit's own first, then the others in the order of the scan, round; NULL past the end. */
const char *step_server(const Step *step, size_t index);
/* The device of another server of the same scan (the ring of an UltraServer); NULL where it is not part of
 * it: then nothing of it may be driven. */
Device *step_neighbour(Step *step, const char *server);
/* In a step on a server: whether CHIP was asked for, answers and is not occupied. Links and NICs of others
 * are not driven. */
bool step_includes(const Step *step, const char *server, unsigned chip);
/* How many chips of the unit's own server nobody asked for; those in service or without an answer were asked for. */
unsigned step_unasked(const Step *step);
/* The tray of CHIP, such as "3"; "" where nobody knows. */
const char *step_tray(const Step *step, const char *server, unsigned chip);

/* Whether CHIP was asked for and the host's driver shows no such device. */
bool step_is_absent(const Step *step, const char *server, unsigned chip);
/* The temperature of CHIP in degrees Celsius before the first step, if it was asked for and is at rest; else NAN. */
double step_temperature(const Step *step, const char *server, unsigned chip);

/* Of a chip: another of the scan, on another server, that told the same serial number before the first step; NULL: there is none. */
const Location *step_twin(const Step *step);
/* Of a chip: how many other servers there are in the scan, if each told the serial numbers of all its chips before the first step, so that any twin would
 * be known; else 0. */
unsigned step_twin_servers(const Step *step);

/* What the operator says of the wiring; NULL: servers are named by their place (topology.h). */
const Topology *step_topology(const Step *step);

/* The check's own parameters (see plan.h), with defaults filled in; NULL if it has none. */
const void *step_parameters(const Step *step);
/* All that is random comes from this; a retest sees the same. */
uint64_t step_seed(const Step *step);
/* A number that no other run has, also none with the same seed: for what must not be taken for what an earlier one left behind.
 * Nothing that is said may depend on it. */
int step_nonce(Step *step, uint64_t *ret);
/* Device seconds the plan's budget still has for this step: what later steps cannot do without is taken off (check.h). */
double step_budget_sec(const Step *step);

/*
 * For a check that tests its part in regions (regions.h). What earlier scans did, of this very chip; NULL: nothing is known,
 * and the first region is step_position(). Nothing of it is trusted beyond being well formed.
 */
const Rotation *step_rotation(const Step *step);
unsigned step_position(const Step *step);
/* How old the test of a region may become, in seconds of a clock; 0: any age. */
double step_rotation_sec(const Step *step);

/* ---- what it says ---- */

/*
 * Writes a measurement with its limit. WHERE NULL is the unit. Returns 1 where the value is beyond its limit
 * (or not finite), 0 within; negative when it could not be written.
 */
int step_measure(Step *step, const char *name, double value, const char *unit, LimitType type, double limit,
                 const Location *where);
/* The same without a limit. A test that chance can fail notes NAME_false_alarms, unit "1": how many parts of a sound unit it
 * calls broken on average, at most; `assay-sim qualify` adds them up for a fleet. */
int step_note(Step *step, const char *name, double value, const char *unit, const Location *where);
/* Both, of a value that sums up others: { STATISTIC_MIN, 32 } is the smallest of 32. */
int step_measure_series(Step *step, const char *name, Series series, double value, const char *unit, LimitType type, double limit,
                        const Location *where);
int step_note_series(Step *step, const char *name, Series series, double value, const char *unit, const Location *where);

/*
 * Writes a finding and raises *verdict by the severity of CODE in the catalogue. WHERE NULL is the unit;
 * EVIDENCE may be NULL; what warns or fails says there which value beyond its limit it follows from (`decided`), unless the step has measured it.
 * More than STREAM_FINDINGS_MAX are counted, not written; of a server's step each chip keeps one.
 */
int step_finding(Step *step, Verdict *verdict, const char *code, const Location *where,
                 const Evidence *evidence, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Sets *ret to skipped, with the reason; returns 0. */
int step_skip(Step *step, Verdict *ret, Reason reason, const char *format, ...)
                __attribute__((format(printf, 4, 5)));

/* Names what kept the check from judging, for the `error` artifact; returns ERROR (a negative errno) as it
 * is. */
int step_error(Step *step, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Tells which regions were tested, once; regions_wrong() must have nothing to say. */
int step_regions(Step *step, const Regions *regions);

void step_progress(Step *step, unsigned percent);
/* In a step on a server: it is done with this chip, VERDICT for its part. REASON says why that was not judged, if it was not and the step's
 * own reason, or that of a device that broke off, is not the one. A chip of StepServer.silent passes none: that is an error. */
int step_part_done(Step *step, const Location *chip, Verdict verdict, Reason reason);

/* ---- who runs a step: a child of the worker, or a test ---- */

/* What a step may know of one server of the scan. */
typedef struct StepServer {
        Device *device;                  /* NULL: not to be driven */
        char name[LOCATION_SERVER_NAME_MAX];
        uint16_t included; /* bit per chip: asked for, answering, and free for what the check disturbs */
        uint16_t unasked; /* bit per chip: nobody asked for it */
        uint16_t absent; /* bit per chip: asked for, and the host's driver shows no such device */
        uint16_t silent; /* bit per chip: owed an earlier run an answer, of this step or of one on another server, and nothing of that run was told */
        char trays[CHIPS][16];           /* "3", what assay/tray said; "" unknown */
        uint16_t at_rest; /* bit per chip: asked for, carries no work, and tells its temperature */
        double temperatures[CHIPS]; /* of these, °C before the first step */
} StepServer;

/* The sentence for every step whose server has left meanwhile, whatever it was about; assayctl(1) knows it by these words. */
#define STEP_SERVER_GONE "the server went away during the scan"

/* The sentence for a step of which nobody can say whether it met a job. */
#define STEP_OCCUPANCY_UNTOLD "the chip does not tell whether it carries work"

/* Takes whole lines without number and time. Returns 0 or a negative errno, which becomes the step's own
 * error. */
typedef int (*StepWriter)(void *userdata, const char *lines);

typedef struct StepSettings {
        Location unit;
        const char *name;           /* of the step in the plan */
        size_t n_servers;
        const StepServer *servers;  /* the unit's own first; borrowed, as all pointers here */
        const Location *twin;       /* NULL: there is none */
        unsigned n_twin_servers;
        const Topology *topology;   /* may be NULL */
        const void *parameters;
        uint64_t seed;
        double budget_sec;
        const Rotation *rotation;   /* NULL: nothing is known of earlier scans */
        unsigned position;          /* where regions begin then */
        double rotation_sec;        /* 0: no limit */
        bool required;
        uint64_t progress_usec;     /* between two lines of progress, or the start and one; 0: all are written */
        StepWriter write;           /* NULL: nothing is written */
        void (*flush)(void *userdata); /* NULL, or called after what must not be lost with the process:
                                          findings, parts */
        void *userdata;
} StepSettings;

/*
 * The verdict is raised to what the step's findings say, and is an error where it contradicts what was
 * measured: a pass with a value beyond its limit, a pass although the port broke off.
 */
int step_new(const StepSettings *settings, Step **ret);
Step *step_free(Step *step);
DEFINE_CLEANUP(Step *, step_free);

/*
 * Runs CHECK once, without writing step start and end, and sets *ret in any case; ret->message lives as long
 * as STEP. Returns the negative errno that kept the check from judging, else 0.
 */
int step_run(Step *step, const Check *check, StepEnd *ret);
/* How a negative errno of a check is told. */
Reason step_reason(int error);
