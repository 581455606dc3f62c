/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Device
 *
 * The one way to reach a server under test. Below everything is one operation, device_execute(): a batch of commands,
 * their completions with status and device time, and a window for bulk data. Above it are typed calls, which fill in
 * commands, check what comes back and turn it into numbers of the host. Nothing that comes back is trusted for a size.
 *
 * Errors of all calls: 0 or a count; negative means could not judge:
 *     -ETIMEDOUT   the chip gave no answer within the deadline, though others of its server did (device-control.h); the device
 *                  answers no more calls
 *     -EHOSTDOWN   nothing of the server gave any: nobody can say whose fault it is; the device answers no more calls
 *     -ENODEV      the port has gone
 *     -EPROTO      the answer broke the agreement (wrong sequence, lengths out of range)
 *     -EREMOTEIO   a completion's status was not success; device_status() tells which
 *     -ENOENT      attributes: there is no such attribute; frames: none has arrived
 *     -ENOSPC      the window is too small for what was asked
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/wire/wire.h"

typedef struct Device Device;

/* A way to reach a server: a socket for assay-sim, a counted and failing wrapper in tests, real hardware some day. */
typedef struct DeviceTransport {
        /* Runs the batch, n ≤ WIRE_BATCH_MAX; returns 0 when completions[0 … n-1] are filled in, or an error of the list
         * above. deadline_usec: how long it may take from now on. */
        int (*execute)(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                       uint64_t deadline_usec);
        void (*close)(void *userdata); /* also unmaps the window */
} DeviceTransport;

/* Takes ownership of userdata on success. CHIP is the chip this device is for, WIRE_CHIP_ALL for a whole server. */
int device_new(const DeviceTransport *transport, void *userdata, const char *server, unsigned chip, void *window,
               size_t window_bytes, Device **ret);

/* Connects to an assay-sim socket. -ENOENT: no such server or chip there; -ECONNREFUSED, -ENOENT of the path itself. */
int device_open_socket(const char *path, const char *server, unsigned chip, size_t window_bytes, Device **ret);
Device *device_free(Device *device);
DEFINE_CLEANUP(Device *, device_free);

const char *device_server(const Device *device);
unsigned device_chip(const Device *device);

/* Wall time one batch may take, default 2 s; it counts only while others of the server answer. */
void device_set_deadline(Device *device, uint64_t usec);

/*
 * Runs any number of commands (in packets of WIRE_BATCH_MAX). Completions may be NULL. Returns -EREMOTEIO when one of
 * them did not succeed, after all were run; COMPLETIONS then tell which. commands[].chip is filled in by
 * device_new()'s chip where that is one chip.
 */
int device_execute(Device *device, WireCommand *commands, size_t n, WireCompletion *completions);

/* On a device for a whole server an answer that breaks the agreement (lengths out of range) is one chip's affair: its
 * completion gets this status, and the others stand. */
#define DEVICE_STATUS_GARBLED UINT32_MAX

uint32_t device_status(const Device *device);     /* WireStatus of the last command that did not succeed */
uint64_t device_nsec(const Device *device);       /* device time used through this handle so far */
int device_silence(const Device *device);         /* 0, or -ETIMEDOUT or -EHOSTDOWN, which every later call is, too */
int device_failure(const Device *device);         /* the first error of the port itself (no -EREMOTEIO), 0 while there is none */

/* On a device for a whole server, whose commands got no answer: bit per chip. */
typedef struct DeviceSilence {
        uint16_t chips;    /* to a command that the chip carries out itself */
        uint16_t adapters; /* to one that its network adapter carries out, which may be what is silent */
} DeviceSilence;

/* Of all commands since this was last called. */
DeviceSilence device_take_silence(Device *device);

/*
 * The window, as a stack of aligned pieces: take hands out the next BYTES, device_window_reset() forgets them all.
 * NULL when it is full. The content may be changed by the device at any time: copy before judging twice.
 */
void *device_window_take(Device *device, size_t bytes);
void device_window_reset(Device *device);
uint32_t device_window_offset(const Device *device, const void *piece);
size_t device_window_free(const Device *device);

/* ---- attributes (checks/port/device.c). CHIP is ignored where the device is for one chip. ---- */

#define ATTRIBUTE_PATH_MAX 128u
#define ATTRIBUTE_TEXT_MAX 256u

/* The text without its newline, at most ATTRIBUTE_TEXT_MAX - 1 bytes; longer or with a byte that is no printable ASCII
 * (nor tab or newline) is -EPROTO. */
int device_attribute(Device *device, unsigned chip, const char *path, char ret[static ATTRIBUTE_TEXT_MAX]);
/* Decimal, or hexadecimal with 0x; -EPROTO for anything else. */
int device_attribute_u64(Device *device, unsigned chip, const char *path, uint64_t *ret);
int device_attribute_write(Device *device, unsigned chip, const char *path, const char *text);

typedef struct AttributeText {
        const char *path, *text;
} AttributeText;

/* Writes them in one batch, one after another; all are tried. N is at most ATTRIBUTE_WRITES_MAX. */
#define ATTRIBUTE_WRITES_MAX 16u
int device_attributes_write(Device *device, unsigned chip, const AttributeText *writes, size_t n);

/* Many in one batch: texts[i] for paths[i]; ret_errors[i] is 0 or -ENOENT. */
int device_attributes(Device *device, unsigned chip, const char *const *paths, size_t n,
                      char (*texts)[ATTRIBUTE_TEXT_MAX], int *ret_errors);

/* The same for many chips at once: texts[i] is path paths[i] of chips[i]. Beside -ENOENT an error may be what became of
 * this one alone: -ETIMEDOUT where the chip does not answer, -EREMOTEIO, -EPROTO. */
int device_attributes_of(Device *device, const uint8_t *chips, const char *const *paths, size_t n,
                         char (*texts)[ATTRIBUTE_TEXT_MAX], int *ret_errors);

/* The typed calls of each family stand in device-errors.h, device-memory.h, device-tensor.h, device-rounding.h, device-link.h and
 * device-nic.h, implemented in the file of the same name on device_execute(). */
