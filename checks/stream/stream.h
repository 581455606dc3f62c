/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stream
 *
 * What a worker says, one JSON object per line: OCP Test & Validation output 2.0. The writer makes lines that the
 * 2.0 schema accepts; the reader takes them from an untrusted peer under hard limits and hands out events.
 *
 * Conventions on top of the standard:
 *  - hardwareInfoId is the location of a server or chip ("us0-1", "us0-1/chip3"); testStepId is "UNIT:STEP", UNIT one
 *    of these and STEP the name in the plan.
 *  - A location inside a chip stands as subcomponent.location, the last part as subcomponent.name.
 *  - dutInfo.metadata.pciAddresses maps hardwareInfoId to PCI address; firmware is a softwareInfo whose computerSystem
 *    is the hardwareInfoId, its build the revision; the tray is the location of its hardwareInfo.
 *  - parameters of testRunStart hold what the plan promises, coverage {MEASUREMENT: value}, and what it states of faults that it
 *    misses, escapes {KIND: [always, commands]}.
 *  - A value that sums up others says so in the metadata of its measurement: {"statistic":"p99","count":4096}.
 *  - OCP has no place for some facts; they travel as `extension` artifacts of the step, named
 *      assay-evidence  {"code","location","action", of Evidence what is known,"reproduced","runs"}   after its diagnosis; without
 *                      an action, which older workers leave out, it is that of the code and the part. In a child's lines also
 *                      {"decided","value","limit"}: the worker makes a measurement of it before the diagnosis
 *      assay-particulars {"location","assemblies","softwareInfos","readings"}   what a chip, or its server, tells of itself (particulars.h), in the
 *                      first step that begins there; texts and numbers are what devices said, and count for no verdict
 *      assay-part      {"part","verdict","reason"}   a server step is done with one chip; reason only where it was not judged, and may be left out
 *      assay-progress  {"percent"}
 *      assay-regions   {"partition","position","tested","failed","occupied"}   texts as in regions.h, at most once
 *      assay-step      {"verdict","reason","message","required","seed","device_nsec","reproduced","runs"}
 *                      just before testStepEnd, always; seed is decimal text, for numbers of JSON end at 2^53;
 *                      in a child's lines "occupancy" too, where the run is not to be taken as it is
 *  - step end: passed, warned, failed → COMPLETE; skipped → SKIP; error → ERROR, with an `error` artifact.
 *  - run end: a run that PASSED and one that WARNED are both COMPLETE and PASS; the reader tells them by their steps.
 *  - A stream that contradicts itself is broken: a step cannot have passed with a finding that warns or fails or a value
 *    beyond its limit, nor warned with a finding that fails, nor anything but failed with a region that did, nor a run passed with a failed step or an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/measurements.h"
#include "checks/vocabulary/particulars.h"
#include "checks/vocabulary/regions.h"
#include "checks/vocabulary/verdict.h"

#define STREAM_LINE_MAX         (32u << 10) /* bytes, with the newline */
#define STREAM_DEPTH_MAX        16
#define STREAM_STEPS_MAX        8192    /* per stream: 64 chips × 64 steps and room */
#define STREAM_FINDINGS_MAX     256     /* per step; a check that finds more says how many more */
#define STREAM_MEASUREMENTS_MAX 768     /* per step: 512 that it says itself, and one for each finding */
#define STREAM_STEP_NAME_MAX    64      /* with the final zero; of measurements that are promised, too */
#define STREAM_PROMISES_MAX     32      /* of a plan */
#define STREAM_ESCAPES_MAX      256     /* of a plan */
#define STREAM_BYTES_MAX        (64u << 20)
#define STREAM_MESSAGE_MAX      1024    /* bytes of one message; longer ones are cut by the writer, refused by the reader */

/* The value, beyond its limit, that a finding follows from: a measurement at its place, of measurements.h, which has unit and type of limit. */
typedef struct Decided {
        const char *measurement; /* of static storage; NULL: a measurement of the step itself says it */
        double value, limit;     /* finite */
} Decided;

/* What a finding rests on. Only what has_… says is meant; strings may be NULL. */
typedef struct Evidence {
        const char *address;  /* of the first difference, as the part names it */
        const char *expected; /* hex or a number, of the first difference */
        const char *actual;
        bool has_count, has_confidence;
        double count; /* of differences */
        double confidence;
        const char *far_end;     /* links: the port at the other end, as a location */
        const char *replaceable; /* the unit to replace: "tray 3", "cable …"; NULL: the worker fills in the chip's tray */
        unsigned seen, tried;    /* by the check itself: k of n; 0 of 0: it saw it and did not try again */
        Decided decided;
} Evidence;

typedef struct Finding {
        const char *code; /* of the catalogue, which also gives severity */
        Severity severity;
        Location where;
        const char *message;
        Action action; /* what to do first; ACTION_NONE: not decided */
        Evidence evidence;
        unsigned reproduced, runs; /* k of n, n ≥ 1 */
} Finding;

/* A part under test, from dutInfo. Serial "" where the device did not tell. */
typedef struct Hardware {
        Location where; /* a server or a chip */
        const char *name;
        const char *serial;
        const char *part_number;
        const char *firmware;
        const char *firmware_build; /* of that version, as the part counts them */
        const char *tray; /* "tray 3"; "" for a server */
        const char *pci_address;
} Hardware;

/* A promise of the plan for each chip: the least value of a measurement. */
typedef struct Promise {
        const char *measurement;
        double value;
} Promise;

