/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/occupancy.h"

#include <errno.h>
#include <string.h>

bool occupancy_carries_work(const char *occupied, const char *in_use) {
        return strcmp(occupied, "0") != 0 || (in_use[0] != '\0' && strcmp(in_use, "none") != 0);
}

int occupancy_ask(Device *device, unsigned chip) {
        char texts[_OCCUPANCY_MAX][ATTRIBUTE_TEXT_MAX];
        int errors[_OCCUPANCY_MAX], r;

        r = device_attributes(device, chip, OCCUPANCY_PATHS, _OCCUPANCY_MAX, texts, errors);
        if (r < 0)
                return r;
        for (size_t i = 0; i < _OCCUPANCY_MAX; i++)
                if (errors[i] == 0 && texts[i][0] == '\0')
                        return -EPROTO;
        return occupancy_carries_work(texts[OCCUPANCY_OCCUPIED], texts[OCCUPANCY_IN_USE]);
}

int occupancy_ask_any(const OccupancyQuestion *questions, size_t n) {
        int error = 0;

        for (size_t i = 0; i < n; i++)
                for (unsigned chip = 0; chip < CHIPS; chip++) {
                        int r = questions[i].chips & (1u << chip) ? occupancy_ask(questions[i].device, chip) : 0;

                        if (r > 0)
                                return r;
                        error = error < 0 ? error : r;
                }
        return error;
}
