/* SPDX-License-Identifier: Apache-2.0 */

/*
 * identity
 *
 * Is this chip the one that belongs here, once, and whole? All that it must tell about itself is listed first, so that
 * what is absent is found. What driver and firmware both know must agree; where it sits must agree with the torus; and no
 * other chip of the server, or of the scan, may carry its serial.
 *
 * The unit is the chip, not the server: one that does not answer costs its own step and nobody else's. Serials and
 * firmware versions of the neighbours come from the host's driver (../neuronN/…), which read them once and answers for
 * chips that hang.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/identity/parameters.h"
#include "checks/step/step.h"

typedef enum Fact {
        FACT_SERIAL,
        FACT_CONNECTED,
        FACT_CORES,
        FACT_ARCHITECTURE,
        FACT_DEVICE,
        FACT_MAILBOX_SERIAL,
        FACT_ROUTING_ID,
        FACT_TRAY,
        FACT_PART_NUMBER,
        FACT_PCI_ADDRESS,
        FACT_FIRMWARE,
        _FACT_MAX,
} Fact;

static const char *const facts[_FACT_MAX] = {
        [FACT_SERIAL]         = "info/serial_number",
        [FACT_CONNECTED]      = "connected_devices",
        [FACT_CORES]          = "core_count",
        [FACT_ARCHITECTURE]   = "info/architecture/arch_type",
        [FACT_DEVICE]         = "info/architecture/device_name",
        [FACT_MAILBOX_SERIAL] = "mailbox/serial",
        [FACT_ROUTING_ID]     = "mailbox/routing_id",
        [FACT_TRAY]           = "assay/tray",
        [FACT_PART_NUMBER]    = "assay/part_number",
        [FACT_PCI_ADDRESS]    = "assay/pci_address",
        [FACT_FIRMWARE]       = "assay/firmware",
};

/* Two chips of a tray stand beside each other in the firmware's numbering. */
static const uint8_t trays[CHIPS / 2][2] = {
        { 0, 3 }, { 4, 7 }, { 12, 15 }, { 8, 11 }, { 1, 2 }, { 5, 6 }, { 13, 14 }, { 9, 10 },
};

/* What the host's driver shows of all chips of the server. */
typedef struct Neighbours {
        char serials[CHIPS][ATTRIBUTE_TEXT_MAX];
        char versions[CHIPS][ATTRIBUTE_TEXT_MAX];
        int serial_errors[CHIPS], version_errors[CHIPS];
} Neighbours;

typedef char Facts[_FACT_MAX][ATTRIBUTE_TEXT_MAX];

static int mismatch(Step *step, Verdict *verdict, const char *expected, const char *actual, const char *what) {
        Evidence evidence = { .address = what, .expected = expected, .actual = actual, .decided = { "identity_facts_differing", 1, 0 } };

        return step_finding(step, verdict, "identity-mismatch", NULL, &evidence, "%s is \"%.64s\", expected \"%.64s\"", what,
                            actual, expected);
}

/* Sixteen lower-case hexadecimal digits that are not what unprogrammed or unreadable memory shows. */
static bool serial_is_plausible(const char *serial) {
        return strlen(serial) == 16 && strspn(serial, "0123456789abcdef") == 16 && strspn(serial, "0") < 16 &&
               strspn(serial, "f") < 16;
}

/* Where the firmware's numbering puts CHIP; its tray is half of that. */
static unsigned routing_id_of(unsigned chip) {
        unsigned id = 0;

        while (trays[id / 2][id % 2] != chip)
                id++;
        return id;
}

/* One chip that is away is the chip's, or its seat's; both of a tray are the tray's, which has one connector and one supply. */
static int find_absent(Step *step, Verdict *verdict) {
        const Evidence evidence = { .decided = { "identity_facts_missing", _FACT_MAX, 0 } };
        unsigned id = routing_id_of(step_chip(step)), sibling = trays[id / 2][1 - id % 2];

        if (!step_is_absent(step, step_unit(step)->server, sibling))
                return step_finding(step, verdict, "identity-missing", NULL, &evidence, "the driver shows no such device");
        return step_finding(step, verdict, "identity-tray-missing", NULL, &evidence, "the driver shows neither chip of tray %u, the other is chip%u",
                            id / 2, sibling);
}

