/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What records cost in CPU time: from facts to COMMIT, of one server at a time and of the four of an UltraServer, whose scans end
 * together and whose records then wait for the writer together; and from an envelope to a verdict. All of it on one core. Each figure is held
 * against OpenSSL alone, in the same run and a few milliseconds apart, with contexts that are ready and algorithms that are found: against
 * signing and hashing the very bytes that were signed, and against what `openssl speed ed25519` calls a verification, of 20 bytes.
 */

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/record/keys/envelope.h"
#include "daemon/record/keys/proof.h"
#include "daemon/room.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define ROUNDS  40
#define SCANS   8 /* in a round */
#define REPEATS 3 /* of the verifications of a group in a round */
#define RECORDS (SERVER_CHIPS + 1)
#define LEVELS  20 /* of a proof: a log of a million records */
#define SHORT   20

typedef enum Task { EMIT, EMIT_FOUR, BARE_SIGN, BARE_VERIFY, SIGNATURE_AND_PROOF, VERIFY, _TASK_MAX } Task;

typedef struct Bench {
        Place place;
        Server server;
        RecordKeyring *keyring;
        RecordLog *log;

        EVP_MD *sha256;
        EVP_MD_CTX *signing, *verifying; /* begun */
        uint8_t short_text[SHORT], short_signature[KEY_ED25519_SIGNATURE];

        /* the last group */
        char *texts[RECORDS];
        Envelope envelopes[RECORDS];
        Printer proofs[RECORDS];
        TreeHash roots[RECORDS]; /* that proofs lead to */
        PublicKey key;

        double usec[_TASK_MAX]; /* of all records of a round */
        double wall_usec[_TASK_MAX];
} Bench;

#define MUST(condition)                                                                                     \
        do {                                                                                                \
                if (!(condition))                                                                           \
                        abort();                                                                            \
        } while (0)

