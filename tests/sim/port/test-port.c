/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "checks/text/cleanup.h"
#include "sim/port/batch.h"
#include "sim/port/control.h"
#include "sim/port/packet.h"
#include "sim/port/port.h"

#define WINDOW (64u << 10)
#define ANSWER_MSEC 5000
#define SILENCE_MSEC 100

/* One port for all tests, served by a thread of its own. */
typedef struct Fixture {
        char folder[32], path[64];
        Scenario *scenario;
        Port *port;
        int stop_fd;
        pthread_t thread;
} Fixture;

static Fixture fixture;

static const char text[] = "scenario: t\nseed: 3\ntopology: {ultraservers: 2}\n"
                           "faults: [{at: us1-2/chip5, kind: hang}, {at: us1-2/chip6, kind: hang, attributes: true}]\n";

static void *serve(void *userdata) {
        (void) port_run(fixture.port, fixture.stop_fd);
        return NULL;
}

static int setup(void **state) {
        char *error = NULL;

        (void) snprintf(fixture.folder, sizeof(fixture.folder), "/tmp/assay-port-XXXXXX");
        if (!mkdtemp(fixture.folder))
                return -1;
        (void) snprintf(fixture.path, sizeof(fixture.path), "%s/socket", fixture.folder);
        fixture.stop_fd = eventfd(0, EFD_CLOEXEC);
        if (scenario_parse("t", text, strlen(text), &fixture.scenario, &error) < 0 ||
            port_new(fixture.scenario, fixture.path, 0600, 2, &fixture.port) < 0)
                return -1;
        return pthread_create(&fixture.thread, NULL, serve, NULL);
}

static int teardown(void **state) {
        struct stat st;

        (void) eventfd_write(fixture.stop_fd, 1);
        (void) pthread_join(fixture.thread, NULL);
        (void) port_free(fixture.port);
        (void) scenario_free(fixture.scenario);
        (void) close(fixture.stop_fd);
        if (stat(fixture.path, &st) == 0)
                return -1; /* the socket is gone with its port */
        return rmdir(fixture.folder);
}

/* ---- a client that can do wrong ---- */

typedef struct Client {
        int fd;
        uint8_t *window;
        uint32_t sequence;
} Client;

static bool comes(int fd, int msec) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        return poll(&p, 1, msec) == 1;
}

static WireHello hello_for(const char *server, uint32_t chip) {
        WireHello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .chip = chip, .window_bytes = WINDOW };

        memcpy(hello.server, server, strlen(server));
        return hello;
}

/* The welcome's status, or -1 where the connection was closed instead. */
static int greet(const WireHello *hello, size_t n, int *ret_fd, int *ret_window) {
        WireWelcome welcome;
        int fd = packet_connect(fixture.path);

        assert_true(fd >= 0);
        assert_int_equal(packet_send(fd, hello, n, -1), 0);
        assert_true(comes(fd, ANSWER_MSEC));
        *ret_fd = fd;
        *ret_window = -EBADF;
        if (packet_receive(fd, &welcome, sizeof(welcome), ret_window) != (ssize_t) sizeof(welcome))
                return -1;
        assert_int_equal(welcome.magic, WIRE_MAGIC);
        return (int) welcome.status;
}

static Client client_open(const char *server, uint32_t chip) {
        WireHello hello = hello_for(server, chip);
        Client client = {};
        int window;

        assert_int_equal(greet(&hello, sizeof(hello), &client.fd, &window), 0);
        client.window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, window, 0);
        assert_ptr_not_equal(client.window, MAP_FAILED);
        (void) close(window);
        return client;
}

static void client_close(Client *client) {
        (void) munmap(client->window, WINDOW);
        (void) close(client->fd);
}

static void client_send(Client *client, const WireCommand *commands, uint32_t n) {
        _Alignas(WireCommand) uint8_t packet[BATCH_PACKET_MAX];
        WireBatch header = { .magic = WIRE_MAGIC, .sequence = ++client->sequence, .n = n };

        memcpy(packet, &header, sizeof(header));
        memcpy(packet + sizeof(header), commands, n * sizeof(*commands));
        assert_int_equal(packet_send(client->fd, packet, sizeof(header) + n * sizeof(*commands), -1), 0);
}

