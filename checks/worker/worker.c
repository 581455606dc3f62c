/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/worker.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "checks/port/device-control.h"
#include "checks/step/monotonic.h"
#include "checks/vocabulary/fault-words.h"
#include "checks/worker/claim.h"
#include "checks/worker/unit.h"

#define UNITS_MAX (TARGET_SERVERS_MAX * (CHIPS + 1u))
#define BEAT_MSEC 250u /* the longest wait: one that lasts longer was none, we stood still */

/* ---- what the parts share ---- */

uint16_t scan_included(const Scan *scan, size_t server, Disturbs disturbs) {
        const ScanServer *of = &scan->servers[server];
        uint16_t included = 0;

        if (of->error < 0)
                return 0;

        for (unsigned chip = 0; chip < CHIPS; chip++)
                if ((of->target->chips & ~of->lost & (1u << chip)) &&
                    (disturbs == DISTURBS_NOTHING || !of->inventory.chips[chip].occupied))
                        included |= (uint16_t) (1u << chip);

        return included;
}

double scan_deadline_sec(const Scan *scan) {
        return scan->request->plan->deadline_sec * scan->request->deadline_scale;
}

int scan_open(const Scan *scan, size_t server, unsigned chip, size_t window_bytes, Device **ret) {
        const Request *request = scan->request;
        Device *device;
        int r;

        r = device_open_socket(request->target.socket, scan->servers[server].target->name, chip,
                               window_bytes, &device);
        if (r < 0)
                return r;

        device_set_deadline(device, (uint64_t) (scan_deadline_sec(scan) * 1e6));
        *ret = device;
        return 0;
}

/* ---- beginning ---- */

/* Reads what every part says it is, also where another scan has it. Returns how many servers could be reached. */
static size_t take_inventory(Scan *scan) {
        size_t reached = 0;

        claim_servers(scan);
        for (size_t i = 0; i < scan->n_servers; i++) {
                ScanServer *server = &scan->servers[i];

                if (!server->device)
                        continue;

                reached++;
                inventory_read(server->device, server->target->chips, server->claim_errors, &server->inventory);
                inventory_ask_again(server->device, (uint64_t) (scan_deadline_sec(scan) * 1e6 / CONTROL_ANSWERS), &server->inventory);
                for (unsigned chip = 0; chip < CHIPS; chip++)
                        if (server->inventory.chips[chip].error < 0)
                                server->lost |= (uint16_t) (1u << chip);
                inventory_read_particulars(server->device, server->target->name, server->target->chips, &server->inventory);
                if (server->error < 0)
                        server->device = device_free(server->device); /* of what is not scanned no claim is kept */
        }

        return reached;
}

static size_t list_hardware(const Scan *scan, Hardware hardware[static UNITS_MAX]) {
        size_t n = 0, n_chips = scan->n_units - scan->n_servers;

        for (size_t i = 0; i < scan->n_units; i++) {
                const Unit *unit = &scan->units[(n_chips + i) % scan->n_units]; /* servers first */
                const Inventory *inventory = &scan->servers[unit->server].inventory;
                const ChipFacts *facts = unit->chip < 0 ? NULL : &inventory->chips[unit->chip];

                hardware[n++] = (Hardware) {
                        .where = unit->where,
                        .name = facts ? "Trainium2" : "Trn2",
                        .serial = facts ? facts->serial : inventory->serial,
                        .part_number = facts ? facts->part_number : "",
                        .firmware = facts ? facts->firmware : "",
                        .firmware_build = facts ? facts->firmware_build : "",
                        .tray = facts ? facts->tray_name : "",
                        .pci_address = facts ? facts->pci_address : "",
                };
        }

        return n;
}

static size_t list_escapes(const Plan *plan, StatedEscape ret[static STREAM_ESCAPES_MAX]) {
        size_t n = 0;

        static_assert(FAULT_WORDS_MAX <= STREAM_ESCAPES_MAX, "each word is stated once, and all of them are told");
        for (size_t i = 0; i < plan->n_escapes; i++)
                for (size_t k = 0; k < plan->escapes[i].n_faults; k++)
                        ret[n++] = (StatedEscape) { plan->escapes[i].faults[k], plan->escapes[i].always, plan->escapes[i].commands };

        return n;
}

