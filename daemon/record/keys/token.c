/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/token.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>
#include <string.h>

#include "daemon/record/encode/digest.h"

#define RAW_BYTES  64 /* of both signatures, as tokens give them: Ed25519 whole, P-256 as r || s */
#define SLOTS_MAX  256
#define POINT_MAX  80

/* How a token names an algorithm. Its points are raw, or within a DER octet string. */
typedef struct Mechanism {
        CK_KEY_TYPE type;
        CK_MECHANISM_TYPE sign;
        size_t n_point;
        uint8_t octets[2];
        const char *params; /* NULL: any, since tokens differ and the point's length tells */
        size_t n_params;
} Mechanism;

#define P256_OID "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"

static const Mechanism mechanisms[_RECORD_ALGORITHM_MAX] = {
        [RECORD_ED25519] = { CKK_EC_EDWARDS, CKM_EDDSA, 32, { 0x04, 32 } },
        [RECORD_ECDSA_P256] = { CKK_EC, CKM_ECDSA, 65, { 0x04, 65 }, P256_OID, sizeof(P256_OID) - 1 },
};

struct Token {
        P11KitUri *uri;
        CK_FUNCTION_LIST **modules; /* ended by NULL */
        bool is_one;                /* the module that `module-path` names */
        CK_FUNCTION_LIST *module;   /* with the token; NULL: closed */
        CK_SLOT_ID slot;
        CK_TOKEN_INFO info;
        CK_SESSION_HANDLE session;
        CK_OBJECT_HANDLE key;
        RecordAlgorithm algorithm;
        CK_BBOOL asks_always; /* the PIN for each signature */
        bool is_refused;      /* the PIN */
};

/* ---- the module ---- */

static int load_modules(Token *token) {
        const char *path = p11_kit_uri_get_module_path(token->uri);

        token->is_one = path != NULL;
        if (!path) {
                token->modules = p11_kit_modules_load_and_initialize(0);
                return token->modules ? 0 : -ELIBACC;
        }
        token->modules = calloc(2, sizeof(*token->modules));
        if (!token->modules)
                return -ENOMEM;
        token->modules[0] = p11_kit_module_load(path, 0);
        if (token->modules[0] && p11_kit_module_initialize(token->modules[0]) == CKR_OK)
                return 0;
        if (token->modules[0])
                p11_kit_module_release(token->modules[0]);
        free(token->modules);
        token->modules = NULL;
        return -ELIBACC;
}

static void token_close(Token *token) {
        if (token->module)
                (void) token->module->C_CloseSession(token->session);
        token->module = NULL;
        if (!token->modules)
                return;
        if (token->is_one) {
                (void) p11_kit_module_finalize(token->modules[0]);
                p11_kit_module_release(token->modules[0]);
                free(token->modules);
        } else
                p11_kit_modules_finalize_and_release(token->modules);
        token->modules = NULL;
}

/* ---- the token ---- */

static bool slot_fits(Token *token, CK_FUNCTION_LIST *module, CK_SLOT_ID slot) {
        CK_SLOT_ID wanted = p11_kit_uri_get_slot_id(token->uri);
        CK_SLOT_INFO slot_info;
        CK_INFO info;

        return (wanted == (CK_SLOT_ID) -1 || wanted == slot) && module->C_GetInfo(&info) == CKR_OK &&
               p11_kit_uri_match_module_info(token->uri, &info) && module->C_GetSlotInfo(slot, &slot_info) == CKR_OK &&
               p11_kit_uri_match_slot_info(token->uri, &slot_info) && module->C_GetTokenInfo(slot, &token->info) == CKR_OK &&
               p11_kit_uri_match_token_info(token->uri, &token->info);
}