/* Reads all there must be. Returns how many are absent, after the finding. An empty text is absent, but says that the device is there. */
static int read_facts(Step *step, Verdict *verdict, Facts texts) {
        int errors[_FACT_MAX], n = 0, n_empty = 0, r;
        const char *first = NULL;

        r = device_attributes(step_device(step), step_chip(step), facts, _FACT_MAX, texts, errors);
        if (r < 0)
                return step_error(step, r, "the identity of the chip cannot be read");
        for (unsigned i = 0; i < _FACT_MAX; i++)
                if (errors[i] < 0 || texts[i][0] == '\0') {
                        first = first ? first : facts[i];
                        n++;
                        n_empty += errors[i] >= 0;
                }
        if (n == 0)
                return 0;
        if (n_empty == _FACT_MAX)
                return step_error(step, -EPROTO, "every answer of the chip about itself is empty");
        if (n == _FACT_MAX && n_empty == 0)
                r = find_absent(step, verdict);
        else
                r = step_finding(step, verdict, "identity-missing", NULL, &(Evidence) { .address = first, .decided = { "identity_facts_missing", n, 0 } },
                                 "%d of %d facts about the chip are missing, the first is %s", n, _FACT_MAX, first);
        return r < 0 ? r : n;
}

static int judge_serial(Step *step, Verdict *verdict, Facts texts) {
        char expected[ATTRIBUTE_TEXT_MAX + 2];

        if (!serial_is_plausible(texts[FACT_SERIAL]))
                return step_finding(step, verdict, "identity-missing", NULL, &(Evidence) { .decided = { "identity_facts_differing", 1, 0 } },
                                    "\"%.64s\" is no serial number", texts[FACT_SERIAL]);
        (void) snprintf(expected, sizeof(expected), "0x%s", texts[FACT_SERIAL]);
        if (strcmp(expected, texts[FACT_MAILBOX_SERIAL]) != 0)
                return mismatch(step, verdict, expected, texts[FACT_MAILBOX_SERIAL], "the firmware's serial");
        return 0;
}

static int judge_kind(Step *step, Verdict *verdict, Facts texts) {
        static const struct {
                Fact fact;
                const char *expected;
        } kinds[] = {
                { FACT_ARCHITECTURE, "NCv3" },
                { FACT_DEVICE, "Trainium2" },
                { FACT_CORES, "8" },
        };

        for (size_t i = 0; i < ELEMENTS(kinds); i++)
                if (strcmp(texts[kinds[i].fact], kinds[i].expected) != 0) {
                        int r = mismatch(step, verdict, kinds[i].expected, texts[kinds[i].fact], facts[kinds[i].fact]);

                        if (r < 0)
                                return r;
                }
        return 0;
}

/* By the torus: one column or one row away, around the edges. */
static uint16_t neighbours_of(unsigned chip) {
        unsigned row = chip / 4, column = chip % 4;

        return (uint16_t) (1u << (row * 4 + (column + 1) % 4) | 1u << (row * 4 + (column + 3) % 4) |
                           1u << ((row + 1) % 4 * 4 + column) | 1u << ((row + 3) % 4 * 4 + column));
}

/* "12, 1, 3, 4" as bits, in any order; 0 for anything else. */
static uint16_t parse_connected(const char *text) {
        unsigned a, b, c, d;
        int end = -1;

        if (sscanf(text, "%2u, %2u, %2u, %2u%n", &a, &b, &c, &d, &end) < 4 || end < 0 || text[end] != '\0' || a >= CHIPS ||
            b >= CHIPS || c >= CHIPS || d >= CHIPS)
                return 0;
        return (uint16_t) (1u << a | 1u << b | 1u << c | 1u << d);
}

