/// Looks whether the store of a gateway can be read and written, and whether it follows the store of its fleet.
actor StoreProbe {
    /// The free space below which the gateway is not ready, in bytes. A transaction that finds freed pages in the file
    /// succeeds on a full disk, and the next one fails: the space tells before an activation does.
    static let leastSpace = 1 << 20
    /// The time between two writes while they succeed: each is a sync of the disk.
    static let writeInterval: Duration = .seconds(30)

    private let data: GatewayData
    private let folder: String
    private var count: UInt64 = 0
    private var lastWrite: ContinuousClock.Instant?

    init(_ data: GatewayData, folder: String) {
        (self.data, self.folder) = (data, folder)
    }

    private nonisolated var store: OwnStore { data.own }

    func look() async -> HealthFinding {
        do { _ = try store.isGateway() } catch {
            return .failed("The store cannot be read.")
        }
        if let free = FileSystemSpace.free(at: folder), free < Self.leastSpace {
            return .notReady("The disk has less than 1 MiB left.")
        }
        if await data.trouble() != nil { return .notReady("The fleet's database cannot be followed.") }
        if let lastWrite, lastWrite.duration(to: .now) < Self.writeInterval { return .well }
        return await write() ? .well : .notReady("The store cannot be written.")
    }

    private func write() async -> Bool {
        count += 1
        do { try await store.keep(looks: count) } catch {
            // The next look tries again.
            lastWrite = nil
            return false
        }
        lastWrite = .now
        return true
    }
}
