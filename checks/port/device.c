/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Device
 *
 * Splits any number of commands into batches, has the transport run them, and believes nothing that comes back: a
 * completion that claims more bytes than it had room for, or more time than a command can take, is -EPROTO.
 */

#include "checks/port/device.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>

#define DEADLINE_USEC       2000000u
#define COMMAND_NSEC_MAX    (UINT64_C(86400) * 1000000000) /* a day: no command of any plan comes near it */
#define ENGINES             (CORES + STACKS + PORTS + 2u)  /* of a chip; the last two are NIC and management */
#define ATTRIBUTE_SLOT      (ATTRIBUTE_PATH_MAX + ATTRIBUTE_TEXT_MAX)

struct Device {
        const DeviceTransport *transport;
        void *userdata;
        char server[WIRE_SERVER_MAX];
        unsigned chip;
        uint8_t *window;
        size_t window_bytes, window_used;
        uint64_t deadline_usec;
        uint64_t nsec;
        uint32_t status;
        int failure;    /* the first error of the transport */
        int silence;    /* -ETIMEDOUT or -EHOSTDOWN once a deadline has passed */
        DeviceSilence unanswered; /* see device_take_silence() */
        WireCompletion completions[WIRE_BATCH_MAX]; /* where the caller wants none */
};

static_assert(ATTRIBUTE_SLOT % WIRE_ALIGNMENT == 0, "slots keep the alignment");

int device_new(const DeviceTransport *transport, void *userdata, const char *server, unsigned chip, void *window,
               size_t window_bytes, Device **ret) {
        Device *device;
        size_t n;

        assert(transport);
        assert(server);
        assert(chip < CHIPS || chip == WIRE_CHIP_ALL);
        assert(window || window_bytes == 0);
        assert(ret);

        n = strlen(server);
        if (n == 0 || n >= WIRE_SERVER_MAX || window_bytes > WIRE_WINDOW_MAX)
                return -EINVAL;

        device = calloc(1, sizeof(*device));
        if (!device)
                return -ENOMEM;

        device->transport = transport;
        device->userdata = userdata;
        memcpy(device->server, server, n);
        device->chip = chip;
        device->window = window;
        device->window_bytes = window_bytes;
        device->deadline_usec = DEADLINE_USEC;
        *ret = device;
        return 0;
}

Device *device_free(Device *device) {
        if (!device)
                return NULL;

        if (device->transport->close)
                device->transport->close(device->userdata);
        free(device);
        return NULL;
}

const char *device_server(const Device *device) {
        return device->server;
}

unsigned device_chip(const Device *device) {
        return device->chip;
}

void device_set_deadline(Device *device, uint64_t usec) {
        device->deadline_usec = MAX(usec, UINT64_C(1));
}

uint32_t device_status(const Device *device) {
        return device->status;
}

uint64_t device_nsec(const Device *device) {
        return device->nsec;
}

int device_silence(const Device *device) {
        return device->silence;
}

int device_failure(const Device *device) {
        return device->failure;
}

DeviceSilence device_take_silence(Device *device) {
        DeviceSilence silence = device->unanswered;

        device->unanswered = (DeviceSilence) {};
        return silence;
}

static void note_silence(Device *device, const WireCommand *command) {
        bool adapter = command->type == COMMAND_NIC_SEND || command->type == COMMAND_NIC_RECEIVE;

        if (device->chip == WIRE_CHIP_ALL && command->chip < CHIPS)
                *(adapter ? &device->unanswered.adapters : &device->unanswered.chips) |= (uint16_t) (1u << command->chip);
}

/* Which of a chip's engines runs a command: the order of wire.h, cores first. */
static size_t command_engine(const WireCommand *command) {
        size_t chip = command->chip < CHIPS ? command->chip : 0, engine;

        if (command->type >= COMMAND_HBM_MARCH && command->type <= COMMAND_HBM_READ_ADDRESS)
                engine = CORES + MIN(command->unit, STACKS - 1);
        else if (command->type >= COMMAND_LOAD_STATIONARY && command->type <= COMMAND_RNG_STATE)
                engine = MIN(command->unit, CORES - 1);
        else if (command->type >= COMMAND_LINK_STATUS && command->type <= COMMAND_LINK_TRANSFER)
                engine = CORES + STACKS + MIN(command->unit, PORTS - 1);
        else if (command->type == COMMAND_NIC_SEND || command->type == COMMAND_NIC_RECEIVE)
                engine = ENGINES - 2;
        else
                engine = ENGINES - 1;

        return chip * ENGINES + engine;
}