static int judge_position(Step *step, Verdict *verdict, Facts texts) {
        unsigned chip = step_chip(step), id = routing_id_of(chip);
        char expected[16];
        int r = 0;

        (void) snprintf(expected, sizeof(expected), "%u", id);
        if (strcmp(texts[FACT_ROUTING_ID], expected) != 0)
                r = mismatch(step, verdict, expected, texts[FACT_ROUTING_ID], "the firmware's routing id");
        (void) snprintf(expected, sizeof(expected), "%u", id / 2);
        if (r >= 0 && strcmp(texts[FACT_TRAY], expected) != 0)
                r = mismatch(step, verdict, expected, texts[FACT_TRAY], "the tray");
        if (r >= 0 && parse_connected(texts[FACT_CONNECTED]) != neighbours_of(chip))
                r = mismatch(step, verdict, "its four neighbours in the torus", texts[FACT_CONNECTED], "connected_devices");
        return r;
}

static int read_neighbours(Step *step, Neighbours *ret) {
        char serial_paths[CHIPS][ATTRIBUTE_PATH_MAX], version_paths[CHIPS][ATTRIBUTE_PATH_MAX];
        const char *serials[CHIPS], *versions[CHIPS];
        int r;

        for (unsigned i = 0; i < CHIPS; i++) {
                (void) snprintf(serial_paths[i], sizeof(serial_paths[i]), "../neuron%u/info/serial_number", i);
                (void) snprintf(version_paths[i], sizeof(version_paths[i]), "../neuron%u/assay/firmware", i);
                serials[i] = serial_paths[i];
                versions[i] = version_paths[i];
        }
        r = device_attributes(step_device(step), step_chip(step), serials, CHIPS, ret->serials, ret->serial_errors);
        if (r >= 0)
                r = device_attributes(step_device(step), step_chip(step), versions, CHIPS, ret->versions, ret->version_errors);
        if (r < 0)
                return step_error(step, r, "what the driver shows of the other chips cannot be read");
        /* A file that is there and empty is no answer, and must not look like another serial. */
        for (unsigned i = 0; i < CHIPS; i++)
                if ((ret->serial_errors[i] >= 0 && ret->serials[i][0] == '\0') ||
                    (ret->version_errors[i] >= 0 && ret->versions[i][0] == '\0'))
                        return step_error(step, -EPROTO, "the driver shows chip %u without serial or firmware", i);
        return 0;
}

static int find_carrier(Step *step, Verdict *verdict, const Location *other, const char *serial) {
        char text[LOCATION_STRING_MAX];

        location_format(other, text);
        return step_finding(step, verdict, "identity-duplicate", NULL, &(Evidence) { .actual = serial, .far_end = text, .decided = { "identity_serial_carriers", 1, 0 } },
                            "%s carries the same serial %.64s", text, serial);
}

/* The twin of another server: a scan of this one alone does not show it, so its pass is not to clear it. */
static int find_twin(Step *step, Verdict *verdict, const char *serial) {
        unsigned n = step_twin_servers(step);
        int r = 0;

        if (step_twin(step))
                r = find_carrier(step, verdict, step_twin(step), serial);
        if (r >= 0 && step_twin(step))
                r = step_note(step, "identity_found_with_servers", 1, "{server}", NULL);
        return r >= 0 && n > 0 ? step_note(step, "identity_tested_with_servers", n, "{server}", NULL) : r;
}

