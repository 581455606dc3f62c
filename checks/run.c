/* SPDX-License-Identifier: Apache-2.0 */

/* assay-run: the worker as a program. With --device it is asked by options, else over its stdin (see
 * worker.h). */

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "checks/worker/describe.h"
#include "checks/worker/worker.h"

static const char *arg_device, *arg_plan, *arg_steps, *arg_topology;
static double arg_scale = 1, arg_budget;
static uint64_t arg_seed, arg_position;
static bool arg_has_seed, arg_describe, arg_json;

static int usage(FILE *file) {
        fputs("assay-run [OPTION…]\n"
              "\n"
              "Scans servers and writes what it finds to stdout, as an OCP Test & Validation\n"
              "2.0 stream.\n"
              "Without --device it reads its request from stdin, as assayd sends it.\n"
              "\n"
              "  --device sim:SOCKET#PARTS  servers and chips, comma-separated, behind the\n"
              "                             socket of assay-sim\n"
              "  --plan NAME|FILE           what to do; a NAME is looked up in $ASSAY_PLANS or\n"
              "                             the installed plans\n"
              "  --seed N                   repeats the choices of another run; by default a\n"
              "                             new one\n"
              "  --steps NAME,…             only these steps of the plan\n"
              "  --budget SEC               device time of one unit, less than the plan's\n"
              "  --position N               the region that a test in regions begins with; by\n"
              "                             default the first\n"
              "  --topology FILE            which servers are a ring, and which cable belongs\n"
              "                             where; by default names tell\n"
              "  --deadline-scale X         multiplies every deadline in wall time\n"
              "  --describe [--json]        says what each check reads, finds, disturbs and\n"
              "                             takes\n"
              "  --help, --version\n"
              "\n"
              "Exit status: 0 passed or warned, 1 failed, 2 inconclusive, 64 usage, 69 no\n"
              "server reached.\n",
              file);
        return file == stdout ? 0 : STATUS_USAGE;
}

static int complain(const char *what, const char *why) {
        fprintf(stderr, "assay-run: %s: %s\n", what, why);
        return -EINVAL;
}

/* ---- options ---- */

static int parse_number(const char *text, double low, double high, double *ret) {
        char *end;
        double value = strtod(text, &end);

        if (end == text || *end != '\0' || !(value >= low && value <= high))
                return -EINVAL;

        *ret = value;
        return 0;
}

static int parse_position(const char *text) {
        size_t n = strspn(text, "0123456789");

        if (n == 0 || n > 4 || text[n] != '\0')
                return -EINVAL;

        arg_position = strtoull(text, NULL, 10);
        return arg_position < REGIONS_MAX ? 0 : -EINVAL;
}

static int parse_seed(const char *text) {
        size_t n = strspn(text, "0123456789");

        errno = 0;
        arg_seed = strtoull(text, NULL, 10);
        if (n == 0 || text[n] != '\0' || errno != 0 || arg_seed > (uint64_t) REQUEST_SEED_MAX)
                return -EINVAL;

        arg_has_seed = true;
        return 0;
}

static int parse_options(int argc, char **argv, int *ret_status) {
        enum { DEVICE = 256, PLAN, SEED, SCALE, STEPS, BUDGET, POSITION, TOPOLOGY, DESCRIBE, JSON, VERSION, HELP };
        static const struct option options[] = {
                { "device",         required_argument, NULL, DEVICE   },
                { "plan",           required_argument, NULL, PLAN     },
                { "seed",           required_argument, NULL, SEED     },
                { "deadline-scale", required_argument, NULL, SCALE    },
                { "steps",          required_argument, NULL, STEPS    },
                { "budget",         required_argument, NULL, BUDGET   },
                { "position",       required_argument, NULL, POSITION },
                { "topology",       required_argument, NULL, TOPOLOGY },
                { "describe",       no_argument,       NULL, DESCRIBE },
                { "json",           no_argument,       NULL, JSON     },
                { "version",        no_argument,       NULL, VERSION  },
                { "help",           no_argument,       NULL, HELP     },
                {}
        };
        int option, r = 0;

        while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0 && r >= 0) {
                switch (option) {
                case DEVICE:
                        arg_device = optarg;
                        break;
                case PLAN:
                        arg_plan = optarg;
                        break;
                case SEED:
                        if (parse_seed(optarg) < 0)
                                r = complain("--seed", "expected a whole number below 2^63");
                        break;
                case SCALE:
                        if (parse_number(optarg, REQUEST_SCALE_MIN, REQUEST_SCALE_MAX, &arg_scale) < 0)
                                r = complain("--deadline-scale", "expected a number from 0.001 to 1000");
                        break;
                case STEPS:
                        arg_steps = optarg;
                        break;
                case BUDGET:
                        if (parse_number(optarg, 1e-9, REQUEST_BUDGET_MAX, &arg_budget) < 0)
                                r = complain("--budget", "expected device seconds above 0");
                        break;
                case POSITION:
                        if (parse_position(optarg) < 0)
                                r = complain("--position", "expected the number of a region");
                        break;
                case TOPOLOGY:
                        arg_topology = optarg;
                        break;
                case DESCRIBE:
                        arg_describe = true;
                        break;
                case JSON:
                        arg_json = true;
                        break;
                case VERSION:
                        puts("assay-run " ASSAY_VERSION);
                        *ret_status = 0;
                        return 0;
                case HELP:
                        *ret_status = usage(stdout);
                        return 0;
                default:
                        r = -EINVAL;
                }
        }

        if (r >= 0 && optind < argc)
                r = complain(argv[optind], "no argument is expected");
        return r < 0 ? r : 1;
}

