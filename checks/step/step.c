/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Step
 *
 * What a check may do, and the judge's own judge: whatever a check returns, its verdict is never better than
 * what it found and measured, and never a pass when the port broke off while it ran.
 */

#include "checks/step/step.h"

#include <assert.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "checks/step/monotonic.h"
#include "checks/step/target.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/measurements.h"

#define NAME_MAX_BYTES   128 /* of a measurement or a unit of measure */
#define MEASUREMENTS_MAX (STREAM_MEASUREMENTS_MAX - STREAM_FINDINGS_MAX) /* the worker makes one more of each finding */

struct Step {
        StepSettings settings;
        char id[LOCATION_STRING_MAX + 64];
        Verdict found;        /* what the findings say so far */
        unsigned n_findings, n_written, n_measurements;
        uint16_t told[TARGET_SERVERS_MAX]; /* by server of the scan: chips in which a finding was written */
        bool beyond;          /* a value beyond its limit */
        bool region_failed;
        Reason skip;
        int failure;          /* a line could not be written */
        unsigned percent;
        uint64_t progress_usec; /* when progress was told, or the step began */
        char message[STREAM_MESSAGE_MAX];
};

int step_new(const StepSettings *settings, Step **ret) {
        char unit[LOCATION_STRING_MAX];
        Step *step;

        assert(settings);
        assert(settings->n_servers > 0 && settings->servers);
        assert(ret);

        step = calloc(1, sizeof(*step));
        if (!step)
                return -ENOMEM;

        step->settings = *settings;
        step->progress_usec = monotonic_usec();
        (void) snprintf(step->id, sizeof(step->id), "%s:%s", location_format(&settings->unit, unit),
                        settings->name);
        *ret = step;
        return 0;
}

Step *step_free(Step *step) {
        free(step);
        return NULL;
}

/* ---- what is under test ---- */

Device *step_device(Step *step) {
        return step->settings.servers[0].device;
}

unsigned step_chip(const Step *step) {
        int chip = location_index(&step->settings.unit, LOCATION_CHIP);

        return chip < 0 ? WIRE_CHIP_ALL : (unsigned) chip;
}

const Location *step_unit(const Step *step) {
        return &step->settings.unit;
}

static const StepServer *find_server(const Step *step, const char *name) {
        for (size_t i = 0; i < step->settings.n_servers; i++)
                if (strcmp(step->settings.servers[i].name, name) == 0)
                        return &step->settings.servers[i];

        return NULL;
}

const char *step_server(const Step *step, size_t index) {
        return index < step->settings.n_servers ? step->settings.servers[index].name : NULL;
}

Device *step_neighbour(Step *step, const char *server) {
        const StepServer *found = find_server(step, server);

        return found ? found->device : NULL;
}

bool step_includes(const Step *step, const char *server, unsigned chip) {
        const StepServer *found = find_server(step, server);

        return found && found->device && chip < CHIPS && (found->included & (1u << chip));
}

unsigned step_unasked(const Step *step) {
        return (unsigned) __builtin_popcount(step->settings.servers[0].unasked);
}

const char *step_tray(const Step *step, const char *server, unsigned chip) {
        const StepServer *found = find_server(step, server);

        return found && chip < CHIPS ? found->trays[chip] : "";
}

bool step_is_absent(const Step *step, const char *server, unsigned chip) {
        const StepServer *found = find_server(step, server);

        return found && chip < CHIPS && (found->absent & (1u << chip));
}

double step_temperature(const Step *step, const char *server, unsigned chip) {
        const StepServer *found = find_server(step, server);

        return found && chip < CHIPS && (found->at_rest & (1u << chip)) ? found->temperatures[chip] : NAN;
}

const Location *step_twin(const Step *step) {
        return step->settings.twin;
}

unsigned step_twin_servers(const Step *step) {
        return step->settings.n_twin_servers;
}

const Topology *step_topology(const Step *step) {
        return step->settings.topology;
}

const void *step_parameters(const Step *step) {
        return step->settings.parameters;
}

uint64_t step_seed(const Step *step) {
        return step->settings.seed;
}

int step_nonce(Step *step, uint64_t *ret) {
        if (getrandom(ret, sizeof(*ret), 0) != (ssize_t) sizeof(*ret))
                return step_error(step, -EIO, "the kernel gives no random number");
        return 0;
}

double step_budget_sec(const Step *step) {
        return step->settings.budget_sec;
}

const Rotation *step_rotation(const Step *step) {
        return step->settings.rotation;
}

