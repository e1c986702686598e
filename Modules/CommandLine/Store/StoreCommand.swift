import ArgumentParser
import SallyportEventLoop
import SallyportSecureStore

/// Maintains a store: an app's, or a gateway's data.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Maintain a store: an app's, or a gateway's data.",
        subcommands: [
            StatCommand.self, VerifyCommand.self, BackupCommand.self, RestoreCommand.self, RotateCommand.self,
            CompactCommand.self,
        ])
}

extension StoreLocationOptions {
    func keyProtector() throws(CommandFailure) -> any KeyProtector {
        try protector.protection(of: store).protector()
    }

    /// Carries out a command so that a signal cancels it: what it was writing is removed, and its reading of the store
    /// no longer keeps the writer from using freed space again.
    ///
    /// The key is read before that, since this may wait for standard input, where a cancelled task would go on waiting.
    fileprivate func withKey(_ body: @escaping @Sendable (any KeyProtector) async throws -> Void) async throws {
        let protector = try keyProtector()
        // A command holds its thread for long. With one processor the pool has one thread, which the signal needs.
        let thread = EventLoop(name: "sallyport.store")
        try await withInterruption {
            try await withTaskExecutorPreference(thread) { try await body(protector) }
        }
    }

    fileprivate func withStore(
        _ options: StoreOptions, _ body: @escaping @Sendable (SecureStore) async throws -> Void
    ) async throws {
        let path = store
        try await withKey { protector in
            let store = try await SecureStore.open(at: path, protectedBy: protector, options: options)
            defer { store.close() }
            try await body(store)
        }
    }
}

extension StoreCommand {
    struct StatCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stat", abstract: "Show what a store holds and how large it is; works beside its writer.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let store = try await SecureStore.open(
                at: location.store, protectedBy: location.keyProtector(), options: .readOnly)
            defer { store.close() }
            let report = StoreReport(try store.statistics(), isRestored: store.isRestored)
            output.print(report, report.text)
        }
    }

    struct VerifyCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Check every page and every record of a store, or of a backup; works beside its writer.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (path, output) = (location.store, output)
            try await location.withKey { protector in
                let report = CheckReport(try await SecureStore.verify(at: path, protectedBy: protector))
                output.print(report, report.text)
                guard !report.sound else { return }
                throw CommandFailure(
                    .inputOutput, name: "damaged", "The store at \(path) is damaged.",
                    hint: "'sallyport store restore BACKUP' puts a backup in its place")
            }
        }
    }

    struct BackupCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "backup",
            abstract: "Copy a store, verified and still encrypted, into a new directory; works beside its writer.")
        @Argument(help: "The new directory.") var target: String
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (target, output) = (target, output)
            try await location.withStore(.readOnly) { store in
                let report = CopyReport(target, try await store.backup(to: target))
                output.print(report, "\(Count.of(report.records, "record")) copied into \(target)")
            }
        }
    }

    struct RestoreCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restore",
            abstract: "Replace or create a store with a backup; an app must then authorize again.")
        @Argument(help: "The backup.") var backup: String
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (backup, path, output) = (backup, location.store, output)
            try await location.withKey { protector in
                let found = try await SecureStore.restore(from: backup, to: path, protectedBy: protector)
                let report = CopyReport(path, found)
                output.print(report, "\(Count.of(report.records, "record")) restored into \(path)")
            }
        }
    }

    struct RotateCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate", abstract: "Create a new data key, re-encrypt every record, and forget the old key.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let output = output
            try await location.withStore(.existing) { store in
                try await store.rotateDataKey()
                // Closing a store ends the wait. What is left of the rotation is done when it is open again.
                try await withTaskCancellationHandler {
                    try await store.finishRotation()
                } onCancel: {
                    store.close()
                }
                output.print(Acknowledgement(), "every record has a new key")
            }
        }
    }

    struct CompactCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "compact", abstract: "Rewrite a store's file without its free space.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (path, output) = (location.store, output)
            try await location.withKey { protector in
                let done = try await SecureStore.compact(at: path, protectedBy: protector)
                output.print(
                    CompactionReport(before: done.before, after: done.after),
                    "\(done.before) bytes before, \(done.after) after")
            }
        }
    }
}