/* A status that no document knows says nothing, least of all that the command was run. */
static bool status_is_known(uint32_t status) {
        static const uint16_t known[] = {
                STATUS_NRT_SUCCESS, STATUS_NRT_FAILURE, STATUS_NRT_INVALID, STATUS_NRT_INVALID_HANDLE, STATUS_NRT_RESOURCE,
                STATUS_NRT_TIMEOUT, STATUS_NRT_HW_ERROR, STATUS_NRT_UNSUPPORTED, STATUS_NRT_QUEUE_EMPTY,
                STATUS_NRT_COMPLETED_NUM_ERR, STATUS_NRT_HW_ERR_COLLECTIVES, STATUS_NRT_HBM_UE, STATUS_NRT_NC_UE, STATUS_NRT_REPAIRABLE_HBM_UE,
        };

        for (size_t i = 0; i < ELEMENTS(known); i++)
                if (status == known[i])
                        return true;
        return false;
}

/* Engines run side by side, the commands of one in order: a batch takes as long as its busiest engine. */
static int judge_batch(Device *device, const WireCommand *commands, size_t n, WireCompletion *completions) {
        uint64_t busy[CHIPS * ENGINES] = {}, longest = 0;
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t *engine = &busy[command_engine(&commands[i])];

                if (completions[i].out_bytes > commands[i].out_bytes || completions[i].device_nsec > COMMAND_NSEC_MAX ||
                    !status_is_known(completions[i].status)) {
                        if (device->chip != WIRE_CHIP_ALL)
                                return -EPROTO;
                        completions[i] = (WireCompletion) { .status = DEVICE_STATUS_GARBLED };
                }

                *engine += completions[i].device_nsec;
                longest = MAX(longest, *engine);
                if (completions[i].status == STATUS_NRT_SUCCESS)
                        continue;

                if (completions[i].status == STATUS_NRT_TIMEOUT)
                        note_silence(device, &commands[i]);
                device->status = completions[i].status;
                r = -EREMOTEIO;
        }

        device->nsec += longest;
        return r;
}

static int execute_batch(Device *device, WireCommand *commands, size_t n, WireCompletion *completions) {
        int r;

        if (device->silence < 0)
                return device->silence;

        if (device->chip != WIRE_CHIP_ALL)
                for (size_t i = 0; i < n; i++)
                        commands[i].chip = (uint8_t) device->chip;

        r = device->transport->execute(device->userdata, commands, n, completions, device->deadline_usec);
        if (r == -EREMOTEIO) /* means statuses, and there are none */
                r = -EIO;
        if (r >= 0)
                r = judge_batch(device, commands, n, completions);
        if (r == -ETIMEDOUT || r == -EHOSTDOWN)
                device->silence = r;
        if (r < 0 && r != -EREMOTEIO && device->failure == 0)
                device->failure = r;
        return r;
}

int device_execute(Device *device, WireCommand *commands, size_t n, WireCompletion *completions) {
        int result = 0;

        assert(device);
        assert(commands || n == 0);

        for (size_t done = 0; done < n;) {
                size_t batch = MIN(n - done, (size_t) WIRE_BATCH_MAX);
                WireCompletion *ret = completions ? completions + done : device->completions;
                int r;

                r = execute_batch(device, commands + done, batch, ret);
                if (r < 0 && r != -EREMOTEIO)
                        return r;
                if (r < 0)
                        result = r;
                done += batch;
        }

        return result;
}

/* ---- the window ---- */

static size_t align(size_t bytes) {
        return (bytes + WIRE_ALIGNMENT - 1) & ~(size_t) (WIRE_ALIGNMENT - 1);
}

void *device_window_take(Device *device, size_t bytes) {
        void *piece;

        if (bytes > WIRE_WINDOW_MAX || align(bytes) > device_window_free(device) || !device->window)
                return NULL;

        piece = device->window + device->window_used;
        device->window_used += align(bytes);
        return piece;
}

void device_window_reset(Device *device) {
        device->window_used = 0;
}

uint32_t device_window_offset(const Device *device, const void *piece) {
        const uint8_t *byte = piece;

        assert(byte >= device->window && byte <= device->window + device->window_bytes);
        return (uint32_t) (byte - device->window);
}

size_t device_window_free(const Device *device) {
        return device->window_bytes - device->window_used;
}

/* ---- attributes ---- */