unsigned step_position(const Step *step) {
        return step->settings.position;
}

double step_rotation_sec(const Step *step) {
        return step->settings.rotation_sec;
}

/* ---- what it says ---- */

/* LINES is freed; NULL is how the stream's writers say that there was no memory. The first failure stays. */
static int step_write(Step *step, char *lines) {
        int r = lines ? 0 : -ENOMEM;

        if (r >= 0 && step->settings.write)
                r = step->settings.write(step->settings.userdata, lines);
        free(lines);
        if (r < 0 && step->failure == 0)
                step->failure = r;
        return r;
}

/* For what must be known even if the process is lost right after. */
static int step_write_now(Step *step, char *lines) {
        int r = step_write(step, lines);

        if (step->settings.flush)
                step->settings.flush(step->settings.userdata);
        return r;
}

static bool name_is_valid(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

        return n > 0 && n < NAME_MAX_BYTES && name[n] == '\0';
}

static int write_measurement(Step *step, const Measurement *measurement) {
        if (!name_is_valid(measurement->name) || strlen(measurement->unit) >= NAME_MAX_BYTES)
                return step_error(step, -EINVAL, "measurement \"%s\" has no valid name", measurement->name);
        if (++step->n_measurements > MEASUREMENTS_MAX)
                return step_error(step, -E2BIG, "more than %d measurements", MEASUREMENTS_MAX);

        return step_write(step, stream_measurement(step->id, measurement));
}

int step_measure_series(Step *step, const char *name, Series series, double value, const char *unit, LimitType type, double limit,
                        const Location *where) {
        Measurement measurement = {
                .name = name,
                .value = value,
                .unit = unit,
                .limit_type = type,
                .limit = limit,
                .where = where ? *where : step->settings.unit,
                .series = series,
        };
        int r;

        /* What is not finite cannot be written, and cannot be within a limit either. */
        if (!isfinite(value) || (type != LIMIT_NONE && !isfinite(limit))) {
                (void) step_error(step, -ERANGE, "%s is not finite", name);
                step->beyond = true;
                return 1;
        }

        r = write_measurement(step, &measurement);
        if (r < 0)
                return r;
        if (type == LIMIT_NONE || limit_holds(type, value, limit))
                return 0;

        step->beyond = true;
        return 1;
}

int step_measure(Step *step, const char *name, double value, const char *unit, LimitType type, double limit,
                 const Location *where) {
        return step_measure_series(step, name, (Series) {}, value, unit, type, limit, where);
}

int step_note_series(Step *step, const char *name, Series series, double value, const char *unit, const Location *where) {
        if (!isfinite(value))
                return step_error(step, -ERANGE, "%s is not finite", name);

        return step_measure_series(step, name, series, value, unit, LIMIT_NONE, 0, where);
}

int step_note(Step *step, const char *name, double value, const char *unit, const Location *where) {
        return step_note_series(step, name, (Series) {}, value, unit, where);
}

/* Formats, and where the text was cut takes away the half of a character that may stand at its end. */
static void __attribute__((format(printf, 2, 0)))
format_message(char message[static STREAM_MESSAGE_MAX], const char *format, va_list arguments) {
        int n = vsnprintf(message, STREAM_MESSAGE_MAX, format, arguments);

        if (n < STREAM_MESSAGE_MAX)
                return;

        n = STREAM_MESSAGE_MAX - 1;
        while (n > 0 && ((unsigned char) message[n - 1] & 0xc0) == 0x80)
                n--;
        if (n > 0 && (unsigned char) message[n - 1] >= 0xc0)
                n--;
        message[n] = '\0';
}

/* A chip is replaced with its tray, unless the check knows better. */
static const char *tray_of(const Step *step, const Location *where, char tray[static 32]) {
        int chip = location_index(where, LOCATION_CHIP);
        const char *name = chip < 0 ? "" : step_tray(step, where->server, (unsigned) chip);

        if (name[0] == '\0')
                return NULL;

        (void) snprintf(tray, 32, "tray %s", name);
        return tray;
}

/*
 * The last place is kept for what the worker itself may have to add (device-hang), and on a server one for each chip, so that none fails of which nothing
 * is told.
 */
