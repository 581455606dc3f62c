/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a request says of earlier scans, see worker.h. */

#include <jansson.h>

#include "checks/worker/request.h"

/* Reads LIST (NULL: none) into REQUEST. -EINVAL with *ret_error, malloc'd; -ENOMEM. */
int request_read_rotations(const json_t *list, Request *request, char **ret_error);
