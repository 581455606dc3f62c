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
 * Posts BODY to URL/PATH, or gets what is there (NULL). URL: http:, https:, or unix:/… for a socket on this machine. Follows nothing, sends no credentials.
 * -EIO: no answer, and WRONG says why.
 */
int exchange(CURL *curl, const char *url, const char *path, const Printer *body, Answer *ret, char wrong[static CURL_ERROR_SIZE]);
