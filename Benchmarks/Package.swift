// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that neither the benchmark tool nor the peers enter the graph of those who use Sallyport.
// `make bench` in the folder above runs the table; `swift package benchmark` here runs the regression benchmarks.
let package = Package(
    name: "sallyport-benchmarks",
    dependencies: [
        .package(name: "sallyport", path: ".."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .target(
            name: "CurlMultiPeer", path: "Sources/CurlMultiPeer",
            linkerSettings: [.linkedLibrary("curl")]),
        .target(
            name: "Workloads",
            dependencies: [
                "CurlMultiPeer",
                .product(name: "SallyportBase", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportLoading", package: "sallyport"),
                .product(name: "SallyportURLLoading", package: "sallyport"),
                .product(name: "SallyportEventLoop", package: "sallyport"),
                .product(name: "SallyportCache", package: "sallyport"),
                .product(name: "SallyportCookies", package: "sallyport"),
                .product(name: "SallyportHTTPAuthentication", package: "sallyport"),
                .product(name: "SallyportSecureStore", package: "sallyport"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/Workloads"),
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
                .product(name: "SallyportCookies", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportLoading", package: "sallyport"),
                .product(name: "SallyportSecureStore", package: "sallyport"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/CookieTable"),
        .target(
            name: "CachePeer", path: "Sources/CachePeer",
            linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "CacheTable",
            dependencies: [
                "CachePeer",
                .product(name: "SallyportCache", package: "sallyport"),
                .product(name: "SallyportBase", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportLoading", package: "sallyport"),
                .product(name: "SallyportSecureStore", package: "sallyport"),
                .product(name: "SallyportURLLoading", package: "sallyport"),
            ],
            path: "Sources/CacheTable"),
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
        .target(
            name: "SocketPeer", path: "Sources/SocketPeer",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "SocketServer", path: "Sources/SocketServer",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "SocketTable",
            dependencies: [
                "SocketPeer",
                .product(name: "Sallyport", package: "sallyport"),
                .product(name: "SallyportCore", package: "sallyport"),
                .product(name: "SallyportEventLoop", package: "sallyport"),
                .product(name: "SallyportLoading", package: "sallyport"),
                .product(name: "SallyportSocket", package: "sallyport"),
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
        .executableTarget(name: "Table", dependencies: ["Workloads"], path: "Sources/Table"),
        .executableTarget(
            name: "HTTP",
            dependencies: ["Workloads", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/HTTP",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ]
)
