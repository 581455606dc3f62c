/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assayd
 *
 * Runs scans of servers and remembers them as signed records. It touches no hardware: workers do, as other
 * users.
 */

#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "checks/vocabulary/verdict.h"
#include "daemon/heartbeat.h"
#include "daemon/journal.h"
#include "daemon/log-name.h"
#include "daemon/log-open.h"
#include "daemon/manager.h"
#include "daemon/names.h"
#include "daemon/pruning.h"
#include "daemon/restore.h"
#include "daemon/room.h"

#define CONFIG_PATH "/etc/assay/assayd.yaml"
#define STATE_PATH  "/var/lib/assay"
#define CREDENTIAL  "record-key"
#define LOG_CREDENTIAL "log-key"
#define KEYS_PATH   "/etc/assay/keys/"
#define SIGNED_PATH "/etc/assay/signed"

static const char *arg_config = CONFIG_PATH;
static const char *arg_bus = "system";
static const char *arg_key = NULL;
static const char *arg_log_key = NULL;
static const char *arg_store = NULL;
static const char *arg_state = NULL;
static const char *arg_run = NULL;
static const char *arg_make_key = NULL;
static const char *arg_algorithm = NULL;
static const char *arg_continue = NULL;

static int help(void) {
        printf("assayd [OPTIONS]\n"
               "\n"
               "Scans servers and remembers what it found as signed records.\n"
               "\n"
               "  --config FILE      configuration, default " CONFIG_PATH "\n"
               "  --bus WHERE        system (default), session, or the address of a bus\n"
               "  --key FILE         private key of the records, PEM; else `key` of the\n"
               "                     configuration, else the credential " CREDENTIAL "\n"
               "  --log-key FILE     private key of the log, which signs checkpoints; else\n"
               "                     `log_key`, else the credential " LOG_CREDENTIAL "\n"
               "  --store FILE       the log, default STATE/records.db\n"
               "  --state-dir STATE  default " STATE_PATH "\n"
               "  --run PATH         execute this assay-run; else $ASSAY_RUN, else\n"
               "                     " WORKER_SOCKET_PATH ",\n"
               "                     else " ASSAY_RUN_PATH "\n"
               "  --log-level LEVEL  emerg … debug, default info\n"
               "  --continue-log NOTE  go on with a log whose key has signed what is not\n"
               "                     there any more, sign that somebody decided so, and end\n"
               "  --make-key FILE    make a key there, its public half in FILE.pub, and end\n"
               "  --algorithm WORD   of the key to make: ed25519 (default) or ecdsa-p256\n"
               "  --help --version\n");
        return 1;
}

enum {
        OPTION_LOG_LEVEL = 256,
        OPTION_HELP,
        OPTION_VERSION,
        OPTION_TEXT, /* from here on: the index of its text */
};

/* Options that are a text and nothing more. */
static const char **const texts[] = { &arg_config, &arg_bus, &arg_key, &arg_store, &arg_state, &arg_run, &arg_make_key,
                                     &arg_algorithm, &arg_log_key, &arg_continue };