/* Text of a device goes into messages and records: nothing but what sysfs has, printable ASCII and line ends. */
static int copy_text(const uint8_t *text, uint32_t n, char ret[static ATTRIBUTE_TEXT_MAX]) {
        char copy[ATTRIBUTE_TEXT_MAX];

        if (n >= ATTRIBUTE_TEXT_MAX)
                return -EPROTO;

        memcpy(copy, text, n);
        for (uint32_t i = 0; i < n; i++)
                if ((copy[i] < ' ' || copy[i] > '~') && copy[i] != '\n' && copy[i] != '\t')
                        return -EPROTO;

        if (n > 0 && copy[n - 1] == '\n')
                n--;
        memcpy(ret, copy, n);
        ret[n] = '\0';
        return 0;
}

/* One slot is a path and the room for its text. */
static int attribute_command(Device *device, unsigned chip, const char *path, uint8_t *slot, WireCommand *ret) {
        size_t n = strlen(path);

        if (n == 0 || n >= ATTRIBUTE_PATH_MAX)
                return -EINVAL;

        memcpy(slot, path, n);
        *ret = (WireCommand) {
                .type = COMMAND_ATTRIBUTE,
                .chip = (uint8_t) chip,
                .in_offset = device_window_offset(device, slot),
                .in_bytes = (uint32_t) n,
                .out_offset = device_window_offset(device, slot) + ATTRIBUTE_PATH_MAX,
                .out_bytes = ATTRIBUTE_TEXT_MAX,
        };
        return 0;
}

