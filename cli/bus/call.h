/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Calls to the daemon. */

#include <systemd/sd-bus.h>

#include "cli/bus/complaint.h" /* every call may end in one */
#include "daemon/record/record.h"

/* Opens the bus that --host and --bus name. Returns 0, or says why not and returns an exit status. */
int call_connect(sd_bus **ret);

/* Calls a method of assayd's object PATH, or of the manager, and waits as reply.h says. SIGNATURE and what follows are its arguments. RET may be NULL. Negative
 * errno with ERROR filled in. */
int call_object(sd_bus *bus, const char *path, const char *interface, const char *method, sd_bus_error *error, sd_bus_message **ret,
                const char *signature, ...);
int call_manager(sd_bus *bus, const char *method, sd_bus_error *error, sd_bus_message **ret, const char *signature, ...);

/* Records FIRST … FIRST+COUNT-1 as JSON lines, malloc'd and zero-terminated. */
int call_records(sd_bus *bus, uint64_t first, uint64_t count, sd_bus_error *error, char **ret, size_t *ret_n);
/* Whether one of these lines stands for an envelope that the log has no more. */
bool call_is_pruned(const char *line);
/* A sentence on it: which archive has it, if one has. Malloc'd; NULL: no memory. */
char *call_pruned_reason(const char *line, size_t n);

/* What the log says of itself, signed; NULL where it says nothing. Returns 0 or an exit status, having complained. */
int call_checkpoint(sd_bus *bus, char **ret, size_t *ret_n);

/* The same, waited for until it covers all records that there are by now, *RET_SIZE. Where none comes in time, the newest one. */
int call_checkpoint_soon(sd_bus *bus, uint64_t *ret_size, char **ret, size_t *ret_n);

/* Leaf hashes FIRST … FIRST+COUNT-1, 32 bytes each, malloc'd. Negative errno. */
int call_leaves(sd_bus *bus, uint64_t first, uint64_t count, char **ret, size_t *ret_n);

/* That record INDEX is in the log, as tlog-proof, malloc'd. Waits where the log has yet to sign a checkpoint over it. Returns 0 or an exit status,
 * having complained. */
int call_proof(sd_bus *bus, uint64_t index, char **ret);
/* The same without complaining, or without waiting either. Negative errno: there is no proof, or not yet. */
int call_proof_soon(sd_bus *bus, uint64_t index, sd_bus_error *error, char **ret);
int call_proof_now(sd_bus *bus, uint64_t index, sd_bus_error *error, char **ret);

/* What the daemon keeps as the identity document of the subject with this digest, malloc'd, not compared with it. Returns 0 or an exit status,
 * having complained. */
int call_identity(sd_bus *bus, const char *sha256, char **ret);

/* Whether the daemon knows TARGET; also true where it cannot be asked: then the answer is unknown, not a slip of the caller's. */
bool call_is_target(sd_bus *bus, const char *target);
/* Whether the server NAME is one of the UltraServer TARGET, by its name. */
bool call_is_server_of(const char *name, const char *target);
/* What is wrong with TARGET, which is none, and what may have been meant. */
void call_tell_target(sd_bus *bus, const char *target, char *ret, size_t size);

/* Of what sd_bus_message_read_strv() has given. */
void call_strv_drop(char ***lines);

/* The log's origin, and its key as a vkey ("" where it has none), malloc'd. Returns 0 or an exit status, having complained. */
int call_log(sd_bus *bus, char **ret_origin, char **ret_vkey);

/* What --state remembers; nothing (*RET stays) without it. Returns 0 or an exit status, having complained. */
int call_state(RecordState **ret);

/* Says so where assayd's log is not sound. */
void call_tell_unsound(sd_bus *bus);

/* The keys to verify with: those of --key, else what the daemon says of itself. Returns 0 or an exit status, having complained. */
int call_keyring(sd_bus *bus, RecordKeyring **ret);
/* The same, with what STATE (NULL: nothing) remembers of keyrings. IS_WITNESSED: what the daemon says of itself includes its witnesses (own-keys.h). */
int call_keyring_of(sd_bus *bus, RecordState *state, bool is_witnessed, RecordKeyring **ret);

/* How the daemon's log grew from OLD to SIZE records, as RecordPolicy asks for it. -ENODATA: it keeps another log than that of ORIGIN, or does not tell. */
int call_consistency(sd_bus *bus, const char *origin, uint64_t old, uint64_t size, char **ret, size_t *ret_n);

/* The exit status of what did not verify. */
int call_trust_status(RecordTrust trust);

/* One record by index, fetched and judged. Returns 0, or an exit status, having complained. */
int call_verified(sd_bus *bus, const RecordKeyring *keyring, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret);
/* The same by a policy. */
int call_verified_by(sd_bus *bus, const RecordPolicy *policy, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret);
