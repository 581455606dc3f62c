/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-witness
 *
 * Vouches that logs only grow: c2sp.org/tlog-witness over HTTP.
 */

#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <systemd/sd-daemon.h>

#include "checks/vocabulary/verdict.h"
#include "daemon/witness/server.h"
#include "daemon/witness/tell.h"

#define CONFIG_PATH "/etc/assay/witness.conf"
#define STATE_PATH  "/var/lib/assay-witness"
#define LISTEN      "127.0.0.1:8447"
#define CREDENTIAL  "witness-key"

static const char *arg_config = CONFIG_PATH;
static const char *arg_make_key = NULL;
static const char *arg_name = NULL;
static const char *arg_listen = NULL;
static const char *arg_key = NULL;
static const char *arg_state = NULL;
static const char *arg_anchor = NULL;
static int arg_print_vkey = false;
static int arg_accept_state = false;

static const struct option long_options[] = {
        { "config",       required_argument, NULL,              'c' },
        { "name",         required_argument, NULL,              'n' },
        { "listen",       required_argument, NULL,              'l' },
        { "key",          required_argument, NULL,              'k' },
        { "state-dir",    required_argument, NULL,              's' },
        { "anchor",       required_argument, NULL,              'a' },
        { "make-key",     required_argument, NULL,              'm' },
        { "print-vkey",   no_argument,       &arg_print_vkey,   1   },
        { "accept-state", no_argument,       &arg_accept_state, 1   },
        { "help",         no_argument,       NULL,              'h' },
        { "version",      no_argument,       NULL,              'v' },
        {},
};

static int help(void) {
        printf("assay-witness [OPTIONS]\n"
               "\n"
               "Vouches over HTTP that logs only grow (c2sp.org/tlog-witness).\n"
               "\n"
               "  --config FILE      name, logs and the rest, default " CONFIG_PATH "\n"
               "  --name NAME        of the witness, as its cosignatures bear it:\n"
               "                     witness.example/w1\n"
               "  --listen WHERE     ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH, default\n"
               "                     " LISTEN "\n"
               "  --key FILE         private key, PEM, Ed25519; else `key` of the\n"
               "                     configuration, else the credential " CREDENTIAL "\n"
               "  --state-dir DIR    what it has vouched for, default " STATE_PATH "\n"
               "  --anchor FILE      tells an old copy of that, default DIR/anchor; best\n"
               "                     on another disk\n"
               "  --accept-state     the state is the newest there is: write the anchor anew\n"
               "  --print-vkey       print what readers must know of this witness, and end\n"
               "  --make-key FILE    make a key there, its public half in FILE.pub, and end\n"
               "  --help --version\n");
        return 1;
}

static const char **text_of(int option) {
        switch (option) {
        case 'c': return &arg_config;
        case 'n': return &arg_name;
        case 'l': return &arg_listen;
        case 'k': return &arg_key;
        case 's': return &arg_state;
        case 'a': return &arg_anchor;
        case 'm': return &arg_make_key;
        default: return NULL;
        }
}

/* Returns 1 where there is nothing more to do. */
static int parse_arguments(int argc, char **argv) {
        int option;

        while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
                if (option == 'h')
                        return help();
                if (option == 'v') {
                        puts("assay-witness " ASSAY_VERSION);
                        return 1;
                }
                if (option == '?')
                        return -EINVAL; /* getopt has said why */
                if (option)
                        *text_of(option) = optarg;
        }
        if (optind < argc) {
                tell(LOG_ERR, "Unexpected argument '%s'", argv[optind]);
                return -EINVAL;
        }
        return 0;
}

static int make_key(const char *path) {
        int r;

        r = record_key_generate(path, RECORD_ED25519);
        if (r < 0) {
                tell(LOG_ERR, "Failed to make a key at %s: %s", path, strerror(-r));
                return EXIT_FAILURE;
        }
        tell(LOG_INFO, "Made %s and %s.pub", path, path);
        return EXIT_SUCCESS;
}

static int load_settings(Settings **ret) {
        _cleanup_free_ char *wrong = NULL;
        int r;

        r = settings_load(arg_config, ret, &wrong);
        if (r < 0)
                tell(LOG_ERR, "%s: %s", arg_config, wrong ?: strerror(-r));
        return r;
}

static int load_key(const Settings *settings, RecordKey **ret, NoteKey *ret_key) {
        const char *name = arg_name ?: settings->name, *path = arg_key ?: settings->key, *credentials = getenv("CREDENTIALS_DIRECTORY");
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        _cleanup_free_ char *credential = NULL;
        int r;

        if (!path && credentials && asprintf(&credential, "%s/" CREDENTIAL, credentials) < 0)
                return -ENOMEM;
        path = path ?: credential;
        if (!name || !path) {
                tell(LOG_ERR, "No %s: give --%s or say it in %s", name ? "key" : "name", name ? "key FILE" : "name NAME", arg_config);
                return -EINVAL;
        }
        r = record_key_load(path, &key);
        if (r < 0) {
                tell(LOG_ERR, "Failed to load the key %s: %s", path, strerror(-r));
                return r;
        }
        r = note_key_own(ret_key, name, NOTE_WITNESS, key);
        if (r < 0) {
                tell(LOG_ERR, "No witness can be called '%s' with the key %s, which must be Ed25519", name, path);
                return r;
        }
        *ret = TAKE_PTR(key);
        return 0;
}

