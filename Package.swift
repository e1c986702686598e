// swift-tools-version: 6.2
import PackageDescription

// Targets carry the prefix `Sallyport`, folders do not: `Modules/Cookies` is `SallyportCookies`.
// Dependencies point down only; Docs/Design.md has the table of levels that this file keeps.

/// Set `SALLYPORT_STRICT=1` to turn warnings in our own targets into errors, as continuous integration does.
let isStrict = Context.environment["SALLYPORT_STRICT"] == "1"

/// Set by `Tests/Scripts/swift`, which builds the modules as users get them, but for assertions and `@testable`.
/// Dependencies are built as for users, so that a release build in the same folder does not build them again.
///
/// Tests are compiled without the optimiser, which would take longer than it saves. So are programs: when optimised, two
/// of them with an asynchronous `main` cannot be linked into one program of tests, since the compiler (6.3.1) gives their
/// entry points one weak symbol.
let isTested = Context.environment["SALLYPORT_TESTS"] == "1"

/// Set by `.ci/run`, which compiles each module of tests once: as a whole, in one process. That takes five sixths of what
/// batches of its files take, of which each reads all files; but then one changed file compiles the module anew.
let isBuiltOnce = Context.environment["SALLYPORT_BUILT_ONCE"] == "1"

/// Set by the Makefile, `.ci/run` and `Tests/Scripts/swift`: the program `sallyport` has the Swift runtime in it. It then
/// runs on machines that have no Swift, and starts in three quarters of the time.
let isStatic = Context.environment["SALLYPORT_STATIC"] == "1"

/// Only the link differs, so that nothing is compiled anew for it. Modules that are compiled for a static runtime name the
/// parts of Foundation to the linker themselves; ours are not, so the parts are named here.
let staticRuntime = [
    "-static-stdlib", "-use-ld=lld", "-lCoreFoundation", "-l_FoundationICU", "-l_FoundationCShims",
    "-l_FoundationCollections",
]

/// What a target needs to be checked for beyond the common settings.
enum Safety {
    /// Swift only.
    case memorySafe
    /// Calls C: every unsafe expression is marked where it stands.
    case touchesC
}

func module(
    _ name: String, touching safety: Safety = .memorySafe, dependencies: [Target.Dependency]
) -> Target {
    .target(
        name: "Sallyport\(name)", dependencies: dependencies, path: "Modules/\(name)",
        swiftSettings: safety == .touchesC ? [.strictMemorySafety()] : [])
}

func tests(_ name: String, dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: "Sallyport\(name)Tests", dependencies: dependencies + ["TestSupport"], path: "Tests/\(name)Tests",
        exclude: exclude)
}

func cLibrary(_ name: String, pkgConfig: String, package debian: String) -> Target {
    .systemLibrary(name: name, path: "Modules/\(name)", pkgConfig: pkgConfig, providers: [.apt([debian])])
}

