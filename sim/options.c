/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option long_options[] = {
        { "socket",  required_argument, NULL, OPTION_SOCKET  },
        { "json",    no_argument,       NULL, OPTION_JSON    },
        { "stream",  required_argument, NULL, OPTION_STREAM  },
        { "mode",    required_argument, NULL, OPTION_MODE    },
        { "threads", required_argument, NULL, OPTION_THREADS },
        { "strict",  no_argument,       NULL, OPTION_STRICT  },
        { "matrix",  no_argument,       NULL, OPTION_MATRIX  },
        { NULL,      0,                 NULL, 0              },
};

static int parse_number(const char *verb, const char *option, const char *text, int base, unsigned long max, unsigned *ret) {
        unsigned long value;
        char *end;

        errno = 0;
        value = strtoul(text, &end, base);
        if (errno != 0 || end == text || *end != '\0' || value == 0 || value > max) {
                fprintf(stderr, "assay-sim %s: --%s: \"%s\" is not a number in range\n", verb, option, text);
                return -EINVAL;
        }
        *ret = (unsigned) value;
        return 0;
}

static int take(const char *verb, int option, Options *options) {
        switch (option) {
        case OPTION_SOCKET:
                options->socket = optarg;
                return 0;
        case OPTION_JSON:
                options->json = true;
                return 0;
        case OPTION_STREAM:
                options->stream = optarg;
                return 0;
        case OPTION_STRICT:
                options->strict = true;
                return 0;
        case OPTION_MATRIX:
                options->matrix = true;
                return 0;
        case OPTION_MODE:
                return parse_number(verb, "mode", optarg, 8, 0777, &options->mode);
        default:
                return parse_number(verb, "threads", optarg, 10, 1024, &options->threads);
        }
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
                r = take(verb, option, ret);
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