/* A log that is witnessed by its own key vouches for itself. */
static int check_key(const Settings *settings, const NoteKey *key) {
        for (size_t i = 0; i < settings->n_logs; i++)
                if (memcmp(settings->logs[i].public, key->public, NOTE_PUBLIC_BYTES) == 0) {
                        tell(LOG_ERR, "The key of this witness is that of the log %s: make another one", settings->logs[i].name);
                        return -EINVAL;
                }
        return 0;
}

static int print_vkey(const NoteKey *key) {
        _cleanup_printer_ Printer vkey = {};

        note_key_print(&vkey, key);
        if (vkey.error < 0)
                return vkey.error;
        printf("%.*s\n", (int) vkey.n, vkey.text);
        return fflush(stdout) == 0 ? 0 : -EIO;
}

static int open_book(const Settings *settings, Book **ret) {
        const char *folder = arg_state ?: settings->state ?: getenv("STATE_DIRECTORY") ?: STATE_PATH;
        _cleanup_free_ char *wrong = NULL;
        int r;

        r = book_open(folder, arg_anchor ?: settings->anchor, arg_accept_state, ret, &wrong);
        if (r == -EBADMSG)
                tell(LOG_ALERT, "ALARM: the state in %s is not sound, nothing is signed: %s", folder, wrong ?: "the database is damaged");
        else if (r < 0)
                tell(LOG_ERR, "Failed to open the state in %s: %s%s", folder, r == -EBUSY ? "another witness has it open" : strerror(-r),
                     r == -ENOENT ? ". A new witness wants that folder made; one that has vouched before has its state elsewhere" : "");
        return r;
}

static int make_event(sd_event **ret) {
        sd_event *event = NULL;
        sigset_t mask;
        int r;

        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGTERM);
        (void) sigaddset(&mask, SIGINT);
        (void) sigprocmask(SIG_BLOCK, &mask, NULL);
        (void) signal(SIGPIPE, SIG_IGN);
        (void) signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a full disk */
        r = sd_event_default(&event);
        if (r >= 0)
                r = sd_event_set_signal_exit(event, true);
        if (r >= 0)
                r = sd_event_set_watchdog(event, true);
        if (r < 0)
                tell(LOG_ERR, "Failed to make the event loop: %s", strerror(-r));
        *ret = event;
        return r;
}

/* Where a port was left to the system, it is told here. */
static void tell_ready(const Witness *witness, const char *where, int fd) {
        char host[64] = "", port[16] = "";
        struct sockaddr_storage address;
        socklen_t n = sizeof(address);

        if (strncmp(where, "unix:", 5) != 0 && getsockname(fd, (struct sockaddr *) &address, &n) == 0)
                (void) getnameinfo((struct sockaddr *) &address, n, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
        tell(LOG_INFO, "Ready: %s, %zu key%s of logs, on %s%s%s", witness->key.name, witness->settings->n_logs,
             witness->settings->n_logs == 1 ? "" : "s", *port ? host : where, *port ? " port " : "",
             port);
        (void) sd_notifyf(false, "READY=1\nSTATUS=%zu key%s of logs", witness->settings->n_logs, witness->settings->n_logs == 1 ? "" : "s");
}

static int serve(Witness *witness) {
        const char *where = arg_listen ?: witness->settings->listen ?: LISTEN;
        _cleanup_(server_freep) Server *server = NULL;
        sd_event *event = NULL;
        int fd, r;

        r = make_event(&event);
        if (r < 0)
                return r;
        r = server_listen(where, &fd);
        if (r >= 0)
                r = server_new(event, witness, fd, &server);
        if (r < 0)
                tell(LOG_ERR, "Failed to listen on %s: %s", where, strerror(-r));
        else {
                tell_ready(witness, where, fd);
                r = sd_event_loop(event);
                (void) sd_notify(false, "STOPPING=1\nSTATUS=Ending");
        }
        server = server_free(server);
        sd_event_unref(event);
        return r;
}

static int run(void) {
        _cleanup_(settings_freep) Settings *settings = NULL;
        _cleanup_(record_key_freep) RecordKey *signer = NULL;
        _cleanup_(book_closep) Book *book = NULL;
        Witness witness;
        int r;

        if (load_settings(&settings) < 0)
                return STATUS_USAGE;
        r = load_key(settings, &signer, &witness.key);
        if (r == 0)
                r = check_key(settings, &witness.key);
        if (r < 0)
                return r == -EINVAL ? STATUS_USAGE : EXIT_FAILURE;
        if (arg_print_vkey)
                return print_vkey(&witness.key) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

        r = open_book(settings, &book);
        if (r < 0)
                return r == -EBADMSG ? STATUS_REFUSED : EXIT_FAILURE;
        witness.signer = signer;
        witness.settings = settings;
        witness.book = book;
        return serve(&witness) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
        int r;

        (void) umask(0027);
        r = parse_arguments(argc, argv);
        if (r < 0)
                return STATUS_USAGE;
        if (r > 0)
                return EXIT_SUCCESS;
        return arg_make_key ? make_key(arg_make_key) : run();
}
