// The server of the socket benchmarks: TLS with a thread for each connection, and a plain echo that holds thousands.
//
//     SocketServer CERTIFICATE KEY
//
// Prints the two ports. A TLS connection begins with what it wants: `e` echoes what comes; `d` and 8 bytes of a number
// (big endian) sends so many; `u` and the same reads so many and answers with one.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static SSL_CTX *context;

static int listen_somewhere(int *port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 4096) != 0) exit(1);
    getsockname(listener, (struct sockaddr *)&address, &length);
    *port = ntohs(address.sin_port);
    return listener;
}

static int read_whole(SSL *tls, unsigned char *bytes, int count) {
    for (int done = 0; done < count;) {
        int some = SSL_read(tls, bytes + done, count - done);
        if (some <= 0) return 0;
        done += some;
    }
    return 1;
}

static void carry_out(SSL *tls) {
    static const unsigned char zeros[16384];
    unsigned char order[9], room[16384];
    if (SSL_read(tls, order, 1) != 1) return;
    if (order[0] == 'e') {
        int count;
        while ((count = SSL_read(tls, room, sizeof room)) > 0 && SSL_write(tls, room, count) == count) continue;
        return;
    }
    if (!read_whole(tls, order + 1, 8)) return;
    uint64_t rest = 0;
    for (int index = 1; index <= 8; index++) rest = rest << 8 | order[index];
    if (order[0] == 'd') {
        for (; rest > 0; rest -= rest < sizeof zeros ? rest : sizeof zeros)
            if (SSL_write(tls, zeros, (int)(rest < sizeof zeros ? rest : sizeof zeros)) <= 0) return;
    } else {
        while (rest > 0) {
            int count = SSL_read(tls, room, sizeof room);
            if (count <= 0) return;
            rest -= (uint64_t)count;
        }
        SSL_write(tls, order, 1);
    }
}

static void *serve(void *argument) {
    int descriptor = (int)(intptr_t)argument, one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL *tls = SSL_new(context);
    SSL_set_fd(tls, descriptor);
    if (SSL_accept(tls) == 1) {
        carry_out(tls);
        if (SSL_shutdown(tls) == 0) SSL_shutdown(tls);
    }
    SSL_free(tls);
    close(descriptor);
    return NULL;
}

static void *accept_secure(void *argument) {
    for (;;) {
        int descriptor = accept4((int)(intptr_t)argument, NULL, NULL, SOCK_CLOEXEC);
        pthread_t thread;
        if (descriptor >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)descriptor) == 0)
            pthread_detach(thread);
    }
}

static void echo_plain(int listener) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll, ready, 256, -1);
        for (int index = 0; index < count; index++) {
            int descriptor = ready[index].data.fd;
            if (descriptor == listener) {
                int next = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                struct epoll_event watch = {.events = EPOLLIN, .data.fd = next};
                if (next >= 0) epoll_ctl(epoll, EPOLL_CTL_ADD, next, &watch);
                continue;
            }
            char room[4096];
            ssize_t bytes = read(descriptor, room, sizeof room);
            if (bytes <= 0 || write(descriptor, room, (size_t)bytes) != bytes) close(descriptor);
        }
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, arguments[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, arguments[2], SSL_FILETYPE_PEM) != 1)
        return 1;
    int secure, plain;
    int secure_listener = listen_somewhere(&secure), plain_listener = listen_somewhere(&plain);
    pthread_t thread;
    pthread_create(&thread, NULL, accept_secure, (void *)(intptr_t)secure_listener);
    printf("%d %d\n", secure, plain);
    fflush(stdout);
    echo_plain(plain_listener);
}
