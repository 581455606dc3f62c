/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/syndrome.h"

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"

#define CELLS     4
#define TEXTS_MAX 3u /* candidates that are written out */
#define NO_READ   2

typedef enum SuspectSort {
        SUSPECT_PRIMITIVE,
        SUSPECT_STUCK,
        SUSPECT_OPEN,
        SUSPECT_LEAK,
} SuspectSort;

/* What one cell does in S: a state, then operations. */
typedef struct Sensitiser {
        bool state;
        unsigned n_ops;
        bool writes[2];
        bool data[2]; /* what is written, or what a good cell gives */
} Sensitiser;

typedef struct Suspect {
        const char *name;
        SuspectSort sort;
        bool pair;
        Sensitiser aggressor, victim;
        bool fault;
        unsigned read; /* NO_READ: the last operation is no read of the victim */
} Suspect;

typedef struct Operation {
        int cell;
        bool write, data; /* a read's: what the march wants */
        bool before;      /* what the cell held */
        bool sound;       /* and it held what a good cell would, after it */
} Operation;

typedef struct Machine {
        const Suspect *suspect;
        int aggressor, victim;
        bool cells[CELLS];
        Operation last;
        bool last_read; /* what the last read of any cell gave */
} Machine;

/* What S of a cell leaves in a good one. */
static bool state_after(const Sensitiser *s, unsigned n_ops) {
        return n_ops == 0 ? s->state : s->data[n_ops - 1];
}

static bool operation_matches(const Sensitiser *s, unsigned nth, const Operation *operation) {
        if (operation->write != s->writes[nth] || operation->before != state_after(s, nth))
                return false;
        return !operation->write || operation->data == s->data[nth];
}

/* Whether OPERATION, which is under way, completes S of the cell that has operations. */
static bool completes(const Machine *machine, const Sensitiser *s, const Operation *operation) {
        if (s->n_ops == 0 || !operation_matches(s, s->n_ops - 1, operation))
                return false;
        return s->n_ops == 1 || (machine->last.cell == operation->cell && machine->last.sound &&
                                 operation_matches(s, 0, &machine->last));
}

static bool fires(const Machine *machine, const Operation *operation) {
        const Suspect *suspect = machine->suspect;

        if (suspect->sort != SUSPECT_PRIMITIVE)
                return false;
        if (operation->cell == machine->victim && suspect->victim.n_ops > 0)
                return completes(machine, &suspect->victim, operation) &&
                       (!suspect->pair || machine->cells[machine->aggressor] == suspect->aggressor.state);
        return suspect->pair && operation->cell == machine->aggressor && suspect->aggressor.n_ops > 0 &&
               completes(machine, &suspect->aggressor, operation) &&
               machine->cells[machine->victim] == suspect->victim.state;
}

/* Conditions without operations: one round is the fixpoint, as what it leaves no longer meets the condition. */
static void settle(Machine *machine) {
        const Suspect *suspect = machine->suspect;

        if (suspect->sort == SUSPECT_STUCK)
                machine->cells[machine->victim] = suspect->fault;
        if (suspect->sort != SUSPECT_PRIMITIVE || suspect->aggressor.n_ops > 0 || suspect->victim.n_ops > 0)
                return;
        if (machine->cells[machine->victim] == suspect->victim.state &&
            (!suspect->pair || machine->cells[machine->aggressor] == suspect->aggressor.state))
                machine->cells[machine->victim] = suspect->fault;
}

/* One operation; returns what it reads. */
static bool operate(Machine *machine, int cell, bool write, bool data) {
        const Suspect *suspect = machine->suspect;
        bool before = machine->cells[cell], read = before;
        Operation operation = { .cell = cell, .write = write, .data = data, .before = before };
        bool hit = fires(machine, &operation);

        if (write && !(suspect->sort == SUSPECT_OPEN && cell == machine->victim))
                machine->cells[cell] = data;
        if (!write && suspect->sort == SUSPECT_OPEN && cell == machine->victim)
                read = machine->last_read;
        if (hit) {
                machine->cells[machine->victim] = suspect->fault;
                if (!write && cell == machine->victim && suspect->read != NO_READ)
                        read = suspect->read;
        }

        operation.sound = machine->cells[cell] == (write ? data : before);
        settle(machine);
        machine->last = operation;
        if (!write)
                machine->last_read = read;
        return read;
}

uint64_t march_syndrome_bit(const March *march, unsigned element, unsigned op) {
        unsigned n = 0;

        if (element >= march->n_elements || op >= march->elements[element].n_ops ||
            march->elements[element].ops[op] & MARCH_WRITE)
                return 0;
        for (unsigned i = 0; i <= element; i++)
                for (unsigned k = 0; k < (i < element ? march->elements[i].n_ops : op); k++)
                        n += !(march->elements[i].ops[k] & MARCH_WRITE);
        return n < MARCH_SYNDROME_READS ? UINT64_C(1) << n : 0;
}

