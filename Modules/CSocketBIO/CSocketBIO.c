#include "CSocketBIO.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/// Bytes of a record's head (RFC 8446 §5.1).
enum { head = 5 };

struct socket {
    int descriptor;
    int has_ended;
    int more_follows;
    /// Where in the room what is unread begins, and how much it is.
    size_t start, count;
    /// Small messages come whole with their record's head; each connection has this room for as long as it stands.
    unsigned char room[512];
};

/// OpenSSL asks for a record's head, then for the rest. What it asks for goes straight to where it wants it; behind a head,
/// what lies ready of a small record comes in the same call, and behind a record the next one's head: a record that
/// follows another is one call, and nothing but its head is copied once more.
static int read_some(BIO *bio, char *output, size_t wanted, size_t *taken) {
    struct socket *socket = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *taken = 0;
    if (wanted == 0) return 0;
    if (socket->count > 0) {
        *taken = wanted < socket->count ? wanted : socket->count;
        memcpy(output, socket->room + socket->start, *taken);
        socket->start += *taken;
        socket->count -= *taken;
        return 1;
    }
    struct iovec parts[] = {{output, wanted}, {socket->room, wanted > head ? head : sizeof socket->room}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t count = recvmsg(socket->descriptor, &message, 0);
    if (count > 0) {
        *taken = (size_t)count < wanted ? (size_t)count : wanted;
        socket->start = 0;
        socket->count = (size_t)count - *taken;
        return 1;
    }
    if (count == 0)
        socket->has_ended = 1;
    else if (errno == EAGAIN || errno == EINTR)
        BIO_set_retry_read(bio);
    return 0;
}

/// As BIO_s_socket does, but that a peer which is gone is an error and never a signal: any thread may write.
static int write_some(BIO *bio, const char *data, size_t count, size_t *written) {
    struct socket *socket = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *written = 0;
    ssize_t sent = send(socket->descriptor, data, count, MSG_NOSIGNAL | (socket->more_follows ? MSG_MORE : 0));
    if (sent >= 0) {
        *written = (size_t)sent;
        return 1;
    }
    if (errno == EAGAIN || errno == EINTR) BIO_set_retry_write(bio);
    return 0;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)number, (void)pointer;
    struct socket *socket = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_EOF: return socket->has_ended && socket->count == 0;
    case BIO_CTRL_PENDING: return (long)socket->count;
    case BIO_CTRL_FLUSH: return 1;
    default: return 0;
    }
}

static int destroy(BIO *bio) {
    OPENSSL_free(BIO_get_data(bio));
    BIO_set_data(bio, NULL);
    return 1;
}

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *method = NULL;

static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sallyport socket");
    if (method == NULL) return;
    BIO_meth_set_read_ex(method, read_some);
    BIO_meth_set_write_ex(method, write_some);
    BIO_meth_set_ctrl(method, control);
    BIO_meth_set_destroy(method, destroy);
}

int sallyport_carry_over_socket(SSL *tls, int descriptor) {
    if (!CRYPTO_THREAD_run_once(&once, make_method) || method == NULL) return 0;
    struct socket *socket = OPENSSL_zalloc(sizeof *socket);
    BIO *bio = socket == NULL ? NULL : BIO_new(method);
    if (bio == NULL) {
        OPENSSL_free(socket);
        return 0;
    }
    socket->descriptor = descriptor;
    BIO_set_data(bio, socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls, bio, bio);
    return 1;
}

void sallyport_announce_more(SSL *tls, int more_follows) {
    struct socket *socket = BIO_get_data(SSL_get_wbio(tls));
    socket->more_follows = more_follows;
}
