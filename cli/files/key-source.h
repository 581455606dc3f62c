/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A key that was named on a command line: a file, or the URI of one on a token. */

#include "daemon/record/record.h"

/* LOADER: record_key_load() or record_key_load_public(). A PIN that stands there is refused, and shown to nobody. Returns 0 or an exit status, having complained. */
int key_source_load(const char *source, int (*loader)(const char *source, RecordKey **ret), RecordKey **ret);
