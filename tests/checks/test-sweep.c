/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The sweep: every registered check runs on a healthy simulated part whose port fails once, at the first,
 * second, third … command, in every way a port can fail. Whatever the check makes of it, it must not be a
 * pass. Checks are called directly, so that the judgement is theirs and not that of the step, which would
 * not believe such a pass either.
 *
 * A status or a wrong length stays: the same command of the same part goes on completing so. A check may ask
 * again, and may believe the answer it gets then; what it never got an answer to it may not.
 *
 * A simulator that stands still during an operation, for longer than a chip may take, and then goes on, changes nothing: the part passes.
 *
 * A check of thousands of commands would take an hour: of each way and check SAMPLES places are tried, the
 * first and last ones and others by a printed seed. `test-checks-sweep --full` (or ASSAY_SWEEP_FULL=1) tries
 * them all.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "checks/collective/collective.h"
#include "checks/plan/plan.h"
#include "checks/step/step.h"

#define SAMPLES      10
#define SERVER       "us0-1"
#define WINDOW_BYTES (16u << 20)
#define OUT_HUGE     0xfffffff0u
#define STALLS       2

/* Longer than a chip may take, and far less than the patience with a server: a machine with much else to do must not use it up. */
#define STALL_DEADLINE_USEC 400000u
#define STALL_USEC          450000u

typedef enum FaultWay {
        WAY_ERROR,  /* the batch fails with an errno */
        WAY_STATUS, /* one command completes with a status */
        WAY_OUT,    /* one command claims other out_bytes: value % of what it wrote */
        WAY_HUGE,
        WAY_STALL, /* the simulator stands still during the batch; it is no failure */
} FaultWay;

typedef struct Fault {
        FaultWay way;
        int value;
        const char *name;
} Fault;

static const Fault faults[] = {
        { WAY_ERROR, -EIO, "EIO" },
        { WAY_ERROR, -ENODEV, "ENODEV" },
        { WAY_ERROR, -ENOMEM, "ENOMEM" },
        { WAY_ERROR, -ETIMEDOUT, "ETIMEDOUT" },
        { WAY_ERROR, -EHOSTDOWN, "EHOSTDOWN" },
        { WAY_ERROR, -EPROTO, "EPROTO" },
        { WAY_STATUS, STATUS_NRT_FAILURE, "status failure" },
        { WAY_STATUS, STATUS_NRT_INVALID, "status invalid" },
        { WAY_STATUS, STATUS_NRT_TIMEOUT, "status timeout" },
        { WAY_STATUS, STATUS_NRT_HW_ERROR, "status hardware error" },
        { WAY_STATUS, STATUS_NRT_UNSUPPORTED, "status unsupported" },
        { WAY_STATUS, 0x7fffffff, "status unknown" },
        { WAY_OUT, 0, "nothing came back" },
        { WAY_OUT, 50, "half came back" },
        { WAY_HUGE, 0, "more came back than there was room" },
};

/* ---- a port that fails once ---- */

typedef struct Port {
        Device *device; /* the healthy one */
        const Fault *fault;
        uint64_t at;   /* the number of the command that fails, from 1; 0: none */
        uint64_t n;    /* commands so far */
        bool is_server;
        uint8_t *window;
        bool struck;
        WireCommand struck_command;
        bool admitted; /* a step on a server did not pass one of its chips: what that chip gets is no pass */
} Port;

/* Steps on a server read labels, to name things by and not to judge. A board trace has an empty one. */
static bool is_label(const Port *port, const WireCommand *command) {
        static const char *const labels[] = { "assay/link/", "info/serial_number" };
        const char *path = (const char *) port->window + command->in_offset;

        for (size_t i = 0; i < ELEMENTS(labels); i++)
                if (port->is_server && command->type == COMMAND_ATTRIBUTE &&
                    command->in_bytes >= strlen(labels[i]) &&
                    memcmp(path, labels[i], strlen(labels[i])) == 0)
                        return true;

        return false;
}

/* Half of a text may be as good a text: attributes are cut to nothing only. */
static bool can_strike(const Port *port, const WireCommand *command, const WireCompletion *completion) {
        const Fault *fault = port->fault;

        if (fault->way == WAY_OUT && fault->value > 0)
                return completion->out_bytes > 1 && command->type != COMMAND_ATTRIBUTE;
        if (fault->way == WAY_OUT && is_label(port, command))
                return false;
        if (fault->way == WAY_OUT || fault->way == WAY_HUGE)
                return completion->out_bytes > 0;
        return true;
}

/* The same question to the same part. */
static bool is_same(const WireCommand *a, const WireCommand *b) {
        return a->type == b->type && a->chip == b->chip && a->unit == b->unit;
}

static void strike(const Port *port, WireCompletion *completion) {
        if (port->fault->way == WAY_STATUS)
                completion->status = (uint32_t) port->fault->value;
        else if (port->fault->way == WAY_HUGE)
                completion->out_bytes = OUT_HUGE;
        else
                completion->out_bytes =
                                (uint32_t) (completion->out_bytes * (uint64_t) port->fault->value / 100);
}

