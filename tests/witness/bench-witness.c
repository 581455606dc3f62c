/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a checkpoint costs a witness: the log's signature is checked, the proof too, the new state is committed with its sync, and the
 * cosignature is made. The reference is the bare cryptography, one Ed25519 verification and one signature, in the same run. Then the whole
 * program, which $LOGS logs may ask (400), over 64 connections at once: checkpoints that it cosigns in a second, how long it takes to be ready, and what
 * memory and disk it has taken by the end. usage: bench-witness ASSAY-WITNESS
 */

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/witness/ask.h"

#define CHECKPOINTS 1500
#define ROUNDS      1000
#define CONNECTIONS 64
#define GROWTHS     4 /* checkpoints of each log, over HTTP */

static double now_usec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static double bare_usec(const Ask *ask) {
        static const char text[] = PLACE_ORIGIN "\n11\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        uint8_t signature[KEY_SIGNATURE_MAX];
        double start = now_usec(CLOCK_PROCESS_CPUTIME_ID);
        size_t n;

        for (unsigned i = 0; i < ROUNDS; i++)
                if (key_sign(ask->log, text, sizeof(text), signature, &n) < 0 ||
                    public_key_verify(key_public(ask->log), text, sizeof(text), signature, n) != 1)
                        abort();
        return (now_usec(CLOCK_PROCESS_CPUTIME_ID) - start) / ROUNDS;
}

static Printer bodies[CHECKPOINTS];

/* Of each checkpoint in turn; OLD is what was held before. */
static void run(Ask *ask, double *ret_cpu, double *ret_wall) {
        double cpu = now_usec(CLOCK_PROCESS_CPUTIME_ID), wall = now_usec(CLOCK_MONOTONIC);

        for (unsigned i = 0; i < CHECKPOINTS; i++) {
                WitnessReply reply;

                witness_add_checkpoint(&ask->witness, bodies[i].text, bodies[i].n, UINT64_C(1790000000000000) + i, &reply);
                if (reply.answer != WITNESS_COSIGNED)
                        abort();
                witness_reply_done(&reply);
        }
        *ret_cpu = (now_usec(CLOCK_PROCESS_CPUTIME_ID) - cpu) / CHECKPOINTS;
        *ret_wall = (now_usec(CLOCK_MONOTONIC) - wall) / CHECKPOINTS;
}

/* ---- the program ---- */

typedef struct Program {
        char folder[100], socket[108];
        pid_t pid;
        double ready_usec;
        size_t n_logs;
        NoteKey *keys;
        RecordKey **signers;
} Program;

static void make_logs(Program *program) {
        for (size_t i = 0; i < program->n_logs; i++) {
                char name[96];

                (void) snprintf(name, sizeof(name), "us0-%zu.rack%zu.fleet.example/assayd", i, i / 4);
                if (key_new(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), &program->signers[i]) < 0)
                        abort();
                program->keys[i] = note_key_of(name, NOTE_LOG, program->signers[i]);
        }
}

static void write_settings(const Program *program, const char *path) {
        FILE *file = fopen(path, "we");

        fprintf(file, "name witness.example/w1\nkey %s/key.pem\nstate %s\nlisten unix:%s\n", program->folder, program->folder, program->socket);
        for (size_t i = 0; i < program->n_logs; i++) {
                _cleanup_printer_ Printer vkey = {};

                note_key_print(&vkey, &program->keys[i]);
                fprintf(file, "log %.*s\n", (int) vkey.n, vkey.text);
        }
        if (fclose(file) != 0)
                abort();
}

static int try_connect(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0)
                return fd;
        (void) close(fd);
        return -errno;
}

static void start(Program *program, char *path) {
        char config[160], key[160], option[] = "--config", *argv[] = { path, option, config, NULL };
        double begin;
        int fd;

        (void) snprintf(config, sizeof(config), "%s/conf", program->folder);
        (void) snprintf(key, sizeof(key), "%s/key.pem", program->folder);
        if (record_key_generate(key, RECORD_ED25519) < 0)
                abort();
        write_settings(program, config);
        begin = now_usec(CLOCK_MONOTONIC);
        if (posix_spawn(&program->pid, path, NULL, NULL, argv, environ) != 0)
                abort();
        while ((fd = try_connect(program->socket)) < 0)
                (void) usleep(1000);
        (void) close(fd);
        program->ready_usec = now_usec(CLOCK_MONOTONIC) - begin;
}

/* The request of one log for its tree of SIZE, grown from OLD: all have the same leaves. */
static void print_request(Ask *tree, const Program *program, size_t log, uint64_t old, uint64_t size, Printer *request) {
        const TreeSource source = { ask_read, tree };
        _cleanup_printer_ Printer note = {}, body = {};
        Checkpoint checkpoint = { .size = size };
        Frontier frontier;
        TreePath path = {};
        char head[160];

        (void) strcpy(checkpoint.origin, program->keys[log].name);
        if (tree_frontier(&source, size, &frontier) < 0 || frontier_root(&frontier, &checkpoint.root) < 0 ||
            (old > 0 && tree_consistency(&source, old, size, &path) < 0))
                abort();
        (void) note_of(&note, &checkpoint, &program->keys[log], program->signers[log]);
        request_print(&body, old, &path, note.text, note.n);
        (void) snprintf(head, sizeof(head), "POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: %zu\r\n\r\n", body.n);
        request->n = 0;
        printer_text(request, head);
        printer_raw(request, body.text, body.n);
}

