/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/model/suspects.h"

bool suspects_add(Suspects *suspects, Candidate candidate) {
        unsigned at;

        if (suspects->n >= SUSPECTS_MAX)
                return false;

        for (at = suspects->n; at > 0 && suspects->all[at - 1].row > candidate.row; at--)
                suspects->all[at] = suspects->all[at - 1];
        suspects->all[at] = candidate;
        suspects->n++;
        return true;
}

bool candidate_is_slow(const Candidate *candidate) {
        return candidate->form == FORM_SLOW_RISE || candidate->form == FORM_SLOW_FALL;
}

bool suspects_are_slow(const Suspects *suspects) {
        for (unsigned i = 0; i < suspects->n; i++)
                if (candidate_is_slow(&suspects->all[i]))
                        return true;

        return false;
}

void candidates_visit(unsigned row, void (*visit)(void *userdata, Candidate candidate), void *userdata) {
        for (PeRegister at = 0; at < PE_NO_INPUT; at++)
                for (unsigned bit = 0; bit < pe_register_bits(at); bit++)
                        for (unsigned other = 0; other < (pe_register_is_gate(at) ? pe_register_bits(at) : 1); other++)
                                for (unsigned form = 0; form < pe_register_forms(at); form++)
                                        visit(userdata, (Candidate){ .at = (uint8_t) at,
                                                                     .row = (uint8_t) row,
                                                                     .bit = (uint8_t) bit,
                                                                     .other = (uint8_t) other,
                                                                     .form = (uint8_t) form });

        visit(userdata, (Candidate){ .at = PE_NO_INPUT, .row = (uint8_t) row });
}

void outputs_visit(void (*visit)(void *userdata, Candidate candidate), void *userdata) {
        for (unsigned bit = 0; bit < pe_register_bits(PE_OUTPUT); bit++)
                for (unsigned form = 0; form < pe_register_forms(PE_OUTPUT); form++)
                        visit(userdata, (Candidate){ .at = PE_OUTPUT, .row = UINT8_MAX, .bit = (uint8_t) bit, .form = (uint8_t) form });

        visit(userdata, (Candidate){ .at = PE_NO_OUTPUT, .row = UINT8_MAX });
}
