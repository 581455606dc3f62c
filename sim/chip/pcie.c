/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pcie
 *
 * The PCIe links to the host, of the chip and of the adapter beside it: eight lanes of 32 GT/s each, over a cable to the CPU tray. That the
 * chip has x8 of its tray's x16 is public; the adapter's width is chosen by us, as 200 Gb/s need it. What the links are stands in
 * attributes as Linux names them; what they reach only a transfer tells.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "sim/chip/model.h"

#define LANES          8u
#define START_NSEC     1000u
#define TRANSFER_MAX   (UINT64_C(1) << 30)
#define PAYLOAD        256.0 /* of a transaction */
#define OVERHEAD       26.0  /* its header, framing and share of acknowledgements */
#define SHARE_SOUND    0.88  /* 80 % of the raw rate, which the check asks for, of the 91 % that payloads have */
#define SAMPLE_ERRORS  400.0 /* per GiB, qualify draws no fewer: a scan moves an eighth of that */

typedef enum HostLink {
        HOST_LINK_CHIP,
        HOST_LINK_ADAPTER,
        _HOST_LINK_MAX,
} HostLink;

enum { KIND_NARROWED, KIND_SLOWED, KIND_THROTTLED, KIND_ERRORS, _KIND_MAX };

typedef struct Pcie {
        Chip *chip;
        const Fault *faults[_HOST_LINK_MAX][_KIND_MAX];
        uint64_t errors[_HOST_LINK_MAX]; /* correctable, as AER counts them */
} Pcie;

typedef struct WidthParameters {
        int width;
} WidthParameters;

typedef struct SpeedParameters {
        int speed;
} SpeedParameters;

typedef struct ShareParameters {
        double share;
} ShareParameters;

typedef struct ErrorParameters {
        double rate;
} ErrorParameters;

extern const Model model_pcie;

static const char *const width_words[] = { "1", "2", "4", NULL };
static const uint8_t widths[] = { 1, 2, 4 };
static const char *const speed_words[] = { "2.5", "5", "8", "16", NULL };
/* The last one is what they are built for. 8b/10b up to 5 GT/s, then 128b/130b. */
static const struct {
        const char *text;
        double gbps;
} speeds[] = {
        { "2.5 GT/s PCIe", 2.5 * 8 / 10 },     { "5.0 GT/s PCIe", 5.0 * 8 / 10 },       { "8.0 GT/s PCIe", 8.0 * 128 / 130 },
        { "16.0 GT/s PCIe", 16.0 * 128 / 130 }, { "32.0 GT/s PCIe", 32.0 * 128 / 130 },
};

static unsigned width_of(const Pcie *pcie, HostLink link) {
        const Fault *fault = pcie->faults[link][KIND_NARROWED];

        return fault ? widths[((const WidthParameters *) fault->parameters)->width] : LANES;
}

static unsigned speed_of(const Pcie *pcie, HostLink link) {
        const Fault *fault = pcie->faults[link][KIND_SLOWED];

        return fault ? (unsigned) ((const SpeedParameters *) fault->parameters)->speed : ELEMENTS(speeds) - 1;
}

/* ---- transfers ---- */

static double share_of(const Pcie *pcie, HostLink link, const Execution *execution) {
        const Fault *fault = pcie->faults[link][KIND_THROTTLED];

        return fault && fault_is_active(fault, execution) ? ((const ShareParameters *) fault->parameters)->share : 1;
}

static uint64_t draw_errors(const Pcie *pcie, HostLink link, const Execution *execution, uint64_t bytes) {
        const Fault *fault = pcie->faults[link][KIND_ERRORS];
        double mean;

        if (!fault || !fault_is_active(fault, execution))
                return 0;
        mean = ((const ErrorParameters *) fault->parameters)->rate * (double) bytes / (double) TRANSFER_MAX;
        /* Transactions are many and each is rarely hit. */
        return draw_binomial(pcie->chip, &fault->at, execution->number, 0, bytes / (uint64_t) PAYLOAD + 1,
                             fmin(mean / ((double) bytes / PAYLOAD + 1), 1));
}

static int host_transfer(void *state, Execution *execution) {
        const WireHostTransfer *transfer = &execution->command->host_transfer;
        HostLink link = transfer->adapter ? HOST_LINK_ADAPTER : HOST_LINK_CHIP;
        Pcie *pcie = state;
        double gbps;

        if (transfer->bytes == 0 || transfer->bytes > TRANSFER_MAX || transfer->adapter > 1 || transfer->to_host > 1) {
                execution->completion->status = STATUS_NRT_INVALID;
                execution->completion->device_nsec = START_NSEC;
                return 0;
        }

        gbps = width_of(pcie, link) * speeds[speed_of(pcie, link)].gbps * PAYLOAD / (PAYLOAD + OVERHEAD) * share_of(pcie, link, execution);
        pcie->errors[link] += draw_errors(pcie, link, execution, transfer->bytes);
        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->result[0] = transfer->bytes;
        execution->completion->device_nsec = START_NSEC + (uint64_t) ((double) transfer->bytes * 8 / gbps);
        return 0;
}

/* ---- attributes ---- */

static int print_errors(const Pcie *pcie, HostLink link, char *text, size_t size) {
        (void) snprintf(text, size,
                        "RxErr 0\nBadTLP %" PRIu64 "\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\n"
                        "TOTAL_ERR_COR %" PRIu64, pcie->errors[link], pcie->errors[link]);
        return 0;
}

