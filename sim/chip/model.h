/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Model
 *
 * What a part of a simulated chip is made of: state, commands, attributes and the kinds of fault that can sit in it. A
 * model is one file that ends in its declaration `const Model model_<name>`; the server of the port, the scenario
 * reader, `kinds` and `qualify` read the tables and know no model by name.
 *
 * Rules: no wall clock; every random draw is a hash of (seed, location, that part's command number), draw_u64();
 * one thread per UltraServer, so a model never locks; state for 64 chips stays small (allocate bulk lazily).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/yaml.h"
#include "checks/vocabulary/location.h"
#include "checks/wire/wire.h"

typedef struct Chip Chip; /* sim/chip/chip.h */
typedef struct Model Model;
typedef struct FaultKind FaultKind;

typedef enum Persistence {
        PERSISTENCE_PERMANENT    = 1 << 0,
        PERSISTENCE_INTERMITTENT = 1 << 1, /* active with `probability` at each command of its part */
        PERSISTENCE_TRANSIENT    = 1 << 2, /* active once, in the first command that starts `after` device seconds or later */
} Persistence;

typedef enum Trigger {
        TRIGGER_TEMPERATURE = 1 << 0, /* `above`: only while the chip is hotter than this, in °C */
        TRIGGER_ACTIVITY    = 1 << 1, /* `after_commands`: only once the part has run so many */
        TRIGGER_DROOP       = 1 << 2, /* `droop`: only in commands in which the part's supply sags by at least so many mV */
} Trigger;

typedef enum FaultFamily {
        FAMILY_MEMORY,
        FAMILY_COMPUTE,
        FAMILY_LINKS,
        FAMILY_TELEMETRY,
        _FAMILY_MAX,
} FaultFamily;

/* A fault as injected. Owned by the chip; a model keeps pointers to it from inject() to heal(). */
typedef struct Fault {
        uint64_t id; /* counts up over the life of the simulator */
        const FaultKind *kind;
        Location at;
        Persistence persistence;
        double probability; /* intermittent, 0 … 1 */
        double after;       /* transient, device seconds */
        double above;       /* °C; -INFINITY without the trigger */
        uint64_t after_commands;
        double droop;       /* mV; 0 without the trigger */
        void *parameters; /* the kind's own struct, zeroed and then read by its table; userdata of its readers is the Fault */
        char *words;    /* what else its text says, "rate: 0.1, direction: send", for those who list faults; NULL: nobody wrote it */
        uint64_t fired; /* transient: in which command it acted, 0 before; kept by fault_is_active() */
} Fault;

/* What a right finding of one fault says: one of the codes, at one of the places. */
#define DIAGNOSIS_PLACES_MAX 4u
typedef struct Diagnosis {
        const char *const *codes; /* of the catalogue, ends with NULL; NULL: the kind does not say, any is right */
        unsigned n_places;
        Location places[DIAGNOSIS_PLACES_MAX];
} Diagnosis;

typedef struct Sample Sample; /* a fault that `qualify` draws, below */

struct FaultKind {
        const char *name; /* kebab-case; NULL ends the table */
        const char *summary;
        FaultFamily family;
        const LocationKind *at; /* where it can sit, ends with _LOCATION_KIND_INVALID */
        unsigned persistence;   /* Persistence allowed */
        unsigned triggers;      /* Trigger allowed */
        size_t parameters_bytes;
        const YamlField *parameters; /* NULL: none */
        /* Beyond ranges: NULL, or returns 0, or -EINVAL with a static sentence. */
        int (*validate)(const Fault *fault, const char **ret_wrong);
        /* Why no scan can see this very fault, decided by the fault alone; NULL, also in place of the function, where a scan can. */
        const char *(*undetectable)(const Fault *fault);
        /* Felt on other chips too, so that nothing else can be judged on a server that has one. */
        bool is_shared;
        /* What a right diagnosis calls it; and, or NULL, what this very fault has different: *diagnosis starts as these
         * codes at the fault's own place. */
        const char *const *codes;
        void (*diagnose)(const Fault *fault, Diagnosis *diagnosis);
        /* Draws what the ranges of the table cannot say, or NULL. 0, or a negative errno. What it leaves out is drawn from the
         * ranges; what the simulator then refuses is drawn anew. */
        int (*sample)(Sample *sample);
};

#define FAULT_CODES(...) ((const char *const[]) { __VA_ARGS__, NULL })

typedef struct NoiseRates { /* events per chip and hour of device time, see sim/fleet/noise.h */
        double soft_errors, corrected;
        double retransmissions; /* of packets, as a share */
        double step_times; /* standard deviation of chips, as a share: how long their CC-cores take */
} NoiseRates;

typedef enum SramEcc { /* what guards the words of an SRAM array, see sim/sram/ecc.h */
        SRAM_ECC_NONE,
        SRAM_ECC_PARITY,
        SRAM_ECC_SECDED,
        _SRAM_ECC_MAX,
} SramEcc;

typedef struct TensorSettings { /* of the tensor engines; zero unless a scenario says otherwise */
        bool ftz;
        uint8_t absent; /* formats that they do not have, a bit per WireFormat */
} TensorSettings;

/* One command on its way. The in and out areas are checked to lie in the window. */
typedef struct Execution {
        Chip *chip;
        const WireCommand *command;
        const uint8_t *in; /* command->in_bytes; shared with the client: read once */
        uint8_t *out;      /* command->out_bytes */
        const uint8_t *window; /* all of it, for the few commands that name a second offset; check against window_bytes */
        size_t window_bytes;
        uint64_t number;       /* of commands this part has run, from 0: for draw_u64() */
        uint64_t start_nsec;   /* device time at which it starts on its engine */
        double sag;            /* of the part's supply in this command, in mV: set by models that let it sag, before they ask */
        WireCompletion *completion; /* zeroed; the model sets status, out_bytes, device_nsec, result */
} Execution;

typedef struct Attribute {
        const char *path; /* in the Neuron sysfs layout, relative to neuronN/. %u stands for the part's index: of
                           * ports also their name (x+), in attributes of a chip for any chip of the server */
        int (*read)(void *state, Chip *chip, unsigned index, char *text, size_t size); /* 0, or -ENOENT */
        int (*write)(void *state, Chip *chip, unsigned index, const char *text);       /* NULL: read-only */
} Attribute;

/* One per part of a chip: LOCATION_CHIP 1, LOCATION_CORE 8, LOCATION_HBM 4, LOCATION_LINK 6, LOCATION_NIC 1. */
struct Model {
        const char *name;
        LocationKind part;
        size_t state_size; /* zeroed before init */
        int (*init)(void *state, Chip *chip, unsigned index);
        void (*done)(void *state);
        /* 0 when the completion is set; negative: the simulator itself failed (ENOMEM), answered as STATUS_NRT_RESOURCE. */
        int (*commands[_COMMAND_MAX])(void *state, Execution *execution);
        const Attribute *attributes; /* ends with {} */
        const FaultKind *const *faults; /* tables that end with {}, then NULL; models may share one */
        /* Where FAULT is kept, by models with a place for one fault each; they have neither of the two below. */
        const Fault **(*place)(void *state, const Fault *fault);
        int (*inject)(void *state, const Fault *fault); /* 0, -ENOMEM, -EEXIST (two on one spot that cannot both be) */
        void (*heal)(void *state, const Fault *fault);
        void (*reset)(void *state); /* core or chip reset; NULL: nothing to do */
        bool (*has_replaced)(void *state, const Fault *fault); /* what the fault sat in was replaced since; NULL: nothing ever is */
        void (*release)(void *state, const void *client); /* its connection has closed: what it held ends; NULL: nothing can be held */
};

const Model *model_at(size_t index); /* the generated list; NULL past the end */

/* ---- what a model may ask of the chip it is in (sim/chip/chip.c) ---- */

uint64_t chip_seed(const Chip *chip);
const char *chip_server_name(const Chip *chip);
unsigned chip_index(const Chip *chip);
bool chip_is_occupied(const Chip *chip);   /* it carries work */
double chip_temperature(const Chip *chip); /* °C */
bool chip_write_wins(const Chip *chip);    /* by default, where one access writes a cell and what disturbs it */
unsigned chip_hbm_part(const Chip *chip);  /* index of hbm_parts */
uint64_t chip_newest_fault(const Chip *chip); /* id of the newest that still counts as injected; 0: there is none */
NoiseRates chip_noise(const Chip *chip);   /* what sound chips do on their own; all zero unless a scenario says so */
bool chip_hangs(const Chip *chip); /* answers nothing now: its links do not train, its NIC is unreachable */
unsigned chip_sram_ecc(const Chip *chip, WireArray array); /* SramEcc: which code guards it */
TensorSettings chip_tensor(const Chip *chip);
uint64_t chip_nsec(const Chip *chip);      /* the chip's clock */
const void *chip_client(const Chip *chip); /* whose command this is: tells connections that are open from each other, no more */
void chip_advance(Chip *chip, uint64_t nsec); /* moves the clock to at least nsec: the later end of a link command */
/* State of another part of the same chip, or of another chip of the UltraServer; NULL if there is none. */
void *chip_part(Chip *chip, const Model *model, unsigned index);
Chip *chip_neighbour(Chip *chip, LinkPort port);                 /* by the torus and ring as designed; NULL: no such port */
/* Any chip of the hall. Of another UltraServer only one that the command on its way names: see port.c. */
Chip *chip_find(Chip *chip, const char *server, unsigned index);

/* Whether FAULT acts in this command: persistence, probability and triggers in one place. */
bool fault_is_active(const Fault *fault, const Execution *execution);

/* A random number that depends on nothing but its arguments and the scenario's seed. */
uint64_t draw_u64(const Chip *chip, const Location *at, uint64_t number, uint64_t draw);
/* The same in two steps, for parts that draw in every command. */
uint64_t draw_seed(const Chip *chip, const Location *at);
uint64_t draw_from(uint64_t seed, uint64_t number, uint64_t draw);
double draw_uniform(const Chip *chip, const Location *at, uint64_t number, uint64_t draw); /* [0, 1) */
/* How many of N independent trials succeed with probability P: exact for small N × P, else normal. */
uint64_t draw_binomial(const Chip *chip, const Location *at, uint64_t number, uint64_t draw, uint64_t n, double p);

/* The ECC and error counters that sysfs and the mailbox show, one set per chip (sim/chip/telemetry.c). */
typedef enum Counter {
        COUNTER_MEM_ECC_CORRECTED,
        COUNTER_MEM_ECC_UNCORRECTED,
        COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED,
        COUNTER_SRAM_ECC_CORRECTED,
        COUNTER_SRAM_ECC_UNCORRECTED,
        _COUNTER_MAX,
} Counter;

/* STACK: which HBM stack (for the mailbox words); 0 for SRAM. */
void chip_count(Chip *chip, Counter counter, unsigned stack, uint64_t n);

/* ---- what a kind may ask while a fault of it is drawn (sim/chip/sample.c): all of it follows from the seed ---- */

const char *sample_kind(const Sample *sample); /* its name */
Location *sample_at(Sample *sample); /* drawn already; may be changed below its chip */
bool sample_has_ring(const Sample *sample); /* z links are there */
uint64_t sample_below(Sample *sample, uint64_t n);                    /* 0 … n - 1; 0 for n 0 */
double sample_between(Sample *sample, double low, double high);       /* by magnitude where the range spans two of them */
/* Writes "KEY: …" into the fault; that key is then not drawn. */
void sample_key(Sample *sample, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
