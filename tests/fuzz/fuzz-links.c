/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a device may answer to the checks of links, adapters, host links and collectives: the first byte says which check is run and whether
 * something is broken, every eight that follow are a lie: to which commands, from which of them on, and what becomes of the answer.
 * Every run ends, with a verdict; without lies with the right one, and what is broken in an adapter no few lies make pass.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/plan/plan.h"
#include "tests/hall-device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIES_MAX     8u
#define WINDOW       (4u << 20)
#define SICK         0x80u   /* in the first byte */
#define SICK_CHIP    3u
#define FAR_CHIP     0u      /* at the other end of its link-x+ */
#define ALWAYS       0x80u   /* in the sort of a lie: this and all that follow, else once */
#define ONE_CHIP     0x80u   /* in its type */
#define COMMANDS_MAX 200000u /* of a run, whatever it is answered */

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

typedef enum LieSort {
        LIE_FIRST,  /* result[0]: of arrivals, how many there are */
        LIE_SECOND, /* result[1]: how many were written */
        LIE_BYTES,  /* how many came back */
        LIE_DATA,   /* a bit of them */
        LIE_WORD,   /* eight of them */
        LIE_STATUS,
        LIE_TIME,
        LIE_BROKEN, /* nothing comes back at all */
        _LIE_SORT_MAX,
} LieSort;

typedef struct Lie { /* as in the input */
        uint8_t type; /* of the command, ONE_CHIP: to one chip alone, the upper four bits of AT */
        uint8_t sort; /* LieSort, ALWAYS */
        uint16_t at;  /* the number of the command among those of its type, and to that chip */
        uint32_t value;
} Lie;

typedef struct Liar {
        HallDevice *hall;
        size_t n;
        Lie lies[LIES_MAX];
        unsigned seen[_COMMAND_MAX][CHIPS + 1]; /* of each chip, and of all */
        size_t n_commands;
} Liar;

typedef struct Subject {
        const char *check;
        unsigned chip;
        const char *fault; /* of chip 3 */
        bool firm; /* found whatever few lies are told, but for one that has the whole chip silent: its evidence is of many commands. What other
                    * chips say hides nothing of this one. */
} Subject;

static const Subject subjects[] = {
        { "efa", WIRE_CHIP_ALL, "{at: us0-1/chip3/nic3, kind: packet-loss, rate: 0.5}", true },
        { "host-link", 3, "{at: us0-1/chip3, kind: host-link-narrowed, width: 2}", false },
        { "collective", WIRE_CHIP_ALL, "{at: us0-1/chip3/link-x+, kind: link-down}", false },
        { "neuronlink", WIRE_CHIP_ALL, "{at: us0-1/chip3/link-x+/lane7, kind: lane-dead}", true },
};

static int spoil_bytes(const Liar *liar, const WireCommand *command, const WireCompletion *completion, uint32_t value, bool word) {
        uint32_t bytes = completion->out_bytes < command->out_bytes ? completion->out_bytes : command->out_bytes;
        uint8_t *out = liar->hall->reach.window + command->out_offset;
        const uint64_t eight = value * UINT64_C(0x0100000001000001);

        if (bytes > 0 && !word)
                out[(value >> 3) % bytes] ^= (uint8_t) (1u << (value & 7));
        else if (bytes >= sizeof(eight))
                memcpy(out + value % (bytes / sizeof(eight)) * sizeof(eight), &eight, sizeof(eight));
        return 0;
}

static int tell(const Liar *liar, const Lie *lie, const WireCommand *command, WireCompletion *completion) {
        /* Small numbers, and huge ones. */
        uint64_t value = lie->value >> 24 == 0xff ? UINT64_MAX - (lie->value & 0xffffff) : lie->value;
        LieSort sort = (LieSort) ((lie->sort & ~ALWAYS) % _LIE_SORT_MAX);

        switch ((int) sort) {
        case LIE_FIRST:
                completion->result[0] = value;
                return 0;
        case LIE_SECOND:
                completion->result[1] = value;
                return 0;
        case LIE_BYTES:
                completion->out_bytes = (uint32_t) value;
                return 0;
        case LIE_DATA:
        case LIE_WORD:
                return spoil_bytes(liar, command, completion, lie->value, sort == LIE_WORD);
        case LIE_STATUS:
                completion->status = (uint32_t) value;
                return 0;
        case LIE_TIME:
                completion->device_nsec = value;
                return 0;
        default:
                return -(int) (lie->value % 133) - 1;
        }
}

