/* SPDX-License-Identifier: Apache-2.0 */

/* The same bytes as a keyring in text form, as the envelope of one that roots have signed, and as what they signed. */

#include <stdint.h>
#include <string.h>

#include "daemon/record/keys/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

static void look_at(const RecordKeyring *keyring) {
        CheckpointPolicy policy;

        HOLDS(keyring->n_keys <= KEYRING_KEYS_MAX && keyring->n_logs <= KEYRING_LOGS_MAX);
        for (size_t i = 0; i < keyring->n_keys; i++) {
                HOLDS(keyring_find(keyring, keyring->keys[i].key.id) == &keyring->keys[i]);
                HOLDS(keyring->keys[i].from_index <= keyring->keys[i].until_index);
        }
        for (size_t i = 0; i < keyring->n_logs; i++)
                HOLDS(keyring_policy(keyring, keyring->logs[i].key.name, &policy) && policy.n_witnesses == keyring->n_witnesses);
        /* Who is enough with some witnesses is enough with all. */
        HOLDS(quorum_is_met(&keyring->quorum, UINT32_MAX));
        HOLDS(!keyring->quorum.wanted || !quorum_is_met(&keyring->quorum, 0));
}

static void read_ring(const Envelope *ring) {
        char wrong[KEYRING_WRONG_MAX] = "";
        RecordKeyring *keyring;

        if (ring_read(ring, &keyring, wrong) < 0) {
                HOLDS(*wrong);
                return;
        }
        look_at(keyring);
        HOLDS(keyring->version > 0 && keyring->expires_usec < UINT64_MAX && keyring->threshold > 0 && keyring->threshold <= keyring->n_roots);
        for (size_t i = 0; i < keyring->n_keys; i++)
                HOLDS(keyring->keys[i].producer[0] && keyring->keys[i].origin[0]);
        HOLDS(ring_is_signed(ring, keyring) >= 0);
        (void) record_keyring_free(keyring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *) data;
        char wrong[KEYRING_WRONG_MAX] = "";
        RecordKeyring *keyring;
        Envelope ring;

        if (record_keyring_parse(text, size, &keyring) == 0) {
                HOLDS(keyring->version == 0 && keyring->threshold == 0 && keyring->n_roots == 0);
                look_at(keyring);
                (void) record_keyring_free(keyring);
        }
        if (ring_parse(text, size, &ring, wrong) == 0) {
                HOLDS(ring.n_signatures > 0);
                read_ring(&ring);
                envelope_done(&ring);
        } else
                HOLDS(*wrong);
        HOLDS(envelope_init(&ring, RING_PAYLOAD_TYPE, data, size, 1) == 0);
        read_ring(&ring);
        envelope_done(&ring);
        return 0;
}
