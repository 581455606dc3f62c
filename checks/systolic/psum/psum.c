/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/psum/psum.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "checks/port/device-tensor.h"

#define OUT_BYTES (PE_COLUMNS * 128u * sizeof(uint32_t)) /* of a core: one slot, or PSUM_SLOTS of the quick layout */

int psum_test_init(PsumTest *test, Device *device, bool quick) {
        const PsumNumbers *numbers = psum_numbers(quick);

        *test = (PsumTest) { .device = device, .columns = numbers->columns, .moving = numbers->moving, .mask = (1u << CORES) - 1 };
        device_window_reset(device);
        test->weights = device_window_take(device, sizeof(numbers->weights));
        test->values = device_window_take(device, psum_values_bytes(numbers));
        test->lone = device_window_take(device, PSUM_ROWS * sizeof(uint16_t));
        if (!test->weights || !test->values || !test->lone)
                return -ENOSPC;
        for (unsigned core = 0; core < CORES; core++) {
                test->out[core] = device_window_take(device, OUT_BYTES);
                if (!test->out[core])
                        return -ENOSPC;
        }

        memcpy(test->weights, numbers->weights, PSUM_ROWS * numbers->columns * sizeof(uint16_t));
        memcpy(test->values, numbers->values, psum_values_bytes(numbers));
        return 0;
}

/* ---- batches ---- */

static size_t out_words(const PsumTest *test) {
        return (size_t) test->columns * test->moving;
}

static bool answer_is_golden(const PsumTest *test, const PsumSlot *slot, const uint32_t *out) {
        uint32_t wrong = 0;

        for (size_t i = 0; i < out_words(test); i++)
                wrong |= out[i] ^ (slot->golden[i] | slot->high);
        return wrong == 0;
}

static void judge_completions(PsumTest *test) {
        for (size_t i = 0; i < test->n; i++) {
                const WireCommand *command = &test->commands[i];
                const WireCompletion *completion = &test->completions[i];
                unsigned bit = 1u << command->unit;

                if (command->type == COMMAND_MATMUL && completion->status == STATUS_NRT_NC_UE)
                        test->told |= bit;
                /* What is short was not done either. */
                if (command->type == COMMAND_MATMUL ? device_matmul_is_complete(command, completion) :
                                                      completion->status == STATUS_NRT_SUCCESS)
                        continue;
                test->refused |= bit;
                test->status = completion->status;
        }

        test->mask &= ~test->refused;
}

static int flush(PsumTest *test) {
        int r;

        if (test->n == 0) {
                test->n_slots = 0; /* every core refused something, and nothing was asked of any */
                return 0;
        }
        memset(test->completions, 0, test->n * sizeof(WireCompletion));
        r = device_execute(test->device, test->commands, test->n, test->completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;
        judge_completions(test);
        r = 0;

        for (unsigned core = 0; core < CORES && r >= 0; core++)
                for (size_t i = 0; i < test->n_slots && test->mask >> core & 1 && r >= 0; i++) {
                        const uint32_t *out = test->out[core] + i * out_words(test);

                        test->n_compared += out_words(test);
                        if (answer_is_golden(test, &test->slots[i], out))
                                continue;
                        test->wrong |= 1u << core;
                        r = test->take ? test->take(test, core, &test->slots[i], out) : 0;
                }

        test->n = test->n_slots = 0;
        return r;
}

static int make_room(PsumTest *test) {
        bool slots = (test->n_slots + 1) * out_words(test) * sizeof(uint32_t) <= OUT_BYTES && test->n_slots < PSUM_SLOTS;

        return slots && test->n + CORES <= WIRE_BATCH_MAX ? 0 : flush(test);
}

static int load(PsumTest *test) {
        const WireLoad shape = { .rows = PSUM_ROWS, .columns = (uint16_t) test->columns, .format = FORMAT_BF16 };
        int r = make_room(test);

        for (unsigned core = 0; core < CORES && r >= 0; core++)
                if (test->mask >> core & 1)
                        test->commands[test->n++] = device_load_command(test->device, core, shape, test->weights, NULL);
        return r;
}

/* On each core. SLOT NULL: nothing is read. */
static int matmul(PsumTest *test, const uint16_t *values, unsigned bank, unsigned offset, bool overwrite, const PsumSlot *slot) {
        const WireMatmul shape = {
                .moving = (uint16_t) test->moving, .bank = (uint8_t) bank, .offset = (uint16_t) offset, .format = FORMAT_BF16,
                .flags = overwrite ? MATMUL_OVERWRITE : 0,
        };
        const uint16_t *first = psum_values_zero(psum_numbers(test->columns < PE_COLUMNS));
        int r = make_room(test);

        for (unsigned core = 0; core < CORES && r >= 0; core++) {
                uint32_t *out = slot ? test->out[core] + test->n_slots * out_words(test) : NULL;

                if (!(test->mask >> core & 1))
                        continue;
                /* What is not written does not pass for an answer. */
                for (size_t at = 0; slot && at < out_words(test); at += test->moving)
                        out[at] = ~(slot->golden[at] | slot->high);
                test->commands[test->n++] = device_matmul_command(test->device, core, shape, PSUM_ROWS, test->values + (values - first),
                                                                  test->columns, out);
        }
        if (r < 0 || !slot)
                return r;
        assert(test->n_slots < PSUM_SLOTS);
        test->slots[test->n_slots++] = *slot;
        return 0;
}

/* ---- what is tried ---- */

static int try_piece(PsumTest *test, unsigned pattern, unsigned address) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        PsumSlot slot = { PSUM_CELLS, psum_golden_pattern(numbers, pattern), 0, address / PSUM_ELEMENTS, address % PSUM_ELEMENTS, pattern };

        return matmul(test, psum_values_pattern(numbers, pattern), slot.bank, slot.offset, true, &slot);
}

