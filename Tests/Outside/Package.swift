// swift-tools-version: 6.2
import PackageDescription

// Programs that compose Sallyport from outside: a package of its own, which sees public products only. Each is one
// folder, ends by itself, and ends with 0 if all that it shows is so. `run` builds them, runs them, and looks at what each
// has linked. Docs/Composition.md explains them.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

/// The packages of products that are not Sallyport's.
let foreign = ["HTTPTypes": "swift-http-types", "Configuration": "swift-configuration"]

func dependencies(_ products: [String], _ others: [String]) -> [Target.Dependency] {
    products.map { .product(name: $0, package: foreign[$0] ?? "sallyport") }
        + others.map { .target(name: $0) }
}

/// A program, and the products that it is composed of.
func composition(_ name: String, of products: [String], _ others: [String] = []) -> Target {
    .executableTarget(
        name: "Outside\(name)", dependencies: dependencies(products, ["OutsideChecks"] + others), path: name,
        swiftSettings: settings)
}

/// What an app's own module brings.
func extending(_ name: String, by products: [String] = []) -> Target {
    .target(name: "Outside\(name)", dependencies: dependencies(products, []), path: name, swiftSettings: settings)
}

/// Packages that an app may use beside Sallyport.
let neighbours: [Target.Dependency] = [
    .product(name: "Hummingbird", package: "hummingbird"),
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
    .product(name: "AsyncHTTPClient", package: "async-http-client"),
    .product(name: "GRPCCore", package: "grpc-swift-2"),
    .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport"),
]

let package = Package(
    name: "sallyport-outside",
    dependencies: [
        .package(name: "sallyport", path: "../.."),
        // Heads and fields of requests and answers.
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // Settings; without traits, as Sallyport has it: the file provider links all of Foundation.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
        // The neighbours of `OutsideNames` and `OutsideRecipes`.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    ],
    targets: [
        extending("Checks"),
        extending("Plugin", by: ["SallyportCore", "SallyportLoading", "SallyportURLLoading"]),
        extending(
            "Scheme", by: ["SallyportBase", "SallyportCore", "SallyportHTTPAuthentication", "SallyportLoading"]),

        composition("Store", of: ["SallyportSecureStore"]),
        composition("Gateway", of: ["SallyportCore", "SallyportGateway", "SallyportSecureStore"]),
        composition("Authorization", of: ["SallyportAuthorization", "SallyportSecureStore"]),
        composition(
            "Sockets",
            of: [
                "SallyportAuthorization", "SallyportCore", "SallyportLoading", "SallyportSecureStore",
                "SallyportSocket",
            ]),
        composition(
            "Tokens",
            of: [
                "SallyportAuthToken", "SallyportAuthTokenVerification", "SallyportAuthorization", "SallyportBase",
                "SallyportSecureStore",
            ]),
        composition(
            "Sessions",
            of: [
                "HTTPTypes", "SallyportAuthorization", "SallyportBase", "SallyportConnecting", "SallyportCookies",
                "SallyportCore", "SallyportHTTPAuthentication", "SallyportLoading", "SallyportSecureStore",
                "SallyportURLLoading",
            ], ["OutsideScheme"]),
        composition(
            "Kerberos", of: ["SallyportBase", "SallyportConnecting", "SallyportCore", "SallyportKerberos"]),
        composition(
            "Plugins", of: ["HTTPTypes", "SallyportBase", "SallyportCore", "SallyportLoading", "SallyportURLLoading"],
            ["OutsidePlugin"]),
        composition(
            "Reachability",
            of: [
                "SallyportAuthorization", "SallyportConnecting", "SallyportCore", "SallyportReachability",
                "SallyportSecureStore",
            ]),
        composition(
            "Instance",
            of: [
                "Configuration", "SallyportAuthToken", "SallyportAuthorization", "SallyportBase", "SallyportCache",
                "SallyportConnecting", "SallyportCookies", "SallyportCore", "SallyportHTTPAuthentication",
                "SallyportKerberos",
                "SallyportLoading", "SallyportReachability", "SallyportSecureStore", "SallyportSocket",
                "SallyportURLLoading",
            ]),
        // No composition: one file with the front door and its neighbours, whose names must not meet.
        .executableTarget(
            name: "OutsideNames", dependencies: dependencies(["HTTPTypes", "Sallyport"], []) + neighbours,
            path: "Names",
            swiftSettings: settings),
        // No composition: the code of README.md and the guides, which must compile. `check-docs` compares it with them.
        .target(
            name: "OutsideRecipes",
            dependencies: dependencies(
                ["HTTPTypes", "Sallyport", "SallyportCore", "SallyportLoading", "SallyportURLLoading"], [])
                + neighbours,
            path: "Recipes", swiftSettings: settings),
        // No composition: code of the products' documentation that is in no other program. `check-docs` compares it with
        // the pages.
        .target(
            name: "OutsideCatalogs",
            dependencies: dependencies(
                [
                    "SallyportAuthTokenVerification", "SallyportBase", "SallyportDataURL", "SallyportEventLoop",
                    "SallyportLoading", "SallyportPKCS11Identity", "SallyportPKCS11Protector", "SallyportSecureStore",
                    "SallyportSocket", "SallyportURLLoading", "SallyportUnixSocket",
                ], []), path: "Catalogs", swiftSettings: settings),
        // No composition: other libraries of the same process, by the recipes of Docs/Door.md.
        .executableTarget(
            name: "OutsideDoor",
            dependencies: dependencies(["Sallyport"], ["OutsideChecks", "OutsideRecipes"]) + neighbours,
            path: "Door", swiftSettings: settings),
        // No composition: a gRPC server inside, which `OutsideDoor` calls.
        .executableTarget(name: "Greeter", dependencies: neighbours, path: "Greeter", swiftSettings: settings),
        // No composition: the gateway that the others are let in by.
        .executableTarget(
            name: "Enterprise",
            dependencies: dependencies(["SallyportCore", "SallyportGateway", "SallyportSecureStore"], []),
            path: "Enterprise", swiftSettings: settings),
    ]
)
