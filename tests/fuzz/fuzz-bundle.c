/* SPDX-License-Identifier: Apache-2.0 */

/* A Sigstore bundle: what is taken apart are an envelope, a proof and an entry of a log, and nobody's signature holds. */

#include <stdint.h>
#include <string.h>

#include "daemon/record/verify/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

/* RFC 8032 section 7.1, test 1: no record of the corpus is signed with it. */
static const char text[] = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
                           "log fleet.example/stations/st-017+47e95623+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c\nquorum none\n";

static RecordKeyring *keyring;

/* What it proves reads the same as a proof of its own. */
static void read_again(const Proof *proof) {
        _cleanup_printer_ Printer printer = {};
        Proof again;

        if (proof->n_note == 0)
                return;
        proof_print(&printer, proof->index, &proof->path, proof->note, proof->n_note);
        HOLDS(proof_parse(printer.text, printer.n, &again) == 0);
        HOLDS(again.index == proof->index && again.path.n == proof->path.n && again.n_note == proof->n_note);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        RecordVerified verified;
        RecordTrust trust;
        Bundle bundle;
        const char *wrong = NULL;

        if (!keyring)
                HOLDS(record_keyring_parse(text, sizeof(text) - 1, &keyring) == 0);
        if (bundle_parse((const char *) data, size, &bundle, &wrong) == 0) {
                HOLDS(bundle.envelope.n_pae > 0 && bundle.envelope.n_signatures == 1);
                HOLDS((bundle.proof.n_note > 0) == (bundle.n_body > 0));
                read_again(&bundle.proof);
                bundle_done(&bundle);
        } else
                HOLDS(wrong);
        HOLDS(record_verify_with_policy(&(RecordPolicy) { .keyring = keyring, .needs_proof = true }, (const char *) data, size, &trust, &verified) == 0);
        HOLDS(trust != RECORD_VERIFIED && verified.reason && !verified.payload);
        record_verified_done(&verified);
        return 0;
}