static bool is_told(const Lie *lie, const WireCommand *command, const unsigned *seen) {
        unsigned at = seen[CHIPS], wanted = lie->at;

        if ((lie->type & ~ONE_CHIP) % _COMMAND_MAX != command->type)
                return false;
        if (lie->type & ONE_CHIP) {
                if (command->chip != lie->at >> 12)
                        return false;
                at = seen[MIN(command->chip, CHIPS - 1)];
                wanted = lie->at & 0xfff;
        }
        return lie->sort & ALWAYS ? at >= wanted : at == wanted;
}

static int liar_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        Liar *liar = userdata;
        int r;

        liar->n_commands += n;
        HOLDS(liar->n_commands <= COMMANDS_MAX);
        r = hall_execute(liar->hall, commands, n, completions, deadline_usec);
        for (size_t i = 0; i < n && r >= 0; i++) {
                unsigned *seen = liar->seen[commands[i].type];

                for (size_t k = 0; k < liar->n && r >= 0; k++)
                        if (is_told(&liar->lies[k], &commands[i], seen))
                                r = tell(liar, &liar->lies[k], &commands[i], &completions[i]);
                seen[MIN(commands[i].chip, CHIPS - 1)]++;
                seen[CHIPS]++;
        }
        return r;
}

static void liar_close(void *userdata) {
        hall_close(((Liar *) userdata)->hall);
}

static const DeviceTransport liar_transport = { .execute = liar_execute, .close = liar_close };

static Verdict judge(Liar *liar, const Subject *subject, bool sick, Found *found) {
        char text[512];
        Verdict verdict;
        Device *device;

        (void) snprintf(text, sizeof(text), "scenario: fuzz\nseed: 5\ntopology: {ultraservers: 1}\nfaults: [%s]\n", sick ? subject->fault : "");
        liar->hall = hall_device_new(text, "us0-1", subject->chip, WINDOW);
        HOLDS(liar->hall);
        device = hall_connect(liar->hall, &liar_transport, liar);
        HOLDS(device);
        verdict = hall_scan(device, check_find(subject->check), *check_word_find(subject->check)->parameters_defaults, found);
        (void) device_free(device);
        return verdict;
}

/* What is said of the chip that is broken alone: steps on a server pass on what a chip is to blame for, not whom they could not judge. */
static bool part_passed(const Found *found) {
        return strstr(found->lines, "\"part\":\"us0-1/chip3\",\"verdict\":\"PASSED\"");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        bool sick = size > 0 && data[0] & SICK, silenced = false, others = true;
        const Subject *subject;
        static Found found;
        Liar liar = {};
        Verdict verdict;
        bool passed;

        if (size < 1)
                return 0;
        subject = &subjects[(data[0] & ~SICK) % ELEMENTS(subjects)];
        for (size_t at = 1; at + sizeof(Lie) <= size && liar.n < LIES_MAX; at += sizeof(Lie)) {
                Lie *lie = &liar.lies[liar.n++];

                memcpy(lie, data + at, sizeof(*lie));
                silenced |= (lie->type & ~ONE_CHIP) % _COMMAND_MAX == COMMAND_ATTRIBUTE;
                others &= lie->type & ONE_CHIP && lie->at >> 12 != SICK_CHIP && lie->at >> 12 != FAR_CHIP && (lie->sort & ~ALWAYS) % _LIE_SORT_MAX != LIE_BROKEN;
        }

        verdict = judge(&liar, subject, sick, &found);
        HOLDS(verdict >= 0 && verdict < _VERDICT_MAX);
        passed = verdict == VERDICT_PASSED && (subject->chip != WIRE_CHIP_ALL || part_passed(&found));
        HOLDS(!sick || !((subject->firm && !silenced) || others) || !passed);
        HOLDS(sick || liar.n > 0 || verdict == VERDICT_PASSED);
        return 0;
}