static int find_token(Token *token) {
        CK_FUNCTION_LIST *found = NULL;
        CK_SLOT_ID slot = 0;
        CK_RV rv;

        for (CK_FUNCTION_LIST **module = token->modules; *module; module++) {
                CK_SLOT_ID slots[SLOTS_MAX];
                CK_ULONG n = SLOTS_MAX;

                if ((*module)->C_GetSlotList(CK_TRUE, slots, &n) != CKR_OK)
                        continue;
                for (CK_ULONG i = 0; i < n; i++) {
                        if (!slot_fits(token, *module, slots[i]))
                                continue;
                        if (found)
                                return -ENOTUNIQ;
                        found = *module;
                        slot = slots[i];
                }
        }
        if (!found || found->C_GetTokenInfo(slot, &token->info) != CKR_OK)
                return -ENODEV;
        rv = found->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &token->session);
        if (rv != CKR_OK)
                return rv == CKR_TOKEN_NOT_PRESENT || rv == CKR_DEVICE_REMOVED ? -ENODEV : -EIO;
        token->module = found;
        token->slot = slot;
        return 0;
}

/* The first line of the file. */
static int read_pin(const char *source, char **ret, size_t *ret_n) {
        if (strncmp(source, "file:", 5) == 0)
                source += 5;
        if (*source != '/')
                return -EINVAL; /* nor a program to run, which the RFC would allow */
        return key_file_read(source, true, ret, ret_n);
}

static int log_in(Token *token, CK_USER_TYPE user) {
        const char *source = p11_kit_uri_get_pin_source(token->uri), *pin = p11_kit_uri_get_pin_value(token->uri);
        size_t n = pin ? strlen(pin) : 0, n_text = 0;
        char *text = NULL, *end;
        CK_RV rv;
        int r;

        if (source) {
                r = read_pin(source, &text, &n_text);
                if (r < 0)
                        return r;
                pin = text;
                end = memchr(text, '\n', n_text);
                n = end ? (size_t) (end - text) : n_text;
        }
        /* An empty PIN would cost one of the few tries that a token grants. */
        rv = CKR_PIN_LEN_RANGE;
        if (n > 0 || token->info.flags & CKF_PROTECTED_AUTHENTICATION_PATH)
                rv = token->module->C_Login(token->session, user, (CK_UTF8CHAR *) pin, n);
        if (text) {
                OPENSSL_cleanse(text, n_text);
                free(text);
        }
        switch (rv) {
        case CKR_OK:
        case CKR_USER_ALREADY_LOGGED_IN:
                return 0;
        case CKR_PIN_INCORRECT:
        case CKR_PIN_INVALID:
        case CKR_PIN_LEN_RANGE:
        case CKR_PIN_EXPIRED:
        case CKR_PIN_LOCKED:
        case CKR_USER_PIN_NOT_INITIALIZED:
                token->is_refused = true;
                return -EACCES;
        default:
                return -EIO;
        }
}

static int log_in_where_asked(Token *token) {
        if (!(token->info.flags & CKF_LOGIN_REQUIRED))
                return 0;
        /* The last try is left to a person. */
        if (token->info.flags & (CKF_USER_PIN_LOCKED | CKF_USER_PIN_FINAL_TRY))
                return -EACCES;
        return log_in(token, CKU_USER);
}

/* ---- the key ---- */

/* The one object that fits. */
static int find_object(Token *token, CK_ATTRIBUTE *attributes, CK_ULONG n, CK_OBJECT_HANDLE *ret) {
        CK_FUNCTION_LIST *module = token->module;
        CK_OBJECT_HANDLE objects[2];
        CK_ULONG found = 0;
        CK_RV rv;

        rv = module->C_FindObjectsInit(token->session, attributes, n);
        if (rv == CKR_OK) {
                rv = module->C_FindObjects(token->session, objects, 2, &found);
                (void) module->C_FindObjectsFinal(token->session);
        }
        if (rv != CKR_OK)
                return -EIO;
        if (found != 1)
                return found == 0 ? -ENOKEY : -ENOTUNIQ;
        *ret = objects[0];
        return 0;
}

