// HMAC's and AES's states must lie in memory of the caller's choice, which only the older interface allows.
#define OPENSSL_SUPPRESS_DEPRECATED
#define _GNU_SOURCE

#include "CSecureStore.h"

#include <errno.h>
#include <openssl/aes.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { tag_count = 16, block_count = 16, nonce_half = 12, mac_block = 64, largest = 1 << 30 };

// MARK: A thread's contexts

typedef struct {
    EVP_CIPHER_CTX *seal;
    EVP_CIPHER_CTX *open;
} contexts;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t slot;
static EVP_CIPHER *cipher;
static _Thread_local contexts *current;

static void contexts_free(void *pointer) {
    contexts *these = pointer;
    EVP_CIPHER_CTX_free(these->seal);
    EVP_CIPHER_CTX_free(these->open);
    OPENSSL_free(these);
}

static void start(void) {
    cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    pthread_key_create(&slot, contexts_free);
}

static contexts *contexts_make(void) {
    pthread_once(&once, start);
    contexts *these = OPENSSL_zalloc(sizeof(contexts));
    if (these == NULL) return NULL;
    these->seal = EVP_CIPHER_CTX_new();
    these->open = EVP_CIPHER_CTX_new();
    if (cipher == NULL || these->seal == NULL || these->open == NULL
        || EVP_EncryptInit_ex2(these->seal, cipher, NULL, NULL, NULL) != 1
        || EVP_DecryptInit_ex2(these->open, cipher, NULL, NULL, NULL) != 1) {
        contexts_free(these);
        return NULL;
    }
    pthread_setspecific(slot, these);
    current = these;
    return these;
}

static inline contexts *contexts_mine(void) { return current != NULL ? current : contexts_make(); }

// MARK: XAES-256-GCM

typedef struct {
    AES_KEY schedule;
    uint8_t subkey[block_count];
    /// The processor's own instructions give what libcrypto gives.
    int is_native;
} aead_key;

// A block costs libcrypto's AES_encrypt, which works in tables, ten times what it costs the processor; the faster ways
// of libcrypto keep the key in memory of their own.
#if defined(__x86_64__)
#include <immintrin.h>

/// Encrypts two blocks side by side.
__attribute__((target("aes"))) static void native_encrypt(
    const uint8_t in[32], uint8_t out[32], const AES_KEY *schedule) {
    const __m128i *rounds = (const __m128i *)schedule->rd_key;
    __m128i key = _mm_loadu_si128(rounds);
    __m128i first = _mm_xor_si128(_mm_loadu_si128((const __m128i *)in), key);
    __m128i second = _mm_xor_si128(_mm_loadu_si128((const __m128i *)in + 1), key);
    for (int i = 1; i < 14; i++) {
        key = _mm_loadu_si128(rounds + i);
        first = _mm_aesenc_si128(first, key);
        second = _mm_aesenc_si128(second, key);
    }
    key = _mm_loadu_si128(rounds + 14);
    _mm_storeu_si128((__m128i *)out, _mm_aesenclast_si128(first, key));
    _mm_storeu_si128((__m128i *)out + 1, _mm_aesenclast_si128(second, key));
}

static int has_native(void) { return __builtin_cpu_supports("aes"); }
#else
static void native_encrypt(const uint8_t in[32], uint8_t out[32], const AES_KEY *schedule) {}
static int has_native(void) { return 0; }
#endif

size_t sp_aead_key_size(void) { return sizeof(aead_key); }

void sp_aead_key_make(void *memory, const uint8_t key[32]) {
    aead_key *made = memory;
    uint8_t block[block_count] = {0};
    AES_set_encrypt_key(key, 256, &made->schedule);
    AES_encrypt(block, block, &made->schedule);
    // How libcrypto lays out the schedule is its own affair: tried, not assumed.
    made->is_native = 0;
    if (has_native()) {
        uint8_t native[2 * block_count] = {0};
        native_encrypt(native, native, &made->schedule);
        made->is_native = memcmp(native, block, block_count) == 0 && memcmp(native + block_count, block, block_count) == 0;
        OPENSSL_cleanse(native, sizeof native);
    }
    // K1 of the specification: the block shifted by a bit, with the field's polynomial where one fell out.
    for (int i = 0; i < block_count; i++) {
        made->subkey[i] = (uint8_t)(block[i] << 1 | (i + 1 < block_count ? block[i + 1] >> 7 : 0));
    }
    made->subkey[block_count - 1] ^= (uint8_t)(0x87 & -(block[0] >> 7));
    OPENSSL_cleanse(block, sizeof block);
}

