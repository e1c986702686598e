// A server of GNU libmicrohttpd that asks for Digest: DigestDaemon md5|sha256 USER PASSWORD
//
// Writes its port on the first line of its output, and a line for each answer after it: status and path. Runs until it is
// asked to end.

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *realm = "the daemon";
static enum MHD_DigestAuthAlgorithm algorithm;
static const char *user;
static const char *password;

static enum MHD_Result answer(
    void *context, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
    const char *body, size_t *length, void **state)
{
    (void)context, (void)method, (void)version, (void)body, (void)length, (void)state;
    static const char text[] = "inside";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof text - 1, (void *)text, MHD_RESPMEM_PERSISTENT);
    const int verdict = MHD_digest_auth_check2(connection, realm, user, password, 300, algorithm);
    enum MHD_Result result;
    if (verdict == MHD_YES) {
        result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    } else {
        result = MHD_queue_auth_fail_response2(
            connection, realm, "opaque", response, verdict == MHD_INVALID_NONCE ? MHD_YES : MHD_NO, algorithm);
    }
    printf("%d %s\n", verdict == MHD_YES ? 200 : 401, path);
    MHD_destroy_response(response);
    return result;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: DigestDaemon md5|sha256 USER PASSWORD\n");
        return 64;
    }
    algorithm = strcmp(arguments[1], "md5") == 0 ? MHD_DIGEST_ALG_MD5 : MHD_DIGEST_ALG_SHA256;
    user = arguments[2];
    password = arguments[3];
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    static const char seed[] = "not secret: for tests";
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_DIGEST_AUTH_RANDOM, sizeof seed - 1, seed, MHD_OPTION_NONCE_NC_SIZE, 300u, MHD_OPTION_END);
    if (daemon == NULL) return 69;
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    for (;;) pause();
}
