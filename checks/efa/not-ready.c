/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Blames adapters for packets that met no buffer. A receiver without one refuses packets of all its senders; a sender whose completions are
 * false, or which lost the packets itself, says it of all its receivers. So of the reports those are explained first that the fewest adapters
 * explain, each either as a receiver or as a sender.
 */

#include "checks/efa/blame.h"

#define SURE 3u /* reports against one: its two partners and itself. Fewer may be two adapters that come and go */

typedef struct Accused {
        unsigned adapter;
        bool is_sender;
        unsigned n; /* reports */
} Accused;

static AdapterSet senders_to(const Wrongs *reports, unsigned receiver) {
        AdapterSet senders = 0;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                senders |= (reports->to[a] >> receiver & 1) << a;
        return senders;
}

static AdapterSet partners_of(const Wrongs *reports, const Accused *accused) {
        return accused->is_sender ? reports->to[accused->adapter] : senders_to(reports, accused->adapter);
}

/* The one with the most reports, in the one role or the other. Of equals a receiver: that it was not ready it says itself. */
static Accused worst_of(const Wrongs *reports) {
        Accused worst = {};

        for (unsigned i = 0; i < 2 * ADAPTERS_MAX; i++) {
                Accused accused = { .adapter = i % ADAPTERS_MAX, .is_sender = i >= ADAPTERS_MAX };

                accused.n = (unsigned) __builtin_popcountll(partners_of(reports, &accused));
                if (accused.n > worst.n)
                        worst = accused;
        }
        return worst;
}

static void explain(Wrongs *reports, const Accused *accused) {
        if (accused->is_sender)
                reports->to[accused->adapter] = 0;
        else
                for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                        reports->to[a] &= ~(UINT64_C(1) << accused->adapter);
}

/* Left are pairs, no two of which share an adapter in the same role. One witness is not enough to say which end it is; that an adapter was not
 * ready for itself leaves no choice. What one says that is broken anyway is held against nobody. */
static void tie(const Wrongs *reports, AdapterSet broken, Blame *blame) {
        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                AdapterSet one = UINT64_C(1) << a, to = broken >> a & 1 ? 0 : reports->to[a];

                if (to & one)
                        blame->blamed |= one;
                if (!(to & ~one))
                        continue;
                blame->tied |= one | to;
                blame->ends[a] |= to;
                for (unsigned b = 0; b < ADAPTERS_MAX; b++)
                        if (to >> b & 1)
                                blame->ends[b] |= one;
        }
        /* Who is broken needs no tie, and whoever is tied to it alone is told so by whoever asks for both. */
        blame->tied &= ~(broken | blame->blamed);
        blame->suspects |= blame->tied;
        blame->blamed |= blame->tied;
}

Blame blame_not_ready(Wrongs reports) {
        AdapterSet receivers = 0;
        Blame blame = {};
        Accused worst;

        while ((worst = worst_of(&reports)).n > 1) {
                AdapterSet one = UINT64_C(1) << worst.adapter;

                *(worst.is_sender ? &blame.senders : &receivers) |= one;
                blame.unsure |= worst.n < SURE ? one | partners_of(&reports, &worst) : 0;
                explain(&reports, &worst);
        }
        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                blame.unsure |= reports.to[a] ? UINT64_C(1) << a | reports.to[a] : 0;
        blame.senders &= ~receivers;
        tie(&reports, blame.senders | receivers, &blame);
        blame.blamed |= blame.senders | receivers;
        return blame;
}
