/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log name: origin and producer where the configuration says neither.
 *
 * A log keeps its origin for ever, so one that is there tells its own. A new one is named after this host, HOST/assayd, or, where
 * the host's name is that of many (localhost), after an ID that is derived from the machine's and does not give it away
 * (machine-id(5)). The producer is https://ORIGIN, so that it stays with the log when the host is called otherwise.
 */

#include "daemon/config.h"

/* Fills in origin and producer of CONFIG, whose store is settled. Errors are logged. */
int log_name(Config *config);