static int write_start(Scan *scan) {
        const Request *request = scan->request;
        char dut[TARGET_SERVERS_MAX * (LOCATION_SERVER_NAME_MAX + 1)] = "", digest[65];
        Hardware hardware[UNITS_MAX];
        Promise promises[PLAN_PROMISES_MAX];
        StatedEscape escapes[STREAM_ESCAPES_MAX];
        RunStart start = {
                .version = ASSAY_VERSION,
                .command_line = request->command_line,
                .plan = request->plan->name,
                .plan_sha256 = digest,
                .dut = dut,
                .seed = request->seed,
                .n_hardware = list_hardware(scan, hardware),
                .hardware = hardware,
                .n_promises = request->plan->n_promises,
                .promises = promises,
                .n_escapes = list_escapes(request->plan, escapes),
                .escapes = escapes,
        };
        int r;

        static_assert(PLAN_PROMISES_MAX <= STREAM_PROMISES_MAX, "all of a plan's promises are told");
        for (size_t i = 0; i < start.n_promises; i++)
                promises[i] = (Promise) { request->plan->promises[i].measurement, request->plan->promises[i].value };

        r = request_digest(request, digest);
        if (r < 0)
                return r;

        for (size_t i = 0, n = 0; i < scan->n_servers; i++)
                n += (size_t) snprintf(dut + n, sizeof(dut) - n, "%s%s", i > 0 ? "," : "",
                                       scan->servers[i].target->name);

        outlet_write(&scan->outlet, stream_schema_version());
        outlet_write(&scan->outlet, stream_run_start(&start));
        return outlet_flush(&scan->outlet);
}

static bool has_free_server(const Scan *scan) {
        for (size_t i = 0; i < scan->n_servers; i++)
                if (scan->servers[i].error == 0)
                        return true;
        return false;
}

/* What every chip needs is computed once, and inherited. */
static void prepare_checks(const Request *request) {
        const PlanStep *steps = request->plan->steps;

        for (size_t i = 0; i < request->plan->n_steps; i++) {
                const Check *check = check_find(steps[i].check->name);
                bool before = false;

                if (!check || !request_asks_for(request, steps[i].name))
                        continue;
                if (check->prepare_for)
                        check->prepare_for(steps[i].parameters, request_step_seed(request, steps[i].name));
                if (!check->prepare)
                        continue;

                for (size_t j = 0; j < i; j++)
                        before = before || (steps[j].check == steps[i].check &&
                                            request_asks_for(request, steps[j].name));
                if (!before)
                        check->prepare();
        }
}

/* ---- the loop ---- */

/* Waits for the children, and adds what it waited to *waited_usec: no more than it meant to. */
static int wait_for(Scan *scan, size_t first, size_t n, struct pollfd polled[static UNITS_MAX + 1],
                    size_t *ret_n, uint64_t *waited_usec) {
        uint64_t nearest = UINT64_MAX, now = monotonic_usec();
        size_t n_polled = 0;
        int timeout;

        for (size_t i = first; i < first + n; i++)
                if (unit_is_running(&scan->units[i])) {
                        polled[n_polled++] = (struct pollfd) { .fd = scan->units[i].fd, .events = POLLIN };
                        if (!scan->units[i].expired)
                                nearest = MIN(nearest, scan->units[i].deadline_usec);
                }
        if (n_polled == 0)
                return 0;

        polled[n_polled] = (struct pollfd) { .fd = scan->input_fd, .events = POLLIN };
        timeout = nearest <= now ? 0 : (int) MIN((nearest - now) / 1000 + 1, BEAT_MSEC);
        if (poll(polled, n_polled + 1, timeout) < 0 && errno != EINTR)
                return -errno;

        *waited_usec += MIN(monotonic_usec() - now, (uint64_t) timeout * 1000);
        *ret_n = n_polled;
        return polled[n_polled].revents != 0 ? -ECONNABORTED : 1;
}

