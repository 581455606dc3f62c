/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/pager.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/options.h"
#include "cli/terminal/wrap.h"

static pid_t pager = 0;

void pager_open(void) {
        const char *command = getenv("PAGER");
        int fds[2];

        if (options.no_pager || options.json || pager > 0 || !isatty(STDOUT_FILENO))
                return;
        if (!command)
                command = "less";
        if (!*command || pipe2(fds, O_CLOEXEC) < 0)
                return;

        fflush(stdout);
        (void) wrap_width();
        pager = fork();
        if (pager == 0) {
                (void) dup2(fds[0], STDIN_FILENO);
                setenv("LESS", "FRX", 0);
                execl("/bin/sh", "sh", "-c", command, NULL);
                /* Without a pager the text itself must not be lost. */
                execlp("cat", "cat", NULL);
                _exit(127);
        }

        if (pager > 0)
                (void) dup2(fds[1], STDOUT_FILENO);
        close_fd(fds[0]);
        close_fd(fds[1]);
}

void pager_close(void) {
        if (pager <= 0)
                return;

        fflush(stdout);
        close(STDOUT_FILENO);
        (void) waitpid(pager, NULL, 0);
        pager = 0;
}
