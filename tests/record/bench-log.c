/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A log of 400,000 records, ASSAY_BENCH_RECORDS of them where that is set: how long it takes to open, with the whole tree worked out anew, to
 * prove one record of it, to read and check all of it again, and what a record takes on the disk. As reference, SHA-256 over what the tree is made of.
 */

#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/record/published.h"

#define RECORDS      400000
#define OF_A_SCAN    (SERVER_CHIPS + 1)
#define BEATS_AFTER  30 /* scans */
#define SCANS_QUEUED 60
#define PROOFS       5000

static double msec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static double now_msec(void) {
        return msec(CLOCK_MONOTONIC);
}

/* What others do on the machine does not count. */
static double cpu_msec(void) {
        return msec(CLOCK_PROCESS_CPUTIME_ID);
}

static void fill(const Published *published, RecordLog *log, uint64_t n) {
        unsigned n_queued = 0;

        for (uint64_t i = 0; i * OF_A_SCAN < n; i++) {
                if (n_queued == SCANS_QUEUED)
                        (void) place_take(log);
                else
                        n_queued++;
                if (record_log_scan(log, &published->server.scan, i) < 0)
                        abort();
                if (i % BEATS_AFTER == 0) {
                        if (n_queued == SCANS_QUEUED)
                                (void) place_take(log);
                        else
                                n_queued++;
                        if (record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, i) < 0)
                                abort();
                }
        }
        for (; n_queued > 0; n_queued--)
                (void) place_take(log);
}

/* As many nodes as a tree of N leaves has. */
static double hash_msec(uint64_t n) {
        EVP_MD *sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
        uint8_t node[65] = { 1 };
        double start = cpu_msec();

        for (uint64_t i = 1; i < n; i++)
                if (EVP_Digest(node, sizeof(node), node + 1, NULL, sha256, NULL) != 1)
                        abort();
        EVP_MD_free(sha256);
        return cpu_msec() - start;
}

static void measure_open(const Published *published, RecordLog **ret) {
        double wall = 1e9, cpu = 1e9;

        for (unsigned i = 0; i < 3; i++) {
                double start = now_msec(), start_cpu = cpu_msec();

                *ret = record_log_free(*ret);
                if (published_open(published, ret, NULL) < 0)
                        abort();
                if (now_msec() - start < wall)
                        wall = now_msec() - start;
                if (cpu_msec() - start_cpu < cpu)
                        cpu = cpu_msec() - start_cpu;
        }
        printf("log-open-of-%llu-records %.0f ms\n", (unsigned long long) record_log_size(*ret), wall);
        printf("log-open-cpu %.0f ms %.2f to hashing-its-tree\n", cpu, cpu / hash_msec(record_log_size(*ret)));
}

static uint64_t draw(uint64_t size) {
        static uint64_t state = 1;

        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 20) % size;
}

static void measure_proofs(RecordLog *log) {
        uint64_t size = record_log_size(log);
        double start = cpu_msec();
        RecordPath path;

        for (unsigned i = 0; i < PROOFS; i++) {
                char *proof;
                size_t n;

                if (record_log_proof(log, draw(size), &proof, &n) < 0)
                        abort();
                free(proof);
        }
        printf("log-proof %.3f ms\n", (cpu_msec() - start) / PROOFS);

        start = cpu_msec();
        for (unsigned i = 0; i < PROOFS; i++)
                if (record_log_consistency(log, draw(size), size, &path) < 0)
                        abort();
        printf("log-consistency %.3f ms\n", (cpu_msec() - start) / PROOFS);
}

/* The index of the newest record of a chip, and what the tables say of it. */
static void measure_newest(Published *published, RecordLog *log) {
        const RecordHealth *chips = published->server.chips;
        double start = cpu_msec();
        RecordEntry entry;

        for (unsigned i = 0; i < PROOFS; i++)
                if (record_log_newest(log, &chips[i % SERVER_CHIPS].subject.where, NULL, &entry) < 0)
                        abort();
        printf("log-newest %.1f us\n", (cpu_msec() - start) * 1e3 / PROOFS);
}

static void measure_scrub(RecordLog *log) {
        uint64_t n = record_log_size(log);
        double start = cpu_msec();
        char *wrong;

        if (record_log_check(log, &wrong) < 0)
                abort();
        printf("log-scrub-cpu %.1f us/record\n", (cpu_msec() - start) * 1e3 / (double) n);
        printf("log-scrub-rate %.0f records/s\n", (double) n * 1e3 / (cpu_msec() - start));
}

int main(void) {
        const char *wanted = getenv("ASSAY_BENCH_RECORDS");
        uint64_t n = wanted ? strtoull(wanted, NULL, 10) : RECORDS;
        Published published;
        RecordLog *log;
        struct stat st;
        double start;

        published_init(&published);
        published.checkpoint_sec = 0.05;
        if (published_open(&published, &log, NULL) < 0)
                return 1;
        start = now_msec();
        fill(&published, log, n);
        printf("log-append %.1f us/record\n", (now_msec() - start) * 1e3 / (double) record_log_size(log));
        measure_open(&published, &log);
        published_wait(log, record_log_size(log));
        measure_proofs(log);
        measure_newest(&published, log);
        measure_scrub(log);
        n = record_log_size(log);
        log = record_log_free(log);
        if (stat(published.place.log, &st) < 0)
                return 1;
        printf("log-on-disk %.0f By/record\n", (double) st.st_size / (double) n);
        published_done(&published);
        return 0;
}
