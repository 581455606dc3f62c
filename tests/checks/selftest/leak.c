/* SPDX-License-Identifier: Apache-2.0 */

/* Takes descriptors on chip 3 and memory on chip 5, and gives nothing back. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checks/step/step.h"
#include "tests/checks/selftest/raw.h"

static int leak_run(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        while (step_chip(step) == 3)
                if (dup(STDERR_FILENO) < 0)
                        return -errno;
        while (step_chip(step) == 5 && MEMORY_IS_BOUNDED)
                /* Not malloc(): where that fills what it gives out (MALLOC_PERTURB_), taking it would be the slow part. */
                if (mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
                        return -ENOMEM;
        return 0;
}

const Check check_leak = {
        .name         = "leak",
        .summary      = "a check that keeps what it takes",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = leak_run,
};
