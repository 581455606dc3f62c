/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "cli/terminal/verb.h"

/* What --help prints: of all verbs and all options; or of VERB alone, where it is not NULL. */
void help_print(const Verb *verb);

/* Whether VERB takes the option NAME beside those that every verb takes. */
bool help_takes(const Verb *verb, const char *name);