static void strike_again(const Port *port, const WireCommand *commands, size_t n,
                         WireCompletion *completions) {
        for (size_t i = 0; i < n; i++)
                if (is_same(&commands[i], &port->struck_command) && commands[i].type != COMMAND_ATTRIBUTE)
                        strike(port, &completions[i]);
}

static pid_t simulator;

static void go_on(int number) {
        (void) kill(simulator, SIGCONT);
}

/* Until a timer lets it go on: its signal ends what the port waits in, too. */
static void stand_still(void) {
        const struct sigaction action = { .sa_handler = go_on };
        const struct itimerval timer = { .it_value.tv_usec = STALL_USEC };

        assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
        assert_int_equal(kill(simulator, SIGSTOP), 0);
        assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static int port_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        static WireCommand copies[WIRE_BATCH_MAX];
        Port *port = userdata;
        uint64_t first = port->n + 1;
        int r;

        port->n += n;
        memcpy(copies, commands, n * sizeof(*commands));
        if (port->fault && port->fault->way == WAY_STALL && port->at >= first && port->at <= port->n) {
                port->struck = true;
                stand_still();
        }
        r = device_execute(port->device, copies, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;
        if (port->fault && port->fault->way == WAY_STALL)
                return 0;
        if (port->struck && port->fault->way != WAY_ERROR)
                strike_again(port, commands, n, completions);
        if (port->at < first || port->at > port->n)
                return 0;

        if (port->fault->way == WAY_ERROR) {
                port->struck = true;
                port->struck_command = commands[port->at - first];
                return port->fault->value;
        }

        completions += port->at - first;
        commands += port->at - first;
        if (!can_strike(port, commands, completions))
                return 0;

        port->struck = true;
        port->struck_command = *commands;
        strike(port, completions);
        return 0;
}

static void port_close(void *userdata) {
        Port *port = userdata;

        port->device = device_free(port->device);
}

static const DeviceTransport port_transport = { .execute = port_execute, .close = port_close };

/* ---- one run ---- */

static char socket_path[] = "/tmp/assay-sweep-XXXXXX/socket";
static bool full;
static uint64_t seed = 20261121;

static Device *open_port(Port *port, unsigned chip) {
        Device *device = NULL;
        size_t bytes;

        assert_int_equal(device_open_socket(socket_path, SERVER, chip, WINDOW_BYTES, &port->device), 0);
        device_set_deadline(port->device, port->fault && port->fault->way == WAY_STALL ? STALL_DEADLINE_USEC : 30000000);
        bytes = device_window_free(port->device);
        port->window = device_window_take(port->device, bytes);
        port->is_server = chip == WIRE_CHIP_ALL;
        assert_int_equal(device_new(&port_transport, port, SERVER, chip, port->window, bytes, &device), 0);
        return device;
}

static int on_lines(void *userdata, const char *lines) {
        Port *port = userdata;

        if (strstr(lines, "\"assay-part\"") && !strstr(lines, "\"verdict\":\"passed\""))
                port->admitted = true;
        return 0;
}

/*
 * A collective is posts and waits whatever it moves: the sizes and formats that are left out here repeat the same commands twenty times,
 * and are judged by the same lines. The full sweep has them all.
 */
static const CollectiveParameters short_collective = {
        .operations = CHOICE_ALL, .sizes = CHOICE_FEW, .bytes = UINT64_C(1) << 30, .rounds = 2, .bandwidth = 0.85,
};

static const void *parameters_for(const Check *check) {
        const CheckWord *word = check_word_find(check->name);

        if (!full && strcmp(check->name, "collective") == 0)
                return &short_collective;
        return word->parameters ? *word->parameters_defaults : NULL;
}

/* Runs CHECK over PORT, which is opened and closed here. */
static int run_check(const Check *check, Port *port, Verdict *ret) {
        StepServer server = { .name = SERVER, .included = 0xffff };
        StepSettings settings = {
                .name = check->name,
                .n_servers = 1,
                .servers = &server,
                .parameters = parameters_for(check),
                .seed = seed,
                .budget_sec = 1e9,
                .write = on_lines,
                .userdata = port,
        };
        _cleanup_(step_freep) Step *step = NULL;
        _cleanup_(device_freep) Device *device = NULL;
        bool is_chip = check->unit == LOCATION_CHIP;

        device = open_port(port, is_chip ? 5 : WIRE_CHIP_ALL);
        server.device = device;
        assert_int_equal(location_parse(is_chip ? SERVER "/chip5" : SERVER, &settings.unit, NULL, NULL), 0);
        assert_int_equal(step_new(&settings, &step), 0);

        *ret = _VERDICT_INVALID;
        return check->run(step, ret);
}

static uint64_t splitmix64(uint64_t x) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* The I-th place of N to try: the first four, the last two, then any. */
static uint64_t place(uint64_t i, uint64_t n, uint64_t salt) {
        if (full || i < 4)
                return i + 1;
        if (i < 6)
                return n - (i - 4);
        return 1 + splitmix64(seed ^ salt << 32 ^ i) % n;
}

/* Returns how many false passes there were. */
static unsigned sweep_fault(const Check *check, size_t fault, uint64_t n_commands, unsigned *n_struck) {
        uint64_t n = full ? n_commands : MIN(n_commands, (uint64_t) SAMPLES);
        unsigned n_passes = 0;

        for (uint64_t i = 0; i < n; i++) {
                Port port = { .fault = &faults[fault], .at = place(i, n_commands, fault) };
                Verdict verdict;
                int r = run_check(check, &port, &verdict);

                *n_struck += port.struck;
                if (!port.struck || port.admitted || r < 0 || verdict != VERDICT_PASSED)
                        continue;

                n_passes++;
                print_error("%s passed although command %llu of %llu (type %u, chip %u, unit %u) failed: %s\n",
                            check->name, (unsigned long long) port.at, (unsigned long long) n_commands,
                            port.struck_command.type, port.struck_command.chip, port.struck_command.unit,
                            faults[fault].name);
        }

        return n_passes;
}

/* Returns how many times a part that stood still did not pass. */
static unsigned sweep_stall(const Check *check, uint64_t n_commands) {
        static const Fault stall = { WAY_STALL, 0, "stall" };
        uint64_t n = full ? MIN(n_commands, (uint64_t) SAMPLES) : MIN(n_commands, (uint64_t) STALLS);
        unsigned n_wrong = 0;

        for (uint64_t i = 0; i < n; i++) {
                Port port = { .fault = &stall, .at = 1 + splitmix64(seed ^ i << 48) % n_commands };
                Verdict verdict;
                int r = run_check(check, &port, &verdict);

                if (port.struck && r >= 0 && verdict == VERDICT_PASSED && !port.admitted)
                        continue;
                n_wrong++;
                print_error("%s did not pass a part that stood still during command %llu of %llu: %d\n", check->name,
                            (unsigned long long) port.at, (unsigned long long) n_commands, r < 0 ? r : (int) verdict);
        }

        return n_wrong;
}

static unsigned sweep_check(const Check *check) {
        Port untouched = {};
        unsigned n_passes = 0, n_struck = 0;
        Verdict verdict;
        int r;

        if (check->prepare)
                check->prepare();
        r = run_check(check, &untouched, &verdict);
        if (r < 0 || verdict != VERDICT_PASSED) {
                print_error("%s does not pass a healthy part: %d, %s\n", check->name, r,
                            r < 0 ? strerror(-r) : verdict_to_string(verdict));
                return 1;
        }

        for (size_t i = 0; i < ELEMENTS(faults); i++)
                n_passes += sweep_fault(check, i, untouched.n, &n_struck);

        print_message("# %s: %llu commands, %u faulted runs, %u false passes\n", check->name,
                      (unsigned long long) untouched.n, n_struck, n_passes);
        return n_passes + (n_struck == 0) + sweep_stall(check, untouched.n);
}

static void test_no_fault_of_the_port_becomes_a_pass(void **state) {
        unsigned n_passes = 0;
        size_t i;

        print_message("# seed %llu\n", (unsigned long long) seed);
        for (i = 0; check_at(i); i++)
                n_passes += sweep_check(check_at(i));

        assert_true(i > 0);
        assert_int_equal(n_passes, 0);
}

/* ---- the simulator ---- */

static int start_simulator(void **state) {
        char *end = strrchr(socket_path, '/');
        Device *device = NULL;

        *end = '\0';
        if (!mkdtemp(socket_path))
                return -1;
        *end = '/';

        simulator = fork();
        if (simulator == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) dup2(STDERR_FILENO, STDOUT_FILENO);
                (void) execl(getenv("ASSAY_SIM"), "assay-sim", "serve", getenv("ASSAY_HEALTHY"), "--socket",
                             socket_path, (char *) NULL);
                _exit(126);
        }

        for (unsigned i = 0; i < 1000; i++) {
                if (device_open_socket(socket_path, SERVER, 0, WIRE_WINDOW_MIN, &device) >= 0)
                        break;
                (void) usleep(10000);
        }
        device_free(device);
        return device ? 0 : -1;
}

static int stop_simulator(void **state) {
        (void) kill(simulator, SIGTERM);
        (void) waitpid(simulator, NULL, 0);
        (void) unlink(socket_path);
        *strrchr(socket_path, '/') = '\0';
        (void) rmdir(socket_path);
        return 0;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_fault_of_the_port_becomes_a_pass) };

        full = getenv("ASSAY_SWEEP_FULL") || (argc > 1 && strcmp(argv[1], "--full") == 0);
        return cmocka_run_group_tests(tests, start_simulator, stop_simulator);
}