static bool has_room(Step *step, const Location *where) {
        const StepServer *server = find_server(step, where->server);
        int chip = location_index(where, LOCATION_CHIP);
        size_t index = server ? (size_t) (server - step->settings.servers) : TARGET_SERVERS_MAX;
        unsigned kept = 1;

        if (location_kind(&step->settings.unit) == LOCATION_SERVER && index < TARGET_SERVERS_MAX && chip >= 0 && chip < (int) CHIPS) {
                kept += step->told[index] >> chip & 1 ? TARGET_SERVERS_MAX * CHIPS : 0;
                step->told[index] |= (uint16_t) (1u << chip);
        }
        return step->n_written + kept < STREAM_FINDINGS_MAX;
}

static int write_finding(Step *step, const CatalogueEntry *entry, Finding *finding) {
        char tray[32];

        if (!finding->evidence.replaceable)
                finding->evidence.replaceable = tray_of(step, &finding->where, tray);
        finding->action = catalogue_remedy(entry, finding->evidence.replaceable).action;
        if (!isfinite(finding->evidence.count))
                finding->evidence.has_count = false;
        if (!isfinite(finding->evidence.confidence))
                finding->evidence.has_confidence = false;
        assert(!finding->evidence.decided.measurement || measurement_named(finding->evidence.decided.measurement));
        if (!isfinite(finding->evidence.decided.value) || !isfinite(finding->evidence.decided.limit))
                finding->evidence.decided = (Decided) {};

        step->n_findings++;
        if (!has_room(step, &finding->where))
                return 0;

        step->n_written++;
        return step_write_now(step, stream_finding(step->id, finding));
}

int step_finding(Step *step, Verdict *verdict, const char *code, const Location *where,
                 const Evidence *evidence, const char *format, ...) {
        const CatalogueEntry *entry = catalogue_find(code);
        char message[STREAM_MESSAGE_MAX];
        Finding finding = {
                .code = code,
                .where = where ? *where : step->settings.unit,
                .message = message,
                .evidence = evidence ? *evidence : (Evidence) {},
                .reproduced = 1,
                .runs = 1,
        };
        va_list arguments;

        if (!entry)
                return step_error(step, -EINVAL, "finding %s is not in the catalogue", code);
        if (evidence && evidence->tried > 0) {
                finding.reproduced = evidence->seen;
                finding.runs = evidence->tried;
        }

        va_start(arguments, format);
        format_message(message, format, arguments);
        va_end(arguments);

        finding.severity = entry->severity;
        verdict_raise(verdict, entry->severity);
        verdict_raise(&step->found, entry->severity);
        return write_finding(step, entry, &finding);
}

int step_skip(Step *step, Verdict *ret, Reason reason, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        format_message(step->message, format, arguments);
        va_end(arguments);

        step->skip = reason;
        *ret = VERDICT_SKIPPED;
        return 0;
}

int step_error(Step *step, int error, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        format_message(step->message, format, arguments);
        va_end(arguments);
        return error;
}

int step_regions(Step *step, const Regions *regions) {
        assert(!regions_wrong(regions));

        step->region_failed = region_set_count(&regions->failed) > 0;
        return step_write(step, stream_regions(step->id, regions));
}

void step_progress(Step *step, unsigned percent) {
        percent = MIN(percent, 100u);
        if (percent <= step->percent)
                return; /* only forward, so at most a hundred times */

        step->percent = percent;
        /* Nobody can look at the progress of a step that lasts a millisecond, and each line costs as much as a command. */
        if (monotonic_usec() - step->progress_usec < step->settings.progress_usec)
                return;
        step->progress_usec = monotonic_usec();
        (void) step_write_now(step, stream_progress(step->id, percent));
}

static bool was_silent(const Step *step, const Location *chip) {
        const StepServer *server = find_server(step, chip->server);
        int index = location_index(chip, LOCATION_CHIP);

        return server && index >= 0 && index < (int) CHIPS && (server->silent >> index & 1);
}

int step_part_done(Step *step, const Location *chip, Verdict verdict, Reason reason) {
        if ((verdict == VERDICT_PASSED || verdict == VERDICT_WARNED) && was_silent(step, chip))
                verdict = VERDICT_ERROR;
        return step_write_now(step, stream_part_done(step->id, chip, verdict, reason));
}

/* ---- who runs it ---- */

Reason step_reason(int error) {
        switch (-error) {
        case ETIMEDOUT:
        case EHOSTDOWN:
                return REASON_DEVICE_TIMEOUT;
        case ENODEV: /* the device port: its connection ended */
                return REASON_DEVICE_UNREACHABLE;
        case EPROTO:
                return REASON_PROTOCOL;
        case ENOMEM:
        case EMFILE:
        case ENFILE:
        case EAGAIN:
        case ENOSPC:
                return REASON_RESOURCE;
        default:
                return REASON_DEVICE_ERROR;
        }
}