static const struct option long_options[] = {
        { "config",    required_argument, NULL, OPTION_TEXT + 0  },
        { "bus",       required_argument, NULL, OPTION_TEXT + 1  },
        { "key",       required_argument, NULL, OPTION_TEXT + 2  },
        { "store",     required_argument, NULL, OPTION_TEXT + 3  },
        { "state-dir", required_argument, NULL, OPTION_TEXT + 4  },
        { "run",       required_argument, NULL, OPTION_TEXT + 5  },
        { "make-key",  required_argument, NULL, OPTION_TEXT + 6  },
        { "algorithm", required_argument, NULL, OPTION_TEXT + 7  },
        { "log-key",   required_argument, NULL, OPTION_TEXT + 8  },
        { "continue-log", required_argument, NULL, OPTION_TEXT + 9 },
        { "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
        { "help",      no_argument,       NULL, OPTION_HELP      },
        { "version",   no_argument,       NULL, OPTION_VERSION   },
        {}
};

static int set_log_level(const char *word) {
        int level = journal_level_from_string(word);

        if (level < 0) {
                log_error("Unknown log level '%s', expected emerg … debug", word);
                return -EINVAL;
        }

        journal_set_level(level);
        return 0;
}

static int take_option(int option) {
        if (option == OPTION_HELP)
                return help();
        if (option == OPTION_VERSION) {
                puts("assayd " ASSAY_VERSION);
                return 1;
        }
        if (option == OPTION_LOG_LEVEL)
                return set_log_level(optarg);
        if (option < OPTION_TEXT)
                return -EINVAL; /* getopt has said why */

        *texts[option - OPTION_TEXT] = optarg;
        return 0;
}

/* Returns 1 where there is nothing more to do. */
static int parse_arguments(int argc, char **argv) {
        int option, r;

        while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
                r = take_option(option);
                if (r != 0)
                        return r;
        }

        if ((arg_key && record_key_source_has_pin(arg_key)) || (arg_log_key && record_key_source_has_pin(arg_log_key))) {
                log_error("A PIN on the command line is everyone's to see: name a file with pin-source=");
                return -EINVAL;
        }
        if (optind < argc) {
                log_error("Unexpected argument '%s'", argv[optind]);
                return -EINVAL;
        }
        return 0;
}

static int make_key(const char *path) {
        RecordAlgorithm algorithm = arg_algorithm ? record_algorithm_from_string(arg_algorithm) : RECORD_ED25519;
        int r;

        if (algorithm < 0) {
                log_error("Unknown algorithm '%s', expected ed25519 or ecdsa-p256", arg_algorithm);
                return STATUS_USAGE;
        }

        r = record_key_generate(path, algorithm);
        if (r < 0) {
                (void) log_error_errno(r, "Failed to make a key at %s: %m", path);
                return EXIT_FAILURE;
        }

        log_info("Made %s and %s.pub", path, path);
        return EXIT_SUCCESS;
}

/* What the command line says goes over the configuration, and that over where things are by default. */
static int settle_path(char **path, const char *argument, const char *folder, const char *name) {
        if (*path && !argument)
                return 0;

        free(*path);
        *path = NULL;
        if (argument)
                *path = strdup(argument);
        else if (asprintf(path, "%s/%s", folder, name) < 0)
                *path = NULL;
        return *path ? 0 : -ENOMEM;
}

/* A log may do without a key of its own: one that was installed before there were any. */
static int settle_log_key(Config *config, const char *credentials) {
        int r;

        if (!arg_log_key && !config->log_key && !credentials)
                return 0;
        r = settle_path(&config->log_key, arg_log_key, credentials, LOG_CREDENTIAL);
        if (r >= 0 && credentials && strncmp(config->log_key, credentials, strlen(credentials)) == 0 &&
            access(config->log_key, F_OK) < 0) {
                free(config->log_key);
                config->log_key = NULL;
        }
        return r;
}

/* Beside the key, where that is a file of ours; else where the package made room for it. */
static int settle_signed(Config *config, const char *credentials) {
        const char *slash = config->log_key ? strrchr(config->log_key, '/') : NULL;
        bool is_ours = slash && config->log_key[0] == '/' && strncmp(config->log_key, KEYS_PATH, strlen(KEYS_PATH)) != 0 &&
                       (!credentials || strncmp(config->log_key, credentials, strlen(credentials)) != 0);

        config->signed_in = is_ours ? strndup(config->log_key, (size_t) (slash - config->log_key)) : strdup(SIGNED_PATH);
        return config->signed_in ? 0 : -ENOMEM;
}