/// The key of one record.
static void aead_derive(const aead_key *key, const uint8_t *nonce, uint8_t out[32]) {
    uint8_t blocks[2 * block_count] = {0, 1, 'X', 0, [block_count] = 0, 2, 'X', 0};
    memcpy(blocks + 4, nonce, nonce_half);
    memcpy(blocks + block_count + 4, nonce, nonce_half);
    for (int i = 0; i < 2 * block_count; i++) blocks[i] ^= key->subkey[i % block_count];
    if (key->is_native) return native_encrypt(blocks, out, &key->schedule);
    AES_encrypt(blocks, out, &key->schedule);
    AES_encrypt(blocks + block_count, out + block_count, &key->schedule);
}

int sp_aead_seal(
    const void *key, const uint8_t nonce[24], const uint8_t *associated, size_t associated_count, uint8_t *bytes,
    size_t count) {
    contexts *these = contexts_mine();
    if (these == NULL || count > largest || associated_count > largest) return 0;
    uint8_t derived[32];
    int length = 0;
    aead_derive(key, nonce, derived);
    int is_good = EVP_EncryptInit_ex2(these->seal, NULL, derived, nonce + nonce_half, NULL) == 1
        && EVP_EncryptUpdate(these->seal, NULL, &length, associated, (int)associated_count) == 1
        && EVP_EncryptUpdate(these->seal, bytes, &length, bytes, (int)count) == 1
        && EVP_EncryptFinal_ex(these->seal, bytes + length, &length) == 1
        && EVP_CIPHER_CTX_ctrl(these->seal, EVP_CTRL_AEAD_GET_TAG, tag_count, bytes + count) == 1;
    OPENSSL_cleanse(derived, sizeof derived);
    return is_good;
}

int sp_aead_open(
    const void *key, const uint8_t nonce[24], const uint8_t *associated, size_t associated_count,
    const uint8_t *bytes, size_t count, uint8_t *out) {
    contexts *these = contexts_mine();
    if (these == NULL || count > largest || associated_count > largest) return 0;
    uint8_t derived[32];
    int length = 0;
    aead_derive(key, nonce, derived);
    OSSL_PARAM tag[] = {
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, (void *)(bytes + count), tag_count), OSSL_PARAM_END};
    int is_good = EVP_DecryptInit_ex2(these->open, NULL, derived, nonce + nonce_half, tag) == 1
        && EVP_DecryptUpdate(these->open, NULL, &length, associated, (int)associated_count) == 1
        && EVP_DecryptUpdate(these->open, out, &length, bytes, (int)count) == 1
        && EVP_DecryptFinal_ex(these->open, out + length, &length) == 1;
    OPENSSL_cleanse(derived, sizeof derived);
    if (!is_good) OPENSSL_cleanse(out, count);
    return is_good;
}

// MARK: HMAC-SHA-256

typedef struct {
    SHA256_CTX inner;
    SHA256_CTX outer;
} mac_key;

size_t sp_mac_key_size(void) { return sizeof(mac_key); }

void sp_mac_key_make(void *memory, const uint8_t *key, size_t count) {
    mac_key *made = memory;
    uint8_t block[mac_block] = {0};
    if (count > mac_block) {
        SHA256(key, count, block);
    } else {
        memcpy(block, key, count);
    }
    for (int i = 0; i < mac_block; i++) block[i] ^= 0x36;
    SHA256_Init(&made->inner);
    SHA256_Update(&made->inner, block, mac_block);
    for (int i = 0; i < mac_block; i++) block[i] ^= 0x36 ^ 0x5c;
    SHA256_Init(&made->outer);
    SHA256_Update(&made->outer, block, mac_block);
    OPENSSL_cleanse(block, sizeof block);
}

