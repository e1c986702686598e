import Glibc

@testable import SallyportSecureStore

/// `wipe DIRECTORY KEYFILE begin|finish`: wipes a store that is not open, and can open no file up to the end of that
/// step. Prints `keys BOOL` after each step, for whether they are there, and `wiped` or `error MESSAGE` before the last.
func wipeWithoutFiles(at place: Place) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
    let keys = "\(place.directory)/keys"
    var wipe = StoreWipe(of: place.directory)
    wipe.begin(destroyingKeys: true)
    say("keys \(Files.exists(keys))")
    if place.rest.first == "begin" { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
    do throws(StoreError) {
        try wipe.finish(protectedBy: KeyFileProtector(path: place.keyFile))
        say("wiped")
    } catch {
        say("error \(error.message)")
    }
    say("keys \(Files.exists(keys))")
    // LeakSanitizer opens files when the process ends, and would wait for them for ever.
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
