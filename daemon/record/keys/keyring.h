/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keyring
 *
 * A text says whose word counts. Public keys in PEM form are bound to nothing; beside them stand the lines of c2sp.org/tlog-policy,
 *
 *     log VKEY [URL]
 *     witness NAME VKEY [URL]
 *     group NAME all|any|K NAME…
 *     quorum NAME|none|K           (K of all witnesses)
 *
 * and others of their kind, in which KEY is a SubjectPublicKeyInfo in base64, the inside of a PEM block in one word:
 *
 *     record KEY PRODUCER ORIGIN [FROM [UNTIL [REASON]]]   a key of records, and the indices that it may sign in that log
 *     min ORIGIN INDEX                                     nothing before it counts; after its log
 *     expires yyyy-mm-ddThh:mm:ssZ                         from then on nothing can be told
 *
 * A keyring that roots vouch for says who they are, how many of them it takes, and which of their keyrings it is; it binds each key. It is such a text in an
 * envelope (ring.h), and nobody believes it without:
 *
 *     version N
 *     threshold K                  of the roots
 *     root KEY
 *
 * A key counts up to an index of its log, never by time; without UNTIL it still does.
 */

#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/keys/envelope.h"

#define KEYRING_FILE_MAX     (1u << 20)
#define KEYRING_KEYS_MAX     1024
#define KEYRING_LOGS_MAX     1024
#define KEYRING_ROOTS_MAX    32
#define KEYRING_PRODUCER_MAX 256
#define KEYRING_URL_MAX      512
#define QUORUM_GROUPS_MAX    32

typedef struct KeyringKey {
        PublicKey key;
        char producer[KEYRING_PRODUCER_MAX]; /* "": any */
        char origin[RECORD_ORIGIN_MAX];      /* "": of any log */
        uint64_t from_index, until_index;    /* both may be signed */
} KeyringKey;

typedef struct KeyringLog {
        NoteKey key;        /* its name is the origin */
        uint64_t min_index; /* records before it do not count */
} KeyringLog;

typedef struct KeyringWitness {
        char name[NOTE_NAME_MAX]; /* in this keyring, not in notes */
        NoteKey key;              /* NOTE_OTHER: it counts for nothing, but may be named in groups and the quorum */
        char url[KEYRING_URL_MAX]; /* where logs ask it; "": not told */
} KeyringWitness;

/* So many of the members, each a witness or a group that was named before. */
typedef struct QuorumGroup {
        char name[NOTE_NAME_MAX];
        unsigned threshold;
        uint64_t members; /* bit i: witness i; bit CHECKPOINT_WITNESSES_MAX + j: group j, which stands before this one */
} QuorumGroup;

typedef struct Quorum {
        size_t n_groups;
        QuorumGroup groups[QUORUM_GROUPS_MAX];
        uint64_t wanted; /* the bit of one witness or group; 0: none */
} Quorum;

/* Whether those who have seen a checkpoint are enough. WITNESSES: bit i is set where witness i has signed. */
bool quorum_is_met(const Quorum *quorum, uint32_t witnesses);

struct RecordKeyring {
        uint64_t version;      /* 0: roots have not signed it */
        uint64_t expires_usec; /* UINT64_MAX: never */
        size_t n_keys;
        KeyringKey keys[KEYRING_KEYS_MAX]; /* each once */
        size_t n_logs;
        KeyringLog logs[KEYRING_LOGS_MAX]; /* each origin once */
        size_t n_witnesses;
        KeyringWitness witnesses[CHECKPOINT_WITNESSES_MAX];
        Quorum quorum;
        unsigned threshold; /* of the roots; 0: not said */
        size_t n_roots;
        PublicKey roots[KEYRING_ROOTS_MAX]; /* each once */
        unsigned remark; /* the first line that begins with no word above and not with '#', which says nothing; 0: there is none */
};

/* The entry of the key that KEY_ID names, or NULL. A hint for where to look first: it proves nothing. */
const KeyringKey *keyring_find(const RecordKeyring *keyring, const char *key_id);
/* The log of an origin, or NULL. */
const KeyringLog *keyring_find_log(const RecordKeyring *keyring, const char *origin);
/* Who vouches for the log of an origin. False: nobody, the keyring has no such log. */
bool keyring_policy(const RecordKeyring *keyring, const char *origin, CheckpointPolicy *ret);

RecordKeyring *keyring_new(void);
/*
 * Adds and takes over ENTRY's key, also on failure: 0, also where the same key is there already and both are bound to nothing; -E2BIG.
 * -EBADMSG: it is there bound otherwise; of roots, logs and witnesses, where a name or a key is there at all, or where there is no room.
 */
int keyring_add_key(RecordKeyring *keyring, KeyringKey *entry);
int keyring_add_root(RecordKeyring *keyring, PublicKey *root);
int keyring_add_log(RecordKeyring *keyring, const KeyringLog *log);
int keyring_add_witness(RecordKeyring *keyring, const KeyringWitness *witness);
/* -EBADMSG: a witness has the key of a log or of records, so that whoever writes there would vouch for himself. */
int keyring_check_witnesses(const RecordKeyring *keyring);
/* How many witnesses have a key that cannot be verified with here. */
size_t keyring_count_others(const RecordKeyring *keyring);
/* Asks for THRESHOLD of all witnesses there are. -EBADMSG: there are fewer, or no room. */
int keyring_set_quorum(RecordKeyring *keyring, uint64_t threshold);

#define KEYRING_WRONG_MAX 128 /* bytes of a sentence, with its zero */

/* keyring-text.c: what a text says, whoever believes it. -EBADMSG, and what is wrong; -E2BIG, -ENOMEM. */
int keyring_read(const char *text, size_t n, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]);
/* One that is believed by whoever names it, as record_keyring_parse(). -EBADMSG, and what is wrong: such a text, or one for roots to sign. */
int keyring_parse(const char *text, size_t n, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]);
