import FoundationEssentials
import Glibc

/// Tokens in software. One process has one configuration of SoftHSM, so that all tests have one directory of them.
struct Tokens {
    static let module = "/usr/lib/softhsm/libsofthsm2.so"
    /// OpenSC's spy before the same module: the calls that go through it are written to ``calls``.
    static let spiedModule = "pkcs11-spy.so"
    static let shared = Tokens()

    let path: String
    let isReady: Bool
    var calls: String { "\(path)/calls" }

    /// Makes the tokens `one`, `two` and, for identities, `three`, PIN 1234. While an identity exists, its token checks
    /// no PIN for this process: tests of wrong PINs need another token.
    init() {
        path = "/tmp/sallyport-tokens-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: "\(path)/tokens", withIntermediateDirectories: true)
        let configuration = "directories.tokendir = \(path)/tokens\nobjectstore.backend = file\nlog.level = ERROR\n"
        try? Data(configuration.utf8).write(to: URL(fileURLWithPath: "\(path)/softhsm2.conf"))
        setenv("SOFTHSM2_CONF", "\(path)/softhsm2.conf", 1)
        setenv("PKCS11SPY", Self.module, 1)
        setenv("PKCS11SPY_OUTPUT", "\(path)/calls", 1)
        isReady = ["one", "two", "three"].allSatisfy { label in
            run(["softhsm2-util", "--init-token", "--free", "--label", label, "--pin", "1234", "--so-pin", "5678"])
        }
    }
}

/// Runs a program; true where it exits with 0.
func run(_ arguments: [String]) -> Bool {
    var child = pid_t()
    var words: [UnsafeMutablePointer<CChar>?] = (["env"] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    guard posix_spawn(&child, "/usr/bin/env", &actions, nil, &words, environ) == 0 else { return false }
    var status: Int32 = 0
    return waitpid(child, &status, 0) == child && status == 0
}
