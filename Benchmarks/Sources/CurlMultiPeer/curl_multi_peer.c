#include "curl_multi_peer.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

// Bodies up to this length are kept whole, in bytes.
enum { ROOM = 1 << 20 };

typedef struct {
    CURL *curl;
    curl_multi_peer *peer;
    char *room;
    // Of the request that runs.
    long sent, received;
} transfer;

struct curl_multi_peer {
    CURLM *multi;
    transfer *transfers;
    long sends;
    int concurrency;
    int epoll;
    long timeout;
    long long bytes;
};

// Lets the compiler assume that something else reads and writes the bytes: it leaves out copies that it sees nothing read,
// and copies of what it knows to be zeros.
static void use(void *bytes) { __asm__ volatile("" : : "r"(bytes) : "memory"); }

// As a program does that wants the body: it lies in a buffer of the program's own afterwards, whole if it is short. The
// parts of a long one come to lie at the buffer's start, one after the other.
static size_t on_body(char *data, size_t size, size_t count, void *context) {
    transfer *transfer = context;
    size_t length = size * count;
    if (length > ROOM) return CURL_WRITEFUNC_ERROR;
    char *place = transfer->room + (transfer->received + (long)length <= ROOM ? transfer->received : 0);
    memcpy(place, data, length);
    use(place);
    transfer->received += (long)length;
    transfer->peer->bytes += (long long)length;
    return length;
}

static size_t on_send(char *room, size_t size, size_t count, void *context) {
    static char data[1 << 20];
    transfer *transfer = context;
    size_t length = size * count, rest = (size_t)(transfer->peer->sends - transfer->sent);
    if (length > rest) length = rest;
    if (length > sizeof data) length = sizeof data;
    use(data);
    memcpy(room, data, length);
    transfer->sent += (long)length;
    transfer->peer->bytes += (long long)length;
    return length;
}

static int on_timer(CURLM *multi, long timeout, void *context) {
    (void)multi;
    ((curl_multi_peer *)context)->timeout = timeout;
    return 0;
}

static int on_socket(CURL *handle, curl_socket_t descriptor, int what, void *context, void *assigned) {
    (void)handle;
    curl_multi_peer *peer = context;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(peer->epoll, EPOLL_CTL_DEL, descriptor, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = descriptor};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (epoll_ctl(peer->epoll, assigned ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) != 0) {
        epoll_ctl(peer->epoll, assigned ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
    }
    curl_multi_assign(peer->multi, descriptor, peer);
    return 0;
}

static void prepare_sending(transfer *transfer, long length) {
    // Without it libcurl asks first whether it may send, and waits.
    static struct curl_slist no_question = {.data = "Expect:"};
    curl_easy_setopt(transfer->curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(transfer->curl, CURLOPT_HTTPHEADER, &no_question);
    curl_easy_setopt(transfer->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)length);
    curl_easy_setopt(transfer->curl, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
    curl_easy_setopt(transfer->curl, CURLOPT_READFUNCTION, on_send);
    curl_easy_setopt(transfer->curl, CURLOPT_READDATA, transfer);
}

static int prepare(transfer *transfer, const curl_multi_peer_options *options) {
    CURL *handle = transfer->curl = curl_easy_init();
    transfer->room = malloc(ROOM);
    if (!handle || !transfer->room) return 0;
    curl_easy_setopt(handle, CURLOPT_URL, options->url);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L * 1024);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, options->proxy_url ? options->proxy_url : "");
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)(options->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    if (options->http2) curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L);
    if (options->ca_file) curl_easy_setopt(handle, CURLOPT_CAINFO, options->ca_file);
    if (options->proxy_url) {
        curl_easy_setopt(handle, CURLOPT_HTTPPROXYTUNNEL, 1L);
        curl_easy_setopt(handle, CURLOPT_PROXY_CAINFO, options->proxy_ca_file);
        curl_easy_setopt(handle, CURLOPT_PROXY_SSLCERT, options->proxy_certificate_file);
        curl_easy_setopt(handle, CURLOPT_PROXY_SSLKEY, options->proxy_key_file);
    }
    if (options->sends > 0) prepare_sending(transfer, options->sends);
    return 1;
}

curl_multi_peer *curl_multi_peer_new(const curl_multi_peer_options *options, int concurrency) {
    curl_multi_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    peer->multi = curl_multi_init();
    peer->epoll = epoll_create1(EPOLL_CLOEXEC);
    peer->concurrency = concurrency;
    peer->timeout = -1;
    peer->sends = options->sends;
    peer->transfers = calloc((size_t)concurrency, sizeof *peer->transfers);
    curl_multi_setopt(peer->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(peer->multi, CURLMOPT_SOCKETDATA, peer);
    curl_multi_setopt(peer->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(peer->multi, CURLMOPT_TIMERDATA, peer);
    curl_multi_setopt(peer->multi, CURLMOPT_MAXCONNECTS, (long)concurrency);
    for (int index = 0; index < concurrency; index++) {
        peer->transfers[index].peer = peer;
        if (!prepare(&peer->transfers[index], options)) {
            curl_multi_peer_free(peer);
            return NULL;
        }
    }
    return peer;
}

static void start(transfer *transfer) {
    transfer->sent = transfer->received = 0;
    curl_multi_add_handle(transfer->peer->multi, transfer->curl);
}

// Takes finished transfers out and starts the next ones. Returns how many ended, or -1 where one failed.
static long reap(curl_multi_peer *peer, long *to_start) {
    long ended = 0;
    int queued = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(peer->multi, &queued))) {
        if (message->msg != CURLMSG_DONE) continue;
        if (message->data.result != CURLE_OK) return -1;
        CURL *handle = message->easy_handle;
        curl_multi_remove_handle(peer->multi, handle);
        ended++;
        if (*to_start > 0) {
            (*to_start)--;
            transfer *next = NULL;
            curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&next);
            start(next);
        }
    }
    return ended;
}

long long curl_multi_peer_run(curl_multi_peer *peer, long total) {
    struct epoll_event events[64];
    long to_start = total;
    long running = total;
    int still = 0;
    peer->bytes = 0;
    for (int index = 0; index < peer->concurrency && to_start > 0; index++, to_start--) {
        start(&peer->transfers[index]);
    }
    while (running > 0) {
        int count = peer->timeout == 0 ? 0 : epoll_wait(peer->epoll, events, 64, (int)peer->timeout);
        if (count <= 0) {
            peer->timeout = -1;
            curl_multi_socket_action(peer->multi, CURL_SOCKET_TIMEOUT, 0, &still);
        }
        for (int index = 0; index < count; index++) {
            int mask = 0;
            if (events[index].events & EPOLLIN) mask |= CURL_CSELECT_IN;
            if (events[index].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
            if (events[index].events & (EPOLLERR | EPOLLHUP)) mask |= CURL_CSELECT_ERR;
            curl_multi_socket_action(peer->multi, events[index].data.fd, mask, &still);
        }
        long ended = reap(peer, &to_start);
        if (ended < 0) return -1;
        running -= ended;
    }
    return peer->bytes;
}

void curl_multi_peer_free(curl_multi_peer *peer) {
    for (int index = 0; index < peer->concurrency; index++) {
        free(peer->transfers[index].room);
        CURL *handle = peer->transfers[index].curl;
        if (!handle) continue;
        curl_multi_remove_handle(peer->multi, handle);
        curl_easy_cleanup(handle);
    }
    curl_multi_cleanup(peer->multi);
    close(peer->epoll);
    free(peer->transfers);
    free(peer);
}
