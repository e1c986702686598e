// swift-tools-version: 6.2
import PackageDescription

// Programs that compose Sallyport from outside: a package of its own, which sees public products only. Each is one
// folder, ends by itself, and ends with 0 where all went well.

/// A program, its folder, and the products that it is composed of.
struct Composition {
    let name: String
    let folder: String
    let products: [String]
}

let compositions = [
    Composition(
        name: "OutsideGateway", folder: "Gateway",
        products: ["SallyportCore", "SallyportGateway", "SallyportSecureStore"])
]

let package = Package(
    name: "sallyport-outside",
    dependencies: [.package(name: "sallyport", path: "../..")],
    targets: compositions.map { composition in
        .executableTarget(
            name: composition.name,
            dependencies: composition.products.map { .product(name: $0, package: "sallyport") },
            path: composition.folder,
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("InferIsolatedConformances"),
            ])
    }
)
