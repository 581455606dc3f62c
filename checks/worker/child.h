/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdnoreturn.h>

#include "checks/worker/unit.h"

/* The life of a child: runs what is left of the unit's steps, from the current one on, and says so on FD. */
noreturn void child_run(Unit *unit, int fd);