static int read_slots(Device *device, unsigned chip, const char *const *paths, size_t n, uint8_t *slots,
                      char (*texts)[ATTRIBUTE_TEXT_MAX], int *ret_errors) {
        WireCommand commands[WIRE_BATCH_MAX];
        WireCompletion completions[WIRE_BATCH_MAX];
        int r;

        for (size_t i = 0; i < n; i++) {
                r = attribute_command(device, chip, paths[i], slots + i * ATTRIBUTE_SLOT, &commands[i]);
                if (r < 0)
                        return r;
        }

        r = device_execute(device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        for (size_t i = 0; i < n; i++) {
                ret_errors[i] = completions[i].status == STATUS_NRT_QUEUE_EMPTY ? -ENOENT : 0;
                texts[i][0] = '\0';
                if (ret_errors[i] < 0)
                        continue;
                if (completions[i].status != STATUS_NRT_SUCCESS) {
                        device->status = completions[i].status;
                        return completions[i].status == DEVICE_STATUS_GARBLED ? -EPROTO : -EREMOTEIO;
                }

                r = copy_text(slots + i * ATTRIBUTE_SLOT + ATTRIBUTE_PATH_MAX, completions[i].out_bytes, texts[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Attributes borrow what is free of the window and give it back, so that they can be read between other commands. */
int device_attributes(Device *device, unsigned chip, const char *const *paths, size_t n,
                      char (*texts)[ATTRIBUTE_TEXT_MAX], int *ret_errors) {
        size_t used = device->window_used, slots = MIN(device_window_free(device) / ATTRIBUTE_SLOT, WIRE_BATCH_MAX);
        int r = 0;

        if (slots == 0)
                return -ENOSPC;

        for (size_t done = 0; done < n && r >= 0;) {
                size_t batch = MIN(n - done, slots);

                r = read_slots(device, chip, paths + done, batch, device_window_take(device, batch * ATTRIBUTE_SLOT),
                               texts + done, ret_errors + done);
                device->window_used = used;
                done += batch;
        }

        return r;
}

static int attribute_error(uint32_t status) {
        switch (status) {
        case STATUS_NRT_SUCCESS:
                return 0;
        case STATUS_NRT_QUEUE_EMPTY:
                return -ENOENT;
        case STATUS_NRT_TIMEOUT:
                return -ETIMEDOUT;
        case DEVICE_STATUS_GARBLED:
                return -EPROTO;
        default:
                return -EREMOTEIO;
        }
}

static int read_slots_of(Device *device, const uint8_t *chips, const char *const *paths, size_t n, uint8_t *slots,
                         char (*texts)[ATTRIBUTE_TEXT_MAX], int *ret_errors) {
        WireCommand commands[WIRE_BATCH_MAX];
        WireCompletion completions[WIRE_BATCH_MAX];
        int r;

        for (size_t i = 0; i < n; i++) {
                r = attribute_command(device, chips[i], paths[i], slots + i * ATTRIBUTE_SLOT, &commands[i]);
                if (r < 0)
                        return r;
        }

        r = device_execute(device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        for (size_t i = 0; i < n; i++) {
                texts[i][0] = '\0';
                ret_errors[i] = attribute_error(completions[i].status);
                if (ret_errors[i] >= 0)
                        ret_errors[i] = copy_text(slots + i * ATTRIBUTE_SLOT + ATTRIBUTE_PATH_MAX,
                                                  completions[i].out_bytes, texts[i]);
        }

        return 0;
}

int device_attributes_of(Device *device, const uint8_t *chips, const char *const *paths, size_t n,
                         char (*texts)[ATTRIBUTE_TEXT_MAX], int *ret_errors) {
        size_t used = device->window_used, slots = MIN(device_window_free(device) / ATTRIBUTE_SLOT, WIRE_BATCH_MAX);
        int r = 0;

        if (slots == 0)
                return -ENOSPC;

        for (size_t done = 0; done < n && r >= 0;) {
                size_t batch = MIN(n - done, slots);

                r = read_slots_of(device, chips + done, paths + done, batch,
                                  device_window_take(device, batch * ATTRIBUTE_SLOT), texts + done, ret_errors + done);
                device->window_used = used;
                done += batch;
        }

        return r;
}

int device_attribute(Device *device, unsigned chip, const char *path, char ret[static ATTRIBUTE_TEXT_MAX]) {
        char text[1][ATTRIBUTE_TEXT_MAX];
        int error, r;

        r = device_attributes(device, chip, &path, 1, text, &error);
        if (r < 0)
                return r;
        if (error < 0)
                return error;

        memcpy(ret, text[0], strlen(text[0]) + 1);
        return 0;
}

static int parse_u64(const char *text, uint64_t *ret) {
        unsigned base = 10;
        uint64_t value = 0;

        if (text[0] == '0' && text[1] == 'x') {
                base = 16;
                text += 2;
        }
        if (*text == '\0')
                return -EPROTO;

        for (; *text; text++) {
                unsigned digit = *text >= '0' && *text <= '9' ? (unsigned) (*text - '0')
                                 : *text >= 'a' && *text <= 'f' ? (unsigned) (*text - 'a' + 10)
                                 : *text >= 'A' && *text <= 'F' ? (unsigned) (*text - 'A' + 10)
                                                                : 16;

                if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
                    __builtin_add_overflow(value, digit, &value))
                        return -EPROTO;
        }

        *ret = value;
        return 0;
}

int device_attribute_u64(Device *device, unsigned chip, const char *path, uint64_t *ret) {
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        r = device_attribute(device, chip, path, text);
        if (r < 0)
                return r;

        return parse_u64(text, ret);
}

/* One slot is path and text. */
static int write_command(Device *device, unsigned chip, const AttributeText *write, uint8_t *slot, WireCommand *ret) {
        size_t n_path = strlen(write->path), n_text = strlen(write->text);

        if (n_path == 0 || n_path >= ATTRIBUTE_PATH_MAX || n_text >= ATTRIBUTE_TEXT_MAX)
                return -EINVAL;

        memcpy(slot, write->path, n_path + 1);
        memcpy(slot + n_path + 1, write->text, n_text);
        *ret = (WireCommand) {
                .type = COMMAND_ATTRIBUTE_WRITE,
                .chip = (uint8_t) chip,
                .in_offset = device_window_offset(device, slot),
                .in_bytes = (uint32_t) (n_path + 1 + n_text),
        };
        return 0;
}

int device_attributes_write(Device *device, unsigned chip, const AttributeText *writes, size_t n) {
        WireCommand commands[ATTRIBUTE_WRITES_MAX];
        WireCompletion completions[ATTRIBUTE_WRITES_MAX];
        size_t used = device->window_used;
        uint8_t *slots;
        int r = 0;

        assert(n <= ATTRIBUTE_WRITES_MAX);

        slots = device_window_take(device, n * ATTRIBUTE_SLOT);
        if (!slots)
                return -ENOSPC;
        for (size_t i = 0; i < n && r >= 0; i++)
                r = write_command(device, chip, &writes[i], slots + i * ATTRIBUTE_SLOT, &commands[i]);
        device->window_used = used;
        if (r < 0)
                return r;

        r = device_execute(device, commands, n, completions);
        for (size_t i = 0; r == -EREMOTEIO && i < n; i++)
                if (completions[i].status == STATUS_NRT_QUEUE_EMPTY)
                        return -ENOENT;
        return r;
}

int device_attribute_write(Device *device, unsigned chip, const char *path, const char *text) {
        return device_attributes_write(device, chip, &(AttributeText) { path, text }, 1);
}