static int settle_config(Config *config) {
        const char *state = arg_state ? arg_state : getenv("STATE_DIRECTORY"),
                   *credentials = getenv("CREDENTIALS_DIRECTORY");
        int r;

        /* A given state folder is where all state goes. */
        if (!state)
                state = STATE_PATH;
        if (arg_state) {
                free(config->store);
                free(config->archive);
                free(config->evidence);
                free(config->anchor);
                config->store = config->archive = config->evidence = config->anchor = NULL;
        }

        r = settle_path(&config->store, arg_store, state, "records.db");
        if (r >= 0)
                r = settle_path(&config->archive, NULL, state, "archive");
        if (r >= 0)
                r = settle_path(&config->evidence, NULL, state, "evidence");
        if (r >= 0 && (arg_key || config->key || credentials))
                r = settle_path(&config->key, arg_key, credentials, CREDENTIAL);
        if (r >= 0)
                r = settle_log_key(config, credentials);
        if (r >= 0)
                r = settle_signed(config, credentials);
        if (r >= 0 && !config->anchor && asprintf(&config->anchor, "%s.anchor", config->store) < 0)
                r = -ENOMEM;
        if (r < 0)
                return log_error_errno(r, "Failed to read the configuration: %m");
        r = log_name(config);
        if (r < 0)
                return r;

        if (!arg_continue && mkdir(config->evidence, 0750) < 0 && errno != EEXIST)
                return log_error_errno(-errno, "Failed to make the evidence folder %s: %m",
                                       config->evidence);
        if (config->keep_days > 0 && mkdir(config->archive, 0750) < 0 && errno != EEXIST)
                return log_error_errno(-errno, "Failed to make the folder of archives %s: %m", config->archive);
        return 0;
}

/* Which worker: one that was named is executed; else the socket where it is installed; else the installed
 * program. */
static void find_worker(const Config *config, WorkerPlace *ret) {
        const char *run = arg_run ? arg_run : getenv("ASSAY_RUN");
        const char *socket_path = config->run_socket ? config->run_socket : WORKER_SOCKET_PATH;

        *ret = (WorkerPlace) { .run_path = run ? run : ASSAY_RUN_PATH };
        if (!run && (config->run_socket || access(socket_path, F_OK) >= 0))
                ret->socket_path = socket_path;
        else if (access(ret->run_path, X_OK) < 0)
                log_warning("There is no worker at %s: scans will be inconclusive", ret->run_path);
}

static int open_bus(sd_event *event, sd_bus **ret) {
        sd_bus *bus = NULL;
        int r;

        if (strcmp(arg_bus, "system") == 0)
                r = sd_bus_open_system(&bus);
        else if (strcmp(arg_bus, "session") == 0)
                r = sd_bus_open_user(&bus);
        else {
                r = sd_bus_new(&bus);
                if (r >= 0)
                        r = sd_bus_set_address(bus, arg_bus);
                if (r >= 0)
                        r = sd_bus_set_bus_client(bus, true);
                if (r >= 0)
                        r = sd_bus_negotiate_fds(bus, true);
                if (r >= 0)
                        r = sd_bus_start(bus);
        }
        if (r >= 0)
                r = sd_bus_set_exit_on_disconnect(bus, true);
        if (r >= 0)
                r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0) {
                sd_bus_unref(bus);
                return log_error_errno(r, "Failed to reach the bus '%s': %m", arg_bus);
        }

        *ret = bus;
        return 0;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        log_info("The configuration is read at the start only: restart to have it read again");
        return 0;
}

static void name_keys(const Config *config) {
        arg_key = arg_key || config->key ? arg_key : KEYS_PATH "record.pem";
        arg_log_key = arg_log_key || config->log_key ? arg_log_key : KEYS_PATH "log.pem";
}

/* The audit session knows who it was, also behind sudo. */
static int decide(const Config *config) {
        RecordDecision decision = { .note = arg_continue, .uid = getuid() };
        FILE *file = fopen("/proc/self/loginuid", "re");
        const struct passwd *user;
        unsigned uid;

        if (file && fscanf(file, "%u", &uid) == 1 && uid != UINT32_MAX)
                decision.uid = uid;
        if (file)
                (void) fclose(file);
        user = getpwuid(decision.uid);
        decision.name = user ? user->pw_name : NULL;
        return log_decide(config, &decision);
}

