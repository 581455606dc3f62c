/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is connected to whom. Adjacency cannot tell (a 4×4 torus has 384 automorphisms), so every port sends a frame that
 * says which port it is, and every port is asked what it heard. A frame counts only where it is, byte for byte, the one
 * that the port it names did send.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/neuronlink/fabric.h"

#define ENDS_MAX   (CHIPS * PORTS)
#define DRAIN_MAX  64u /* frames of others that may lie before a port */

typedef struct Frame {
        char word[8];
        uint64_t nonce;
        char server[LOCATION_SERVER_NAME_MAX];
        char serial[LABEL_MAX];
        char cable[LABEL_MAX];
        uint8_t chip, row, column, port;
        uint32_t reserved;
} Frame;

static_assert(sizeof(Frame) == 120 && sizeof(Frame) <= WIRE_FRAME_MAX, "no holes, and fits");

/* For one server: the ends that take part, and room for what goes through them. */
typedef struct Exchange {
        size_t n;
        LinkEnd ends[ENDS_MAX];
        LinkFrame frames[ENDS_MAX];
        WireLinkStatus statuses[ENDS_MAX];
        int errors[ENDS_MAX];
} Exchange;

static Frame frame_of(Fabric *fabric, PortId id, uint64_t nonce) {
        const FabricServer *server = &fabric->servers[id.server];
        Frame frame = {
                .word = { 'a', 's', 's', 'a', 'y', 'n', 'l', '1' }, .nonce = nonce, .chip = id.chip,
                .row = id.chip / 4, .column = id.chip % 4, .port = id.port,
        };

        memcpy(frame.server, server->name, sizeof(frame.server));
        memcpy(frame.serial, server->serials[id.chip], sizeof(frame.serial));
        memcpy(frame.cable, server->ports[id.chip][id.port].cable, sizeof(frame.cable));
        return frame;
}

/* ---- labels ---- */

#define TEXTS_MAX (CHIPS * (1 + 2 * PORTS))

/* What is to be read of one server, and where it goes. */
typedef struct Labels {
        size_t n;
        const char *paths[TEXTS_MAX];
        char *texts[TEXTS_MAX];
        size_t sizes[TEXTS_MAX];
        uint8_t chips[TEXTS_MAX];
} Labels;

static void want_label(Labels *labels, unsigned chip, const char *path, char *text, size_t size) {
        labels->paths[labels->n] = path;
        labels->texts[labels->n] = text;
        labels->sizes[labels->n] = size;
        labels->chips[labels->n++] = (uint8_t) chip;
}

static void want_labels(Fabric *fabric, unsigned s, Labels *labels) {
        static const char *const cables[PORTS] = {
                "assay/link/x+/cable", "assay/link/x-/cable", "assay/link/y+/cable",
                "assay/link/y-/cable", "assay/link/z+/cable", "assay/link/z-/cable",
        };
        static const char *const labels_of[PORTS] = {
                "assay/link/x+/label", "assay/link/x-/label", "assay/link/y+/label",
                "assay/link/y-/label", "assay/link/z+/label", "assay/link/z-/label",
        };
        FabricServer *server = &fabric->servers[s];

        for (unsigned c = 0; c < CHIPS; c++) {
                if (!fabric_includes(fabric, (PortId) { .server = (uint8_t) s, .chip = (uint8_t) c }))
                        continue;
                for (unsigned p = 0; p < PORTS; p++) {
                        Port *port = &server->ports[c][p];

                        if (!port->driven)
                                continue;
                        want_label(labels, c, cables[p], port->cable, sizeof(port->cable));
                        want_label(labels, c, labels_of[p], port->label, sizeof(port->label));
                }
                if (s == 0)
                        want_label(labels, c, "info/serial_number", server->serials[c], sizeof(server->serials[c]));
        }
}

/* As much of it as fits. */
static void copy_label(const char *text, char *ret, size_t size) {
        size_t length = strnlen(text, size - 1);

        memcpy(ret, text, length);
        ret[length] = '\0';
}