/* Returns how many completions came. */
static unsigned client_receive(Client *client, WireCompletion *ret) {
        _Alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
        WireBatch header;
        ssize_t n;
        int fd;

        assert_true(comes(client->fd, ANSWER_MSEC));
        n = packet_receive(client->fd, answer, sizeof(answer), &fd);
        assert_true(n >= (ssize_t) sizeof(header));
        memcpy(&header, answer, sizeof(header));
        assert_int_equal(header.sequence, client->sequence);
        assert_int_equal(n, sizeof(header) + header.n * sizeof(*ret));
        memcpy(ret, answer + sizeof(header), header.n * sizeof(*ret));
        return header.n;
}

static WireCommand attribute(Client *client, uint8_t chip, const char *path) {
        memcpy(client->window, path, strlen(path));
        return (WireCommand) {
                .type = COMMAND_ATTRIBUTE, .chip = chip, .in_bytes = (uint32_t) strlen(path), .out_offset = 1024, .out_bytes = 256,
        };
}

static uint32_t ask(Client *client, const WireCommand *command, WireCompletion *ret) {
        client_send(client, command, 1);
        assert_int_equal(client_receive(client, ret), 1);
        return ret->status;
}

static uint32_t ask_path(Client *client, uint8_t chip, const char *path, char text_out[static 257]) {
        WireCommand command = attribute(client, chip, path);
        WireCompletion completion;
        uint32_t status = ask(client, &command, &completion);

        assert_true(completion.out_bytes <= 256);
        memcpy(text_out, client->window + 1024, completion.out_bytes);
        text_out[completion.out_bytes] = '\0';
        return status;
}