#define LINK_FILES(word, link)                                                                               \
        static int read_##word##_width(void *state, Chip *chip, unsigned index, char *text, size_t size) {   \
                (void) snprintf(text, size, "%u", width_of(state, link));                                    \
                return 0;                                                                                    \
        }                                                                                                    \
        static int read_##word##_speed(void *state, Chip *chip, unsigned index, char *text, size_t size) {   \
                (void) snprintf(text, size, "%s", speeds[speed_of(state, link)].text);                       \
                return 0;                                                                                    \
        }                                                                                                    \
        static int read_##word##_errors(void *state, Chip *chip, unsigned index, char *text, size_t size) {  \
                return print_errors(state, link, text, size);                                                \
        }                                                                                                    \
        struct link_files_##word##_needs_a_semicolon

LINK_FILES(chip, HOST_LINK_CHIP);
LINK_FILES(adapter, HOST_LINK_ADAPTER);

static int read_max_width(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%u", LANES);
        return 0;
}

static int read_max_speed(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%s", speeds[ELEMENTS(speeds) - 1].text);
        return 0;
}

static const Attribute attributes[] = {
        { "device/current_link_width",       read_chip_width,     NULL },
        { "device/current_link_speed",       read_chip_speed,     NULL },
        { "device/max_link_width",           read_max_width,      NULL },
        { "device/max_link_speed",           read_max_speed,      NULL },
        { "device/aer_dev_correctable",      read_chip_errors,    NULL },
        { "efa/device/current_link_width",   read_adapter_width,  NULL },
        { "efa/device/current_link_speed",   read_adapter_speed,  NULL },
        { "efa/device/max_link_width",       read_max_width,      NULL },
        { "efa/device/max_link_speed",       read_max_speed,      NULL },
        { "efa/device/aer_dev_correctable",  read_adapter_errors, NULL },
        {},
};

/* ---- faults ---- */

static const LocationKind at_either[] = { LOCATION_CHIP, LOCATION_NIC, _LOCATION_KIND_INVALID };

static const YamlField width_parameters[] = {
        YAML_WORD("width", WidthParameters, width, width_words, .required = true, .summary = "lanes that are left, of 8"),
        {}
};

static const YamlField speed_parameters[] = {
        YAML_WORD("speed", SpeedParameters, speed, speed_words, .required = true, .summary = "GT/s of each lane, not 32"),
        {}
};

static const YamlField share_parameters[] = {
        YAML_NUMBER("share", ShareParameters, share, 0.01, 0.999, .required = true, .summary = "of its rate that transfers reach"),
        {}
};

static const YamlField error_parameters[] = {
        YAML_NUMBER("rate", ErrorParameters, rate, 0.01, 1e6, .required = true, .summary = "correctable errors in a GiB that is moved"),
        {}
};

static int validate_place(const Fault *fault, const char **ret_wrong) {
        int nic = location_index(&fault->at, LOCATION_NIC);

        *ret_wrong = "the adapter has the number of its chip";
        return nic >= 0 && nic != location_index(&fault->at, LOCATION_CHIP) ? -EINVAL : 0;
}

static const char *undetectable_share(const Fault *fault) {
        const ShareParameters *share = fault->parameters;

        return share->share >= SHARE_SOUND ? "a sound link may move as little: 80 % of its raw rate" : NULL;
}

static int sample_errors(Sample *sample) {
        sample_key(sample, "rate", "%.3g", sample_between(sample, SAMPLE_ERRORS, 1e6));
        return 0;
}

#define HOST_LINK_KIND(word, text, type, table, code)                                                        \
        .name = word, .summary = text, .family = FAMILY_LINKS, .at = at_either, .parameters_bytes = sizeof(type),                    \
        .parameters = table, .validate = validate_place, .codes = FAULT_CODES(code)

static const FaultKind kinds[_KIND_MAX + 1] = {
        [KIND_NARROWED] = { HOST_LINK_KIND("host-link-narrowed", "the PCIe link to the host trained with fewer lanes", WidthParameters,
                                           width_parameters, "host-link"), .persistence = PERSISTENCE_PERMANENT },
        [KIND_SLOWED] = { HOST_LINK_KIND("host-link-slowed", "the PCIe link to the host trained at a lower speed", SpeedParameters,
                                         speed_parameters, "host-link"), .persistence = PERSISTENCE_PERMANENT },
        [KIND_THROTTLED] = { HOST_LINK_KIND("host-link-throttled", "the PCIe link to the host looks right, and transfers are slow",
                                            ShareParameters, share_parameters, "host-link"),
                             .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT, .undetectable = undetectable_share },
        [KIND_ERRORS] = { HOST_LINK_KIND("host-link-errors", "the PCIe link to the host has errors that it corrects", ErrorParameters,
                                         error_parameters, "host-link-errors"),
                          .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT, .sample = sample_errors },
        {}
};

static const Fault **place(void *state, const Fault *fault) {
        Pcie *pcie = state;

        return &pcie->faults[location_kind(&fault->at) == LOCATION_NIC ? HOST_LINK_ADAPTER : HOST_LINK_CHIP][fault->kind - kinds];
}

static int pcie_init(void *state, Chip *chip, unsigned index) {
        Pcie *pcie = state;

        pcie->chip = chip;
        return 0;
}

const Model model_pcie = {
        .name       = "pcie",
        .part       = LOCATION_CHIP,
        .state_size = sizeof(Pcie),
        .init       = pcie_init,
        .commands   = { [COMMAND_HOST_TRANSFER] = host_transfer },
        .attributes = attributes,
        .faults     = (const FaultKind *const[]) { kinds, NULL },
        .place      = place,
};
