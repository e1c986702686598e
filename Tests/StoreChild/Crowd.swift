import Glibc
import SallyportSecureStore

/// `crowd DIRECTORY KEYFILE`: takes all keys of `pthread_key_create(3)`, as many open stores do, opens another store for
/// writing and prints `open`.
func crowd(at place: Place) async throws {
    // What libraries create keys for when they are first used has them by then. The store stays open: its keys would be
    // free once its threads have ended, which is after `close()`.
    let first = try await place.open()
    defer { first.close() }
    var key = pthread_key_t()
    while pthread_key_create(&key, nil) == 0 {}
    try await Place(directory: "\(place.directory)-other", keyFile: place.keyFile, rest: []).open().close()
    say("open")
}