/* What the URI says of the object, but of CLASS. */
static int find_named(Token *token, CK_OBJECT_CLASS class, CK_OBJECT_HANDLE *ret) {
        CK_ATTRIBUTE wanted[8];
        CK_ULONG n = 0, n_named = 0;
        CK_ATTRIBUTE *named = p11_kit_uri_get_attributes(token->uri, &n_named);

        wanted[n++] = (CK_ATTRIBUTE) { CKA_CLASS, &class, sizeof(class) };
        for (CK_ULONG i = 0; named && i < n_named && n < ELEMENTS(wanted); i++)
                if (named[i].type != CKA_CLASS)
                        wanted[n++] = named[i];
        return find_object(token, wanted, n, ret);
}

/* The public half has the private one's id. */
static int find_public(Token *token, CK_OBJECT_HANDLE *ret) {
        CK_OBJECT_CLASS class = CKO_PUBLIC_KEY;
        uint8_t id[256];
        CK_ATTRIBUTE wanted[] = { { CKA_ID, id, sizeof(id) }, { CKA_CLASS, &class, sizeof(class) } };

        if (token->module->C_GetAttributeValue(token->session, token->key, wanted, 1) != CKR_OK || wanted[0].ulValueLen == 0 ||
            wanted[0].ulValueLen > sizeof(id))
                return find_named(token, class, ret);
        return find_object(token, wanted, 2, ret);
}

static RecordAlgorithm algorithm_of(CK_KEY_TYPE type, const CK_ATTRIBUTE *params) {
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++)
                if (mechanisms[i].type == type && (!mechanisms[i].params || (params->ulValueLen == mechanisms[i].n_params &&
                                                                             memcmp(params->pValue, mechanisms[i].params, mechanisms[i].n_params) == 0)))
                        return i;
        return _RECORD_ALGORITHM_INVALID;
}

static int read_public(Token *token, CK_OBJECT_HANDLE object, PublicKey *ret) {
        CK_KEY_TYPE type = 0;
        uint8_t point[POINT_MAX], params[64];
        const uint8_t *raw = point;
        CK_ATTRIBUTE values[] = {
                { CKA_KEY_TYPE, &type, sizeof(type) },
                { CKA_EC_POINT, point, sizeof(point) },
                { CKA_EC_PARAMS, params, sizeof(params) },
        };
        const Mechanism *mechanism;
        size_t n;

        /* Attributes that a key does not have, or longer ones, are of another algorithm. */
        if (token->module->C_GetAttributeValue(token->session, object, values, ELEMENTS(values)) != CKR_OK)
                return -EBADMSG;
        token->algorithm = algorithm_of(type, &values[2]);
        if (token->algorithm < 0)
                return -EBADMSG;

        mechanism = &mechanisms[token->algorithm];
        n = values[1].ulValueLen;
        if (n == mechanism->n_point + 2 && memcmp(point, mechanism->octets, 2) == 0) {
                raw += 2;
                n -= 2;
        }
        return public_key_from_raw(ret, token->algorithm, raw, n);
}

static int find_key(Token *token, bool is_private, PublicKey *ret) {
        CK_ATTRIBUTE always = { CKA_ALWAYS_AUTHENTICATE, &token->asks_always, sizeof(token->asks_always) };
        CK_OBJECT_HANDLE public;
        int r;

        if (!is_private)
                r = find_named(token, CKO_PUBLIC_KEY, &public);
        else {
                r = find_named(token, CKO_PRIVATE_KEY, &token->key);
                if (r == 0)
                        r = find_public(token, &public);
                if (r == 0 && token->module->C_GetAttributeValue(token->session, token->key, &always, 1) != CKR_OK)
                        token->asks_always = CK_FALSE;
        }
        return r < 0 ? r : read_public(token, public, ret);
}

/* ---- opening and signing ---- */

static int token_connect(Token *token, bool is_private, PublicKey *ret) {
        int r;

        r = load_modules(token);
        if (r == 0)
                r = find_token(token);
        if (r == 0 && is_private)
                r = log_in_where_asked(token);
        if (r == 0)
                r = find_key(token, is_private, ret);
        if (r < 0)
                token_close(token);
        return r;
}