static uint64_t visit(Machine *machine, const March *march, unsigned element, int cell, bool inverted) {
        const MarchElement *e = &march->elements[element];
        uint64_t failed = 0;

        for (unsigned op = 0; op < e->n_ops; op++) {
                bool write = e->ops[op] & MARCH_WRITE, data = (e->ops[op] & MARCH_DATA) != inverted;
                bool read = operate(machine, cell, write, data);

                if (!write && read != data)
                        failed |= march_syndrome_bit(march, element, op);
        }

        return failed;
}

/* The reads that fail at the victim; nothing else can fail. */
static uint64_t play(Machine *machine, const March *march, bool inverted) {
        uint64_t failed = 0;

        settle(machine);
        for (unsigned element = 0; element < march->n_elements; element++) {
                bool down = march->elements[element].direction == MARCH_DOWN;

                if (march->elements[element].direction == MARCH_DELAY && machine->suspect->sort == SUSPECT_LEAK)
                        machine->cells[machine->victim] = machine->suspect->fault;
                for (int i = 0; i < CELLS; i++)
                        failed |= visit(machine, march, element, down ? CELLS - 1 - i : i, inverted);
        }

        return failed;
}

/* Whether SUSPECT can fail like that, whatever the cells held before. */
static bool fits(const Suspect *suspect, bool before, const March *march, uint64_t failed, bool inverted) {
        for (unsigned content = 0; content < 1u << CELLS; content++) {
                Machine machine = {
                        .suspect = suspect,
                        .aggressor = before ? 1 : 2,
                        .victim = before ? 2 : 1,
                        .last.cell = -1,
                };

                for (unsigned i = 0; i < CELLS; i++)
                        machine.cells[i] = content >> i & 1;
                if (play(&machine, march, inverted) == failed)
                        return true;
        }

        return false;
}

/* ---- all there are ---- */

typedef struct SuspectList {
        Suspect suspects[160];
        unsigned n;
} SuspectList;

static Sensitiser sensitiser(bool state, unsigned n_ops, const bool writes[2], const bool data[2]) {
        Sensitiser s = { .state = state, .n_ops = n_ops };

        for (unsigned i = 0; i < n_ops; i++) {
                s.writes[i] = writes[i];
                s.data[i] = data[i];
        }
        return s;
}

/* A primitive of the victim's own operations: alone, and as <s;…> with either state of an aggressor. */
static void add_own(SuspectList *list, const char *alone, const char *coupled, Sensitiser victim, bool fault,
                    unsigned read) {
        Suspect suspect = { .name = alone, .victim = victim, .fault = fault, .read = read };

        list->suspects[list->n++] = suspect;
        if (!coupled)
                return;
        suspect.name = coupled;
        suspect.pair = true;
        for (unsigned s = 0; s < 2; s++) {
                suspect.aggressor = (Sensitiser) { .state = s };
                list->suspects[list->n++] = suspect;
        }
}

/* A primitive of an aggressor's operations, with either state of the victim, which flips. */
static void add_disturb(SuspectList *list, const char *name, Sensitiser aggressor) {
        for (unsigned y = 0; y < 2; y++)
                list->suspects[list->n++] = (Suspect) {
                        .name = name, .pair = true, .aggressor = aggressor, .victim = { .state = y }, .fault = !y, .read = NO_READ,
                };
}

static void add_static(SuspectList *list, bool x) {
        const bool write[2] = { true }, read[2] = { false }, same[2] = { x }, other[2] = { !x };

        list->suspects[list->n++] = (Suspect) { .name = "SAF", .sort = SUSPECT_STUCK, .fault = !x, .read = NO_READ };
        add_own(list, "SF", "CFst", sensitiser(x, 0, write, same), !x, NO_READ);
        add_own(list, "TF", "CFtr", sensitiser(x, 1, write, other), x, NO_READ);
        add_own(list, "WDF", "CFwd", sensitiser(x, 1, write, same), !x, NO_READ);
        add_own(list, "RDF", "CFrd", sensitiser(x, 1, read, same), !x, !x);
        add_own(list, "DRDF", "CFdrd", sensitiser(x, 1, read, same), !x, x);
        add_own(list, "IRF", "CFir", sensitiser(x, 1, read, same), x, !x);
        add_disturb(list, "CFds", sensitiser(x, 1, write, other));
        add_disturb(list, "CFds", sensitiser(x, 1, write, same));
        add_disturb(list, "CFds", sensitiser(x, 1, read, same));
        list->suspects[list->n++] = (Suspect) { .name = "DRF", .sort = SUSPECT_LEAK, .fault = !x, .read = NO_READ };
}