static int read_labels(Fabric *fabric, unsigned s) {
        FabricServer *server = &fabric->servers[s];
        _cleanup_free_ char (*texts)[ATTRIBUTE_TEXT_MAX] = NULL;
        int errors[TEXTS_MAX], r;
        Labels labels = {};

        want_labels(fabric, s, &labels);
        texts = calloc(labels.n > 0 ? labels.n : 1, sizeof(*texts));
        if (!texts)
                return -ENOMEM;
        r = device_attributes_of(server->device, labels.chips, labels.paths, labels.n, texts, errors);
        if (r < 0)
                return r;

        /* A label that is not there is not told; nothing is judged by it. One that cannot be read is another matter. */
        for (size_t i = 0; i < labels.n; i++)
                if (errors[i] >= 0)
                        copy_label(texts[i], labels.texts[i], labels.sizes[i]);
                else if (errors[i] != -ENOENT)
                        for (unsigned p = 0; p < PORTS; p++)
                                server->ports[labels.chips[i]][p].refused = true;

        return 0;
}

uint16_t *fabric_cable_count(Fabric *fabric, const char *cable) {
        uint64_t hash = 0;

        for (; *cable; cable++)
                hash = hash * UINT64_C(0x9e3779b97f4a7c15) + (uint8_t) *cable;
        return &fabric->cable_counts[hash >> 32 & (CABLE_COUNTS - 1)];
}

static void count_cables(Fabric *fabric) {
        for (unsigned i = 0; i < RING * CHIPS * PORTS; i++) {
                const char *cable = fabric_port(fabric, port_id_at(i))->cable;

                if (cable[0])
                        (*fabric_cable_count(fabric, cable))++;
        }
}

/* ---- status ---- */

static int read_status(Fabric *fabric, Exchange *exchange) {
        FabricServer *server = &fabric->servers[0];
        unsigned n_answers[CHIPS] = {};
        int r;

        exchange->n = fabric_ends(fabric, 0, exchange->ends);
        r = device_link_status(server->device, exchange->ends, exchange->n, exchange->statuses, exchange->errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < exchange->n; i++) {
                Port *port = &server->ports[exchange->ends[i].chip][exchange->ends[i].port];

                port->error = exchange->errors[i];
                if (port->error >= 0)
                        port->before = exchange->statuses[i];
                port->empty = port->error >= 0 && !port->before.present;
                /* Silent, or not there at all, is the chip; everything else it says for itself. */
                if (port->error != -ETIMEDOUT && port->error != -ENXIO)
                        n_answers[exchange->ends[i].chip]++;
        }

        for (size_t i = 0; i < exchange->n; i++)
                fabric->silent[exchange->ends[i].chip] = n_answers[exchange->ends[i].chip] == 0;

        return 0;
}

/* Reads the attributes of the ports of the other servers of the ring; asked for only where some plug is wrong. */
static int read_ring(Fabric *fabric, Exchange *exchange) {
        for (unsigned s = 1; s < fabric->n_servers; s++) {
                FabricServer *server = &fabric->servers[s];
                int r;

                if (!server->device)
                        continue;
                exchange->n = fabric_ends(fabric, s, exchange->ends);
                r = device_link_status(server->device, exchange->ends, exchange->n, exchange->statuses, exchange->errors);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < exchange->n; i++) {
                        Port *port = &server->ports[exchange->ends[i].chip][exchange->ends[i].port];

                        if (exchange->errors[i] < 0)
                                continue;
                        port->before = exchange->statuses[i];
                        port->empty = !port->before.present;
                }
        }

        return 0;
}

/* Nothing was sent since the exchange: what arrives now began after it. */
static int look_for_more(Fabric *fabric, Exchange *exchange) {
        FabricServer *server = &fabric->servers[0];
        int r;

        r = device_link_receive(server->device, exchange->ends, exchange->n, exchange->frames, exchange->errors);
        for (size_t i = 0; i < exchange->n && r >= 0; i++) {
                Port *port = &server->ports[exchange->ends[i].chip][exchange->ends[i].port];

                if (exchange->errors[i] >= 0 && port->frames == FRAMES_FINE)
                        port->frames = FRAMES_SURPLUS;
                if (exchange->errors[i] < 0 && exchange->errors[i] != -ENOENT && port->before.up)
                        port->refused = true;
        }

        return r;
}