/* A well-behaved client still gets its answer: nothing before has hurt the port. */
static void assert_alive(void) {
        Client client = client_open("us0-1", 3);
        char answer[257];

        assert_int_equal(ask_path(&client, 3, "core_count", answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, "8");
        client_close(&client);
}

static void assert_closed(int fd) {
        char byte;

        assert_true(comes(fd, ANSWER_MSEC));
        assert_true(recv(fd, &byte, 1, MSG_DONTWAIT) <= 0);
}

/* ---- the tests ---- */

static void attributes_answer_over_the_port(void **state) {
        Client client = client_open("us0-1", WIRE_CHIP_ALL);
        char answer[257];

        assert_int_equal(ask_path(&client, 4, "connected_devices", answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, "8, 5, 7, 0");
        assert_int_equal(ask_path(&client, 4, "assay/tray", answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, "1");
        assert_int_equal(ask_path(&client, 4, "no/such", answer), STATUS_NRT_QUEUE_EMPTY);
        assert_int_equal(ask_path(&client, 16, "core_count", answer), STATUS_NRT_INVALID_HANDLE);
        client_close(&client);
}

static void the_window_cannot_change_its_size(void **state) {
        WireHello hello = hello_for("us0-1", 3);
        struct stat st;
        int fd, window, seals;

        assert_int_equal(greet(&hello, sizeof(hello), &fd, &window), 0);
        seals = fcntl(window, F_GET_SEALS);
        assert_int_equal(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        assert_int_equal(fstat(window, &st), 0);
        assert_int_equal(st.st_size, WINDOW);
        assert_int_equal(ftruncate(window, 0), -1);
        assert_int_equal(errno, EPERM);
        (void) close(window);
        (void) close(fd);
}

static void a_hello_for_what_is_not_there_is_told_so(void **state) {
        WireHello hello;
        int fd, window;

        static const struct {
                const char *server;
                uint32_t chip, version, window;
                int status;
        } cases[] = {
                { "us0-4", 0, WIRE_VERSION, WINDOW, ENOENT },
                { "trn-0", 0, WIRE_VERSION, WINDOW, ENOENT },
                { "us0-1", 16, WIRE_VERSION, WINDOW, ENOENT },
                { "us0-1", 0, WIRE_VERSION + 1, WINDOW, EPROTO },
                { "us0-1", 0, WIRE_VERSION, 0, EPROTO },
                { "us0-1", 0, WIRE_VERSION, WIRE_WINDOW_MAX + 4096, EPROTO },
                { "us0-1", 0, WIRE_VERSION, WINDOW + 1, EPROTO },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                hello = hello_for(cases[i].server, cases[i].chip);
                hello.version = cases[i].version;
                hello.window_bytes = cases[i].window;
                assert_int_equal(greet(&hello, sizeof(hello), &fd, &window), cases[i].status);
                assert_true(window < 0);
                assert_closed(fd);
                (void) close(fd);
        }
        assert_alive();
}

static void a_hello_that_is_none_ends_the_connection(void **state) {
        WireHello hello = hello_for("us0-1", 3);
        int fd, window;

        assert_int_equal(greet(&hello, sizeof(hello) - 1, &fd, &window), -1);
        (void) close(fd);
        hello.magic ^= 1;
        assert_int_equal(greet(&hello, sizeof(hello), &fd, &window), -1);
        (void) close(fd);
        hello = hello_for("us0-1", 3);
        memset(hello.server, 'a', sizeof(hello.server)); /* no end */
        assert_int_equal(greet(&hello, sizeof(hello), &fd, &window), -1);
        (void) close(fd);
        assert_alive();
}

static void a_packet_that_is_no_batch_ends_the_connection(void **state) {
        static const struct {
                uint32_t magic, n;
                size_t bytes;
        } cases[] = {
                { WIRE_MAGIC, 1, 7 },
                { WIRE_MAGIC ^ 1, 1, sizeof(WireBatch) + sizeof(WireCommand) },
                { WIRE_MAGIC, 0, sizeof(WireBatch) },
                { WIRE_MAGIC, 1, sizeof(WireBatch) },
                { WIRE_MAGIC, 2, sizeof(WireBatch) + sizeof(WireCommand) },
                { WIRE_MAGIC, WIRE_BATCH_MAX + 1, BATCH_PACKET_MAX },
                { WIRE_MAGIC, UINT32_MAX, sizeof(WireBatch) + sizeof(WireCommand) },
                { WIRE_MAGIC, WIRE_BATCH_MAX, BATCH_PACKET_MAX + 100 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                static uint8_t packet[BATCH_PACKET_MAX + 100];
                WireBatch header = { .magic = cases[i].magic, .sequence = 1, .n = cases[i].n };
                Client client = client_open("us0-1", 3);

                memcpy(packet, &header, sizeof(header));
                assert_int_equal(packet_send(client.fd, packet, cases[i].bytes, -1), 0);
                assert_closed(client.fd);
                client_close(&client);
        }
        assert_alive();
}

static void areas_outside_the_window_are_invalid(void **state) {
        static const uint32_t areas[][2] = {
                { WINDOW, 1 }, { WINDOW - 1, 2 }, { UINT32_MAX, 1 }, { 1, UINT32_MAX }, { 0, WINDOW + 1 }, { UINT32_MAX, UINT32_MAX },
        };
        Client client = client_open("us0-1", 3);
        WireCompletion completion;

        for (uint16_t type = 0; type <= _COMMAND_MAX; type++)
                for (size_t i = 0; i < ELEMENTS(areas); i++) {
                        WireCommand in = { .type = type, .chip = 3, .in_offset = areas[i][0], .in_bytes = areas[i][1] };
                        WireCommand out = { .type = type, .chip = 3, .out_offset = areas[i][0], .out_bytes = areas[i][1] };

                        assert_int_equal(ask(&client, &in, &completion), STATUS_NRT_INVALID);
                        assert_int_equal(ask(&client, &out, &completion), STATUS_NRT_INVALID);
                }
        client_close(&client);
}

/* Random commands of every type: each is answered, whatever it says. */
static void random_commands_are_all_answered(void **state) {
        Client client = client_open("us0-1", 3);
        WireCompletion completions[WIRE_BATCH_MAX];
        WireCommand commands[WIRE_BATCH_MAX];
        unsigned seed = 7;

        for (unsigned round = 0; round < 50; round++) {
                for (size_t i = 0; i < ELEMENTS(commands); i++) {
                        uint8_t *bytes = (uint8_t *) &commands[i];

                        for (size_t k = 0; k < sizeof(commands[i]); k++)
                                bytes[k] = (uint8_t) ((unsigned) rand_r(&seed) >> 7) & (rand_r(&seed) & 64 ? 0xff : 0x03);
                        commands[i].type %= _COMMAND_MAX + 1;
                        if (commands[i].type == COMMAND_HBM_HAMMER || commands[i].type == COMMAND_HBM_MARCH)
                                commands[i].type = COMMAND_LINK_STATUS; /* honest work over random ranges has its own test */
                        commands[i].chip = 3;
                        commands[i].in_offset = commands[i].out_offset = 0;
                        commands[i].in_bytes %= WINDOW;
                        commands[i].out_bytes %= WINDOW;
                }
                client_send(&client, commands, WIRE_BATCH_MAX);
                assert_int_equal(client_receive(&client, completions), WIRE_BATCH_MAX);
                for (size_t i = 0; i < ELEMENTS(commands); i++)
                        assert_true(completions[i].out_bytes <= commands[i].out_bytes);
        }
        client_close(&client);
        assert_alive();
}

static void a_connection_reaches_its_own_chip_only(void **state) {
        Client client = client_open("us0-1", 3);
        char answer[257];

        assert_int_equal(ask_path(&client, 4, "core_count", answer), STATUS_NRT_INVALID_HANDLE);
        client_close(&client);
}

static void closing_in_the_middle_of_a_batch_hurts_nobody(void **state) {
        for (unsigned i = 0; i < 100; i++) {
                Client client = client_open("us0-1", 3);
                WireCommand commands[WIRE_BATCH_MAX];

                for (size_t k = 0; k < ELEMENTS(commands); k++)
                        commands[k] = attribute(&client, 3, "core_count");
                client_send(&client, commands, WIRE_BATCH_MAX);
                client_close(&client);
        }
        assert_alive();
}

#define PLANTED "assay/planted/sram_ecc_uncorrected"

static uint32_t write_path(Client *client, uint8_t chip, const char *path, const char *words) {
        size_t n = strlen(path) + 1;
        WireCommand command = { .type = COMMAND_ATTRIBUTE_WRITE, .chip = chip, .in_bytes = (uint32_t) (n + strlen(words)) };
        WireCompletion completion;

        memcpy(client->window, path, n);
        memcpy(client->window + n, words, strlen(words));
        return ask(client, &command, &completion);
}

static uint32_t announce(Client *client, uint8_t chip, const char *number) {
        return write_path(client, chip, PLANTED, number);
}

/* It takes the port a moment to notice that a client has gone. */
static void assert_comes_to_say(Client *client, uint8_t chip, const char *path, const char *wanted) {
        char answer[257] = "";

        for (unsigned i = 0; i < ANSWER_MSEC && strcmp(answer, wanted) != 0; i++) {
                (void) usleep(1000);
                assert_int_equal(ask_path(client, chip, path, answer), STATUS_NRT_SUCCESS);
        }
        assert_string_equal(answer, wanted);
}

/* Also where it is killed, and whatever others do. */
static void what_a_client_announced_ends_with_its_connection(void **state) {
        Client watching = client_open("us0-1", WIRE_CHIP_ALL), planting = client_open("us0-1", 3), whole = client_open("us0-1", WIRE_CHIP_ALL);
        char answer[257];

        assert_int_equal(announce(&planting, 3, "144"), STATUS_NRT_SUCCESS);
        assert_int_equal(announce(&watching, 3, "1"), STATUS_NRT_INVALID);
        assert_int_equal(announce(&watching, 3, "0"), STATUS_NRT_INVALID);
        assert_int_equal(announce(&planting, 3, "-1"), STATUS_NRT_INVALID);
        assert_int_equal(announce(&planting, 3, ""), STATUS_NRT_INVALID);
        assert_int_equal(announce(&whole, 4, "7"), STATUS_NRT_SUCCESS);
        assert_int_equal(ask_path(&watching, 3, PLANTED, answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, "0 open");

        client_close(&whole);
        assert_comes_to_say(&watching, 4, PLANTED, "0");
        assert_int_equal(ask_path(&watching, 3, PLANTED, answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, "0 open");
        client_close(&planting);
        assert_comes_to_say(&watching, 3, PLANTED, "0");

        for (unsigned i = 0; i < 50; i++) {
                Client one = client_open("us0-1", 3);

                assert_int_equal(announce(&one, 3, "65535"), STATUS_NRT_SUCCESS);
                client_close(&one);
                assert_comes_to_say(&watching, 3, PLANTED, "0");
        }
        client_close(&watching);
        assert_alive();
}

#define CLAIM "assay/claim"

static void assert_claimed(Client *client, uint8_t chip, const char *wanted) {
        char answer[257];

        assert_int_equal(ask_path(client, chip, CLAIM, answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, wanted);
}

/* Per chip, by one client, whoever asks and whatever is reset. */
static void a_claim_is_held_by_one_client_until_it_goes(void **state) {
        Client one = client_open("us0-1", WIRE_CHIP_ALL), other = client_open("us0-1", WIRE_CHIP_ALL), lone = client_open("us0-1", 4);
        WireCommand reset = { .type = COMMAND_RESET, .chip = 3, .unit = WIRE_CHIP_ALL };
        WireCompletion completion;

        assert_claimed(&other, 3, "0");
        assert_int_equal(write_path(&one, 3, CLAIM, "1"), STATUS_NRT_SUCCESS);
        assert_int_equal(write_path(&one, 3, CLAIM, "1"), STATUS_NRT_SUCCESS); /* it has it already */
        assert_int_equal(write_path(&other, 3, CLAIM, "1"), STATUS_NRT_INVALID);
        assert_int_equal(write_path(&other, 3, CLAIM, "0"), STATUS_NRT_INVALID);
        assert_int_equal(write_path(&one, 3, CLAIM, "2"), STATUS_NRT_INVALID);
        assert_int_equal(write_path(&one, 3, CLAIM, ""), STATUS_NRT_INVALID);
        assert_int_equal(write_path(&lone, 4, CLAIM, "1"), STATUS_NRT_SUCCESS);
        assert_claimed(&other, 3, "1");
        assert_claimed(&other, 4, "1");
        assert_claimed(&other, 5, "0");

        assert_int_equal(ask(&other, &reset, &completion), STATUS_NRT_SUCCESS); /* nothing but the claim is refused */
        assert_claimed(&other, 3, "1");

        client_close(&lone);
        assert_comes_to_say(&other, 4, CLAIM, "0");
        assert_claimed(&other, 3, "1");
        assert_int_equal(write_path(&one, 3, CLAIM, "0"), STATUS_NRT_SUCCESS);
        assert_int_equal(write_path(&other, 3, CLAIM, "1"), STATUS_NRT_SUCCESS);
        assert_int_equal(write_path(&one, 3, CLAIM, "1"), STATUS_NRT_INVALID);
        client_close(&one);
        assert_claimed(&other, 3, "1");
        client_close(&other);
        assert_alive();
}

/* A scanner's children have it by inheritance: it is held until the last of them is gone. */
static void a_claim_is_held_by_all_who_have_its_connection(void **state) {
        Client watching = client_open("us0-1", WIRE_CHIP_ALL), one = client_open("us0-1", WIRE_CHIP_ALL);
        int inherited = dup(one.fd);

        assert_true(inherited >= 0);
        assert_int_equal(write_path(&one, 9, CLAIM, "1"), STATUS_NRT_SUCCESS);
        client_close(&one);
        (void) usleep(SILENCE_MSEC * 1000);
        assert_claimed(&watching, 9, "1");
        (void) close(inherited);
        assert_comes_to_say(&watching, 9, CLAIM, "0");
        client_close(&watching);
}

static void a_batch_that_was_sent_is_run_though_its_client_has_gone(void **state) {
        Client watching = client_open("us0-1", 7), dying = client_open("us0-1", 7);
        WireCommand reset = { .type = COMMAND_RESET, .chip = 7, .unit = 2 };
        WireCommand commands[3] = { reset, reset, reset };

        client_send(&dying, commands, ELEMENTS(commands));
        client_close(&dying);
        assert_comes_to_say(&watching, 7, "neuron_core2/stats/other_info/reset_req_count", "3");
        client_close(&watching);
}

static void a_client_that_never_reads_is_dropped_and_stalls_nobody(void **state) {
        Client client = client_open("us0-1", 3);
        WireCommand commands[WIRE_BATCH_MAX];
        unsigned sent;

        for (size_t k = 0; k < ELEMENTS(commands); k++)
                commands[k] = attribute(&client, 3, "core_count");
        for (sent = 0; sent < 100000; sent++) {
                struct {
                        WireBatch header;
                        WireCommand commands[WIRE_BATCH_MAX];
                } packet = { .header = { .magic = WIRE_MAGIC, .n = WIRE_BATCH_MAX } };
                int r;

                memcpy(packet.commands, commands, sizeof(commands));
                r = packet_send(client.fd, &packet, sizeof(packet), -1);
                if (r == -EAGAIN)
                        (void) poll(&(struct pollfd) { .fd = client.fd, .events = POLLOUT }, 1, 10);
                else if (r < 0)
                        break; /* closed */
        }
        assert_true(sent < 100000);
        assert_alive();
        client_close(&client);
}

static void a_chip_that_hangs_says_nothing_and_its_neighbours_go_on(void **state) {
        Client hung = client_open("us1-2", 5), other = client_open("us1-2", 4);
        WireCommand command = attribute(&hung, 5, "core_count");
        char answer[257];

        client_send(&hung, &command, 1);
        assert_int_equal(ask_path(&other, 4, "core_count", answer), STATUS_NRT_SUCCESS);
        assert_false(comes(hung.fd, SILENCE_MSEC));
        client_close(&hung);
        client_close(&other);
}

static void over_its_server_a_hang_is_the_drivers_timeout(void **state) {
        Client client = client_open("us1-2", WIRE_CHIP_ALL);
        char answer[257];

        assert_int_equal(ask_path(&client, 5, "core_count", answer), STATUS_NRT_TIMEOUT);
        assert_int_equal(ask_path(&client, 6, "core_count", answer), STATUS_NRT_SUCCESS);
        client_close(&client);
}

static void faults_come_and_go_while_it_serves(void **state) {
        Client client = client_open("us0-2", 7);
        char answer[257], id[64] = "";
        FILE *out = tmpfile();

        assert_int_equal(ask_path(&client, 7, "assay/firmware", answer), STATUS_NRT_SUCCESS);
        assert_int_equal(control_ask(fixture.path, CONTROL_INJECT, "{at: us0-2/chip7, kind: firmware-mismatch, version: x9}", out), 0);
        rewind(out);
        assert_non_null(fgets(id, sizeof(id), out));
        id[strcspn(id, "\n")] = '\0';
        assert_int_equal(ask_path(&client, 7, "assay/firmware", answer), STATUS_NRT_SUCCESS);
        assert_string_equal(answer, "x9");

        assert_int_not_equal(control_ask(fixture.path, CONTROL_INJECT, "{at: us0-2/chip7, kind: firmware-mismatch, version: x8}", out), 0);
        assert_int_equal(control_ask(fixture.path, CONTROL_HEAL, id, out), 0);
        assert_int_not_equal(control_ask(fixture.path, CONTROL_HEAL, id, out), 0);
        assert_int_equal(ask_path(&client, 7, "assay/firmware", answer), STATUS_NRT_SUCCESS);
        assert_string_not_equal(answer, "x9");
        (void) fclose(out);
        client_close(&client);
}

static void faults_list_what_is_broken(void **state) {
        char line[256];
        FILE *out = tmpfile();
        unsigned n = 0;

        assert_int_equal(control_ask(fixture.path, CONTROL_FAULTS, "", out), 0);
        rewind(out);
        while (fgets(line, sizeof(line), out))
                n++;
        assert_int_equal(n, 2);
        (void) fclose(out);
}

static void bad_control_requests_are_refused(void **state) {
        FILE *out = tmpfile();
        char longest[FAULT_TEXT_MAX + 2];

        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        assert_int_not_equal(control_ask(fixture.path, CONTROL_INJECT, "", out), 0);
        assert_int_not_equal(control_ask(fixture.path, CONTROL_INJECT, "7", out), 0);
        assert_int_not_equal(control_ask(fixture.path, CONTROL_INJECT, longest, out), 0);
        assert_int_not_equal(control_ask(fixture.path, CONTROL_HEAL, "us0-1/nonsense", out), 0);
        assert_int_not_equal(control_ask(fixture.path, CONTROL_HEAL, "99999999999999999999999", out), 0);
        assert_int_not_equal(control_ask(fixture.path, (ControlVerb) 77, "", out), 0);
        (void) fclose(out);
        assert_alive();
}

/* The clock says when it was asked, so it is the one thing that may differ. */
static void answers_do_not_depend_on_how_connections_interleave(void **state) {
        static const char *const paths[] = { "info/serial_number", "mailbox/hbm0_ecc", "mailbox/hbm3_ecc", "assay/temperature",
                                             "mailbox/heartbeat" };
        char alone[2][8][ELEMENTS(paths)][257], together[2][8][ELEMENTS(paths)][257];

        /* us0-0 serves chip after chip, its twin in another hall all chips in turns, the last first. */
        for (unsigned pass = 0; pass < 2; pass++) {
                char (*texts)[8][ELEMENTS(paths)][257] = pass == 0 ? alone : together;
                Scenario *scenario = NULL;
                uint8_t *window = calloc(1, WINDOW);
                char *error = NULL;

                assert_int_equal(scenario_parse("t", text, strlen(text), &scenario, &error), 0);
                for (unsigned step = 0; step < 2 * 8 * ELEMENTS(paths); step++) {
                        unsigned server, chip, path;
                        Reach reach;
                        struct {
                                WireBatch header;
                                WireCommand command;
                        } packet = { .header = { WIRE_MAGIC, 1, 1, 0 } };
                        _Alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
                        WireCompletion completion;

                        if (pass == 0) {
                                path = step % ELEMENTS(paths);
                                chip = step / ELEMENTS(paths) % 8;
                                server = step / ELEMENTS(paths) / 8;
                        } else {
                                server = 1 - step % 2;
                                chip = 7 - step / 2 % 8;
                                path = step / 16;
                        }
                        reach = (Reach) { hall_server_at(scenario->hall, server), chip, window, WINDOW };
                        memcpy(window, paths[path], strlen(paths[path]));
                        packet.command = (WireCommand) { .type = COMMAND_ATTRIBUTE, .chip = (uint8_t) chip,
                                                         .in_bytes = (uint32_t) strlen(paths[path]), .out_offset = 1024, .out_bytes = 256 };
                        assert_true(batch_run(&reach, &packet, sizeof(packet), answer) > 0);
                        memcpy(&completion, answer + sizeof(WireBatch), sizeof(completion));
                        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
                        memcpy(texts[server][chip][path], window + 1024, completion.out_bytes);
                        texts[server][chip][path][completion.out_bytes] = '\0';
                }
                (void) scenario_free(scenario);
                free(window);
        }
        for (unsigned server = 0; server < 2; server++)
                for (unsigned chip = 0; chip < 8; chip++)
                        for (size_t path = 0; path < ELEMENTS(paths); path++)
                                assert_string_equal(alone[server][chip][path], together[server][chip][path]);
}

/* Each of two threads sends into what the other one owns, and takes what came from there. */
typedef struct Crosser {
        const char *own, *far;
        uint64_t n_delivered, n_arrived;
        bool wrong;
} Crosser;

#define CROSSINGS 200u

static void *cross(void *userdata) {
        Crosser *crosser = userdata;
        Client client = client_open(crosser->own, WIRE_CHIP_ALL);
        WireCommand send = { .type = COMMAND_NIC_SEND, .chip = 3, .nic_send = { .chip = 4, .packets = 20, .bytes = 8,
                                                                                .path = NIC_PATH_SPRAYED } };
        WireCommand receive = { .type = COMMAND_NIC_RECEIVE, .chip = 4, .out_bytes = 64 * sizeof(WireArrival),
                                .nic_receive = { .arrivals_max = 64 } };

        memcpy(send.nic_send.server, crosser->far, strlen(crosser->far));
        for (uint32_t i = 0; i < CROSSINGS; i++) {
                WireCommand batch[2] = { send, receive };
                WireCompletion completions[2] = {};

                batch[0].nic_send.flow = i;
                client_send(&client, batch, 2);
                crosser->wrong |= client_receive(&client, completions) != 2 || completions[0].result[1] != 0;
                crosser->n_delivered += completions[0].result[0];
                crosser->n_arrived += completions[1].result[1];
        }
        client_close(&client);
        return NULL;
}

/* Also what the sanitizer of threads is for: -Db_sanitize=thread. */
static void adapters_reach_what_other_threads_own(void **state) {
        Crosser crossers[2] = { { .own = "us0-1", .far = "us1-0" }, { .own = "us1-0", .far = "us0-1" } };
        uint64_t n_left = 0;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, cross, &crossers[1]), 0);
        (void) cross(&crossers[0]);
        (void) pthread_join(thread, NULL);
        for (unsigned i = 0; i < 2; i++) {
                Client client = client_open(crossers[i].own, WIRE_CHIP_ALL);
                WireCommand waiting = { .type = COMMAND_NIC_RECEIVE, .chip = 4 };
                WireCompletion completion;

                assert_false(crossers[i].wrong);
                assert_int_equal(crossers[i].n_delivered, CROSSINGS * 20);
                assert_int_equal(ask(&client, &waiting, &completion), STATUS_NRT_SUCCESS);
                n_left = completion.result[0];
                assert_int_equal(crossers[i].n_arrived + n_left, CROSSINGS * 20);
                client_close(&client);
        }
        assert_alive();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(attributes_answer_over_the_port),
                cmocka_unit_test(the_window_cannot_change_its_size),
                cmocka_unit_test(a_hello_for_what_is_not_there_is_told_so),
                cmocka_unit_test(a_hello_that_is_none_ends_the_connection),
                cmocka_unit_test(a_packet_that_is_no_batch_ends_the_connection),
                cmocka_unit_test(areas_outside_the_window_are_invalid),
                cmocka_unit_test(random_commands_are_all_answered),
                cmocka_unit_test(a_connection_reaches_its_own_chip_only),
                cmocka_unit_test(closing_in_the_middle_of_a_batch_hurts_nobody),
                cmocka_unit_test(what_a_client_announced_ends_with_its_connection),
                cmocka_unit_test(a_claim_is_held_by_one_client_until_it_goes),
                cmocka_unit_test(a_claim_is_held_by_all_who_have_its_connection),
                cmocka_unit_test(a_batch_that_was_sent_is_run_though_its_client_has_gone),
                cmocka_unit_test(a_client_that_never_reads_is_dropped_and_stalls_nobody),
                cmocka_unit_test(a_chip_that_hangs_says_nothing_and_its_neighbours_go_on),
                cmocka_unit_test(over_its_server_a_hang_is_the_drivers_timeout),
                cmocka_unit_test(faults_come_and_go_while_it_serves),
                cmocka_unit_test(faults_list_what_is_broken),
                cmocka_unit_test(bad_control_requests_are_refused),
                cmocka_unit_test(answers_do_not_depend_on_how_connections_interleave),
                cmocka_unit_test(adapters_reach_what_other_threads_own),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
