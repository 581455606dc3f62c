/* SPDX-License-Identifier: Apache-2.0 */

/*
 * flood-bus ADDRESS CONNECTIONS OUTSTANDING SECONDS PATH INTERFACE.METHOD TYPES ARGUMENT…
 *
 * Calls a method of assayd without end, over several connections with so many calls outstanding on each, and prints how many were answered and how many
 * refused with LimitsExceeded. It says "ready" when the first call is sent. Types are s and t.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-bus.h>

#include "daemon/names.h"

#define CONNECTIONS_MAX 512

static unsigned long answered, refused, failed;

typedef struct Client {
        sd_bus *bus;
        unsigned long outstanding;
} Client;

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Client *client = userdata;

        client->outstanding--;
        if (sd_bus_message_is_method_error(message, SD_BUS_ERROR_LIMITS_EXCEEDED) > 0)
                refused++;
        else if (sd_bus_message_is_method_error(message, NULL) > 0)
                failed++;
        else
                answered++;
        return 0;
}

static int client_open(const char *address, Client *client) {
        int r;

        r = sd_bus_new(&client->bus);
        if (r >= 0)
                r = sd_bus_set_address(client->bus, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(client->bus, true);
        if (r >= 0)
                r = sd_bus_negotiate_fds(client->bus, true);
        return r < 0 ? r : sd_bus_start(client->bus);
}

/* WORDS: path, interface.method, types, arguments. */
static int client_call(Client *client, char **words) {
        const char *dot = strrchr(words[1], '.');
        sd_bus_message *message = NULL;
        char interface[128] = {};
        int r;

        (void) strncat(interface, words[1], dot ? (size_t) (dot - words[1]) : 0);
        r = sd_bus_message_new_method_call(client->bus, &message, ASSAY_BUS_NAME, words[0], interface, dot ? dot + 1 : words[1]);
        for (size_t i = 0; r >= 0 && words[2][i]; i++)
                r = words[2][i] == 's' ? sd_bus_message_append(message, "s", words[3 + i]) :
                                         sd_bus_message_append(message, "t", (uint64_t) strtoull(words[3 + i], NULL, 10));
        if (r >= 0)
                r = sd_bus_call_async(client->bus, NULL, message, on_answer, client, UINT64_MAX);
        sd_bus_message_unref(message);
        client->outstanding += r >= 0;
        return r;
}

static int client_turn(Client *client, unsigned long most, char **words) {
        int r;

        while (client->outstanding < most) {
                r = client_call(client, words);
                if (r < 0)
                        return r;
        }
        do
                r = sd_bus_process(client->bus, NULL);
        while (r > 0);
        return r;
}

static double seconds(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
        static Client clients[CONNECTIONS_MAX];
        unsigned long n, most;
        double end;
        int r = 0;

        if (argc < 8)
                return 64;
        n = strtoul(argv[2], NULL, 10);
        most = strtoul(argv[3], NULL, 10);
        for (size_t i = 0; i < n && i < CONNECTIONS_MAX && r >= 0; i++)
                r = client_open(argv[1], &clients[i]);
        end = seconds() + strtod(argv[4], NULL);
        for (size_t i = 0; i < n && i < CONNECTIONS_MAX && r >= 0; i++)
                r = client_turn(&clients[i], most, argv + 5);
        puts("ready");
        (void) fflush(stdout);
        while (r >= 0 && seconds() < end) {
                for (size_t i = 0; i < n && i < CONNECTIONS_MAX && r >= 0; i++)
                        r = client_turn(&clients[i], most, argv + 5);
                if (r >= 0)
                        r = sd_bus_wait(clients[0].bus, 1000);
        }
        if (r < 0)
                fprintf(stderr, "flood-bus: %s\n", strerror(-r));
        printf("%lu answered, %lu refused, %lu failed\n", answered, refused, failed);
        return r < 0;
}
