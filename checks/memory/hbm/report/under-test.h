/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmUnderTest
 *
 * The account that the chip keeps of rows that tests write (assay/hbm/under-test, see wire.h): begun before the first write, ended once they
 * hold what a test leaves in memory. So rows that a killed test has left half written are known to whoever scans next.
 */

#include "checks/memory/hbm/report/in-use.h"
#include "checks/memory/hbm/report/run.h"

/* Of the rows of run->box. A chip that keeps no account is not told. Return 0, or the errors of the device. */
int hbm_under_test_begin(const HbmRun *run);
int hbm_under_test_end(const HbmRun *run);

/* As device_hbm_in_use(). -ENOENT: the chip keeps no account. */
int device_hbm_under_test(Device *device, unsigned chip, const MemoryGeometry *geometry, HbmInUse *ret);
