/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/amount.h"

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"

const char *amount_format(const char *measurement, double amount, char ret[static AMOUNT_MAX]) {
        static const struct {
                double bytes;
                const char *unit;
        } units[] = { { 1ull << 30, "GiB" }, { 1ull << 20, "MiB" }, { 1ull << 10, "KiB" } };

        for (size_t i = 0; strstr(measurement, "_bytes_") && i < ELEMENTS(units); i++)
                if (amount >= units[i].bytes) {
                        (void) snprintf(ret, AMOUNT_MAX, "%.6g %s", amount / units[i].bytes, units[i].unit);
                        return ret;
                }
        (void) snprintf(ret, AMOUNT_MAX, "%.15g", amount);
        return ret;
}