/* Both carriers of a serial are found, each by its own step: which of them is wrong nobody can say. */
static int judge_unique(Step *step, Verdict *verdict, Facts texts, const Neighbours *neighbours) {
        unsigned chip = step_chip(step), n = 0;
        int r;

        for (unsigned i = 0; i < CHIPS; i++) {
                Location other = *step_unit(step);

                if (neighbours->serial_errors[i] < 0)
                        continue;
                if (i == chip && strcmp(neighbours->serials[i], texts[FACT_SERIAL]) != 0) {
                        r = mismatch(step, verdict, texts[FACT_SERIAL], neighbours->serials[i], "the serial read from beside");
                        if (r < 0)
                                return r;
                }
                if (i == chip)
                        continue;
                n++;
                if (strcmp(neighbours->serials[i], texts[FACT_SERIAL]) != 0)
                        continue;
                (void) location_truncate(&other, LOCATION_SERVER);
                (void) location_append(&other, LOCATION_CHIP, i);
                r = find_carrier(step, verdict, &other, texts[FACT_SERIAL]);
                if (r < 0)
                        return r;
        }
        r = find_twin(step, verdict, texts[FACT_SERIAL]);
        if (r < 0)
                return r;
        if (n == 0)
                return step_error(step, -ENODATA, "no other chip of the server shows a serial to compare with");
        return step_note(step, "identity_serials_compared", n, "1", NULL);
}

/* The version that more than half of the chips that show one run; NULL where there is none. */
static const char *version_of_most(const Neighbours *neighbours) {
        unsigned n_shown = 0;

        for (unsigned i = 0; i < CHIPS; i++)
                n_shown += neighbours->version_errors[i] >= 0;
        for (unsigned i = 0; i < CHIPS; i++) {
                unsigned n = 0;

                for (unsigned k = 0; k < CHIPS; k++)
                        n += neighbours->version_errors[i] >= 0 && neighbours->version_errors[k] >= 0 &&
                             strcmp(neighbours->versions[i], neighbours->versions[k]) == 0;
                if (n * 2 > n_shown)
                        return neighbours->versions[i];
        }
        return NULL;
}

static int judge_firmware(Step *step, Verdict *verdict, Facts texts, const Neighbours *neighbours) {
        const IdentityParameters *parameters = step_parameters(step);
        bool told = parameters && parameters->firmware;
        const char *expected = told ? parameters->firmware : version_of_most(neighbours);
        Evidence evidence = { .expected = expected, .actual = texts[FACT_FIRMWARE], .decided = { "identity_firmware_differing", 1, 0 } };

        if (!expected)
                return step_finding(step, verdict, "identity-firmware", NULL, &evidence,
                                    "no firmware version runs on most chips of the server, this one runs %.64s",
                                    texts[FACT_FIRMWARE]);
        if (strcmp(expected, texts[FACT_FIRMWARE]) == 0)
                return 0;
        return step_finding(step, verdict, "identity-firmware", NULL, &evidence, "runs firmware %.64s, %s %.64s",
                            texts[FACT_FIRMWARE], told ? "the plan wants" : "most chips of the server run", expected);
}

static int identity_run(Step *step, Verdict *ret) {
        Verdict verdict = VERDICT_PASSED;
        Neighbours neighbours;
        Facts texts;
        int n_absent, r;

        n_absent = read_facts(step, &verdict, texts);
        if (n_absent < 0)
                return n_absent;
        if (n_absent > 0) {
                *ret = verdict; /* there is nothing to compare */
                return 0;
        }
        r = step_measure(step, "identity_facts_missing", 0, "1", LIMIT_EQUAL, 0, NULL);
        if (r < 0)
                return r;

        r = read_neighbours(step, &neighbours);
        if (r >= 0)
                r = judge_serial(step, &verdict, texts);
        if (r >= 0)
                r = judge_kind(step, &verdict, texts);
        if (r >= 0)
                r = judge_position(step, &verdict, texts);
        if (r >= 0)
                r = judge_unique(step, &verdict, texts, &neighbours);
        if (r >= 0)
                r = judge_firmware(step, &verdict, texts, &neighbours);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

const Check check_identity = {
        .name         = "identity",
        .summary      = "every chip is there, once, in its place, and runs the same firmware",
        .reads        = "info/serial_number, info/architecture, core_count, connected_devices, mailbox/{serial,routing_id}, "
                        "assay/{tray,part_number,pci_address,firmware}, serials and firmware of the other chips of the server",
        .codes        = (const char *const[]) { "identity-missing", "identity-tray-missing", "identity-duplicate", "identity-mismatch", "identity-firmware", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 30,
        .run          = identity_run,
};