/* A server of the scan whose connection ended explains whatever the check made of it. */
static bool server_is_gone(const Step *step) {
        for (size_t i = 0; i < step->settings.n_servers; i++)
                if (step->settings.servers[i].device && device_failure(step->settings.servers[i].device) == -ENODEV)
                        return true;
        return false;
}

static void end_in_error(Step *step, int error, const char *what, StepEnd *end) {
        bool gone = server_is_gone(step);

        end->verdict = VERDICT_ERROR;
        end->reason = step_reason(gone ? -ENODEV : error);
        if (gone)
                (void) step_error(step, -ENODEV, STEP_SERVER_GONE);
        else if (step->message[0] == '\0' && error == -EREMOTEIO)
                (void) step_error(step, error, "%s: the device answered with status %u", what,
                                  device_status(step_device(step)));
        else if (step->message[0] == '\0')
                (void) step_error(step, error, "%s: %s", what, strerror(-error));
        end->message = step->message;
}

/* A check that contradicts itself could not judge, whatever it says. */
static const char *contradiction(const Step *step, Verdict verdict) {
        if (verdict < 0 || verdict >= _VERDICT_MAX || verdict == VERDICT_ERROR)
                return "the check returned no verdict";
        if (verdict == VERDICT_SKIPPED && !reason_fits(step->skip, VERDICT_SKIPPED))
                return "the check skipped without a reason";
        if (verdict == VERDICT_FAILED && step->n_findings == 0)
                return "the check failed without a finding";
        if (verdict == VERDICT_PASSED && step->beyond)
                return "a value is beyond its limit, and the step passed";
        if (verdict != VERDICT_FAILED && step->region_failed)
                return "a region failed, and the step did not";
        return NULL;
}

static void judge(Step *step, Verdict verdict, StepEnd *end) {
        const char *wrong;

        if (step->found == VERDICT_FAILED || (step->found == VERDICT_WARNED && verdict == VERDICT_PASSED))
                verdict = step->found;

        wrong = contradiction(step, verdict);
        if (wrong) {
                step->message[0] = '\0';
                (void) step_error(step, -EPROTO, "%s", wrong);
                end_in_error(step, -EPROTO, "check", end);
                return;
        }

        end->verdict = verdict;
        if (verdict == VERDICT_SKIPPED) {
                end->reason = step->skip;
                end->message = step->message;
        }
}

static uint64_t total_nsec(const Step *step) {
        uint64_t nsec = 0;

        for (size_t i = 0; i < step->settings.n_servers; i++)
                if (step->settings.servers[i].device)
                        nsec += device_nsec(step->settings.servers[i].device);
        return nsec;
}

static int total_failure(const Step *step) {
        for (size_t i = 0; i < step->settings.n_servers; i++)
                if (step->settings.servers[i].device && device_failure(step->settings.servers[i].device) < 0)
                        return device_failure(step->settings.servers[i].device);
        return 0;
}

static void note_surplus(Step *step, const Check *check) {
        char name[NAME_MAX_BYTES];

        if (step->n_findings == step->n_written)
                return;

        (void) snprintf(name, sizeof(name), "%s_findings_not_written", check->name);
        (void) step_note(step, name, step->n_findings - step->n_written, "1", NULL);
}

int step_run(Step *step, const Check *check, StepEnd *ret) {
        uint64_t before = total_nsec(step);
        int failed_before = total_failure(step), r;
        Verdict verdict = _VERDICT_INVALID;
        StepEnd end = { .required = step->settings.required, .seed = step->settings.seed, .runs = 1 };

        r = check->run(step, &verdict);
        note_surplus(step, check);
        if (r >= 0)
                r = step->failure;
        if (r >= 0 && failed_before == 0)
                r = total_failure(step);

        /*
         * A fault that was found stays found, whatever broke off afterwards. On a server that would blame
         * the chips the step never came to; there the finding speaks for its own chip.
         */
        if (r < 0 && step->found == VERDICT_FAILED && location_kind(&step->settings.unit) == LOCATION_CHIP)
                end.verdict = VERDICT_FAILED;
        else if (r < 0)
                end_in_error(step, r, check->name, &end);
        else
                judge(step, verdict, &end);

        end.reproduced = end.verdict == VERDICT_FAILED;
        end.device_nsec = total_nsec(step) - before;
        *ret = end;
        return r < 0 ? r : 0;
}