/* ---- the request ---- */

static int find_plan(Request *request) {
        _cleanup_free_ char *error = NULL;
        bool is_file = strchr(arg_plan, '/') || strstr(arg_plan, ".yaml");
        int r;

        r = is_file ? plan_load(arg_plan, &request->plan, &error)
                    : plan_find(plan_folders(), arg_plan, &request->plan, &error);
        if (r < 0)
                fprintf(stderr, "assay-run: %s\n", error ? error : strerror(-r));
        return r;
}

static int read_topology(Request *request) {
        _cleanup_(topology_freep) Topology *topology = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = topology_load(arg_topology, &topology, &error);
        if (r >= 0)
                r = request_set_topology(request, topology, arg_topology, &error);
        if (r < 0)
                fprintf(stderr, "assay-run: %s\n", error ? error : strerror(-r));
        return r;
}

static int choose_steps(Request *request) {
        const char *text = arg_steps;

        request->only = calloc(PLAN_STEPS_MAX, sizeof(*request->only));
        if (!request->only)
                return -ENOMEM;

        while (*text && request->n_only < PLAN_STEPS_MAX) {
                size_t n = strcspn(text, ","), i;
                char *name = strndup(text, n);

                if (!name)
                        return -ENOMEM;
                request->only[request->n_only++] = name;

                for (i = 0; i < request->plan->n_steps && strcmp(request->plan->steps[i].name, name) != 0;
                     i++)
                        ;
                if (i == request->plan->n_steps)
                        return complain(name, "the plan has no such step");
                text += n + (text[n] == ',');
        }

        return request->n_only > 0 ? 0 : complain("--steps", "expected names of steps");
}

static int choose_seed(Request *request) {
        uint64_t seed;

        if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
                return -errno;

        request->seed = arg_has_seed ? arg_seed : seed >> 32; /* short enough to be typed again */
        return 0;
}

static int request_from_options(int argc, char **argv, Request *request) {
        const char *wrong;
        int r;

        if (!arg_plan)
                return complain("--plan", "is needed with --device");
        if (target_parse(arg_device, &request->target, &wrong) < 0)
                return complain(arg_device, wrong);

        r = find_plan(request);
        if (r >= 0 && arg_topology)
                r = read_topology(request);
        if (r >= 0 && arg_steps)
                r = choose_steps(request);
        if (r >= 0)
                r = choose_seed(request);
        if (r < 0)
                return r;

        request->deadline_scale = arg_scale;
        request->position = (unsigned) arg_position;
        request->budget_sec = arg_budget > 0 ? fmin(arg_budget, request->plan->budget_sec)
                                             : request->plan->budget_sec;
        for (int i = 0, n = 0; i < argc && n < REQUEST_COMMAND_MAX; i++)
                n += snprintf(request->command_line + n, sizeof(request->command_line) - (size_t) n, "%s%s",
                              i > 0 ? " " : "", argv[i]);
        return 0;
}

/* ---- the program ---- */

static int run(const Request *request, int input_fd) {
        Result result;
        int r;

        r = worker_run(request, input_fd, STDOUT_FILENO, &result);
        if (r == -ENOTCONN) {
                fprintf(stderr, "assay-run: no server that was asked for could be reached at %s: nobody serves there, or it has no such server\n", request->target.socket);
                return STATUS_UNREACHABLE;
        }
        if (r == -ECONNABORTED || r == -EPIPE || r == -ECONNRESET)
                return STATUS_CANNOT_TELL; /* cancelled: nobody is left to be told */
        if (r < 0) {
                fprintf(stderr, "assay-run: the scan was given up: %s\n", strerror(-r));
                return STATUS_CANNOT_TELL;
        }

        return result_to_status(result, false);
}

static int run_from_connection(void) {
        _cleanup_(request_done) Request request = {};
        _cleanup_free_ char *error = NULL;
        int r;

        r = request_read(STDIN_FILENO, &request, &error);
        if (r == -ECONNABORTED)
                return STATUS_CANNOT_TELL;
        if (r < 0) {
                const char *why = error ? error : strerror(-r);

                fprintf(stderr, "assay-run: %s\n", why);
                (void) worker_refuse(STDOUT_FILENO, why);
                return STATUS_USAGE;
        }

        return run(&request, STDIN_FILENO);
}

static int run_from_options(int argc, char **argv) {
        _cleanup_(request_done) Request request = {};

        if (request_from_options(argc, argv, &request) < 0)
                return STATUS_USAGE;

        return run(&request, -EBADF);
}

int main(int argc, char **argv) {
        struct stat st;
        int status, r;

        (void) signal(SIGPIPE, SIG_IGN);
        (void) close_range(STDERR_FILENO + 1, UINT_MAX, 0); /* nothing else is for us or our children */

        r = parse_options(argc, argv, &status);
        if (r < 0)
                return usage(stderr);
        if (r == 0)
                return status;

        if (arg_describe)
                return describe_checks(stdout, arg_json) < 0 ? STATUS_CANNOT_TELL : 0;
        if (arg_device)
                return run_from_options(argc, argv);
        if (arg_plan) {
                (void) complain("--plan", "is of no use without --device");
                return STATUS_USAGE;
        }
        if (argc > 1 || fstat(STDIN_FILENO, &st) < 0 || !S_ISSOCK(st.st_mode))
                return usage(stderr);

        return run_from_connection();
}