int token_open(const char *uri, bool is_private, Token **ret, PublicKey *ret_public) {
        _cleanup_(token_freep) Token *token = NULL;
        int r;

        token = calloc(1, sizeof(*token));
        if (!token)
                return -ENOMEM;
        token->uri = p11_kit_uri_new();
        if (!token->uri)
                return -ENOMEM;
        /* What is not understood would have narrowed down what is meant. */
        if (p11_kit_uri_parse(uri, P11_KIT_URI_FOR_ANY, token->uri) != P11_KIT_URI_OK || p11_kit_uri_any_unrecognized(token->uri) ||
            p11_kit_uri_get_module_name(token->uri))
                return -EINVAL;
        r = token_connect(token, is_private, ret_public);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(token);
        return 0;
}

Token *token_free(Token *token) {
        if (!token)
                return NULL;
        token_close(token);
        p11_kit_uri_free(token->uri);
        free(token);
        return NULL;
}

static int sign_raw(Token *token, const void *message, size_t n, uint8_t raw[static RAW_BYTES]) {
        CK_MECHANISM mechanism = { .mechanism = mechanisms[token->algorithm].sign };
        CK_ULONG n_raw = RAW_BYTES;
        CK_RV rv;
        int r;

        if (!token->module)
                return -ENODEV;
        rv = token->module->C_SignInit(token->session, &mechanism, token->key);
        if (rv != CKR_OK)
                return -EIO;
        if (token->asks_always) {
                r = log_in(token, CKU_CONTEXT_SPECIFIC);
                if (r < 0)
                        return r;
        }
        rv = token->module->C_Sign(token->session, (CK_BYTE *) message, n, raw, &n_raw);
        return rv == CKR_OK && n_raw == RAW_BYTES ? 0 : -EIO;
}

/* r || s as DER has it. */
static int encode(const uint8_t raw[static RAW_BYTES], uint8_t ret[static KEY_SIGNATURE_MAX], size_t *ret_n) {
        BIGNUM *r = BN_bin2bn(raw, RAW_BYTES / 2, NULL), *s = BN_bin2bn(raw + RAW_BYTES / 2, RAW_BYTES / 2, NULL);
        ECDSA_SIG *signature = ECDSA_SIG_new();
        int n = 0;

        if (!r || !s || !signature || ECDSA_SIG_set0(signature, r, s) != 1) {
                BN_free(r);
                BN_free(s);
        } else
                n = i2d_ECDSA_SIG(signature, &ret);
        ECDSA_SIG_free(signature);
        if (n <= 0)
                return -ENOMEM;
        *ret_n = (size_t) n;
        return 0;
}

static int token_reopen(Token *token) {
        PublicKey again;
        int r;

        token_close(token);
        if (token->is_refused)
                return -EACCES;
        r = token_connect(token, true, &again);
        if (r == 0)
                public_key_done(&again); /* who asked holds the first one against each signature */
        return r;
}

int token_sign(Token *token, const void *message, size_t n, uint8_t ret[static KEY_SIGNATURE_MAX], size_t *ret_n) {
        uint8_t digest[DIGEST_BYTES], raw[RAW_BYTES];
        int r;

        if (token->algorithm == RECORD_ECDSA_P256) {
                r = digest_sha256(message, n, digest);
                if (r < 0)
                        return r;
                message = digest;
                n = sizeof(digest);
        }
        r = sign_raw(token, message, n, raw);
        if (r < 0) {
                r = token_reopen(token);
                if (r == 0)
                        r = sign_raw(token, message, n, raw);
        }
        if (r < 0)
                return r;

        if (token->algorithm == RECORD_ECDSA_P256)
                return encode(raw, ret, ret_n);
        memcpy(ret, raw, RAW_BYTES);
        *ret_n = RAW_BYTES;
        return 0;
}
