/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-control.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include "checks/port/device.h"

#define QUESTION "info/serial_number" /* what every chip tells, and what disturbs no work on it */

/* Whether any other chip of the server answers, now. -EHOSTDOWN: the server itself does not, for as long as it may take. */
static int ask_others(const ControlOrder *order, Device **control) {
        char texts[CHIPS][ATTRIBUTE_TEXT_MAX];
        const char *paths[CHIPS];
        uint8_t chips[CHIPS];
        int errors[CHIPS], r = 0;
        size_t n = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++)
                if (chip != order->chip) {
                        paths[n] = QUESTION;
                        chips[n++] = (uint8_t) chip;
                }

        if (!*control)
                r = device_open_socket(order->path, order->server, WIRE_CHIP_ALL, WIRE_WINDOW_MIN, control);
        if (r < 0)
                return r == -EHOSTDOWN ? r : false;

        device_set_deadline(*control, order->deadline_usec);
        r = device_attributes_of(*control, chips, paths, n, texts, errors);
        if (device_failure(*control) < 0)
                *control = device_free(*control);
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (errors[i] >= 0)
                        return true;
        return r == -EHOSTDOWN ? r : false;
}

/* Returns whether FD has something to read. A signal that ends a wait, as being stopped does, begins it anew. */
static bool wait_for(int fd, uint64_t usec) {
        struct pollfd polled = { .fd = fd, .events = POLLIN };
        int r;

        do
                r = poll(&polled, 1, (int) (usec / 1000) + 1);
        while (r < 0 && errno == EINTR);
        return r != 0;
}

int control_wait(const ControlOrder *order, int fd) {
        _cleanup_(device_freep) Device *control = NULL;
        unsigned answers = 0, silences = 0;

        while (answers < CONTROL_ANSWERS && silences < CONTROL_PATIENCE * CONTROL_ANSWERS) {
                int r = ask_others(order, &control);

                if (wait_for(fd, order->deadline_usec / CONTROL_ANSWERS))
                        return 0;
                if (r < 0)
                        return r;
                if (r > 0)
                        answers++;
                else
                        silences++;
        }

        return answers >= CONTROL_ANSWERS ? -ETIMEDOUT : -EHOSTDOWN;
}
