/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A scan that dies, and the scan after it: for each batch of commands that a plan sends, the process that runs it is lost right
 * after that one, and then the same chip and server are scanned again. Verdicts and findings of the second scan are those of a scan
 * that nothing came before, on sound chips and on faulty ones.
 *
 * Chip 5 of a server goes through its steps and the server through its own with the others of its UltraServer, as checks/worker/child.c has
 * it, with the failed ones run once more.
 * To the device a killed process is a connection that asks no more and closes; what was sent is done. Then either the worker is lost
 * with it, or a fresh child goes on with the next step.
 *
 * Of each fault SAMPLES batches are tried of those that write attributes, plant, repair or reset, and as many of all. Run as
 * test-checks-killed PLAN [CASE [SAMPLES]] it tries all batches of that plan, or so many, of all cases or of one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/plan/plan.h"
#include "checks/step/step.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/fleet/scenario.h"
#include "sim/port/batch.h"

#define SAMPLES      3u
#define SERVER       "us0-1"
#define CHIP         5u
#define WINDOW_BYTES (4u << 20)
#define LINES_MAX    512u
#define LINE_BYTES   160u
#define NEVER        UINT64_MAX
#define DELICATE_MAX 4096u
#define HEAD         "scenario: killed\nseed: 11\ntopology: {ultraservers: 1}\n"
#define AT           HEAD "faults: [{at: " SERVER "/chip5"

typedef enum Loss {
        LOSS_WORKER, /* nothing more of this scan happens */
        LOSS_CHILD,  /* the next step has another one */
        _LOSS_MAX,
} Loss;

static const char *const loss_words[] = { [LOSS_WORKER] = "worker", [LOSS_CHILD] = "child" };

/* The answer of a scan: a line for each step's verdict and each finding, sorted. */
typedef struct Said {
        unsigned n;
        char lines[LINES_MAX][LINE_BYTES];
} Said;

typedef struct Scan {
        Scenario *scenario;
        const Plan *plan;
        uint64_t n_batches; /* so far */
        uint64_t last;      /* after this one the process is lost */
        uint64_t n_delicate;
        uint64_t delicate[DELICATE_MAX]; /* batches that leave more than memory's content behind, if nobody goes on */
        Loss loss;
        bool lost;          /* the process that is running */
        Said said;
        bool failed;        /* the step that is running */
        const char *step;
} Scan;

typedef struct Line {
        Reach reach;
        Scan *scan;
} Line;

/* ---- a port whose client dies ---- */

static bool is_delicate(const WireCommand *command) {
        switch (command->type) {
        case COMMAND_ATTRIBUTE_WRITE:
        case COMMAND_RESET:
        case COMMAND_HBM_REPAIR:
                return true;
        case COMMAND_HBM_COPY_IN:
        case COMMAND_SRAM_COPY_IN:
                return command->copy.plant;
        default:
                return false;
        }
}

static void note_delicate(Scan *scan, const WireCommand *commands, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (is_delicate(&commands[i])) {
                        if (scan->n_delicate < DELICATE_MAX)
                                scan->delicate[scan->n_delicate++] = scan->n_batches;
                        return;
                }
}

static int line_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        static _Alignas(16) uint8_t packet[BATCH_PACKET_MAX], answer[BATCH_ANSWER_MAX];
        WireBatch header = { .magic = WIRE_MAGIC, .n = (uint32_t) n };
        Line *line = userdata;
        ssize_t size;

        if (line->scan->lost)
                return -ENODEV;

        memcpy(packet, &header, sizeof(header));
        memcpy(packet + sizeof(header), commands, n * sizeof(*commands));
        size = batch_run(&line->reach, packet, sizeof(header) + n * sizeof(*commands), answer);
        note_delicate(line->scan, commands, n);
        if (line->scan->n_batches++ == line->scan->last)
                line->scan->lost = true;
        if (line->scan->lost)
                return -ENODEV;
        if (size != (ssize_t) (sizeof(header) + n * sizeof(*completions)))
                return size == 0 ? -ETIMEDOUT : -EPROTO;
        memcpy(completions, answer + sizeof(header), n * sizeof(*completions));
        return 0;
}

