// swift-tools-version: 6.2
import PackageDescription

// With SALLYPORT_BENCH_KERBEROS=0 Sallyport is built without its trait Kerberos. No row of the table uses it.
let traits: Set<Package.Dependency.Trait> = Context.environment["SALLYPORT_BENCH_KERBEROS"] == "0" ? [] : [.defaults]

// A package of its own, so that neither the benchmark tool nor the peers enter the graph of those who use Sallyport.
// `make bench` in the folder above runs the table; `swift package benchmark` here runs the regression benchmarks.
let package = Package(
    name: "sallyport-benchmarks",
    dependencies: [
        .package(name: "sallyport", path: "..", traits: traits),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        // What is counted: Sallyport, and the peers in C.
        .target(
            name: "CurlMultiPeer", path: "Sources/CurlMultiPeer",
            linkerSettings: [.linkedLibrary("curl")]),
        .target(
            name: "Workloads",
            dependencies: [
                "CurlMultiPeer", "SocketPeer",
                .product(name: "Sallyport", package: "sallyport"),
                .product(name: "SallyportBase", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportLoading", package: "sallyport"),
                .product(name: "SallyportEventLoop", package: "sallyport"),
                .product(name: "SallyportCache", package: "sallyport"),
                .product(name: "SallyportCookies", package: "sallyport"),
                .product(name: "SallyportHTTPAuthentication", package: "sallyport"),
                .product(name: "SallyportSecureStore", package: "sallyport"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Workloads"),
        .target(name: "CountingMark", path: "Sources/CountingMark"),
        .executableTarget(
            name: "Rows",
            dependencies: [
                "CountingMark", "Workloads",
                .product(name: "SallyportCookies", package: "sallyport"),
                .product(name: "SallyportEventLoop", package: "sallyport"),
            ],
            path: "Sources/Rows"),
        .target(
            name: "SocketPeer", path: "Sources/SocketPeer",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "SocketServer", path: "Sources/SocketServer",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    ]
)

// With SALLYPORT_BENCH_PEERS=0 the manifest is what is counted, and fetches no package for peers.
if Context.environment["SALLYPORT_BENCH_PEERS"] != "0" {
    package.dependencies += [
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ]
    package.targets += [
        .target(
            name: "Peers",
            dependencies: [
                "Workloads",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/Peers"),
        .target(
            name: "StorePeers", path: "Sources/StorePeers",
            linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("sqlcipher")]),
        .executableTarget(
            name: "StoreTable",
            dependencies: ["StorePeers", .product(name: "SallyportSecureStore", package: "sallyport")],
            path: "Sources/StoreTable"),
        .executableTarget(
            name: "HopTable", dependencies: [.product(name: "SallyportEventLoop", package: "sallyport")],
            path: "Sources/HopTable"),
        .executableTarget(
            name: "CookieTable",
            dependencies: [
                "Workloads",
                .product(name: "SallyportCookies", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportSecureStore", package: "sallyport"),
            ],
            path: "Sources/CookieTable"),
        .target(
            name: "CachePeer", path: "Sources/CachePeer",
            linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "CacheTable", dependencies: ["CachePeer", "Workloads"], path: "Sources/CacheTable"),
        .executableTarget(
            name: "AuthenticationTable",
            dependencies: [
                .product(name: "SallyportBase", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportLoading", package: "sallyport"),
                .product(name: "SallyportEventLoop", package: "sallyport"),
                .product(name: "SallyportHTTPAuthentication", package: "sallyport"),
                .product(name: "SallyportURLLoading", package: "sallyport"),
            ],
            path: "Sources/AuthenticationTable"),
        .executableTarget(
            name: "NegotiateTable", dependencies: [.product(name: "Sallyport", package: "sallyport")],
            path: "Sources/NegotiateTable"),
        .executableTarget(
            name: "SocketTable",
            dependencies: [
                "Workloads",
                .product(name: "Sallyport", package: "sallyport"),
                .product(name: "SallyportEventLoop", package: "sallyport"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/SocketTable"),
        .executableTarget(
            name: "TokenTable",
            dependencies: [
                .product(name: "SallyportAuthTokenVerification", package: "sallyport"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Sources/TokenTable"),
        .executableTarget(name: "Table", dependencies: ["Peers", "Workloads"], path: "Sources/Table"),
        .executableTarget(
            name: "HTTP",
            dependencies: ["Peers", "Workloads", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/HTTP",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ]
}