static void read_units(Scan *scan, size_t first, size_t n, const struct pollfd *polled, size_t n_polled) {
        size_t at = 0;

        /* A unit that got a fresh child in this round has another descriptor, and waits for the next. */
        for (size_t i = first; i < first + n && at < n_polled; i++) {
                if (scan->units[i].fd != polled[at].fd)
                        continue;
                if (polled[at].revents != 0)
                        unit_read(&scan->units[i]);
                at++;
        }
}

/* Children must not lose time in which we did not wait for them: because of a slow reader, an answer about one of
 * them, or because we stood still, and maybe they with us. */
static void give_time_back(Scan *scan, size_t first, size_t n, uint64_t usec) {
        for (size_t i = first; i < first + n; i++)
                scan->units[i].deadline_usec += usec;
}

static int run_units(Scan *scan, size_t first, size_t n) {
        struct pollfd polled[UNITS_MAX + 1];
        size_t n_polled = 0;
        int r;

        for (size_t i = first; i < first + n; i++)
                unit_start(&scan->units[i]);

        for (;;) {
                uint64_t begun_usec = monotonic_usec(), waited_usec = 0;

                r = outlet_flush(&scan->outlet);
                if (r < 0)
                        return r;

                r = wait_for(scan, first, n, polled, &n_polled, &waited_usec);
                if (r <= 0)
                        return r;

                read_units(scan, first, n, polled, n_polled);
                give_time_back(scan, first, n, monotonic_usec() - begun_usec - waited_usec);
                for (size_t i = first; i < first + n; i++)
                        unit_expire(&scan->units[i], monotonic_usec());
        }
}

static int run_all(Scan *scan) {
        size_t n_chips = scan->n_units - scan->n_servers;
        int r;

        r = run_units(scan, 0, n_chips);
        for (size_t i = n_chips; i < scan->n_units && r >= 0; i++)
                r = run_units(scan, i, 1);
        return r;
}

/* ---- the end ---- */

/* Sixteen chips that fail alike are rather one station. The step appears once more, on the server as a
 * whole. */
static void tell_suspect(const Suspect *suspect, void *userdata) {
        Scan *scan = userdata;
        const PlanStep *planned = &scan->request->plan->steps[suspect->step];
        const CatalogueEntry *entry = catalogue_find("suspect-station");
        Unit *unit = &scan->units[scan->n_units - scan->n_servers + suspect->server];
        char id[LOCATION_STRING_MAX + PLAN_NAME_MAX], message[256];
        StepEnd end = { .verdict = VERDICT_WARNED, .runs = 1 };
        Finding finding = { .code = "suspect-station",
                            .where = unit->where,
                            .message = message,
                            .evidence = { .actual = suspect->entry->code,
                                          .decided = { "device_chips_alike", suspect->n_chips, suspect->n_chips - 1 } },
                            .reproduced = 1,
                            .runs = 1 };

        if (!entry || check_find(planned->check->name)->unit != LOCATION_CHIP || unit->findings.n > 0)
                return;

        /* One is enough: the unit's own findings, unused by now, remember the step. */
        (void) snprintf(message, sizeof(message), "%s on all %u chips in step %s: %s", suspect->entry->code,
                        suspect->n_chips, planned->name, suspect->entry->summary);
        (void) snprintf(id, sizeof(id), "%s:%s", unit->name, planned->name);
        finding.severity = entry->severity;
        finding.action = catalogue_remedy(entry, NULL).action;
        if (findings_add(&unit->findings, &finding, 1) < 0)
                return;

        outlet_write(&scan->outlet, stream_step_start(id, planned->check->name));
        finding_write(&finding, id, &scan->outlet);
        outlet_write(&scan->outlet, stream_step_end(id, &end));
}

static Result conclude(Scan *scan) {
        const Request *request = scan->request;
        bool whole = request->first_sequence == 0 && request->n_done == 0;

        account_suspects(scan->account, tell_suspect, scan);
        return account_result(scan->account, whole);
}