void sp_mac(
    const void *key, const uint8_t *first, size_t first_count, const uint8_t *second, size_t second_count,
    uint8_t out[32]) {
    const mac_key *ready = key;
    SHA256_CTX state = ready->inner;
    SHA256_Update(&state, first, first_count);
    if (second_count > 0) SHA256_Update(&state, second, second_count);
    SHA256_Final(out, &state);
    state = ready->outer;
    SHA256_Update(&state, out, 32);
    SHA256_Final(out, &state);
    OPENSSL_cleanse(&state, sizeof state);
}

// MARK: Memory

int sp_process_keep_from_dumps(void) {
    // The Swift runtime's crash handler prints memory, and would wait for ever for a helper that may not read this
    // process.
    static const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (size_t index = 0; index < sizeof crashes / sizeof *crashes; index++) signal(crashes[index], SIG_DFL);
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void *sp_pages_make(size_t count, int *is_locked) {
    void *pages = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    *is_locked = mlock(pages, count) == 0;
    madvise(pages, count, MADV_DONTDUMP);
    madvise(pages, count, MADV_WIPEONFORK);
    return pages;
}

void sp_pages_free(void *pages, size_t count) {
    OPENSSL_cleanse(pages, count);
    munlock(pages, count);
    munmap(pages, count);
}

void sp_clear(void *memory, size_t count) { OPENSSL_cleanse(memory, count); }

int sp_random(void *out, size_t count) {
    for (size_t filled = 0; filled < count;) {
        ssize_t got = getrandom((uint8_t *)out + filled, count - filled, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        filled += (size_t)got;
    }
    return 1;
}

// MARK: Kernel keyrings

enum { keyctl_identify = 0, keyctl_setperm = 5, keyctl_unlink = 9, keyctl_search = 10, keyctl_read = 11 };
enum { keyctl_move = 30 };
enum { thread_keyring = -1, move_exclusively = 1 };

// Who possesses it may do all; its user may view, read and search.
enum { readable_by_user = 0x3f0b0000 };

int32_t sp_keyring_search(int32_t keyring, const char *description) {
    return (int32_t)syscall(SYS_keyctl, keyctl_search, keyring, "user", description, 0);
}

typedef struct {
    int32_t keyring;
    const char *description;
    const void *secret;
    size_t count;
    int is_readable;
    int number;
} addition;

// add_key(2) overwrites a key of the same name. A move can refuse to: so the key is made in another keyring first.
static void *addition_run(void *pointer) {
    addition *this = pointer;
    int32_t key =
        (int32_t)syscall(SYS_add_key, "user", this->description, this->secret, this->count, thread_keyring);
    int is_ready =
        key >= 0 && (!this->is_readable || syscall(SYS_keyctl, keyctl_setperm, key, readable_by_user) == 0);
    int is_added = is_ready &&
        syscall(SYS_keyctl, keyctl_move, key, thread_keyring, this->keyring, move_exclusively) == 0;
    this->number = is_added ? 0 : errno;
    return NULL;
}

int sp_keyring_add(int32_t keyring, const char *description, const void *secret, size_t count, int is_readable) {
    // A keyring that is missing would otherwise be made for the other thread alone, which inherits what this one has.
    if (syscall(SYS_keyctl, keyctl_identify, keyring, 1) < 0) return -1;
    // A thread's keyring ends with it, and cannot be given up before: so a thread is made for this. In a keyring within
    // the target, a search would find the key before it is moved, and others use one that is then refused.
    addition addition = {keyring, description, secret, count, is_readable, 0};
    pthread_t thread;
    int number = pthread_create(&thread, NULL, addition_run, &addition);
    if (number == 0) number = pthread_join(thread, NULL);
    if (number == 0) number = addition.number;
    errno = number;
    return number == 0 ? 0 : -1;
}

long sp_keyring_read(int32_t key, void *out, size_t count) {
    return syscall(SYS_keyctl, keyctl_read, key, out, count);
}

int sp_keyring_unlink(int32_t key, int32_t keyring) {
    return (int)syscall(SYS_keyctl, keyctl_unlink, key, keyring);
}
