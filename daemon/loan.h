/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Loans
 *
 * Bulk data for bus clients: memfds that no client can change, each reader with an offset of its own. Their pages are memory of the daemon for as
 * long as somebody holds them, so what a user holds is counted, and one who holds enough is lent nothing more until something is closed.
 */

#include <sys/types.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "checks/text/cleanup.h"
#include "daemon/authorize.h"

#define LOAN_BYTES_LEAST    (256u << 10) /* what each counts for, so that there are not too many */
#define LOAN_BYTES_OF_USER  (64u << 20)
#define LOAN_BYTES_OF_USERS (256u << 20) /* of all but the administrator, whom they must not keep out */

#define LOAN_UNTOLD_USEC    (UINT64_C(30) * 1000000) /* where the kernel does not tell who has closed: then it is emptied, read or not */

typedef struct Loans Loans;

int loans_new(sd_event *event, Loans **ret);
Loans *loans_free(Loans *loans);
DEFINE_CLEANUP(Loans *, loans_free);

/* Writes WHAT to FD. Negative errno with ERROR set. */
typedef int (*LoanFill)(const void *what, int fd, sd_bus_error *error);

/* What FILL writes, open for reading at its start, to be closed when it was passed on. Negative errno with ERROR set: LimitsExceeded where UID holds
 * too much. */
int loans_open(Loans *loans, uid_t uid, const char *name, LoanFill fill, const void *what, sd_bus_error *error);
/* The same for the sender of MESSAGE, who gets it as the answer. NAME is what tools show. */
int loans_reply(Loans *loans, const Authority *authority, sd_bus_message *message, const char *name, LoanFill fill, const void *what, sd_bus_error *error);