int fabric_read_after(Fabric *fabric) {
        FabricServer *server = &fabric->servers[0];
        _cleanup_free_ Exchange *exchange = NULL;
        int r;

        exchange = malloc(sizeof(*exchange));
        if (!exchange)
                return -ENOMEM;

        exchange->n = fabric_ends(fabric, 0, exchange->ends);
        r = device_link_status(server->device, exchange->ends, exchange->n, exchange->statuses, exchange->errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < exchange->n; i++) {
                Port *port = &server->ports[exchange->ends[i].chip][exchange->ends[i].port];

                if (exchange->errors[i] >= 0)
                        port->after = exchange->statuses[i];
                else if (port->error >= 0) {
                        port->error = exchange->errors[i];
                        port->refused = true;
                }
        }

        return look_for_more(fabric, exchange);
}

/* ---- frames ---- */

/* Which port sent FRAME; false for what nobody did. */
static bool frame_sender(Fabric *fabric, const LinkFrame *received, uint64_t nonce, PortId *ret) {
        Frame frame, sent;

        if (received->n_bytes != sizeof(frame))
                return false;

        memcpy(&frame, received->bytes, sizeof(frame));
        if (frame.chip >= CHIPS || frame.port >= PORTS)
                return false;

        for (unsigned s = 0; s < fabric->n_servers; s++) {
                *ret = (PortId) { (uint8_t) s, frame.chip, frame.port };
                sent = frame_of(fabric, *ret, nonce);
                if (fabric_port(fabric, *ret)->driven && memcmp(&frame, &sent, sizeof(frame)) == 0)
                        return true;
        }

        return false;
}

/* What nobody sent now: somebody once, or nobody ever. */
static Frames kind_of_garbage(Fabric *fabric, const LinkFrame *received) {
        PortId id;
        Frame frame;

        if (received->n_bytes != sizeof(frame))
                return FRAMES_STRANGE;

        memcpy(&frame, received->bytes, sizeof(frame));
        return frame_sender(fabric, received, frame.nonce, &id) ? FRAMES_STALE : FRAMES_STRANGE;
}

static int send_all(Fabric *fabric, unsigned s, Exchange *exchange, uint64_t nonce) {
        FabricServer *server = &fabric->servers[s];
        int r;

        exchange->n = fabric_ends(fabric, s, exchange->ends);
        for (size_t i = 0; i < exchange->n; i++) {
                PortId id = { (uint8_t) s, exchange->ends[i].chip, exchange->ends[i].port };
                Frame frame = frame_of(fabric, id, nonce);

                exchange->frames[i].n_bytes = sizeof(frame);
                memcpy(exchange->frames[i].bytes, &frame, sizeof(frame));
        }

        r = device_link_send(server->device, exchange->ends, exchange->n, exchange->frames, exchange->errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < exchange->n; i++) {
                Port *port = &server->ports[exchange->ends[i].chip][exchange->ends[i].port];

                if (exchange->errors[i] >= 0)
                        port->n_sent++;
                else if (port->before.up && exchange->errors[i] == -EREMOTEIO)
                        port->unsent = true;
                else if (port->before.up)
                        port->refused = true;
        }

        return 0;
}

/* One frame from every port of a server. Returns how many there were. */
static int receive_all(Fabric *fabric, unsigned s, Exchange *exchange, uint64_t nonce) {
        FabricServer *server = &fabric->servers[s];
        int n = 0, r;

        exchange->n = fabric_ends(fabric, s, exchange->ends);
        r = device_link_receive(server->device, exchange->ends, exchange->n, exchange->frames, exchange->errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < exchange->n; i++) {
                Port *port = &server->ports[exchange->ends[i].chip][exchange->ends[i].port];

                port->heard = HEARD_NOTHING;
                if (exchange->errors[i] < 0 && exchange->errors[i] != -ENOENT && port->before.up)
                        port->refused = true;
                if (exchange->errors[i] < 0)
                        continue;

                n++;
                port->heard = HEARD_GARBAGE;
                if (frame_sender(fabric, &exchange->frames[i], nonce, &port->from)) {
                        port->heard = HEARD_PORT;
                        port->n_received++;
                } else if (port->frames != FRAMES_ENDLESS)
                        port->frames = kind_of_garbage(fabric, &exchange->frames[i]);
        }

        return n;
}

