/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sram
 *
 * The on-chip memory of a core: SBUF, 128 partitions of 224 KiB, and PSUM, 128 partitions of 8 banks of 2 KiB. Marches and
 * copies are those of any memory (sim/memory/). Which array has which code is the scenario's to say (`sram:`), by default
 * SECDED in SBUF and parity in PSUM. A command through the code that met an uncorrected error ends with STATUS_NRT_NC_UE, and
 * its results stand.
 *
 * The tensor engine adds up in this PSUM (sim/sram/psum.c). A reset leaves the arrays as they are: there are no spare rows that it
 * could put in.
 */

#include "sim/sram/sram.h"

#include <errno.h>
#include <stdio.h>

#include "sim/memory/cells/faults.h"
#include "sim/sram/psum.h"

#define RULES(what)                                                                                          \
        {                                                                                                    \
                .bytes_per_nsec     = SRAM_BYTES_PER_NSEC,                                                   \
                .decode             = what,                                                                  \
                .box_of             = sram_box_of,                                                           \
                .corrected          = COUNTER_SRAM_ECC_CORRECTED,                                            \
                .uncorrected        = COUNTER_SRAM_ECC_UNCORRECTED,                                          \
                .uncorrected_status = STATUS_NRT_NC_UE,                                                      \
        }

static const MemoryRules rules[_SRAM_ECC_MAX] = {
        [SRAM_ECC_NONE]   = RULES(sram_decode_none),
        [SRAM_ECC_PARITY] = RULES(sram_decode_parity),
        [SRAM_ECC_SECDED] = RULES(sram_decode_secded),
};

static uint64_t power_up_seed(const Chip *chip, unsigned core, WireArray array) {
        uint64_t place = (chip_index(chip) * CORES + core) * _ARRAY_MAX + array;

        return memory_splitmix64(chip_seed(chip) ^ memory_splitmix64(0x7372616d00u + place));
}

static int sram_init(void *state, Chip *chip, unsigned core) {
        Sram *sram = state;
        int r;

        for (WireArray array = 0; array < _ARRAY_MAX; array++) {
                r = memory_init(&sram->arrays[array], &rules[chip_sram_ecc(chip, array)], chip, 0,
                                array == ARRAY_SBUF ? SRAM_SBUF_SHAPE_TEXT : SRAM_PSUM_SHAPE_TEXT,
                                power_up_seed(chip, core, array));
                if (r < 0)
                        return r;
        }

        return sram_psum_attach(sram, chip, core);
}

static void sram_done(void *state) {
        Sram *sram = state;

        for (unsigned array = 0; array < _ARRAY_MAX; array++)
                memory_done(&sram->arrays[array]);
}

int sram_reshape(Sram *sram, WireArray array, const char *geometry, SramEcc ecc) {
        Memory *memory = &sram->arrays[array];
        Chip *chip = memory->chip;
        MemoryShape shape;

        if (!memory_is_sound(memory))
                return -EBUSY;
        if (memory_shape_parse(geometry, &shape) < 0)
                return -EINVAL;

        memory_done(memory);
        return memory_init(memory, &rules[ecc], chip, 0, geometry, power_up_seed(chip, 0, array));
}

/* ---- commands ---- */

static int refuse(Execution *execution) {
        execution->completion->status = STATUS_NRT_INVALID;
        return 0;
}

static int sram_march(void *state, Execution *execution) {
        unsigned array = execution->command->march.array;

        if (array == ARRAY_PSUM)
                return sram_psum_march(state, execution);
        return array < _ARRAY_MAX ? memory_march(&((Sram *) state)->arrays[array], execution) : refuse(execution);
}

static int sram_copy_in(void *state, Execution *execution) {
        unsigned array = execution->command->copy.array;

        return array < _ARRAY_MAX ? memory_copy_in(&((Sram *) state)->arrays[array], execution) : refuse(execution);
}

static int sram_copy_out(void *state, Execution *execution) {
        unsigned array = execution->command->copy.array;

        return array < _ARRAY_MAX ? memory_copy_out(&((Sram *) state)->arrays[array], execution) : refuse(execution);
}

/* ---- attributes: facts of the chip, the same for all of its cores ---- */

static int read_geometry(const Sram *sram, WireArray array, char *text, size_t size) {
        char buffer[MEMORY_SHAPE_TEXT_MAX];

        (void) snprintf(text, size, "%s", memory_shape_format(&sram->arrays[array].shape, buffer));
        return 0;
}

static int read_ecc(const Sram *sram, WireArray array, char *text, size_t size) {
        (void) snprintf(text, size, "%s", sram_ecc_words[sram->arrays[array].rules - rules]);
        return 0;
}

static int read_sbuf_geometry(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return read_geometry(state, ARRAY_SBUF, text, size);
}

static int read_psum_geometry(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return read_geometry(state, ARRAY_PSUM, text, size);
}

static int read_sbuf_ecc(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return read_ecc(state, ARRAY_SBUF, text, size);
}

static int read_psum_ecc(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return read_ecc(state, ARRAY_PSUM, text, size);
}

static const Attribute attributes[] = {
        { "assay/sram/sbuf/geometry", read_sbuf_geometry, NULL },
        { "assay/sram/psum/geometry", read_psum_geometry, NULL },
        { "assay/sram/sbuf/ecc",      read_sbuf_ecc,      NULL },
        { "assay/sram/psum/ecc",      read_psum_ecc,      NULL },
        {},
};

const Model model_sram = {
        .name       = "sram",
        .part       = LOCATION_CORE,
        .state_size = sizeof(Sram),
        .init       = sram_init,
        .done       = sram_done,
        .commands   = {
                [COMMAND_SRAM_MARCH]    = sram_march,
                [COMMAND_SRAM_COPY_IN]  = sram_copy_in,
                [COMMAND_SRAM_COPY_OUT] = sram_copy_out,
        },
        .attributes = attributes,
        .faults     = (const FaultKind *const[]) { memory_fault_kinds, sram_fault_kinds, NULL },
        .inject     = sram_inject,
        .heal       = sram_heal,
};