/* A statement of the plan on faults of a kind (plan.h): at most always + (1 - always) (1 - p)^commands of them are missed. */
typedef struct StatedEscape {
        const char *fault; /* a word of checks/vocabulary/fault-words.h, or whatever the peer says instead */
        double always, commands;
} StatedEscape;

typedef struct StepEnd {
        Verdict verdict;
        Reason reason;
        const char *message; /* for skipped and error: why, in a sentence; else NULL */
        bool required;
        uint64_t seed;
        uint64_t device_nsec; /* virtual device time the step took */
        unsigned reproduced, runs;
        RunOccupancy occupancy; /* of a child alone; a step that ends for good has none */
} StepEnd;

typedef enum EventType {
        EVENT_RUN_START,
        EVENT_HARDWARE, /* one per part, after EVENT_RUN_START */
        EVENT_STEP_START,
        EVENT_MEASUREMENT,
        EVENT_FINDING, /* when its evidence is complete: at the next line that is not its own */
        EVENT_PART_DONE,
        EVENT_PROGRESS,
        EVENT_REGIONS,  /* which of its regions a step on a chip has tested */
        EVENT_PARTICULARS, /* of the unit, or of its server */
        EVENT_STEP_END,
        EVENT_ERROR, /* of the run: the worker could not go on */
        EVENT_LOG,
        EVENT_RUN_END,
        _EVENT_TYPE_MAX,
} EventType;

/* Valid during the callback only. unit and step are set for all events of a step, else empty. */
typedef struct Event {
        EventType type;
        uint64_t sequence;
        uint64_t usec; /* CLOCK_REALTIME, when the line was written; 0: it does not say */
        const char *unit; /* "us0-1/chip3" */
        const char *step; /* "hbm" */
        const char *plan; /* EVENT_RUN_START */
        size_t n_promises; /* EVENT_RUN_START */
        const Promise *promises;
        size_t n_escapes;  /* EVENT_RUN_START */
        const StatedEscape *escapes;
        Hardware hardware;
        Measurement measurement;
        Finding finding;
        Location part; /* EVENT_PART_DONE, with verdict … */
        Reason reason; /* … and why there is none; REASON_NONE where that is not told */
        Verdict verdict;
        unsigned percent;
        const Regions *regions; /* EVENT_REGIONS */
        const Particulars *particulars; /* EVENT_PARTICULARS */
        StepEnd end;
        const char *message; /* EVENT_ERROR, EVENT_LOG */
        Result result;       /* EVENT_RUN_END */
} Event;

/* ---- writer: each returns a malloc'd line with its newline, without sequenceNumber and timestamp, or NULL ---- */

typedef struct RunStart {
        const char *version;
        const char *command_line;
        const char *plan;
        const char *plan_sha256; /* hex */
        const char *dut;         /* servers, comma-separated */
        uint64_t seed;
        size_t n_hardware;
        const Hardware *hardware;
        size_t n_promises; /* at most STREAM_PROMISES_MAX */
        const Promise *promises;
        size_t n_escapes; /* at most STREAM_ESCAPES_MAX */
        const StatedEscape *escapes;
} RunStart;

char *stream_schema_version(void);
char *stream_run_start(const RunStart *start);
char *stream_run_end(Result result);
char *stream_run_error(const char *symptom, const char *message);
char *stream_log(const char *severity, const char *message); /* INFO, WARNING, ERROR */
char *stream_step_start(const char *step_id, const char *check);
char *stream_measurement(const char *step_id, const Measurement *measurement);
char *stream_finding(const char *step_id, const Finding *finding); /* two lines: diagnosis and assay-evidence */
char *stream_part_done(const char *step_id, const Location *part, Verdict verdict, Reason reason);
char *stream_progress(const char *step_id, unsigned percent);
char *stream_regions(const char *step_id, const Regions *regions);
char *stream_particulars(const char *step_id, const Particulars *particulars);
char *stream_step_end(const char *step_id, const StepEnd *end); /* [error,] assay-step and testStepEnd: two or three lines */

/* Puts sequence number and the time now (RFC 3339, Z, milliseconds) in front of one line. malloc'd, NULL without memory. */
char *stream_number(const char *line, uint64_t sequence);

/* ---- reader ---- */

typedef struct StreamReader StreamReader;
typedef int (*StreamHandler)(const Event *event, void *userdata);

/*
 * numbered: lines carry sequenceNumber and timestamp and must count up from FIRST; else (a child's lines) they must
 * carry neither. From 0 on, schemaVersion and testRunStart come first; a stream that goes on may leave them out. A child
 * says nothing of the run but `log` and `error`.
 */
int stream_reader_new(bool numbered, uint64_t first, StreamHandler handler, void *userdata, StreamReader **ret);
StreamReader *stream_reader_free(StreamReader *reader);
DEFINE_CLEANUP(StreamReader *, stream_reader_free);

/*
 * Takes the next bytes and calls the handler for each whole event. Returns 0; a negative number that the handler
 * returned, then and from then on; or -EPROTO when the peer broke a rule: from then on every call returns -EPROTO and
 * stream_reader_error() says why, with the line number.
 */
int stream_reader_feed(StreamReader *reader, const void *bytes, size_t n);
/* The peer has closed: -EPROTO when in the middle of a line or a step, or before testRunEnd of a numbered stream. */
int stream_reader_end(StreamReader *reader);
const char *stream_reader_error(const StreamReader *reader);
uint64_t stream_reader_sequence(const StreamReader *reader); /* the next that is expected */
