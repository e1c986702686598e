import Glibc
import SallyportSecureStore

/// `crowd DIRECTORY KEYFILE`: takes all keys of `pthread_key_create(3)`, as many open stores do, opens for writing and
/// prints `open`.
func crowd(at place: Place) async throws {
    // What libraries create keys for when they are first used has them by then.
    try await place.open().close()
    var key = pthread_key_t()
    while pthread_key_create(&key, nil) == 0 {}
    try await place.open().close()
    say("open")
}