extension Target.Dependency {
    static let kerberos = Target.Dependency.target(
        name: "SallyportKerberos", condition: .when(traits: ["Kerberos"]))
    static let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
    static let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
    static let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
    static let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
    static let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
    static let structuredFields = Target.Dependency.product(
        name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
    static let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let lifecycleTestKit = Target.Dependency.product(
        name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
    static let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
    static let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
    static let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
    static let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
    static let inMemoryTracing = Target.Dependency.product(
        name: "InMemoryTracing", package: "swift-distributed-tracing")
    static let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
    static let instrumentation = Target.Dependency.product(
        name: "Instrumentation", package: "swift-distributed-tracing")
    static let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
    static let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
    static let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
    static let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
    static let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
    static let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
    static let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
    static let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
    static let trees = Target.Dependency.product(name: "HashTreeCollections", package: "swift-collections")
    static let yams = Target.Dependency.product(name: "Yams", package: "Yams")
    static let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
}

let package = Package(
    name: "sallyport",
    products: [
        .library(name: "Sallyport", targets: ["Sallyport"]),
        .library(name: "SallyportBase", targets: ["SallyportBase"]),
        .library(name: "SallyportCore", targets: ["SallyportCore"]),
        .library(name: "SallyportLoading", targets: ["SallyportLoading"]),
        .library(name: "SallyportConnecting", targets: ["SallyportConnecting"]),
        .library(name: "SallyportEventLoop", targets: ["SallyportEventLoop"]),
        .library(name: "SallyportSecureStore", targets: ["SallyportSecureStore"]),
        .library(name: "SallyportPKCS11Protector", targets: ["SallyportPKCS11Protector"]),
        .library(name: "SallyportPKCS11Identity", targets: ["SallyportPKCS11Identity"]),
        .library(name: "SallyportDataURL", targets: ["SallyportDataURL"]),
        .library(name: "SallyportUnixSocket", targets: ["SallyportUnixSocket"]),
        .library(name: "SallyportCassette", targets: ["SallyportCassette"]),
        .library(name: "SallyportPluginConformance", targets: ["SallyportPluginConformance"]),
        .library(name: "SallyportAuthorization", targets: ["SallyportAuthorization"]),
        .library(name: "SallyportCookies", targets: ["SallyportCookies"]),
        .library(name: "SallyportHTTPAuthentication", targets: ["SallyportHTTPAuthentication"]),
        .library(name: "SallyportKerberos", targets: ["SallyportKerberos"]),
        .library(name: "SallyportCache", targets: ["SallyportCache"]),
        .library(name: "SallyportReachability", targets: ["SallyportReachability"]),
        .library(name: "SallyportURLLoading", targets: ["SallyportURLLoading"]),
        .library(name: "SallyportSocket", targets: ["SallyportSocket"]),
        .library(name: "SallyportDoor", targets: ["SallyportDoor"]),
        .library(name: "SallyportAuthToken", targets: ["SallyportAuthToken"]),
        .library(name: "SallyportAuthTokenVerification", targets: ["SallyportAuthTokenVerification"]),
        .library(name: "SallyportFoundationBridge", targets: ["SallyportFoundationBridge"]),
        .library(name: "SallyportGateway", targets: ["SallyportGateway"]),
        .executable(name: "sallyport", targets: ["SallyportMain"]),
    ],
    traits: [
        .trait(name: "Kerberos", description: "Sallyport answers Negotiate by Kerberos, and links krb5 for it."),
        .trait(
            name: "PostgreSQL", description: "The driver of a database that gateways share, which links libpq."),
        .default(enabledTraits: ["Kerberos", "PostgreSQL"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        // Without traits: the file provider links all of Foundation.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // Level 0: C shims, each for one module; CLinux for several, CPKCS11 for both plugins of PKCS #11.
        .systemLibrary(name: "CLinux", path: "Modules/CLinux"),
        .systemLibrary(name: "CNetlink", path: "Modules/CNetlink"),
        .systemLibrary(name: "CDoor", path: "Modules/CDoor"),
        .systemLibrary(name: "CSocketDiagnosis", path: "Modules/CSocketDiagnosis"),
        cLibrary("CIDN2", pkgConfig: "libidn2", package: "libidn2-dev"),
        cLibrary("CLMDB", pkgConfig: "lmdb", package: "liblmdb-dev"),
        cLibrary("CPKCS11", pkgConfig: "p11-kit-1", package: "libp11-kit-dev"),
        .target(
            name: "CIdentitySigner", path: "Modules/CIdentitySigner",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(
            name: "CSocketBIO", path: "Modules/CSocketBIO",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CSignals", path: "Modules/CSignals"),
        .target(name: "CSecureStore", path: "Modules/CSecureStore", linkerSettings: [.linkedLibrary("crypto")]),
        .target(
            name: "CKerberos", path: "Modules/CKerberos",
            linkerSettings: [.linkedLibrary("krb5"), .linkedLibrary("k5crypto"), .linkedLibrary("com_err")]),
        cLibrary("CPQ", pkgConfig: "libpq", package: "libpq-dev"),
        cLibrary("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        cLibrary("CCurl", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
        cLibrary("CPSL", pkgConfig: "libpsl", package: "libpsl-dev"),
        cLibrary("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),

        // Level 1
        module("Base", touching: .touchesC, dependencies: []),

        // Level 2
        module("Core", touching: .touchesC, dependencies: ["SallyportBase", "CIDN2"]),
        module("EventLoop", touching: .touchesC, dependencies: ["SallyportBase", "CLinux"]),
        module(
            "SecureStore", touching: .touchesC,
            dependencies: ["SallyportBase", "CLMDB", "CSecureStore", .crypto, .cryptoExtras]),

        // Level 3
        module(
            "Wire",
            dependencies: ["SallyportBase", "SallyportCore", "SallyportLoading", .crypto, .asn1, .structuredFields]),
        module("Loading", dependencies: ["SallyportBase", "SallyportCore", .logging, .httpTypes]),
        module(
            "SocketDiagnosis", touching: .touchesC,
            dependencies: ["SallyportBase", "SallyportCore", "CSocketDiagnosis"]),

        // Level 4
        module(
            "Transport", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportEventLoop", "CCurl", "CIdentitySigner",
                "COpenSSL", "CSocketBIO", .structuredFields,
            ]),

        module(
            "AuthTokenVerification",
            dependencies: ["SallyportBase", "SallyportCore", "SallyportWire", .crypto, .httpTypes]),

        module(
            "Authorization",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportEventLoop", "SallyportSecureStore",
                "SallyportWire", "SallyportTransport", .crypto, .asn1, .x509,
            ]),

        module(
            "Cookies", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportSecureStore", "CPSL", .logging,
                .httpTypes,
            ]),

        module(
            "Cache",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportSecureStore", .logging, .httpTypes,
            ]),

        module(
            "HTTPAuthentication",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportSecureStore", .crypto, .cryptoExtras,
                .logging, .httpTypes,
            ]),

        // The one way out: policy and transport.
        module(
            "Connecting",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportTransport", .httpTypes, .logging,
            ]),

        // Level 5
        module(
            "URLLoading", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportEventLoop",
                "SallyportTransport", "CLinux", "CZlib", .configuration, .crypto, .logging, .httpTypes, .metrics,
                .tracing, .instrumentation,
            ]),

        module(
            "Socket", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportTransport",
                .logging,
            ]),

        module(
            "Door", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportEventLoop",
                "SallyportTransport", "SallyportWire", "CDoor", .logging, .metrics,
            ]),