static void line_close(void *userdata) {
        Line *line = userdata;

        batch_close(&line->reach);
        free(line->reach.window);
        free(line);
}

static const DeviceTransport line_transport = { line_execute, line_close };

static Device *line_open(Scan *scan, const char *server, unsigned chip) {
        Line *line = calloc(1, sizeof(*line));
        Device *device = NULL;

        assert_non_null(line);
        line->scan = scan;
        line->reach = (Reach) {
                .server = hall_server(scan->scenario->hall, server), .chip = chip, .window = aligned_alloc(4096, WINDOW_BYTES),
                .window_bytes = WINDOW_BYTES,
        };
        assert_int_equal(device_new(&line_transport, line, server, chip, line->reach.window, WINDOW_BYTES, &device), 0);
        return device;
}

/* ---- one scan ---- */

static void say(Scan *scan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(Scan *scan, const char *format, ...) {
        va_list arguments;
        char line[LINE_BYTES];

        va_start(arguments, format);
        (void) vsnprintf(line, sizeof(line), format, arguments);
        va_end(arguments);
        for (unsigned i = 0; i < scan->said.n; i++)
                if (strcmp(scan->said.lines[i], line) == 0)
                        return;
        assert_true(scan->said.n < LINES_MAX);
        memcpy(scan->said.lines[scan->said.n++], line, sizeof(line));
}

static int on_event(const Event *event, void *userdata) {
        char at[LOCATION_STRING_MAX];

        if (event->type == EVENT_FINDING)
                say(userdata, "%s %s at %s", event->step, event->finding.code, location_format(&event->finding.where, at));
        if (event->type == EVENT_PART_DONE)
                say(userdata, "%s %s %s", event->step, location_format(&event->part, at), verdict_to_string(event->verdict));
        return 0;
}

static int on_lines(void *userdata, const char *lines) {
        return stream_reader_feed(userdata, lines, strlen(lines));
}

static void feed(StreamReader *reader, char *lines) {
        assert_non_null(lines);
        if (stream_reader_feed(reader, lines, strlen(lines)) < 0)
                fail_msg("%s: %s", stream_reader_error(reader), lines);
        free(lines);
}

static uint64_t seed_of(const char *step) {
        uint64_t seed = 4711;

        for (; *step; step++)
                seed = (seed ^ (unsigned char) *step) * UINT64_C(0x100000001b3);
        return seed >> 11;
}

/* The servers of the scan, the one under test first: a chip knows no other. */
static unsigned open_servers(Scan *scan, LocationKind unit, StepServer servers[static RING]) {
        unsigned n = unit == LOCATION_CHIP ? 1 : RING;

        for (unsigned i = 0; i < n; i++) {
                servers[i] = (StepServer) { .included = 0xffff };
                (void) snprintf(servers[i].name, sizeof(servers[i].name), "us0-%u", (1 + i) % RING);
                for (unsigned chip = 0; chip < CHIPS; chip++)
                        (void) snprintf(servers[i].trays[chip], sizeof(servers[i].trays[chip]), "%u", torus_tray(chip));
                servers[i].device = line_open(scan, servers[i].name, unit == LOCATION_CHIP ? CHIP : WIRE_CHIP_ALL);
        }
        return n;
}

static void close_servers(StepServer servers[static RING], unsigned n) {
        for (unsigned i = 0; i < n; i++)
                servers[i].device = device_free(servers[i].device);
}

/* Runs the step once on N servers. Returns how it ended. */
static Verdict run_once(Scan *scan, const PlanStep *planned, const Check *check, const StepServer *servers, unsigned n) {
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        _cleanup_(step_freep) Step *step = NULL;
        StepSettings settings = {
                .name = planned->name, .n_servers = n, .servers = servers, .parameters = planned->parameters,
                .seed = seed_of(planned->name), .budget_sec = 1e6, .required = planned->required, .write = on_lines,
        };
        char unit[LOCATION_STRING_MAX], id[LOCATION_STRING_MAX + PLAN_NAME_MAX + 1];
        StepEnd end;

        memcpy(settings.unit.server, SERVER, sizeof(SERVER));
        if (check->unit == LOCATION_CHIP)
                (void) location_append(&settings.unit, LOCATION_CHIP, CHIP);
        (void) snprintf(id, sizeof(id), "%s:%s", location_format(&settings.unit, unit), planned->name);

        assert_int_equal(stream_reader_new(false, 0, on_event, scan, &reader), 0);
        settings.userdata = reader;
        assert_int_equal(step_new(&settings, &step), 0);
        feed(reader, stream_step_start(id, check->name));
        (void) step_run(step, check, &end);
        feed(reader, stream_step_end(id, &end));
        return end.verdict;
}

/* As checks/worker/child.c: a first failure is run once more. */
static void run_step(Scan *scan, const PlanStep *planned, const Check *check, const StepServer *servers, unsigned n) {
        Verdict first = _VERDICT_INVALID;

        for (unsigned run = 0; run < 2 && !scan->lost; run++) {
                Verdict verdict = run_once(scan, planned, check, servers, n);

                if (run == 0)
                        first = verdict;
                if (verdict != VERDICT_FAILED)
                        break;
        }
        say(scan, "%s %s", planned->name, verdict_to_string(first));
}

static void run_steps(Scan *scan, LocationKind unit) {
        StepServer servers[RING];
        unsigned n = open_servers(scan, unit, servers);

        for (size_t i = 0; i < scan->plan->n_steps && !(scan->lost && scan->loss == LOSS_WORKER); i++) {
                const Check *check = check_find(scan->plan->steps[i].check->name);

                if (check->unit != unit)
                        continue;
                if (scan->lost) {
                        close_servers(servers, n);
                        scan->lost = false;
                        n = open_servers(scan, unit, servers);
                }
                run_step(scan, &scan->plan->steps[i], check, servers, n);
        }
        close_servers(servers, n);
}

static int compare_lines(const void *a, const void *b) {
        return strcmp(a, b);
}

static void scan_all(Scan *scan, Scenario *scenario, const Plan *plan, uint64_t last, Loss loss) {
        *scan = (Scan) { .scenario = scenario, .plan = plan, .last = last, .loss = loss };
        run_steps(scan, LOCATION_CHIP);
        if (!(scan->lost && loss == LOSS_WORKER)) {
                scan->lost = false;
                run_steps(scan, LOCATION_SERVER);
        }
        qsort(scan->said.lines, scan->said.n, sizeof(scan->said.lines[0]), compare_lines);
}

/* ---- the sweep ---- */

#define JOB "in-use: [{at: " SERVER "/chip5, rows: \"0:0-8191\"}]\n"

/*
 * MORE: what telemetry may say on top, for the chip itself met these errors while it was tested: they are none that were planted. PLAN: of this one
 * alone, NULL: of all. Beside a job a bank keeps its SID from being written; a smaller fault can lie in rows that the killed scan left half written, which
 * are told as not proven.
 */
static const struct {
        const char *name, *text, *more, *plan;
} cases[] = {
        { "sound", HEAD, NULL },
        { "sram-cell", AT "/core2/sbuf/part17/row40/bit9, kind: stuck-at, value: 1}]\n", NULL },
        { "psum-cell", AT "/core2/psum3/part17/row5/bit9, kind: stuck-at, value: 1}]\n", "telemetry sram-uncorrected at us0-1/chip5" },
        { "sram-uncorrected", AT ", kind: ecc-errors, counter: sram_ecc_uncorrected, count: 3}]\n", NULL },
        { "sram-corrected", AT ", kind: ecc-errors, counter: sram_ecc_corrected, count: 4}]\n", NULL },
        { "hbm-uncorrected", AT ", kind: ecc-errors, counter: mem_ecc_uncorrected, stack: 1, count: 2}]\n", NULL },
        { "sram-counter", AT ", kind: counter-stuck, counter: sram_ecc_uncorrected}]\n", NULL },
        { "sram-counter-corrected", AT ", kind: counter-stuck, counter: sram_ecc_corrected}]\n", NULL },
        { "sram-silent", AT "/core3/sbuf, kind: sram-ecc-silent}]\n", NULL },
        { "sram-off", AT "/core6/psum4, kind: sram-ecc-off}]\n", NULL },
        { "hbm-counter", AT ", kind: counter-stuck, counter: mem_ecc_repairable_uncorrected}]\n", NULL },
        { "hbm-silent", AT "/hbm1, kind: ecc-silent}]\n", NULL },
        { "hbm-off", AT "/hbm1, kind: ecc-off}]\n", NULL },
        { "hbm-cell", AT "/hbm2/ch3/pc1/sid0/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}]\n", NULL },
        { "hbm-row", AT "/hbm2/ch3/pc1/sid0/bg2/ba1/row4711, kind: row-dead, reads: ones}]\n", "telemetry hbm-repairable at us0-1/chip5/hbm2" },
        { "hbm-job", HEAD JOB, NULL, "infleet" },
        { "hbm-job-bank", AT "/hbm0/ch3/pc1/sid0/bg2/ba1, kind: bank-dead}]\n" JOB, NULL, "infleet" },
        { "hbm-job-row", AT "/hbm0/ch3/pc1/sid0/bg2/ba1/row8300, kind: row-dead}]\n" JOB, NULL, "infleet" },
        { "element", AT "/core5/pe17.93, kind: product-stuck, bit: 9, value: 1}]\n", NULL },
        { "generator", AT "/core1/scalar/lane64, kind: rng-bit-stuck, bit: 20, value: 1}]\n", NULL },
        { "lane", AT "/link-x+/lane7, kind: bit-errors, rate: 1e-9}]\n", NULL },
        { "lane-between-servers", AT "/link-z+/lane3, kind: bit-errors, rate: 1e-9}]\n", NULL },
        { "lane-idle", AT "/link-y-/lane2, kind: lane-dead}]\n", NULL },
        { "adapter", AT "/nic5, kind: packet-loss, rate: 0.05}]\n", NULL },
};

static uint64_t splitmix64(uint64_t x) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

static Scenario *open_scenario(const char *text) {
        Scenario *scenario = NULL;
        char *error = NULL;

        if (scenario_parse("killed", text, strlen(text), &scenario, &error) < 0)
                fail_msg("%s", error);
        return scenario;
}

static bool has(const Said *said, const char *line) {
        for (unsigned i = 0; i < said->n; i++)
                if (strcmp(said->lines[i], line) == 0)
                        return true;
        return false;
}

/* Telemetry's step fails with MORE. */
static bool may_differ(const char *line, const char *more) {
        return more && (strcmp(line, more) == 0 || strcmp(line, "telemetry failed") == 0 || strcmp(line, "telemetry passed") == 0);
}

static unsigned print_differences(const Said *wanted, const Said *said, const char *more) {
        unsigned n = 0;

        for (unsigned i = 0; i < wanted->n; i++)
                if (!has(said, wanted->lines[i]) && !may_differ(wanted->lines[i], more) && ++n <= 6)
                        print_error("        - %s\n", wanted->lines[i]);
        for (unsigned i = 0; i < said->n; i++)
                if (!has(wanted, said->lines[i]) && !may_differ(said->lines[i], more) && ++n <= 6)
                        print_error("        + %s\n", said->lines[i]);
        return n;
}

static Scan scan;

/* Returns whether the scan of case I after one that was lost after batch LAST says the same as WANTED. */
static bool try_kill(size_t i, const Plan *plan, uint64_t last, Loss loss, const Said *wanted) {
        Scenario *scenario = open_scenario(cases[i].text);
        bool same;

        scan_all(&scan, scenario, plan, last, loss);
        scan_all(&scan, scenario, plan, NEVER, LOSS_WORKER);
        same = print_differences(wanted, &scan.said, cases[i].more) == 0;
        if (!same)
                print_error("    %s: %s lost after batch %lld\n", cases[i].name, loss_words[loss], (long long) last);
        (void) scenario_free(scenario);
        return same;
}

static const char *only_plan, *only_case;
static uint64_t samples = SAMPLES; /* 0: all batches */

/* The batch after which the NUMBER-th kill comes. */
static uint64_t place(const Scan *whole, uint64_t number, uint64_t salt) {
        uint64_t hash = splitmix64(salt << 32 ^ number);

        if (samples == 0)
                return number;
        return number < samples && whole->n_delicate > 0 ? whole->delicate[hash % whole->n_delicate] : hash % whole->n_batches;
}

static unsigned sweep(size_t i, const Plan *plan) {
        Scenario *scenario = open_scenario(cases[i].text);
        Scan *whole = calloc(1, sizeof(*whole));
        uint64_t n;
        unsigned n_wrong;

        assert_non_null(whole);
        scan_all(whole, scenario, plan, NEVER, LOSS_WORKER);
        (void) scenario_free(scenario);
        n = samples == 0 ? whole->n_batches : 2 * samples;

        n_wrong = !try_kill(i, plan, NEVER, LOSS_WORKER, &whole->said);
        for (uint64_t number = 0; number < n; number++)
                for (Loss loss = 0; loss < _LOSS_MAX; loss++)
                        n_wrong += !try_kill(i, plan, place(whole, number, i), loss, &whole->said);
        print_message("# %s, %s: %llu batches, %llu kills, %u other answers\n", plan->name, cases[i].name,
                      (unsigned long long) whole->n_batches, (unsigned long long) n * _LOSS_MAX, n_wrong);
        free(whole);
        return n_wrong;
}

/* ONLY_MEMORY: the plan has no steps that most of the cases concern. */
static bool is_chosen(size_t i, const char *plan, bool only_memory) {
        if (only_case)
                return strcmp(cases[i].name, only_case) == 0;
        if (cases[i].plan)
                return strcmp(cases[i].plan, plan) == 0;
        return !only_memory || i == 0 || strncmp(cases[i].name, "hbm", 3) == 0;
}

static void sweep_plan(const char *name, bool only_memory) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        char *error = NULL;
        unsigned n_wrong = 0;

        if (plan_find(getenv("ASSAY_PLANS"), name, &plan, &error) < 0)
                fail_msg("%s", error);
        for (size_t i = 0; i < plan->n_steps; i++) {
                const Check *check = check_find(plan->steps[i].check->name);

                if (check->prepare_for)
                        check->prepare_for(plan->steps[i].parameters, seed_of(plan->steps[i].name));
                if (check->prepare)
                        check->prepare();
        }
        for (size_t i = 0; i < ELEMENTS(cases); i++)
                if (is_chosen(i, name, only_memory))
                        n_wrong += sweep(i, plan);
        assert_int_equal(n_wrong, 0);
}

static void a_scan_that_died_changes_nothing_for_the_next(void **state) {
        if (only_plan) {
                sweep_plan(only_plan, false);
                return;
        }
        sweep_plan("preflight", false);
        sweep_plan("infleet", true);
        sweep_plan("repair", true);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(a_scan_that_died_changes_nothing_for_the_next) };

        only_plan = argc > 1 ? argv[1] : NULL;
        only_case = argc > 2 && strcmp(argv[2], "all") != 0 ? argv[2] : NULL;
        if (only_plan)
                samples = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
