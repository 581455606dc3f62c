/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The PCIe links of a chip and its adapter to the host. */

#include "checks/port/device.h"

/* Moves what TRANSFERS say, one after another, and tells how long each took on its link. -EPROTO: less was moved, or in no time. */
int device_host_transfer(Device *device, unsigned chip, const WireHostTransfer *transfers, size_t n, uint64_t *ret_nsec);