static int scan_begin(Scan *scan, const Request *request, int input_fd, int output_fd) {
        scan->request = request;
        scan->pid = getpid();
        scan->input_fd = input_fd;
        scan->outlet.fd = output_fd;
        scan->outlet.sequence = request->first_sequence;
        scan->n_servers = request->target.n_servers;
        for (size_t i = 0; i < scan->n_servers; i++)
                scan->servers[i].target = &request->target.servers[i];

        scan->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (scan->null_fd < 0)
                return -errno;

        scan->units = calloc(UNITS_MAX, sizeof(*scan->units));
        if (!scan->units)
                return -ENOMEM;

        for (size_t i = 0; i < scan->n_servers; i++)
                for (int chip = 0; chip < (int) CHIPS; chip++)
                        if (scan->servers[i].target->chips & (1u << chip))
                                unit_init(&scan->units[scan->n_units++], scan, i, chip);
        for (size_t i = 0; i < scan->n_servers; i++)
                unit_init(&scan->units[scan->n_units++], scan, i, -1);

        return account_new(request->plan, &request->target, &scan->account);
}

static Scan *scan_free(Scan *scan) {
        if (!scan)
                return NULL;

        for (size_t i = 0; i < scan->n_units; i++)
                unit_done(&scan->units[i]);
        free(scan->units);
        for (size_t i = 0; i < scan->n_servers; i++) {
                device_freep(&scan->servers[i].device);
                inventory_done(&scan->servers[i].inventory);
        }
        account_freep(&scan->account);
        close_fdp(&scan->null_fd);
        free(scan);
        return NULL;
}
DEFINE_CLEANUP(Scan *, scan_free);

/* The operator who looks for the reason needs the address. */
static void tell_unreachable(Scan *scan) {
        char message[TARGET_SOCKET_MAX + LOCATION_SERVER_NAME_MAX + 128];
        const char *socket = scan->request->target.socket;

        /* A socket that is there and answers so does not know the name. */
        if (scan->servers[0].error == -ENOENT && access(socket, F_OK) == 0)
                (void) snprintf(message, sizeof(message), "%s answers, and has no server %s", socket, scan->servers[0].target->name);
        else
                (void) snprintf(message, sizeof(message), "%s does not answer: %s", socket, strerror(-scan->servers[0].error));
        outlet_write(&scan->outlet, stream_run_error(reason_to_string(REASON_DEVICE_UNREACHABLE), message));
}

int worker_run(const Request *request, int input_fd, int output_fd, Result *ret) {
        _cleanup_(scan_freep) Scan *scan = NULL;
        Result result = RESULT_INCONCLUSIVE;
        size_t reached;
        int r;

        assert(request && request->plan);
        assert(ret);

        scan = calloc(1, sizeof(*scan));
        if (!scan)
                return -ENOMEM;
        scan->null_fd = -EBADF;

        r = scan_begin(scan, request, input_fd, output_fd);
        if (r < 0)
                return r;

        reached = take_inventory(scan);
        if (request->first_sequence == 0)
                r = write_start(scan);
        if (r >= 0 && reached > 0) {
                if (has_free_server(scan))
                        prepare_checks(request);
                r = run_all(scan);
        }
        if (r < 0)
                return r;

        if (reached > 0)
                result = conclude(scan);
        else
                tell_unreachable(scan);
        outlet_write(&scan->outlet, stream_run_end(result));
        r = outlet_flush(&scan->outlet);
        if (r < 0)
                return r;

        *ret = result;
        return reached > 0 ? 0 : -ENOTCONN;
}

int worker_refuse(int output_fd, const char *why) {
        Outlet *outlet = calloc(1, sizeof(*outlet));
        int r;

        if (!outlet)
                return -ENOMEM;

        outlet->fd = output_fd;
        outlet_write(outlet, stream_schema_version());
        outlet_write(outlet, stream_run_error("request-refused", why));
        outlet_write(outlet, stream_run_end(RESULT_INCONCLUSIVE));
        r = outlet_flush(outlet);
        free(outlet);
        return r;
}