int psum_try_cells(PsumTest *test) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        int r = load(test);

        for (unsigned pattern = 0; pattern < PSUM_PATTERNS; pattern++)
                for (unsigned piece = 0; piece < numbers->pieces && r >= 0; piece++)
                        r = try_piece(test, pattern, piece * numbers->moving);
        return r < 0 ? r : flush(test);
}

int psum_try_twins(PsumTest *test) {
        int r = load(test);

        for (unsigned pattern = 0; pattern < PSUM_PATTERNS; pattern++)
                for (unsigned address = 0; address < 2 * PSUM_ELEMENTS && r >= 0; address += test->moving)
                        r = try_piece(test, pattern, address);
        return r < 0 ? r : flush(test);
}

int psum_try_addresses(PsumTest *test) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        int r = load(test);

        for (unsigned piece = 0; piece < numbers->pieces && r >= 0; piece++) {
                unsigned address = piece * numbers->moving;

                r = matmul(test, psum_values_address(numbers, piece), address / PSUM_ELEMENTS, address % PSUM_ELEMENTS, true, NULL);
        }
        for (unsigned piece = 0; piece < numbers->pieces && r >= 0; piece++) {
                unsigned address = piece * numbers->moving;
                PsumSlot slot = { PSUM_ADDRESSES, psum_golden_address(numbers), psum_high(address), address / PSUM_ELEMENTS,
                                  address % PSUM_ELEMENTS, piece };

                r = matmul(test, psum_values_zero(numbers), slot.bank, slot.offset, false, &slot);
        }
        return r < 0 ? r : flush(test);
}

int psum_try_zeros(PsumTest *test) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        int r = load(test);

        for (unsigned piece = 0; piece < numbers->pieces && r >= 0; piece++) {
                unsigned address = piece * numbers->moving;

                r = matmul(test, psum_values_zero(numbers), address / PSUM_ELEMENTS, address % PSUM_ELEMENTS, true, NULL);
        }
        return r < 0 ? r : flush(test);
}

int psum_try_flag(PsumTest *test) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        int r = load(test);

        for (unsigned step = 0; step < PSUM_FLAGS && r >= 0; step++) {
                PsumSlot slot = { PSUM_FLAG, psum_golden_flag(numbers, step), 0, 0, 0, step };

                r = matmul(test, psum_values_flag(numbers, step), 0, 0, psum_flag_steps[step].overwrite, &slot);
        }
        return r < 0 ? r : flush(test);
}

int psum_try_alone(PsumTest *test, unsigned core, unsigned address) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        const uint16_t *values = psum_values_address(numbers, address / numbers->moving) + address % numbers->moving;
        const WireMatmul shape = { .moving = 1, .format = FORMAT_BF16, .flags = MATMUL_OVERWRITE };
        WireCompletion completion = {};
        WireCommand command;
        int r;

        for (unsigned row = 0; row < PSUM_ROWS; row++)
                test->lone[row] = values[row * numbers->moving];
        memset(test->out[core], 0xff, test->columns * sizeof(*test->out[core])); /* no answer is a NaN */
        command = device_matmul_command(test->device, core, shape, PSUM_ROWS, test->lone, test->columns, test->out[core]);
        r = device_execute(test->device, &command, 1, &completion);
        if (r < 0 && r != -EREMOTEIO)
                return r;
        return completion.out_bytes == command.out_bytes ? 0 : -EPROTO;
}

/* ---- a chip ---- */

int psum_judge(Step *step, bool cells, unsigned suspects, unsigned told, Verdict *verdict, PsumResult *ret) {
        static PsumTest test; /* large; a check runs once at a time */
        int r;

        *ret = (PsumResult) {};
        memset(ret->banks, 0xff, sizeof(ret->banks));

        r = psum_test_init(&test, step_device(step), !cells);
        if (r >= 0)
                r = psum_try_flag(&test);
        if (r >= 0 && cells)
                r = psum_try_cells(&test);
        if (r >= 0)
                r = psum_try_addresses(&test);
        if (r < 0)
                return r;

        ret->n_compared = test.n_compared;
        ret->refused = test.refused;
        ret->status = test.status;
        for (unsigned core = 0; core < CORES && r >= 0; core++) {
                unsigned bit = 1u << core;
                bool look = ((test.wrong | test.told | told) & bit) != 0;

                if (test.refused & bit)
                        continue;
                if (!look && suspects & bit)
                        r = psum_suspect(step, core, &look);
                if (r >= 0 && look)
                        r = psum_examine(step, core,
                                         suspects & bit     ? PSUM_OF_THE_ARRAY
                                         : test.wrong & bit ? PSUM_WRONG
                                                            : PSUM_TOLD,
                                         verdict, ret);
        }
        return r;
}
