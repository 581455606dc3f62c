/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/step/target.h"

#include <assert.h>
#include <string.h>

#include "checks/wire/wire.h"

#define SCHEME "sim:"

static TargetServer *find_server(Target *target, const char *name) {
        for (size_t i = 0; i < target->n_servers; i++)
                if (strcmp(target->servers[i].name, name) == 0)
                        return &target->servers[i];

        if (target->n_servers == TARGET_SERVERS_MAX)
                return NULL;

        memcpy(target->servers[target->n_servers].name, name, strlen(name) + 1);
        return &target->servers[target->n_servers++];
}

static int add_part(Target *target, const char *text, size_t n, const char **ret_wrong) {
        char part[LOCATION_STRING_MAX];
        TargetServer *server;
        Location where;
        int chip;

        *ret_wrong = "a part is not a valid location";
        if (n >= sizeof(part))
                return -EINVAL;

        memcpy(part, text, n);
        part[n] = '\0';
        if (location_parse(part, &where, ret_wrong, NULL) < 0)
                return -EINVAL;

        *ret_wrong = "a part is neither a server nor a chip";
        chip = location_index(&where, LOCATION_CHIP);
        if (where.n_parts > 1 || (where.n_parts == 1 && (chip < 0 || chip >= (int) CHIPS)))
                return -EINVAL;

        *ret_wrong = "more servers than an UltraServer has";
        server = find_server(target, where.server);
        if (!server)
                return -EINVAL;

        server->chips |= chip < 0 ? TARGET_CHIPS_ALL : (uint16_t) (1u << chip);
        return 0;
}

int target_parse(const char *text, Target *ret, const char **ret_wrong) {
        Target target = {};
        const char *path, *parts;

        assert(text);
        assert(ret);
        assert(ret_wrong);

        *ret_wrong = "a device starts with sim:";
        if (strncmp(text, SCHEME, strlen(SCHEME)) != 0)
                return -EINVAL;

        path = text + strlen(SCHEME);
        parts = strrchr(path, '#');
        *ret_wrong = "a device is sim:SOCKET#SERVER";
        if (!parts || parts == path)
                return -EINVAL;

        *ret_wrong = "the path of the socket is too long";
        if ((size_t) (parts - path) >= sizeof(target.socket))
                return -EINVAL;
        memcpy(target.socket, path, (size_t) (parts - path));

        for (parts++;; parts++) {
                size_t n = strcspn(parts, ",");
                int r;

                r = add_part(&target, parts, n, ret_wrong);
                if (r < 0)
                        return r;

                parts += n;
                if (*parts == '\0')
                        break;
        }

        *ret = target;
        return 0;
}
