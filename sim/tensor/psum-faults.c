/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kinds of fault of PSUM as the tensor engine reaches it. Its cells are those of the SRAM (sim/sram/faults.c, sim/memory/cells/kinds.c).
 */

#include <errno.h>
#include <stdlib.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/faults.h"
#include "sim/tensor/psum.h"

enum { KIND_ADDRESS, KIND_FLAG, KINDS };

static const char *const flag_words[] = { "overwrite", "accumulate", NULL };

static const LocationKind at_core[] = { LOCATION_CORE, _LOCATION_KIND_INVALID };

static const YamlField address_fields[] = {
        YAML_UNSIGNED("bit", TensorFault, bit, 0, 11, .required = true,
                      .summary = "of the address: 0 to 8 choose the element, 9 to 11 the bank"),
        YAML_UNSIGNED("value", TensorFault, value, 0, 1, .required = true, .summary = "what the line is"),
        {},
};
static const YamlField flag_fields[] = {
        YAML_WORD("value", TensorFault, flag, flag_words, .required = true, .summary = "what every matmul does: overwrite or accumulate"),
        {},
};

#define PSUM_KIND(word, fields, text)                                                                       \
        {                                                                                                   \
                .name = word, .summary = text, .family = FAMILY_COMPUTE, .at = at_core,                     \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                            \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY | TRIGGER_DROOP,                         \
                .parameters_bytes = sizeof(TensorFault), .parameters = fields,                              \
                .codes = FAULT_CODES("systolic-psum"),                                                      \
        }

const FaultKind psum_fault_kinds[KINDS + 1] = {
        [KIND_ADDRESS] = PSUM_KIND("psum-address-stuck", address_fields,
                                   "a line of the address at which matmuls reach PSUM is stuck"),
        [KIND_FLAG] = PSUM_KIND("accumulate-stuck", flag_fields, "matmuls add to PSUM or overwrite it, whatever they are told"),
        {},
};

bool psum_has_kind(const Fault *fault) {
        return fault->kind >= psum_fault_kinds && fault->kind < psum_fault_kinds + KINDS;
}

static bool collide(const Fault *a, const Fault *b) {
        const TensorFault *p = a->parameters, *q = b->parameters;

        return a->kind == b->kind && (a->kind == &psum_fault_kinds[KIND_FLAG] || p->bit == q->bit);
}

int psum_inject(Psum *psum, const Fault *fault) {
        const Fault **faults;

        for (size_t i = 0; i < psum->n_faults; i++)
                if (collide(psum->faults[i], fault))
                        return -EEXIST;

        faults = reallocarray(psum->faults, psum->n_faults + 1, sizeof(*faults));
        if (!faults)
                return -ENOMEM;
        psum->faults = faults;
        faults[psum->n_faults++] = fault;
        return 0;
}

void psum_heal(Psum *psum, const Fault *fault) {
        size_t n = 0;

        for (size_t i = 0; i < psum->n_faults; i++)
                if (psum->faults[i] != fault)
                        psum->faults[n++] = psum->faults[i];
        psum->n_faults = n;
}

PsumFaulty psum_fault_effects(const Psum *psum, const Execution *execution) {
        PsumFaulty faulty = {};

        for (size_t i = 0; i < psum->n_faults; i++) {
                const Fault *fault = psum->faults[i];
                const TensorFault *parameters = fault->parameters;

                if (!fault_is_active(fault, execution))
                        continue;
                if (fault->kind == &psum_fault_kinds[KIND_FLAG]) {
                        faulty.flag = true;
                        faulty.overwrite = parameters->flag == 0;
                } else if (parameters->value)
                        faulty.set |= 1u << parameters->bit;
                else
                        faulty.clear |= 1u << parameters->bit;
        }

        return faulty;
}
