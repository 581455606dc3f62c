/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Worker
 *
 * Scans what one request names and writes one OCP stream (stream.h). Chips are tested at the same time, a
 * child process each; steps on a server come when its chips are done, because links and NICs need them idle,
 * one server after the other, because the ring of an UltraServer has only one set of links.
 *
 * assay-run without --device is given its request over the connection that is its stdin and stdout (they may
 * be one socket). One line of JSON, at most REQUEST_HEADER_MAX bytes, ended by a newline:
 *
 *     {"device": "sim:/run/assay/sim#us0-1",   what to scan, as --device takes it; required
 *      "plan_file": "preflight.yaml",          how messages call the plan; required
 *      "topology": "topology: …",              the text of a topology file (topology.h); default: servers are named by their place
 *      "plan_bytes": 812,                      how many bytes of plan follow; required, 1 … PLAN_BYTES_MAX
 *      "seed": 7,                              required, 0 … 2^63 − 1
 *      "deadline_scale": 1.0,                  of every deadline in wall time; 0.001 … 1000, default 1
 *      "budget_sec": 30.0,                     device seconds of one unit, where less than the plan's; or 0
 *      "first_sequence": 0,                    sequence number of the first line to come; default 0
 *      "rotations": [{"step": "us0-1/chip3:hbm",   what earlier scans did to the regions of a step (regions.h), of
 *              "serial": "0123", "age": 86400,     the chip of this serial, the first of them `age` seconds ago: the
 *              "partition": "sid 3 row 16384/32",  next region, those that failed when they were last tested, and the
 *              "position": 41, "failed": "12",     seconds since each set was; default none
 *              "tested": [["0-40", 3600]]}],
 *      "done": ["us0-1/chip3:hbm"]}            ids of steps that need not run any more; default none
 *
 * and then the text of the plan. Keys may come in any order; an unknown, doubled or ill-typed key refuses
 * the request. Nothing follows the plan: as soon as the peer closes (or says another word) the scan is
 * cancelled, the children die and the worker leaves without ending its stream.
 *
 * With first_sequence > 0 the stream goes on where another worker's broke off: no schemaVersion and
 * testRunStart, no step of `done`; whoever continues counts a step that was open when it broke off as done
 * (it could not be judged), and judges the whole: the result in testRunEnd is then that of the steps this
 * worker ran, without the plan's coverage.
 *
 * A request that is refused is answered by a stream with an `error` artifact and the result INCONCLUSIVE.
 * The exit status is that of the result (0, 1, 2), STATUS_USAGE for a refused request, STATUS_UNREACHABLE
 * where no server could be reached (the stream says so too), and STATUS_CANNOT_TELL after a cancel.
 *
 * A step of the plan on chips may appear once more with the server as its unit: then the same failure was
 * found on every chip, and the finding there is suspect-station.
 */

#include "checks/vocabulary/verdict.h"
#include "checks/worker/request.h"

/*
 * Returns 0 with the result; -ENOTCONN where no server could be reached (the stream is complete all the
 * same); -ECONNABORTED where INPUT_FD (negative: none) closed; or the errno of writing to OUTPUT_FD, or
 * -ENOMEM.
 */
int worker_run(const Request *request, int input_fd, int output_fd, Result *ret);

/* The stream of a request that was refused. */
int worker_refuse(int output_fd, const char *why);