static int exchange_frames(Fabric *fabric, Exchange *exchange, uint64_t nonce) {
        int r = 0;

        for (unsigned i = 0; i < fabric->n_servers * CHIPS * PORTS; i++) {
                Port *port = fabric_port(fabric, port_id_at(i));

                if (port->frames != FRAMES_ENDLESS)
                        port->frames = FRAMES_FINE; /* of what lay there before */
        }
        for (unsigned s = 0; s < fabric->n_servers && r >= 0; s++)
                if (fabric->servers[s].device)
                        r = send_all(fabric, s, exchange, nonce);
        /* The last one asked is the one under test: what it heard is what counts. */
        for (unsigned s = fabric->n_servers; s-- > 0 && r >= 0;)
                if (fabric->servers[s].device)
                        r = receive_all(fabric, s, exchange, nonce);

        return r;
}

/* More than any port can hold came out of those that still had a frame. */
static void mark_endless(FabricServer *server) {
        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++)
                        if (server->ports[c][p].driven && server->ports[c][p].heard != HEARD_NOTHING)
                                server->ports[c][p].frames = FRAMES_ENDLESS;
}

/* Takes away what earlier scans may have left. */
static int drain(Fabric *fabric, Exchange *exchange) {
        for (unsigned s = 0; s < fabric->n_servers; s++)
                for (unsigned i = 0; fabric->servers[s].device && i < DRAIN_MAX; i++) {
                        int r = receive_all(fabric, s, exchange, 0);

                        if (r < 0)
                                return r;
                        if (r == 0)
                                break;
                        if (i == DRAIN_MAX - 1)
                                mark_endless(&fabric->servers[s]);
                }

        return 0;
}

/* Whether a port of server 0 is up and yet did not hear a frame of this scan. */
static bool is_incomplete(Fabric *fabric, const Exchange *exchange) {
        for (size_t i = 0; i < exchange->n; i++) {
                const Port *port = &fabric->servers[0].ports[exchange->ends[i].chip][exchange->ends[i].port];

                if (port->error >= 0 && port->before.up && port->heard != HEARD_PORT)
                        return true;
        }

        return false;
}

static bool is_as_designed(Fabric *fabric) {
        for (unsigned i = 0; i < fabric->n_servers * CHIPS * PORTS; i++) {
                PortId id = port_id_at(i), far;
                const Port *port = fabric_port(fabric, id);

                if (port->driven && fabric_designed(fabric, id, &far) &&
                    (port->heard != HEARD_PORT || !port_id_equal(port->from, far)))
                        return false;
        }

        return true;
}

/* A port that hears itself has a loopback plug, unless what it sends arrives elsewhere too. */
static void find_echoes(Fabric *fabric) {
        for (unsigned i = 0; i < fabric->n_servers * CHIPS * PORTS; i++) {
                PortId id = port_id_at(i);
                const Port *port = fabric_port(fabric, id);

                if (port->heard == HEARD_PORT && !port_id_equal(port->from, id)) {
                        Port *sender = fabric_port(fabric, port->from);

                        if (sender->heard == HEARD_PORT && port_id_equal(sender->from, port->from))
                                sender->frames = FRAMES_ECHO;
                }
        }
}

int fabric_discover(Fabric *fabric) {
        _cleanup_free_ Exchange *exchange = NULL;
        uint64_t nonce;
        int r;

        exchange = malloc(sizeof(*exchange));
        if (!exchange)
                return -ENOMEM;

        /* Not of the seed: what another scan with it sent, and did not hear, must not count in this one. */
        r = step_nonce(fabric->step, &nonce);
        for (unsigned s = 0; s < fabric->n_servers && r >= 0; s++)
                if (fabric->servers[s].device)
                        r = read_labels(fabric, s);
        count_cables(fabric);
        if (r >= 0)
                r = read_status(fabric, exchange);
        if (r >= 0)
                r = exchange_frames(fabric, exchange, nonce);
        if (r >= 0 && is_incomplete(fabric, exchange)) {
                r = drain(fabric, exchange);
                if (r >= 0)
                        r = exchange_frames(fabric, exchange, nonce + 1);
        }
        fabric->as_designed = r >= 0 && is_as_designed(fabric);
        if (r < 0 || fabric->as_designed)
                return r;

        find_echoes(fabric);
        return read_ring(fabric, exchange);
}