/* Up to the cosignature, the end of which is the one line feed in the answer's body. */
static void read_answer(int fd) {
        char text[2048];
        size_t n = 0;

        do {
                ssize_t k = read(fd, text + n, sizeof(text) - 1 - n);

                if (k <= 0)
                        abort();
                n += (size_t) k;
                text[n] = '\0';
        } while (!strstr(text, "\r\n\r\n") || text[n - 1] != '\n' || !strstr(text, "\xe2\x80\x94"));
        if (memcmp(text, "HTTP/1.1 200", 12) != 0)
                abort();
}

/* All logs, one growth after the other; while 64 wait the others' requests are signed. */
static double ask_program(Ask *tree, const Program *program, uint64_t old, uint64_t size) {
        static Printer requests[CONNECTIONS];
        int fds[CONNECTIONS];
        double spent = 0;

        for (size_t i = 0; i < CONNECTIONS; i++)
                fds[i] = try_connect(program->socket);
        for (size_t first = 0; first < program->n_logs; first += CONNECTIONS) {
                size_t n = program->n_logs - first < CONNECTIONS ? program->n_logs - first : CONNECTIONS;
                double begin;

                for (size_t i = 0; i < n; i++)
                        print_request(tree, program, first + i, old, size, &requests[i]);
                begin = now_usec(CLOCK_MONOTONIC);
                for (size_t i = 0; i < n; i++)
                        if (write(fds[i], requests[i].text, requests[i].n) != (ssize_t) requests[i].n)
                                abort();
                for (size_t i = 0; i < n; i++)
                        read_answer(fds[i]);
                spent += now_usec(CLOCK_MONOTONIC) - begin;
        }
        for (size_t i = 0; i < CONNECTIONS; i++)
                (void) close(fds[i]);
        return spent;
}

static unsigned long peak_kib(pid_t pid, const char *what) {
        char path[64], line[256];
        unsigned long found = 0;
        FILE *file;

        (void) snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);
        file = fopen(path, "re");
        while (fgets(line, sizeof(line), file))
                if (strncmp(line, what, strlen(what)) == 0)
                        found = strtoul(line + strlen(what) + 1, NULL, 10);
        (void) fclose(file);
        return found;
}

static void measure_program(Ask *tree, char *path, size_t n_logs) {
        Program program = { .n_logs = n_logs };
        struct stat st;
        char db[160];
        double spent = 0;
        uint64_t size = 0;

        (void) snprintf(program.folder, sizeof(program.folder), "%s/http", tree->place.folder);
        (void) snprintf(program.socket, sizeof(program.socket), "%s/socket", program.folder);
        (void) mkdir(program.folder, 0700);
        program.keys = calloc(n_logs, sizeof(*program.keys));
        program.signers = calloc(n_logs, sizeof(*program.signers));
        make_logs(&program);
        start(&program, path);
        for (unsigned i = 0; i < GROWTHS; i++, size += 3)
                spent += ask_program(tree, &program, size, size + 3);
        printf("witness-http %.0f checkpoints/s\n", (double) (GROWTHS * n_logs) * 1e6 / spent);
        printf("witness-ready %.3f s\n", program.ready_usec / 1e6);
        printf("witness-memory %lu KiB\n", peak_kib(program.pid, "VmRSS:"));
        (void) snprintf(db, sizeof(db), "%s/witness.db", program.folder);
        printf("witness-disk %lld KiB\n", stat(db, &st) == 0 ? (long long) st.st_size / 1024 : -1);
        (void) kill(program.pid, SIGTERM);
        (void) waitpid(program.pid, NULL, 0);
        for (size_t i = 0; i < n_logs; i++)
                (void) record_key_free(program.signers[i]);
        free(program.signers);
        free(program.keys);
}

int main(int argc, char **argv) {
        const char *logs = getenv("LOGS");
        double bare, cpu, wall;
        static Ask one;

        ask_init(&one);
        while (one.size < 2 * CHECKPOINTS)
                ask_grow(&one, 0);
        for (unsigned i = 0; i < CHECKPOINTS; i++)
                ask_print(&one, 2 * i, 2 * i + 2, &bodies[i]);
        bare = bare_usec(&one);
        run(&one, &cpu, &wall);
        printf("witness-cosign %.0f checkpoints/s of CPU %.2f to bare-verify-and-sign\n", 1e6 / cpu, bare / cpu);
        printf("witness-cosign-with-sync %.0f checkpoints/s\n", 1e6 / wall);
        if (argc > 1)
                measure_program(&one, argv[1], logs ? strtoul(logs, NULL, 10) : 400);

        for (unsigned i = 0; i < CHECKPOINTS; i++)
                printer_done(&bodies[i]);
        ask_done(&one);
        return 0;
}