static int prepare_event(sd_event **ret) {
        sd_event *event = NULL;
        sigset_t mask;
        int r;

        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGTERM);
        (void) sigaddset(&mask, SIGINT);
        (void) sigaddset(&mask, SIGHUP);
        (void) sigaddset(&mask, SIGCHLD);
        (void) sigprocmask(SIG_BLOCK, &mask, NULL);
        (void) signal(SIGPIPE, SIG_IGN);
        (void) signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a full disk */

        r = sd_event_default(&event);
        if (r >= 0)
                r = sd_event_set_signal_exit(event, true);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGHUP, on_hangup, NULL);
        if (r >= 0)
                r = sd_event_set_watchdog(event, true);
        if (r < 0) {
                sd_event_unref(event);
                return log_error_errno(r, "Failed to make the event loop: %m");
        }

        *ret = event;
        return 0;
}

/* Takes over CONFIG where that succeeds. */
static int prepare_manager(sd_event *event, Config **config, Manager **ret) {
        _cleanup_free_ char *public_key = NULL;
        _cleanup_(record_log_freep) RecordLog *log = NULL;
        WorkerPlace worker;
        int r;

        find_worker(*config, &worker);
        r = log_open(*config, &log, &public_key);
        if (r < 0)
                return r;

        r = manager_new(event, *config, &worker, log, public_key, ret);
        if (r < 0)
                return log_error_errno(r, "Failed to start: %m");

        *config = NULL;
        log = NULL;
        public_key = NULL;
        return 0;
}

static int serve(sd_event *event, Manager *manager) {
        sd_bus *bus = NULL;
        int r;

        r = open_bus(event, &bus);
        if (r < 0)
                return r;
        r = manager_attach(manager, bus);
        if (r < 0)
                (void) log_error_errno(r, "Failed to register on the bus: %m");
        if (r >= 0) {
                r = sd_bus_request_name(bus, ASSAY_BUS_NAME, 0);
                if (r < 0)
                        (void) log_error_errno(r, "Failed to acquire the name " ASSAY_BUS_NAME ": %m");
        }
        if (r >= 0) {
                r = manager_start_heartbeat(manager);
                if (r < 0)
                        (void) log_error_errno(r, "Failed to record the start: %m");
        }
        if (r >= 0) {
                r = manager_start_pruning(manager);
                if (r < 0)
                        (void) log_error_errno(r, "Failed to drop old envelopes: %m");
        }
        if (r >= 0) {
                manager_restore(manager);
                manager_schedule(manager);
                (void) sd_notify(false, "READY=1");
                log_info("Ready: %zu servers, log %s", manager->targets.n_items, manager->config->origin);
                r = sd_event_loop(event);
                (void) sd_notify(false, "STOPPING=1\nSTATUS=Ending");
                (void) sd_bus_flush(bus);
        }

        sd_bus_unref(bus);
        return r;
}

static int run(void) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(manager_freep) Manager *manager = NULL;
        _cleanup_free_ char *text = NULL;
        sd_event *event = NULL;
        int r;

        r = config_load(arg_config, &config, &text);
        if (r < 0) {
                log_error("%s", text ? text : strerror(-r));
                return STATUS_USAGE;
        }
        if (arg_continue) /* by hand there are no credentials */
                name_keys(config);
        r = settle_config(config);
        if (r >= 0 && arg_continue)
                return decide(config) < 0 ? STATUS_REFUSED : EXIT_SUCCESS;
        if (r >= 0)
                r = prepare_event(&event);
        if (r >= 0)
                r = prepare_manager(event, &config, &manager);
        if (r >= 0)
                r = serve(event, manager);

        sd_event_unref(event);
        /* The next start would say, too, what was found while it ran. */
        if (manager && record_log_has_failed(manager->log))
                r = -EBADMSG;
        /* The loop ends with 0 on SIGTERM, and above when the bus is lost: then systemd must start us
         * again. */
        return r == -EBADMSG ? STATUS_REFUSED : r != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
        int r;

        room_keep();
        (void) umask(0027);
        r = parse_arguments(argc, argv);
        if (r < 0)
                return STATUS_USAGE;
        if (r > 0)
                return EXIT_SUCCESS;
        if (arg_make_key)
                return make_key(arg_make_key);

        return run();
}
