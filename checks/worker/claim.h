/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Claim
 *
 * One scan of a chip at a time: a worker holds the claim of each chip that it was asked for (attribute assay/claim of wire.h), because two
 * that test one chip at once would call each other's data and traffic faults of it. Inside of the worker only.
 *
 * A claim that is refused is asked for again, CLAIM_ANSWERS times: another worker that was killed may not be gone yet as far as the device knows.
 * Answers count and not clocks, as in device-control.h: while the device, the other worker or this one stands still nothing is counted.
 */

#include "checks/worker/scan.h"

#define CLAIM_ANSWERS 40u /* refusals until another scan has the server; together they take a deadline of the plan */

/*
 * Connects to each server and claims its chips of the scan. A server of which another client holds a chip becomes -EBUSY; the errors of
 * scan_open() are those of a server that could not be reached. What a chip did instead of answering is left in its error of the inventory:
 * one that is silent, makes no sense or is missing is claimed by nobody, and found by what comes after. The connections
 * are the scan's: they are open until scan_free(), and the children inherit them, so that a claim outlives the worker as long as they do.
 */
void claim_servers(Scan *scan);
