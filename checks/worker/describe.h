/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Writes what every check declares: for people, or as one JSON object. Returns 0 or a negative errno. */
int describe_checks(FILE *file, bool json);
