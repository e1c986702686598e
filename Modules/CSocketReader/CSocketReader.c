#include "CSocketReader.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

struct reader {
    int descriptor;
    int has_ended;
    /// Memory was out: what was to be kept is lost, and with it the connection.
    int is_broken;
    unsigned char *room;
    size_t capacity;
    /// What was left when the room was given back; else NULL.
    unsigned char *kept;
    /// In the room, or in what is kept.
    const unsigned char *unread;
    size_t count;
};

static void drop_kept(struct reader *reader) {
    OPENSSL_free(reader->kept);
    reader->kept = NULL;
}

/// Octets that came; 0 where there are none now, or no more.
static size_t receive(BIO *bio, struct reader *reader, void *room, size_t capacity) {
    ssize_t count = recv(reader->descriptor, room, capacity, 0);
    if (count > 0) return (size_t)count;
    if (count == 0)
        reader->has_ended = 1;
    else if (errno == EAGAIN || errno == EINTR)
        BIO_set_retry_read(bio);
    return 0;
}

static int read_some(BIO *bio, char *output, size_t wanted, size_t *taken) {
    struct reader *reader = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *taken = 0;
    if (reader->is_broken || wanted == 0) return 0;
    if (reader->count == 0) {
        if (reader->room == NULL || wanted >= reader->capacity) {
            *taken = receive(bio, reader, output, wanted);
            return *taken > 0;
        }
        reader->count = receive(bio, reader, reader->room, reader->capacity);
        if (reader->count == 0) return 0;
        reader->unread = reader->room;
    }
    *taken = wanted < reader->count ? wanted : reader->count;
    memcpy(output, reader->unread, *taken);
    reader->unread += *taken;
    reader->count -= *taken;
    if (reader->count == 0) drop_kept(reader);
    return 1;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)number, (void)pointer;
    struct reader *reader = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_EOF: return reader->has_ended && reader->count == 0;
    case BIO_CTRL_PENDING: return (long)reader->count;
    case BIO_CTRL_FLUSH: return 1;
    default: return 0;
    }
}

static int destroy(BIO *bio) {
    struct reader *reader = BIO_get_data(bio);
    if (reader != NULL) drop_kept(reader);
    OPENSSL_free(reader);
    BIO_set_data(bio, NULL);
    return 1;
}

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *method = NULL;

static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sallyport socket reader");
    if (method == NULL) return;
    BIO_meth_set_read_ex(method, read_some);
    BIO_meth_set_ctrl(method, control);
    BIO_meth_set_destroy(method, destroy);
}

int sallyport_carry_over_socket(SSL *tls, int descriptor) {
    if (!CRYPTO_THREAD_run_once(&once, make_method) || method == NULL) return 0;
    struct reader *reader = OPENSSL_zalloc(sizeof *reader);
    BIO *input = reader == NULL ? NULL : BIO_new(method);
    BIO *output = input == NULL ? NULL : BIO_new_socket(descriptor, BIO_NOCLOSE);
    if (output == NULL) {
        BIO_free(input);
        OPENSSL_free(reader);
        return 0;
    }
    reader->descriptor = descriptor;
    BIO_set_data(input, reader);
    BIO_set_init(input, 1);
    SSL_set0_rbio(tls, input);
    SSL_set0_wbio(tls, output);
    return 1;
}

static struct reader *reader_of(const SSL *tls) { return BIO_get_data(SSL_get_rbio(tls)); }

void sallyport_lend_room(SSL *tls, void *room, size_t capacity) {
    struct reader *reader = reader_of(tls);
    reader->room = room;
    reader->capacity = capacity;
}

void sallyport_give_room_back(SSL *tls) {
    struct reader *reader = reader_of(tls);
    reader->room = NULL;
    if (reader->count == 0 || reader->kept != NULL) return;
    reader->kept = OPENSSL_memdup(reader->unread, reader->count);
    reader->unread = reader->kept;
    if (reader->kept != NULL) return;
    reader->is_broken = 1;
    reader->count = 0;
}
