/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/answers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/param.h>

void march_outcome_lie(MarchOutcome *outcome, const char *format, ...) {
        va_list arguments;

        if (outcome->n_lies++ > 0)
                return;

        va_start(arguments, format);
        (void) vsnprintf(outcome->lie, MARCH_LIE_MAX, format, arguments);
        va_end(arguments);
}

uint64_t march_outcome_count(MarchOutcome *outcome, const WireMarch *command, const MemoryAnswer *answer) {
        uint64_t accesses = memory_box_accesses(&command->box), reads = 0, total = MAX(answer->total, (uint64_t) answer->n);

        for (unsigned i = 0; i < command->n_ops; i++)
                reads += command->ops[i] & MARCH_WRITE ? 0 : accesses;

        if (answer->accesses != accesses)
                march_outcome_lie(outcome, "visited %" PRIu64 " accesses of %" PRIu64, answer->accesses, accesses);
        if (answer->n != MIN(answer->total, (uint64_t) command->mismatches_max))
                march_outcome_lie(outcome, "counted %" PRIu64 " mismatches and listed %zu", answer->total, answer->n);
        else if (total > reads)
                march_outcome_lie(outcome, "counted %" PRIu64 " mismatches in %" PRIu64 " reads", total, reads);

        return MIN(total, reads);
}

void march_answers_check(const MemoryBatch *batch, const MemoryPart *parts, unsigned n_parts, MarchOutcome *outcomes) {
        const WireCommand *command;

        for (int number = 0; (command = memory_batch_command(batch, number)); number++)
                for (unsigned part = 0; part < n_parts; part++) {
                        MemoryAnswer answer = memory_batch_answer(batch, number);

                        if (command->type == parts[part].march && command->unit == parts[part].unit &&
                            command->march.array == parts[part].array)
                                (void) march_outcome_count(&outcomes[part], &command->march, &answer);
                }
}
