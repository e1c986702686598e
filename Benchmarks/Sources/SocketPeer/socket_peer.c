// What sockets cost with OpenSSL in C, with blocking calls: the limit that the benchmark measures against.
#include "socket_peer.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static SSL *connect_to(int port, SSL_CTX *context) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) return NULL;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL *tls = SSL_new(context);
    SSL_set_fd(tls, descriptor);
    SSL_set1_host(tls, "localhost");
    SSL_set_tlsext_host_name(tls, "localhost");
    return SSL_connect(tls) == 1 ? tls : NULL;
}

static SSL_CTX *make_context(const char *authority) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return SSL_CTX_load_verify_locations(context, authority, NULL) == 1 ? context : NULL;
}

static void end(SSL *tls) {
    int descriptor = SSL_get_fd(tls);
    SSL_shutdown(tls);
    SSL_free(tls);
    close(descriptor);
}

struct echo {
    int port, size, messages;
    SSL_CTX *context;
};

static void *echo(void *argument) {
    struct echo *job = argument;
    SSL *tls = connect_to(job->port, job->context);
    char room[65536] = {0};
    if (tls == NULL || SSL_write(tls, "e", 1) != 1) return (void *)1;
    for (int message = 0; message < job->messages; message++) {
        if (SSL_write(tls, room, job->size) != job->size) return (void *)1;
        for (int done = 0; done < job->size;) {
            int count = SSL_read(tls, room, (int)sizeof room);
            if (count <= 0) return (void *)1;
            done += count;
        }
    }
    end(tls);
    return NULL;
}

int socket_peer_echo(int port, const char *authority, int size, int messages, int connections) {
    struct echo job = {port, size, messages, make_context(authority)};
    if (job.context == NULL) return 1;
    pthread_t *threads = calloc((size_t)connections, sizeof *threads);
    for (int index = 0; index < connections; index++) pthread_create(&threads[index], NULL, echo, &job);
    int failures = 0;
    for (int index = 0; index < connections; index++) {
        void *result = NULL;
        pthread_join(threads[index], &result);
        failures += result != NULL;
    }
    free(threads);
    SSL_CTX_free(job.context);
    return failures;
}

int socket_peer_bulk(int port, const char *authority, uint64_t bytes, int is_upload) {
    SSL_CTX *context = make_context(authority);
    SSL *tls = context == NULL ? NULL : connect_to(port, context);
    if (tls == NULL) return 1;
    static char room[65536];
    char order[9] = {is_upload ? 'u' : 'd'};
    for (int index = 0; index < 8; index++) order[1 + index] = (char)(bytes >> (56 - 8 * index));
    if (SSL_write(tls, order, sizeof order) != sizeof order) return 1;
    while (bytes > 0) {
        int some = bytes < sizeof room ? (int)bytes : (int)sizeof room;
        int count = is_upload ? SSL_write(tls, room, some) : SSL_read(tls, room, some);
        if (count <= 0) return 1;
        bytes -= (uint64_t)count;
    }
    int is_good = !is_upload || SSL_read(tls, room, 1) == 1;
    end(tls);
    SSL_CTX_free(context);
    return !is_good;
}
