/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Wiring
 *
 * What discovery heard, as sockets and plugs for cabling.h, and the moves that come out of it, in words. The numbers of ports follow
 * the names of servers, so that each server of a ring gives the same move the same number and the same words.
 */

#include "checks/neuronlink/fabric.h"

#define MOVE_TEXT_MAX 384u

/* Fills in fabric->cabling. */
void wiring_solve(Fabric *fabric);

/* Number and words of the move that puts ID right. Returns how many its ring or path of wrong plugs takes in all; 0: none does. */
unsigned wiring_move_of(const Fabric *fabric, PortId id, unsigned *ret_number, char text[static MOVE_TEXT_MAX]);
/* How many ports are in the ring or path of wrong plugs that ID is in. */
unsigned wiring_ports_of(const Fabric *fabric, PortId id);

/* Writes link-cabling, if any plug of server 0 is wrong, and raises *verdict. */
int wiring_judge(Fabric *fabric, Verdict *verdict);