        module(
            "Reachability", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportEventLoop",
                "SallyportWire", "SallyportTransport", "SallyportAuthorization", "CNetlink", .logging, .httpTypes,
            ]),

        module(
            "Kerberos", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportHTTPAuthentication",
                "SallyportSecureStore", "SallyportWire", "CKerberos", "CLinux", .logging, .httpTypes,
            ]),

        module(
            "AuthToken",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportAuthorization", "SallyportSecureStore",
                "SallyportWire", .crypto, .httpTypes,
            ]),

        // Level 6
        .target(
            name: "Sallyport",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportEventLoop",
                "SallyportSecureStore", "SallyportTransport", "SallyportAuthorization", "SallyportAuthToken",
                "SallyportCache", "SallyportCookies", "SallyportHTTPAuthentication", "SallyportReachability",
                "SallyportURLLoading", "SallyportSocket", "SallyportDoor", .kerberos, .configuration, .httpTypes,
                .lifecycle,
                .logging,
            ],
            path: "Modules/Sallyport"),

        // The one client module that links FoundationNetworking.
        module(
            "FoundationBridge",
            dependencies: ["SallyportBase", "SallyportCore", "SallyportLoading", "SallyportURLLoading", .httpTypes]),

        .target(
            name: "SallyportPKCS11Token", dependencies: ["SallyportBase", "CPKCS11", .crypto],
            path: "Plugins/PKCS11Token", swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "SallyportPKCS11Identity",
            dependencies: ["SallyportBase", "SallyportCore", "SallyportPKCS11Token", "CPKCS11"],
            path: "Plugins/PKCS11Identity", swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "SallyportPKCS11Protector",
            dependencies: ["SallyportBase", "SallyportSecureStore", "SallyportPKCS11Token", .crypto],
            path: "Plugins/PKCS11Protector", swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "SallyportDataURL",
            dependencies: ["SallyportBase", "SallyportCore", "SallyportLoading", "SallyportURLLoading", .httpTypes],
            path: "Plugins/DataURL"),
        .target(
            name: "SallyportUnixSocket",
            dependencies: ["SallyportBase", "SallyportCore", "SallyportLoading", "SallyportURLLoading"],
            path: "Plugins/UnixSocket"),
        .target(
            name: "SallyportCassette",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportURLLoading", .crypto, .httpTypes,
            ], path: "Plugins/Cassette"),
        .target(
            name: "SallyportPluginConformance",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportURLLoading", .httpTypes, .logging,
            ],
            path: "Plugins/PluginConformance"),

        // Level 7
        module(
            "Gateway",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportSecureStore",
                "SallyportSocketDiagnosis", "SallyportWire", .crypto,
                .asn1, .x509, .structuredFields, .httpTypes, .logging, .nioCore, .nioPosix, .nioHTTP1, .nioTLS, .nioSSL,
                .hummingbird, .hummingbirdCore, .hummingbirdTLS, .trees, .yams, .lifecycle, .metrics,
            ]),

        // Level 8
        module(
            "PostgreSQL", touching: .touchesC,
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportEventLoop", "SallyportGateway",
                .target(name: "CPQ", condition: .when(traits: ["PostgreSQL"])),
            ]),

        // Level 9
        .target(
            name: "SallyportCommandLine",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "Sallyport",
                "SallyportCache", "SallyportSecureStore", "SallyportTransport", "SallyportAuthorization",
                "SallyportAuthToken", "SallyportAuthTokenVerification", "SallyportCookies", "SallyportReachability",
                "SallyportURLLoading", "SallyportDoor", "SallyportGateway", "SallyportSocket", "SallyportWire",
                "SallyportEventLoop", "CSignals", .kerberos,
                .target(name: "SallyportPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
                .arguments,
                .configuration, .logging, .httpTypes, .crypto, .lifecycle, .unixSignals,
            ],
            path: "Modules/CommandLine", exclude: ["Main"]),
        .executableTarget(
            name: "SallyportMain", dependencies: ["SallyportCommandLine"], path: "Modules/CommandLine/Main",
            linkerSettings: isStatic ? [.unsafeFlags(staticRuntime)] : []),

        // Examples
        .executableTarget(
            name: "Quickstart", dependencies: ["Sallyport", .lifecycle, .unixSignals, .logging],
            path: "Examples/Quickstart"),
        .executableTarget(
            name: "KeytabService", dependencies: ["Sallyport", .lifecycle, .unixSignals, .logging],
            path: "Examples/KeytabService"),
        .executableTarget(
            name: "Demo",
            dependencies: [
                "SallyportCore", "Sallyport", "SallyportSecureStore", "SallyportAuthorization", "SallyportURLLoading",
                .httpTypes,
            ],
            path: "Examples/Demo", exclude: ["run", "stage.sh"]),

        .executableTarget(name: "Chat", dependencies: ["Sallyport"], path: "Examples/Chat"),

        .executableTarget(
            name: "Plugins",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportCassette", "SallyportDataURL",
                "SallyportUnixSocket", "SallyportURLLoading", .httpTypes,
            ],
            path: "Examples/Plugins"),

        .executableTarget(
            name: "NativeURLSession", dependencies: ["Sallyport", "SallyportFoundationBridge", "SallyportURLLoading"],
            path: "Examples/NativeURLSession"),

        .executableTarget(
            name: "TokenService",
            dependencies: [
                "SallyportCore", "SallyportLoading", "SallyportAuthTokenVerification", .hummingbird, .hummingbirdCore,
                .httpTypes, .logging, .nioCore, .nioPosix, .nioHTTP1, .nioSSL,
            ],
            path: "Examples/TokenService"),

        .executableTarget(
            name: "StoreAlone", dependencies: ["SallyportSecureStore"], path: "Examples/StoreAlone"),

        // Tests
        .target(
            name: "TestSupport",
            dependencies: ["SallyportBase", "SallyportCore", "CLinux", "COpenSSL", .logging, .crypto, .x509, .asn1],
            path: "Tests/Support", exclude: ["Engines", "Sessions"]),
        .target(
            name: "TransportTestSupport", dependencies: ["SallyportTransport"], path: "Tests/Support/Engines"),
        .target(
            name: "SessionTestSupport",
            dependencies: ["SallyportCore", "SallyportSecureStore", "SallyportURLLoading", "TestSupport"],
            path: "Tests/Support/Sessions"),
        tests("Core", dependencies: ["SallyportBase", "SallyportCore", "SallyportLoading", .logging, .httpTypes]),
        tests("EventLoop", dependencies: ["SallyportBase", "SallyportEventLoop"]),
        tests(
            "PKCS11Protector",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportPKCS11Protector", "SallyportPKCS11Identity",
                "SallyportSecureStore", "SallyportTransport", .crypto, .httpTypes,
            ]),
        tests(
            "DataURL",
            dependencies: ["SallyportCore", "SallyportLoading", "SallyportDataURL", "SallyportURLLoading", .httpTypes]),
        tests(
            "PluginConformance",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportPluginConformance", "SallyportCassette",
                "SallyportDataURL", "SallyportURLLoading", .httpTypes,
            ]),
        tests(
            "Cassette",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportCassette", "SallyportPluginConformance",
                "SallyportURLLoading", .httpTypes,
            ]),
        tests(
            "UnixSocket",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportUnixSocket",
                "SallyportPluginConformance", "SallyportURLLoading", "SallyportTransport", .httpTypes,
            ]),
        tests(
            "SecureStore",
            dependencies: [
                "SallyportBase", "SallyportSecureStore", "COpenSSL", "CSecureStore", .crypto, "StoreWorkload",
                "StoreChild",
            ]),
        tests("Wire", dependencies: ["SallyportBase", "SallyportCore", "SallyportWire", .crypto, .asn1]),
        tests(
            "Transport",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportTransport", "SallyportEventLoop",
                "TransportTestSupport", "COpenSSL", .crypto,
            ]),
        tests(
            "Authorization",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportAuthorization", "SallyportWire",
                .crypto, .x509,
            ]),
        tests(
            "AuthToken",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportAuthToken", "SallyportAuthorization",
                "SallyportSecureStore", "SallyportWire", "SessionTestSupport", .crypto, .httpTypes,
            ]),
        tests(
            "AuthTokenVerification",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportAuthTokenVerification", "SallyportWire", .crypto,
                .httpTypes,
            ]),
        // Tokens end to end: app, gateway and a service of Hummingbird's.
        .testTarget(
            name: "TokenServiceTests",
            dependencies: [
                "SallyportBase", "SallyportCore", "TokenService", "Sallyport", "SallyportAuthToken",
                "SallyportAuthTokenVerification", "SallyportAuthorization", "SallyportGateway", "SallyportSecureStore",
                "SallyportTransport", "SallyportWire", "TestSupport", .crypto, .httpTypes, .hummingbird, .logging,
                .x509,
            ],
            path: "Tests/TokenServiceTests"),
        tests(
            "Cookies",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportCookies", "SallyportHTTPAuthentication",
                "SallyportSecureStore", "SallyportURLLoading", "SessionTestSupport", "TransportTestSupport", .logging,
                .httpTypes,
            ]),
        tests(
            "Cache",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportCache", "SallyportCookies",
                "SallyportSecureStore", "SallyportURLLoading", "SessionTestSupport", "CacheChild", .logging, .httpTypes,
            ]),
        tests(
            "HTTPAuthentication",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportCache", "SallyportHTTPAuthentication",
                "SallyportSecureStore", "SallyportURLLoading", "SessionTestSupport", "DigestDaemon", .crypto,
                .cryptoExtras, .logging, .httpTypes,
            ]),
        tests(
            "Kerberos",
            dependencies: [
                "SallyportBase", "SallyportCache", "SallyportConnecting", "SallyportCore", "SallyportLoading",
                "SallyportKerberos", "SallyportHTTPAuthentication", "SallyportSecureStore", "SallyportURLLoading",
                "SallyportWire", "SessionTestSupport", "GSSAcceptor", .logging, .httpTypes,
            ]),
        tests(
            "URLLoading",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportCache",
                "SallyportSecureStore", "SallyportURLLoading", "SallyportTransport", "SessionTestSupport",
                "TransportTestSupport", "CZlib", .configuration, .logging, .httpTypes, .metrics, .metricsTestKit,
                .tracing, .inMemoryTracing,
            ]),
        tests(
            "Door",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportDoor", "SallyportLoading",
                "SallyportTransport", .logging,
            ]),
        tests(
            "Socket",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportSocket",
                "SallyportTransport", .logging,
            ]),
        tests(
            "Reachability",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportReachability",
                "SallyportAuthorization", "SallyportEventLoop", "SallyportTransport", "SallyportWire", .crypto, .x509,
                .httpTypes,
            ]),
        tests(
            "FoundationBridge",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportFoundationBridge",
                "SallyportHTTPAuthentication", "SallyportURLLoading", .httpTypes,
            ]),
        tests(
            "FrontDoor",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "Sallyport", "SallyportAuthorization",
                "SallyportCache", "SallyportCookies", "SallyportHTTPAuthentication", "SallyportSecureStore",
                "SallyportURLLoading", .lifecycleTestKit,
            ]),
        tests(
            "Gateway",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportEventLoop", "SallyportLoading", "SallyportGateway",
                "SallyportPostgreSQL", "SallyportSocketDiagnosis", "SallyportTransport", "SallyportWire", .crypto,
                .x509, .logging, .httpTypes, .hummingbirdCore, .metrics,
                .nioCore, .nioPosix, .nioEmbedded, .nioSSL, .nioTLS, .trees,
            ]),
        tests("SocketDiagnosis", dependencies: ["SallyportCore", "SallyportSocketDiagnosis"]),
        tests(
            "CommandLine",
            dependencies: [
                "SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportLoading", "SallyportCache",
                "SallyportCommandLine", "SallyportCookies", "SallyportDoor", "SallyportSecureStore", "SallyportGateway",
                "SallyportURLLoading", "SallyportAuthorization", "SallyportAuthToken", "SallyportReachability",
                "SallyportTransport", .arguments, .configuration, .httpTypes,
            ],
            exclude: ["Messages/messages.txt"]),
        tests(
            "Integration",
            dependencies: [
                "SallyportBase", "SallyportCore", "SallyportLoading", "Sallyport", "SallyportAuthorization",
                "SallyportCommandLine", "SallyportCookies", "SallyportGateway", "SallyportHTTPAuthentication",
                "SallyportReachability", "SallyportSecureStore", "SallyportURLLoading", "SallyportWire",
                "SallyportTransport",
                "MutantWeaving", .kerberos, "CLinux", .crypto, .x509, .logging, .httpTypes,
            ]),

        // What the store's tests do to a store in a process of its own.
        .target(name: "StoreWorkload", dependencies: ["SallyportSecureStore"], path: "Tests/StoreWorkload"),
        .executableTarget(
            name: "StoreChild", dependencies: ["SallyportSecureStore", "StoreWorkload", "DiskRecorder"],
            path: "Tests/StoreChild"),
        // Fills a cache until it is killed.
        .executableTarget(
            name: "CacheChild",
            dependencies: [
                "SallyportCore", "SallyportLoading", "SallyportCache", "SallyportSecureStore", .logging, .httpTypes,
            ],
            path: "Tests/CacheChild"),
        // Prints each change of an app's link.
        .executableTarget(name: "ReachabilityChild", dependencies: ["Sallyport"], path: "Tests/ReachabilityChild"),
        // Fills the database of a fleet, to be measured.
        .executableTarget(
            name: "FleetRows",
            dependencies: [
                "SallyportGateway", "SallyportSecureStore", "SallyportWire",
                .target(name: "SallyportPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ], path: "Tests/FleetRows"),
        // An app under load while parts of its fleet fail.
        .executableTarget(name: "FaultApp", dependencies: ["Sallyport"], path: "Tests/Faults/App"),
        .target(name: "DiskRecorder", path: "Tests/DiskRecorder"),

        // A service that takes Kerberos tokens, with channel bindings.
        .executableTarget(
            name: "GSSAcceptor", path: "Tests/GSSAcceptor",
            linkerSettings: [.linkedLibrary("gssapi_krb5"), .linkedLibrary("krb5")]),

        // A server of libmicrohttpd that asks for Digest.
        .executableTarget(
            name: "DigestDaemon", path: "Tests/DigestDaemon", linkerSettings: [.linkedLibrary("microhttpd")]),

        // Compiles security checks that are switched off into a copy of the sources, and runs the tests of each.
        .target(name: "MutantWeaving", path: "Tests/Mutants/Weaving"),
        .executableTarget(name: "Mutants", dependencies: ["MutantWeaving"], path: "Tests/Mutants/Laboratory"),

        // Each links one module alone; the link tests look at what came with it.
        .executableTarget(
            name: "LinkSecureStore", dependencies: ["SallyportSecureStore"], path: "Tests/LinkTests/SecureStore"),
        .executableTarget(
            name: "LinkURLLoading", dependencies: ["SallyportURLLoading"], path: "Tests/LinkTests/URLLoading"),
        .executableTarget(name: "LinkSocket", dependencies: ["SallyportSocket"], path: "Tests/LinkTests/Socket"),
        .executableTarget(
            name: "LinkEventLoop", dependencies: ["SallyportEventLoop"], path: "Tests/LinkTests/EventLoop"),
        .executableTarget(
            name: "LinkAuthTokenVerification", dependencies: ["SallyportAuthTokenVerification"],
            path: "Tests/LinkTests/AuthTokenVerification"),
        .executableTarget(name: "LinkSallyport", dependencies: ["Sallyport"], path: "Tests/LinkTests/Sallyport"),
        .executableTarget(
            name: "LinkClients",
            dependencies: [
                "Sallyport", "SallyportDataURL", "SallyportUnixSocket", "SallyportPKCS11Protector",
                "SallyportPluginConformance", "SallyportCassette",
            ],
            path: "Tests/LinkTests/Clients"),
        .executableTarget(
            name: "LinkFoundationBridge", dependencies: ["SallyportFoundationBridge", "SallyportURLLoading"],
            path: "Tests/LinkTests/FoundationBridge"),
    ]
)

// The parsers under libFuzzer, by `Tests/Fuzz/run`: an executable instead of a suite, and our modules with coverage.
let isFuzzed = Context.environment["SALLYPORT_FUZZ"] == "1"

let fuzzed: [Target.Dependency] = [
    "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportWire", "SallyportSecureStore", "SallyportTransport",
    "SallyportAuthorization",
    "SallyportHTTPAuthentication", "SallyportCache", "SallyportCookies", "SallyportURLLoading", "SallyportGateway",
    "SallyportDataURL", "SallyportUnixSocket", "SallyportCassette", "SallyportDoor", "SallyportKerberos",
    "SallyportReachability", "SallyportSocketDiagnosis",
    "AnswerReaders", .httpTypes,
]
package.targets += [
    // Our reader of HTTP/1.1 answers beside libcurl's and swift-nio's, by `Tests/Fuzz/answers`.
    .target(
        name: "AnswerReaders",
        dependencies: ["SallyportTransport", "CCurl", .httpTypes, .nioCore, .nioEmbedded, .nioHTTP1],
        path: "Tests/Fuzz/Answers"),
    .executableTarget(name: "Differential", dependencies: ["AnswerReaders"], path: "Tests/Fuzz/Differential"),
]
package.targets.append(
    isFuzzed
        ? .executableTarget(
            name: "Fuzz", dependencies: fuzzed, path: "Tests/Fuzz",
            exclude: ["Answers", "Corpus", "Differential", "Tests", "answers", "run"],
            sources: ["Targets", "Driver"], linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])])
        : .testTarget(
            name: "SallyportFuzzTests", dependencies: fuzzed + ["TestSupport"], path: "Tests/Fuzz",
            exclude: ["Answers", "Corpus", "Differential", "Driver", "answers", "run"], sources: ["Targets", "Tests"]))

// `NonisolatedNonsendingByDefault` is not enabled: Swift 6.3.0 and 6.3.1 return from such functions on another executor
// than the caller's, if they throw or are specialised. Docs/Concurrency.md has more of it.
for target in package.targets where target.type != .system {
    var settings = target.swiftSettings ?? []
    settings += [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InferIsolatedConformances"),
    ]
    if isStrict { settings.append(.treatAllWarnings(as: .error)) }
    if isFuzzed { settings.append(.unsafeFlags(["-sanitize=fuzzer"])) }
    if isTested { settings.append(.unsafeFlags(["-enable-testing", "-assert-config", "Debug"])) }
    if isTested, target.type == .executable || target.path?.hasPrefix("Tests/") == true {
        let order =
            isBuiltOnce
            ? ["-no-emit-module-separately-wmo"] : ["-no-whole-module-optimization", "-enable-batch-mode"]
        settings.append(.unsafeFlags(["-Onone"] + order))
    }
    target.swiftSettings = settings
}

// What builds the reference (`make docs`). Users of the package never fetch it.
if Context.environment["SALLYPORT_DOCS"] == "1" {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
