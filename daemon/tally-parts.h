/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inside of a tally, for tally.c, which fills it, and tally-record.c, which reads it. */

#include "daemon/rotation.h"
#include "daemon/tally.h"

typedef enum TallyState {
        TALLY_UNSEEN,
        TALLY_OPEN,
        TALLY_ENDED,
} TallyState;

/* A step of the plan on one chip; or on the server itself. */
typedef struct TallyStep {
        TallyState state; /* of a step on this very unit; a chip of a step on its server stays TALLY_UNSEEN
                           */
        Verdict verdict;
        Reason reason;
        char *message;
        uint64_t seed, device_nsec;
        uint64_t began_usec, ended_usec; /* CLOCK_REALTIME of the worker's lines; 0: not known */
        bool has_part; /* the step on the server is done with this chip */
        Verdict part;
        Reason part_reason; /* REASON_NONE: not told */
        Verdict found; /* what the findings in this unit say: passed, warned or failed */
        bool beyond;   /* a measurement lies beyond its limit */
        bool failed_elsewhere; /* of a server: it found something broken in another one */
        size_t n_measurements, n_findings;
        Measurement *measurements;
        RecordDiagnosis *findings;
        Regions *regions; /* which the worker tested; NULL: it told none */
        RecordKnownRegions *before; /* what records say of them; NULL: nothing */
        double *reached; /* of each promise of the plan; NULL: nothing was promised here */
} TallyStep;

/* A chip, or a server. */
typedef struct TallyUnit {
        bool wanted;
        Location where;
        char *serial, *part_number, *firmware, *firmware_build, *tray, *pci_address; /* NULL: not told */
        Particulars *particulars; /* likewise */
        size_t n_measurements, n_findings;
        TallyStep *steps; /* plan->n_steps */
} TallyUnit;

typedef struct TallyServer {
        const Target *target;
        TallyUnit chips[TARGET_CHIPS];
        TallyUnit self;
} TallyServer;

struct Tally {
        const Plan *plan;
        size_t n_servers;
        TallyServer *servers;
        bool rotations_read;
        bool ended;
        bool closed;
        Reason reason; /* of the steps that never reported */
        char *message;
};
