/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/verbs/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/text/cleanup.h"

static const struct option long_options[] = {
        { "socket",         required_argument, NULL, OPTION_SOCKET         },
        { "json",           no_argument,       NULL, OPTION_JSON           },
        { "stream",         required_argument, NULL, OPTION_STREAM         },
        { "mode",           required_argument, NULL, OPTION_MODE           },
        { "threads",        required_argument, NULL, OPTION_THREADS        },
        { "plan",           required_argument, NULL, OPTION_PLAN           },
        { "kind",           required_argument, NULL, OPTION_KIND           },
        { "family",         required_argument, NULL, OPTION_FAMILY         },
        { "samples",        required_argument, NULL, OPTION_SAMPLES        },
        { "seed",           required_argument, NULL, OPTION_SEED           },
        { "healthy",        required_argument, NULL, OPTION_HEALTHY        },
        { "jobs",           required_argument, NULL, OPTION_JOBS           },
        { "assay-run",      required_argument, NULL, OPTION_ASSAY_RUN      },
        { "deadline-scale", required_argument, NULL, OPTION_DEADLINE_SCALE },
        { "timeout",        required_argument, NULL, OPTION_TIMEOUT        },
        { "keep",           required_argument, NULL, OPTION_KEEP           },
        { "probability",    required_argument, NULL, OPTION_PROBABILITY    },
        { "strict",         no_argument,       NULL, OPTION_STRICT         },
        { "matrix",         no_argument,       NULL, OPTION_MATRIX         },
        { "stalls",         no_argument,       NULL, OPTION_STALLS         },
        { NULL,             0,                 NULL, 0                     },
};

static const struct {
        int option;
        size_t offset;
} flags[] = {
        { OPTION_JSON,   offsetof(Options, json)   },
        { OPTION_STRICT, offsetof(Options, strict) },
        { OPTION_MATRIX, offsetof(Options, matrix) },
        { OPTION_STALLS, offsetof(Options, stalls) },
};

static const struct {
        int option;
        size_t offset;
} texts[] = {
        { OPTION_SOCKET,         offsetof(Options, socket)         },
        { OPTION_STREAM,         offsetof(Options, stream)         },
        { OPTION_PLAN,           offsetof(Options, plan)           },
        { OPTION_FAMILY,         offsetof(Options, family)         },
        { OPTION_ASSAY_RUN,      offsetof(Options, assay_run)      },
        { OPTION_DEADLINE_SCALE, offsetof(Options, deadline_scale) },
        { OPTION_KEEP,           offsetof(Options, keep)           },
        { OPTION_PROBABILITY,    offsetof(Options, probability)    },
};

static const struct {
        int option;
        size_t offset;
        int base;
        uint64_t min, max;
} numbers[] = {
        { OPTION_MODE,    offsetof(Options, mode),    8,  1, 0777      },
        { OPTION_THREADS, offsetof(Options, threads), 10, 1, 1024      },
        { OPTION_SAMPLES, offsetof(Options, samples), 10, 0, 100000    },
        { OPTION_SEED,    offsetof(Options, seed),    10, 0, INT64_MAX },
        { OPTION_HEALTHY, offsetof(Options, healthy), 10, 0, 1000000   },
        { OPTION_JOBS,    offsetof(Options, jobs),    10, 1, 256       },
        { OPTION_TIMEOUT, offsetof(Options, timeout), 10, 1, 86400     },
};

static int parse_number(const char *verb, const char *option, const char *text, int base, uint64_t min, uint64_t max, uint64_t *ret) {
        unsigned long long value;
        char *end;

        errno = 0;
        value = strtoull(text, &end, base);
        /* A minus sign is a number to strtoull(). */
        if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || value < min || value > max) {
                fprintf(stderr, "assay-sim %s: --%s: \"%s\" is not a number in range\n", verb, option, text);
                return -EINVAL;
        }
        *ret = value;
        return 0;
}

static int take_kind(const char *verb, Options *options) {
        if (options->n_kinds == KINDS_MAX) {
                fprintf(stderr, "assay-sim %s: more than %u kinds\n", verb, KINDS_MAX);
                return -EINVAL;
        }
        options->kinds[options->n_kinds++] = optarg;
        return 0;
}

static int take(const char *verb, const struct option *option, Options *options) {
        options->given |= (unsigned) option->val;
        for (size_t i = 0; i < ELEMENTS(texts); i++)
                if (texts[i].option == option->val) {
                        *(const char **) ((char *) options + texts[i].offset) = optarg;
                        return 0;
                }
        for (size_t i = 0; i < ELEMENTS(numbers); i++)
                if (numbers[i].option == option->val)
                        return parse_number(verb, option->name, optarg, numbers[i].base, numbers[i].min, numbers[i].max,
                                            (uint64_t *) ((char *) options + numbers[i].offset));
        for (size_t i = 0; i < ELEMENTS(flags); i++)
                if (flags[i].option == option->val)
                        *((bool *) ((char *) options + flags[i].offset)) = true;
        return option->val == OPTION_KIND ? take_kind(verb, options) : 0;
}

int options_parse(int argc, char *argv[], unsigned allowed, int min, int max, Options *ret) {
        const char *verb = argv[0], *given = getenv("ASSAY_SIM_SOCKET");
        int option, index = 0, r;

        *ret = (Options) { .socket = given && given[0] != '\0' ? given : SOCKET_DEFAULT };
        while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
                if (option == '?')
                        return -EINVAL; /* said already */
                if (!(allowed & (unsigned) option)) {
                        fprintf(stderr, "assay-sim %s: it has no option --%s\n", verb, long_options[index].name);
                        return -EINVAL;
                }
                r = take(verb, &long_options[index], ret);
                if (r < 0)
                        return r;
        }
        if (argc - optind < min || argc - optind > max) {
                fprintf(stderr, "assay-sim %s: %s; see assay-sim --help\n", verb,
                        argc - optind < min ? "something is missing" : "too many arguments");
                return -EINVAL;
        }
        return optind;
}
