/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/player.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sim/fleet/scenario.h"
#include "sim/port/port.h"

extern char **environ;

/* ---- in the process of the run ---- */

static int spawn_worker(const PlayerOrder *order, pid_t *ret) {
        _cleanup_free_ char *device = NULL;
        char seed[24];
        char option_device[] = "--device", option_plan[] = "--plan", option_seed[] = "--seed", option_scale[] = "--deadline-scale";
        posix_spawnattr_t attributes;
        sigset_t none;
        int r;

        if (asprintf(&device, "sim:%s#%s", order->socket, order->parts) < 0)
                return -ENOMEM;
        (void) snprintf(seed, sizeof(seed), "%" PRIu64, order->seed);

        /* posix_spawn() does not write what it is given; only its prototype is older than const. */
        char *arguments[] = {
                (char *) (uintptr_t) order->worker, option_device, device, option_plan, (char *) (uintptr_t) order->plan, option_seed, seed,
                order->deadline_scale ? option_scale : NULL, (char *) (uintptr_t) order->deadline_scale, NULL,
        };

        r = posix_spawnattr_init(&attributes);
        if (r != 0)
                return -r;
        sigemptyset(&none);
        (void) posix_spawnattr_setsigmask(&attributes, &none);
        (void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        r = -posix_spawn(ret, order->worker, NULL, &attributes, arguments, environ);
        (void) posix_spawnattr_destroy(&attributes);
        return r;
}

static int serve(const PlayerOrder *order) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_(port_freep) Port *port = NULL;
        _cleanup_close_ int ended = -EBADF;
        _cleanup_free_ char *error = NULL;
        pid_t worker;
        int status, r;

        r = scenario_parse("run", order->scenario, strlen(order->scenario), &scenario, &error);
        if (r < 0) {
                fprintf(stderr, "%s\n", error ? error : "out of memory");
                return r;
        }
        r = port_new(scenario, order->socket, 0600, 1, &port);
        if (r >= 0)
                r = spawn_worker(order, &worker);
        if (r >= 0)
                ended = pidfd_open(worker, 0);
        if (r < 0 || ended < 0) {
                fprintf(stderr, "%s: %s\n", r < 0 ? order->worker : "pidfd", strerror(r < 0 ? -r : errno));
                return r < 0 ? r : -errno;
        }
        r = port_run(port, ended);
        if (r < 0)
                return r;
        if (waitpid(worker, &status, 0) != worker)
                return -ECHILD;
        return WIFEXITED(status) ? WEXITSTATUS(status) : PLAYER_KILLED;
}

static void __attribute__((noreturn)) play(const PlayerOrder *order, pid_t parent, FILE *stream, FILE *messages) {
        int r;

        (void) setpgid(0, 0);
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(PLAYER_LOST);
        (void) nice(10);
        if (dup2(fileno(stream), STDOUT_FILENO) < 0 || dup2(fileno(messages), STDERR_FILENO) < 0)
                _exit(PLAYER_LOST);
        r = serve(order);
        _exit(r < 0 ? PLAYER_LOST : r);
}

/* ---- in the process of the qualification ---- */

static FILE *memory_file(const char *name) {
        _cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

        if (file)
                (void) TAKE_FD(fd);
        return file;
}

int player_start(const PlayerOrder *order, Player *ret) {
        _cleanup_(fclosep) FILE *stream = memory_file("stream"), *messages = memory_file("messages");
        Player player = PLAYER_NONE;
        pid_t parent = getpid();

        if (!stream || !messages)
                return -errno;
        (void) fflush(NULL); /* so that the child has nothing of ours to write */
        player.pid = fork();
        if (player.pid < 0)
                return -errno;
        if (player.pid == 0)
                play(order, parent, stream, messages);

        (void) setpgid(player.pid, player.pid); /* whichever of us is first */
        player.pidfd = pidfd_open(player.pid, 0);
        if (player.pidfd < 0) {
                int r = -errno;

                player_done(&player);
                return r;
        }
        player.stream = TAKE_PTR(stream);
        player.messages = TAKE_PTR(messages);
        *ret = player;
        return 0;
}

int player_end(Player *player) {
        int status;

        if (waitpid(player->pid, &status, 0) != player->pid)
                return PLAYER_LOST;
        /* The worker's children, should any be left. */
        (void) kill(-player->pid, SIGKILL);
        player->pid = 0;
        rewind(player->stream);
        rewind(player->messages);
        return WIFEXITED(status) ? WEXITSTATUS(status) : PLAYER_LOST;
}

void player_done(Player *player) {
        if (player->pid > 0) {
                (void) kill(-player->pid, SIGKILL);
                (void) kill(player->pid, SIGKILL);
                (void) waitpid(player->pid, NULL, 0);
        }
        (void) close_fd(player->pidfd);
        if (player->stream)
                (void) fclose(player->stream);
        if (player->messages)
                (void) fclose(player->messages);
        *player = PLAYER_NONE;
}
