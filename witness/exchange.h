/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Exchange: one HTTP request and its answer, both bounded, with a stranger. */

#include <curl/curl.h>

#include "daemon/record/encode/printer.h"

#define EXCHANGE_ANSWER_MAX 16384
#define EXCHANGE_SEC        15

typedef struct Answer {
        long status; /* of HTTP */
        Printer body;
} Answer;

void answer_done(Answer *answer);

/*
 * Posts to URL/add-checkpoint: http:, https:, or unix:/PATH for a socket on this machine. Follows nothing, sends no credentials. -EIO: no answer, and
 * WRONG says why.
 */
int exchange_post(CURL *curl, const char *url, const Printer *body, Answer *ret, char wrong[static CURL_ERROR_SIZE]);
