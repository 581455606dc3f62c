/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a record costs in CPU time: from facts to COMMIT in groups of one server, and from an envelope to a
 * verdict. The reference is the bare cryptography over the same bytes, measured in the same run.
 */

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <time.h>

#include "tests/record/place.h"
#include "tests/record/server.h"

#define SCANS   60
#define RECORDS (SERVER_CHIPS + 1)
#define ROUNDS  1000

static double now_usec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static double cpu_usec(void) {
        return now_usec(CLOCK_PROCESS_CPUTIME_ID);
}

static void append_scans(RecordLog *log, const Server *server, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                RecordOutcome outcome;

                if (record_log_scan(log, &server->scan, i) < 0)
                        abort();
                place_wait(log, &outcome);
                if (outcome.error < 0)
                        abort();
                record_outcome_done(&outcome);
        }
}

static EVP_PKEY *read_key(const char *path) {
        FILE *file = fopen(path, "re");
        EVP_PKEY *pkey = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;

        if (!pkey)
                abort();
        (void) fclose(file);
        return pkey;
}

static double sign_usec(EVP_PKEY *pkey, const char *text, size_t n, uint8_t signature[static 64]) {
        double start = cpu_usec();

        for (unsigned i = 0; i < ROUNDS; i++) {
                EVP_MD_CTX *ctx = EVP_MD_CTX_new();
                size_t n_signature = 64;
                uint8_t digest[32];

                if (EVP_DigestSignInit(ctx, NULL, NULL, NULL, pkey) != 1 ||
                    EVP_DigestSign(ctx, signature, &n_signature, (const uint8_t *) text, n) != 1 ||
                    EVP_Digest(text, n, digest, NULL, EVP_sha256(), NULL) != 1)
                        abort();
                EVP_MD_CTX_free(ctx);
        }
        return (cpu_usec() - start) / ROUNDS;
}

static double check_usec(EVP_PKEY *pkey, const char *text, size_t n, const uint8_t signature[static 64]) {
        double start = cpu_usec();

        for (unsigned i = 0; i < ROUNDS; i++) {
                EVP_MD_CTX *ctx = EVP_MD_CTX_new();

                if (EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) != 1 ||
                    EVP_DigestVerify(ctx, signature, 64, (const uint8_t *) text, n) != 1)
                        abort();
                EVP_MD_CTX_free(ctx);
        }
        return (cpu_usec() - start) / ROUNDS;
}

static double verify_usec(const RecordKeyring *keyring, const char *envelope) {
        double start = cpu_usec();

        for (unsigned i = 0; i < ROUNDS; i++) {
                RecordVerified verified;
                RecordTrust trust;

                if (record_verify(keyring, envelope, strlen(envelope), &trust, &verified) < 0 ||
                    trust != RECORD_VERIFIED)
                        abort();
                record_verified_done(&verified);
        }
        return (cpu_usec() - start) / ROUNDS;
}

static double newest_usec(RecordLog *log) {
        Location chip = server_location("us0-2/chip3");
        double start = cpu_usec();
        RecordEntry entry;

        for (unsigned i = 0; i < ROUNDS; i++)
                if (record_log_newest(log, &chip, "preflight", &entry) < 0)
                        abort();
        return (cpu_usec() - start) / ROUNDS;
}

int main(void) {
        double cpu, wall, sign, check, verify;
        uint8_t signature[64];
        RecordVerified verified;
        RecordKeyring *keyring;
        RecordTrust trust;
        Server server;
        RecordLog *log;
        char *envelope;
        EVP_PKEY *pkey;
        Place place;

        place_init(&place);
        server_init(&server);
        pkey = read_key(place.key);
        keyring = place_keyring(&place);
        if (place_open(&place, &log, NULL) < 0)
                return 1;
        append_scans(log, &server, 5);

        cpu = cpu_usec(), wall = now_usec(CLOCK_MONOTONIC);
        append_scans(log, &server, SCANS);
        cpu = (cpu_usec() - cpu) / (SCANS * RECORDS);
        wall = (now_usec(CLOCK_MONOTONIC) - wall) / (SCANS * RECORDS);

        envelope = place_envelope(log, 5);
        if (record_verify(keyring, envelope, strlen(envelope), &trust, &verified) < 0 ||
            trust != RECORD_VERIFIED)
                return 1;
        sign = sign_usec(pkey, verified.payload, verified.n_payload, signature);
        check = check_usec(pkey, verified.payload, verified.n_payload, signature);
        verify = verify_usec(keyring, envelope);

        printf("record-emit-cpu %.1f us/record %.2f to bare-sign-and-sha256\n", cpu, cpu / sign);
        printf("record-emit-wall %.1f us/record\n", wall);
        printf("record-verify %.0f records/s %.2f to bare-verify\n", 1e6 / verify, check / verify);
        printf("record-newest %.1f us/call\n", newest_usec(log));
        printf("record-payload %zu bytes\n", verified.n_payload);

        record_verified_done(&verified);
        free(envelope);
        (void) record_log_free(log);
        (void) record_keyring_free(keyring);
        EVP_PKEY_free(pkey);
        place_done(&place);
        return 0;
}
