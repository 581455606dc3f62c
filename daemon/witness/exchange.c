/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/exchange.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNIX "unix:"

void answer_done(Answer *answer) {
        printer_done(&answer->body);
}

static size_t on_answer(char *data, size_t size, size_t n, void *userdata) {
        Printer *body = userdata;

        if (n > EXCHANGE_ANSWER_MAX - body->n)
                return 0;
        printer_raw(body, data, n);
        return body->error < 0 ? 0 : n;
}

static CURLcode set_place(CURL *curl, const char *url, const char *path) {
        bool is_unix = strncmp(url, UNIX, strlen(UNIX)) == 0;
        _cleanup_free_ char *whole = NULL;
        size_t n = strlen(url);
        CURLcode r;

        while (n > 0 && url[n - 1] == '/')
                n--;
        if (asprintf(&whole, "%.*s/%s", is_unix ? 16 : (int) n, is_unix ? "http://localhost" : url, path) < 0)
                return CURLE_OUT_OF_MEMORY;
        r = curl_easy_setopt(curl, CURLOPT_URL, whole);
        if (r == CURLE_OK && is_unix)
                r = curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, url + strlen(UNIX));
        return r;
}

static CURLcode prepare(CURL *curl, const char *url, const char *path, const Printer *body, Answer *answer, struct curl_slist *headers, char *wrong) {
        CURLcode r;

        curl_easy_reset(curl);
        (void) curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, wrong);
        (void) curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        (void) curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long) EXCHANGE_SEC);
        (void) curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
        (void) curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer->body);
        if (body) {
                (void) curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long) body->n);
                (void) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->text);
        }
        r = curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        if (r == CURLE_OK)
                r = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
        if (r == CURLE_OK)
                r = curl_easy_setopt(curl, CURLOPT_USERAGENT, "assayctl/" ASSAY_VERSION);
        return r == CURLE_OK ? set_place(curl, url, path) : r;
}

int exchange(CURL *curl, const char *url, const char *path, const Printer *body, Answer *ret, char wrong[static CURL_ERROR_SIZE]) {
        struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: text/plain");
        _cleanup_(answer_done) Answer answer = {};
        CURLcode r;

        wrong[0] = '\0';
        r = headers ? prepare(curl, url, path, body, &answer, headers, wrong) : CURLE_OUT_OF_MEMORY;
        if (r == CURLE_OK)
                r = curl_easy_perform(curl);
        if (r == CURLE_OK)
                r = curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
        curl_slist_free_all(headers);
        if (r != CURLE_OK) {
                if (!wrong[0])
                        (void) snprintf(wrong, CURL_ERROR_SIZE, "%s", curl_easy_strerror(r));
                return -EIO;
        }
        *ret = answer;
        answer = (Answer) {};
        return 0;
}