static void add_dynamic(SuspectList *list, bool x) {
        const bool write_read[2] = { true, false }, read_read[2] = {}, write_write[2] = { true, true },
                   read_write[2] = { false, true };
        const bool same[2] = { x, x };

        add_own(list, "drrRDF", NULL, sensitiser(x, 2, read_read, same), !x, !x);
        add_own(list, "drrDRDF", NULL, sensitiser(x, 2, read_read, same), !x, x);
        add_own(list, "drrIRF", NULL, sensitiser(x, 2, read_read, same), x, !x);

        for (unsigned y = 0; y < 2; y++) {
                const bool yy[2] = { y, y }, xy[2] = { x, y };

                add_own(list, "dRDF", "dCFrd", sensitiser(x, 2, write_read, yy), !y, !y);
                add_own(list, "dDRDF", "dCFdrd", sensitiser(x, 2, write_read, yy), !y, y);
                add_own(list, "dIRF", "dCFir", sensitiser(x, 2, write_read, yy), y, !y);
                add_own(list, "dRW", NULL, sensitiser(x, 2, read_write, xy), !y, NO_READ);
                add_disturb(list, "dCFds", sensitiser(x, 2, write_read, yy));
                for (unsigned z = 0; z < 2; z++) {
                        const bool yz[2] = { y, z };

                        add_own(list, "dWW", NULL, sensitiser(x, 2, write_write, yz), !z, NO_READ);
                }
        }
}

static char *format_sensitiser(const Sensitiser *s, char text[static 8]) {
        size_t n = 0;

        text[n++] = s->state ? '1' : '0';
        for (unsigned i = 0; i < s->n_ops; i++) {
                text[n++] = s->writes[i] ? 'w' : 'r';
                text[n++] = s->data[i] ? '1' : '0';
        }
        text[n] = '\0';
        return text;
}

static void format_suspect(const Suspect *suspect, char *text, size_t size) {
        char aggressor[8], victim[8];
        char read = "01-"[suspect->read];

        switch (suspect->sort) {
        case SUSPECT_STUCK:
                (void) snprintf(text, size, "SAF %d", suspect->fault);
                break;
        case SUSPECT_OPEN:
                (void) snprintf(text, size, "SOF");
                break;
        case SUSPECT_LEAK:
                (void) snprintf(text, size, "DRF to %d", suspect->fault);
                break;
        case SUSPECT_PRIMITIVE:
                (void) snprintf(text, size, "%s <%s%s%s/%d/%c>", suspect->name,
                                suspect->pair ? format_sensitiser(&suspect->aggressor, aggressor) : "",
                                suspect->pair ? ";" : "", format_sensitiser(&suspect->victim, victim), suspect->fault, read);
        }
}

/* The first candidates by their primitive; of what is left, how many. */
static void write_candidate(MarchSyndrome *syndrome, const Suspect *suspect, unsigned nth) {
        size_t n = strlen(syndrome->text);

        if (nth >= TEXTS_MAX)
                return;
        if (nth > 0)
                n += (size_t) snprintf(syndrome->text + n, sizeof(syndrome->text) - n, ", ");
        format_suspect(suspect, syndrome->text + n, sizeof(syndrome->text) - n);
}

/* Adds what fits of LIST, what needs one cell before what needs two. Returns how many there are. */
static unsigned explain_by(const SuspectList *list, const March *march, uint64_t failed, bool inverted,
                           MarchSyndrome *ret) {
        unsigned nth = 0;

        for (unsigned pair = 0; pair < 2; pair++)
                for (unsigned i = 0; i < list->n; i++) {
                        const Suspect *suspect = &list->suspects[i];
                        bool before, after;

                        if (suspect->pair != pair)
                                continue;
                        before = fits(suspect, true, march, failed, inverted);
                        after = pair && fits(suspect, false, march, failed, inverted);
                        if (!before && !after)
                                continue;
                        ret->n_alone += !pair;
                        ret->n_before += pair && before;
                        ret->n_after += after;
                        write_candidate(ret, suspect, nth++);
                }

        return nth;
}

void march_syndrome_explain(const March *march, uint64_t failed, bool inverted, MarchSyndrome *ret) {
        SuspectList list = {};
        unsigned nth;
        size_t n;

        *ret = (MarchSyndrome) {};
        if (failed == 0)
                return;

        for (unsigned x = 0; x < 2; x++)
                add_static(&list, x);
        list.suspects[list.n++] = (Suspect) { .name = "SOF", .sort = SUSPECT_OPEN, .read = NO_READ };
        nth = explain_by(&list, march, failed, inverted, ret);

        /* The simpler cause is the likelier: two operations only where one is not enough. */
        list.n = 0;
        for (unsigned x = 0; x < 2; x++)
                add_dynamic(&list, x);
        if (nth == 0)
                nth = explain_by(&list, march, failed, inverted, ret);

        n = strlen(ret->text);
        if (nth > TEXTS_MAX)
                (void) snprintf(ret->text + n, sizeof(ret->text) - n, " or %u more", nth - TEXTS_MAX);
}