static double now_usec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static double cpu_usec(void) {
        return now_usec(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- what is measured: all of it for each record of a group ---- */

static void emit_together(Bench *bench, unsigned n_servers) {
        for (unsigned i = 0; i < SCANS; i += n_servers) {
                for (unsigned k = 0; k < n_servers; k++)
                        MUST(record_log_scan(bench->log, &bench->server.scan, k) == 0);
                for (unsigned k = 0; k < n_servers; k++) {
                        RecordOutcome outcome;

                        place_wait(bench->log, &outcome);
                        MUST(outcome.error == 0);
                        record_outcome_done(&outcome);
                }
        }
}

static void emit(Bench *bench) {
        emit_together(bench, 1);
}

static void emit_four(Bench *bench) {
        emit_together(bench, 4);
}

static void bare_sign(Bench *bench) {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        uint8_t signature[KEY_SIGNATURE_MAX], digest[DIGEST_BYTES];

        for (size_t i = 0; i < SCANS * RECORDS; i++) {
                const Envelope *envelope = &bench->envelopes[i % RECORDS];
                const uint8_t *pae = (const uint8_t *) envelope->pae;
                size_t n = sizeof(signature);

                MUST(EVP_MD_CTX_copy_ex(ctx, bench->signing) == 1);
                MUST(EVP_DigestSign(ctx, signature, &n, pae, envelope->n_pae) == 1);
                MUST(EVP_Digest(pae, envelope->n_pae, digest, NULL, bench->sha256, NULL) == 1);
        }
        EVP_MD_CTX_free(ctx);
}

static void bare_verify(Bench *bench) {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();

        for (size_t i = 0; i < REPEATS * RECORDS; i++) {
                MUST(EVP_MD_CTX_copy_ex(ctx, bench->verifying) == 1);
                MUST(EVP_DigestVerify(ctx, bench->short_signature, sizeof(bench->short_signature), bench->short_text, SHORT) == 1);
        }
        EVP_MD_CTX_free(ctx);
}

/* From an envelope and a proof to the root of a checkpoint that is believed already. */
static void signature_and_proof(Bench *bench) {
        for (size_t i = 0; i < REPEATS * RECORDS; i++) {
                const Printer *text = &bench->proofs[i % RECORDS];
                const char *wrong, *line = bench->texts[i % RECORDS];
                Envelope envelope;
                TreeHash leaf;
                Proof proof;

                MUST(envelope_parse(line, strlen(line), &envelope, &wrong) == 0);
                MUST(envelope_verify(&envelope, &bench->key) == 1);
                MUST(leaf_hash(&envelope, &bench->key, &leaf) == 0);
                MUST(proof_parse(text->text, text->n, &proof) == 0);
                MUST(tree_inclusion_verify(&proof.path, &leaf, proof.index, UINT64_C(1) << LEVELS, &bench->roots[i % RECORDS]) == 1);
                envelope_done(&envelope);
        }
}

static void verify(Bench *bench) {
        for (size_t i = 0; i < REPEATS * RECORDS; i++) {
                const char *line = bench->texts[i % RECORDS];
                RecordVerified verified;
                RecordTrust trust;

                MUST(record_verify(bench->keyring, line, strlen(line), &trust, &verified) == 0);
                MUST(trust == RECORD_VERIFIED);
                record_verified_done(&verified);
        }
}

static const struct {
        void (*run)(Bench *bench);
        unsigned n; /* records */
} tasks[_TASK_MAX] = {
        [EMIT]                = { emit,                SCANS * RECORDS   },
        [EMIT_FOUR]           = { emit_four,           SCANS * RECORDS   },
        [BARE_SIGN]           = { bare_sign,           SCANS * RECORDS   },
        [BARE_VERIFY]         = { bare_verify,         REPEATS * RECORDS },
        [SIGNATURE_AND_PROOF] = { signature_and_proof, REPEATS * RECORDS },
        [VERIFY]              = { verify,              REPEATS * RECORDS },
};

/* ---- before and after ---- */

static EVP_PKEY *read_key(const char *path) {
        FILE *file = fopen(path, "re");
        EVP_PKEY *pkey = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;

        MUST(pkey);
        (void) fclose(file);
        return pkey;
}

/* Takes over PKEY. */
static void prepare(Bench *bench, EVP_PKEY *pkey) {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        size_t n = sizeof(bench->short_signature);

        bench->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
        bench->signing = EVP_MD_CTX_new();
        bench->verifying = EVP_MD_CTX_new();
        MUST(EVP_DigestSignInit(bench->signing, NULL, NULL, NULL, pkey) == 1);
        MUST(EVP_DigestVerifyInit(bench->verifying, NULL, NULL, NULL, pkey) == 1);
        MUST(EVP_MD_CTX_copy_ex(ctx, bench->signing) == 1);
        MUST(EVP_DigestSign(ctx, bench->short_signature, &n, bench->short_text, SHORT) == 1);
        EVP_MD_CTX_free(ctx);
        MUST(public_key_init(&bench->key, pkey) == 0);
}

/* A proof that leads to the root of some tree: what else is in a log does not matter. */
static void make_proof(const Bench *bench, const Envelope *envelope, uint64_t index, Printer *proof, TreeHash *root) {
        TreePath path = { .n = LEVELS };

        MUST(leaf_hash(envelope, &bench->key, root) == 0);
        for (unsigned level = 0; level < LEVELS; level++) {
                TreeHash *sibling = &path.hashes[level];

                MUST(digest_sha256(&level, sizeof(level), sibling->bytes) == 0);
                MUST((index >> level & 1 ? tree_node(sibling, root, root) : tree_node(root, sibling, root)) == 0);
        }
        proof_print(proof, index, &path, "", 0);
        MUST(proof->error == 0);
}

static void take_group(Bench *bench) {
        uint64_t first = record_log_size(bench->log) - RECORDS;
        const char *wrong;

        for (size_t i = 0; i < RECORDS; i++) {
                bench->texts[i] = place_envelope(bench->log, first + i);
                MUST(envelope_parse(bench->texts[i], strlen(bench->texts[i]), &bench->envelopes[i], &wrong) == 0);
                make_proof(bench, &bench->envelopes[i], first + i, &bench->proofs[i], &bench->roots[i]);
        }
}

static void done(Bench *bench) {
        for (size_t i = 0; i < RECORDS; i++) {
                free(bench->texts[i]);
                envelope_done(&bench->envelopes[i]);
                printer_done(&bench->proofs[i]);
        }
        public_key_done(&bench->key);
        EVP_MD_CTX_free(bench->signing);
        EVP_MD_CTX_free(bench->verifying);
        EVP_MD_free(bench->sha256);
        (void) record_log_free(bench->log);
        (void) record_keyring_free(bench->keyring);
        place_done(&bench->place);
}

/* The least noisy of the rounds would flatter whoever has one good moment; the sums of all are as slow on both sides. */
static void measure(Bench *bench) {
        for (unsigned round = 0; round < ROUNDS; round++)
                for (Task task = 0; task < _TASK_MAX; task++) {
                        double cpu = cpu_usec(), wall = now_usec(CLOCK_MONOTONIC);

                        tasks[task].run(bench);
                        bench->usec[task] += (cpu_usec() - cpu) / tasks[task].n / ROUNDS;
                        bench->wall_usec[task] += (now_usec(CLOCK_MONOTONIC) - wall) / tasks[task].n / ROUNDS;
                }
}

static double newest_usec(RecordLog *log) {
        Location chip = server_location("us0-2/chip3");
        double start = cpu_usec();
        RecordEntry entry;

        for (unsigned i = 0; i < 1000; i++)
                MUST(record_log_newest(log, &chip, "preflight", &entry) == 0);
        return (cpu_usec() - start) / 1000;
}

static void report_emission(const Bench *bench, Task task, const char *name) {
        double usec = bench->usec[task], bare = bench->usec[BARE_SIGN];

        printf("%s-cpu %.1f us/record %.2f to bare-sign-and-sha256\n", name, usec, usec / bare);
        printf("%s-wall %.1f us/record\n", name, bench->wall_usec[task]);
        printf("%s-rate %.0f records/s %.2f to the rate of bare-sign-and-sha256\n", name, 1e6 / usec, bare / usec);
}

static void report(const Bench *bench) {
        const double *usec = bench->usec;
        size_t n_payload = 0, n_envelope = 0;

        for (size_t i = 0; i < RECORDS; i++) {
                n_payload += bench->envelopes[i].n_pae - bench->envelopes[i].payload_offset;
                n_envelope += strlen(bench->texts[i]);
        }
        printf("ed25519-verify-of-20-bytes %.0f /s\n", 1e6 / usec[BARE_VERIFY]);
        printf("bare-sign-and-sha256 %.1f us/record\n", usec[BARE_SIGN]);
        report_emission(bench, EMIT, "record-emit");
        report_emission(bench, EMIT_FOUR, "record-emit-ultraserver");
        printf("record-signature-and-proof %.0f records/s %.2f to ed25519-verify-of-20-bytes\n", 1e6 / usec[SIGNATURE_AND_PROOF],
               usec[BARE_VERIFY] / usec[SIGNATURE_AND_PROOF]);
        printf("record-verify %.0f records/s %.2f to ed25519-verify-of-20-bytes\n", 1e6 / usec[VERIFY], usec[BARE_VERIFY] / usec[VERIFY]);
        printf("record-newest %.1f us/call\n", newest_usec(bench->log));
        printf("record-payload %zu By\n", n_payload / RECORDS);
        printf("record-envelope %zu By\n", n_envelope / RECORDS);
}

/* What SQLite has not moved from its write-ahead log yet it moves when the log closes. */
static void report_size(Bench *bench) {
        uint64_t n = record_log_size(bench->log);
        struct stat st;

        bench->log = record_log_free(bench->log);
        MUST(stat(bench->place.log, &st) == 0);
        printf("record-on-disk %.0f By\n", (double) st.st_size / (double) n);
}

/* The event loop and the writer where the bare signatures are made: to wake up another core costs time, and does none of the work. */
static void stay_on_one_core(void) {
        int cpu = sched_getcpu();
        cpu_set_t set;

        CPU_ZERO(&set);
        if (cpu >= 0)
                CPU_SET((size_t) cpu, &set);
        if (cpu < 0 || sched_setaffinity(0, sizeof(set), &set) < 0)
                perror("two cores");
}

int main(void) {
        Bench bench = {};

        room_keep(); /* as assayd does */
        stay_on_one_core();
        place_init(&bench.place);
        server_init(&bench.server);
        bench.keyring = place_keyring(&bench.place);
        prepare(&bench, read_key(bench.place.key));
        if (place_open(&bench.place, &bench.log, NULL) < 0)
                return 1;
        emit(&bench);
        take_group(&bench);
        measure(&bench);
        report(&bench);
        report_size(&bench);
        done(&bench);
        return 0;
}
